"""Settings made through the API that persist across restarts: limits, pauses, dropped hosts and delays."""

import json
from dataclasses import dataclass, field
from typing import Final

import msgspec

from gossamer.config.load import Config
from gossamer.config.sections import HostSection
from gossamer.crawl.visit.host_overrides import ORDERS
from gossamer.filter.host_table import host_table
from gossamer.filter.scope import read_host
from gossamer.model.units import HostKey

FACT: Final = ORDERS
"""The key under which the overrides are stored in the crawl's metadata."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on URLs. They replace `filter.exclude_domains`, `max_depth` and `filter.max_url_bytes`."""

    excluded_domains: tuple[str, ...]
    depth: int
    url_bytes: int

    def apply_to(self, config: Config) -> Config:
        within = msgspec.structs.replace(
            config.filter, exclude_domains=self.excluded_domains, max_url_bytes=self.url_bytes
        )
        return msgspec.structs.replace(config, max_depth=self.depth, filter=within)


def limits_of(config: Config) -> Limits:
    return Limits(config.filter.exclude_domains, config.max_depth, config.filter.max_url_bytes)


@dataclass(slots=True)
class Overrides:
    """Settings that a restart of the service restores. Owned by the event loop."""

    limits: Limits | None = None  # None: those of the configuration
    paused: bool = False
    paused_hosts: set[HostKey] = field(default_factory=set)
    dropped_hosts: set[HostKey] = field(default_factory=set)
    delays: dict[HostKey, float] = field(default_factory=dict)

    def apply_to(self, config: Config) -> Config:
        """The configuration with these overrides."""
        if self.limits is not None:
            config = self.limits.apply_to(config)
        if not self.delays:
            return config
        table = host_table(config.host, "host")
        # A host name with a star cannot be a key of the configuration: the star would be a wildcard there.
        own = {host: _with_delay(table.for_host(host), delay) for host, delay in self.delays.items() if "*" not in host}
        kept = {name: s for name, s in config.host.items() if name.startswith("*.") or read_host(name) not in own}
        return msgspec.structs.replace(config, host={**kept, **own})

    def to_text(self) -> str:
        limits = self.limits
        return json.dumps(
            {
                "limits": None if limits is None else [list(limits.excluded_domains), limits.depth, limits.url_bytes],
                "paused": self.paused,
                "paused_hosts": sorted(self.paused_hosts),
                "dropped_hosts": sorted(self.dropped_hosts),
                "delays": self.delays,
            }
        )


def from_text(text: str | None) -> Overrides:
    """The overrides stored as `text`; none for None."""
    if text is None:
        return Overrides()
    found = json.loads(text)
    limits = found["limits"]
    return Overrides(
        None if limits is None else Limits(tuple(limits[0]), limits[1], limits[2]),
        found["paused"],
        {HostKey(host) for host in found["paused_hosts"]},
        {HostKey(host) for host in found["dropped_hosts"]},
        {HostKey(host): float(delay) for host, delay in found["delays"].items()},
    )


def _with_delay(section: HostSection | None, delay: float) -> HostSection:
    """The host's section with another delay: only the most specific section applies to a host."""
    return msgspec.structs.replace(section or HostSection(), delay=delay)
