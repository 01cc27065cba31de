"""The scope as far as it concerns one host: with those seeds only that could admit it, however many there are."""

from typing import Protocol

from gossamer.filter.scope import Scope, parse_scope
from gossamer.model.units import Domain, HostKey


class SeedHosts(Protocol):
    """Which hosts have seeds."""

    def seed_host(self, host: HostKey) -> HostKey | None:
        """The host itself if a seed is on it."""
        ...

    def seed_host_in(self, domain: Domain) -> HostKey | None:
        """The host of a seed in this domain, if there is one."""
        ...


def scope_near(text: str, seeds: SeedHosts, host: HostKey, domain: Domain) -> Scope:
    """The scope that `text` means. It says of `host`, which is in `domain`, what the whole crawl's scope says.

    Raises ConfigError for text that means none.
    """
    scope = parse_scope(text)
    near = (
        seeds.seed_host(host) if scope.of_seed_hosts else None,
        seeds.seed_host_in(domain) if scope.of_seed_domains else None,
    )
    return scope.with_seeds(found for found in near if found is not None)
