"""The scope as far as it concerns one host: with those seeds only that could admit it, however many there are."""

from typing import Protocol

from gossamer.filter.scope import Scope
from gossamer.model.units import Domain, HostKey


class SeedHosts(Protocol):
    """Which hosts have seeds."""

    def seed_host(self, host: HostKey) -> HostKey | None:
        """The host itself if a seed is on it."""
        ...

    def seed_host_in(self, domain: Domain) -> HostKey | None:
        """The host of a seed in this domain, if there is one."""
        ...


def scope_near(scope: Scope, seeds: SeedHosts, host: HostKey, domain: Domain) -> Scope:
    """The scope with its seeds: it says of `host`, which is in `domain`, what the whole crawl's scope says."""
    near = (
        seeds.seed_host(host) if scope.of_seed_hosts else None,
        seeds.seed_host_in(domain) if scope.of_seed_domains else None,
    )
    return scope.with_seeds(found for found in near if found is not None)
