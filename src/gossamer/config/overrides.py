"""The operator's overrides: what was set through the service, in addition to the configuration, and how it is stored.

The service changes them; they also apply to `gossamer crawl`, except for the pause of the whole crawl. A crawl has one
`HostOverrides`, in its `HostSettingsTable`.
"""

import json
from dataclasses import dataclass, field
from typing import Final

import msgspec

from gossamer.config.load import Config
from gossamer.model.units import HostKey, Seconds

OVERRIDES_KEY: Final = "service"
"""The metadata key under which all overrides of a crawl are stored."""
HOST_DROPPED: Final = "host_dropped"
"""The reason of URLs that are excluded because their host was dropped."""


@dataclass(frozen=True, slots=True)
class HostOverride:
    """`paused`: not contacted until resumed. `dropped`: its URLs are excluded when their turn comes. `delay`: minimum
    delay after each response; None: not overridden."""

    paused: bool = False
    dropped: bool = False
    delay: Seconds | None = None

    def __bool__(self) -> bool:
        """Whether anything is overridden."""
        return self.paused or self.dropped or self.delay is not None


@dataclass(slots=True)
class HostOverrides:
    """All hosts with an override. Dropping a host ends its pause."""

    paused: set[HostKey] = field(default_factory=set)
    dropped: set[HostKey] = field(default_factory=set)
    delays: dict[HostKey, Seconds] = field(default_factory=dict)

    def for_host(self, host: HostKey) -> HostOverride:
        return HostOverride(host in self.paused, host in self.dropped, self.delays.get(host))

    def pause(self, host: HostKey) -> None:
        self.paused.add(host)

    def drop(self, host: HostKey) -> None:
        self.paused.discard(host)
        self.dropped.add(host)

    def resume(self, host: HostKey) -> bool:
        """Undo a pause or a drop. Returns whether the host was dropped; then its URLs are to be requeued."""
        self.paused.discard(host)
        dropped = host in self.dropped
        self.dropped.discard(host)
        return dropped

    def set_delay(self, host: HostKey, delay: Seconds | None) -> None:
        """None: as configured."""
        self.delays.pop(host, None)
        if delay is not None:
            self.delays[host] = delay

    def replace_with(self, others: "HostOverrides") -> None:
        """Become equal to `others`; who holds these sets goes on with them."""
        for own, other in ((self.paused, others.paused), (self.dropped, others.dropped)):
            own.clear()
            own |= other
        self.delays.clear()
        self.delays |= others.delays

    def add(self, others: "HostOverrides") -> None:
        """Add the overrides of other hosts."""
        self.paused |= others.paused
        self.dropped |= others.dropped
        self.delays |= others.delays


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on URLs. They replace `filter.exclude_domains`, `max_depth` and `filter.max_url_bytes`."""

    excluded_domains: tuple[str, ...]
    depth: int
    url_bytes: int


def limits_of(config: Config) -> Limits:
    return Limits(config.filter.exclude_domains, config.max_depth, config.filter.max_url_bytes)


@dataclass(slots=True)
class Overrides:
    """All overrides of a crawl. Owned by the event loop."""

    limits: Limits | None = None  # None: those of the configuration
    paused: bool = False  # the whole crawl
    hosts: HostOverrides = field(default_factory=HostOverrides)
    limit_changes: int = 0  # how often limits were set: the same ones, set again, are applied again

    def set_limits(self, limits: Limits) -> None:
        self.limits = limits
        self.limit_changes += 1

    def apply_limits(self, config: Config) -> Config:
        """The configuration with these limits."""
        limits = self.limits
        if limits is None:
            return config
        within = msgspec.structs.replace(
            config.filter, exclude_domains=limits.excluded_domains, max_url_bytes=limits.url_bytes
        )
        return msgspec.structs.replace(config, max_depth=limits.depth, filter=within)

    def to_text(self) -> str:
        limits, hosts = self.limits, self.hosts
        return json.dumps(
            {
                "limits": None if limits is None else [list(limits.excluded_domains), limits.depth, limits.url_bytes],
                "paused": self.paused,
                "paused_hosts": sorted(hosts.paused),
                "dropped_hosts": sorted(hosts.dropped),
                "delays": hosts.delays,
                "limit_changes": self.limit_changes,
            }
        )

    @classmethod
    def from_text(cls, text: str | None) -> "Overrides":
        """The overrides stored as `text`; none for None."""
        if text is None:
            return cls()
        stored = json.loads(text)
        limits = stored["limits"]
        return cls(
            None if limits is None else Limits(tuple(limits[0]), limits[1], limits[2]),
            stored["paused"],
            HostOverrides(
                set(map(HostKey, stored["paused_hosts"])),
                set(map(HostKey, stored["dropped_hosts"])),
                {HostKey(host): Seconds(float(delay)) for host, delay in stored["delays"].items()},
            ),
            stored.get("limit_changes", 0),
        )
