"""Exponential backoff for names that cannot be resolved. Pure: time and randomness are parameters.

A name whose servers fail or do not answer is skipped for a time that doubles with each consecutive failure. If several
names of one domain fail in a row, the whole domain is skipped: its name servers are down.
"""

import random
from collections import OrderedDict
from dataclasses import dataclass

from gossamer.model.units import Domain, HostKey, Instant, Seconds

_MAX_DOUBLINGS = 32


@dataclass(frozen=True, slots=True)
class BackoffRules:
    first: Seconds = Seconds(30.0)
    longest: Seconds = Seconds(3600.0)
    jitter: float = 0.2  # so that names that failed together are not retried together
    domain_after: int = 3  # names of a domain that fail in a row before the domain is skipped
    names: int = 20_000  # remembered; the least recently failed is dropped first


class NameBackoff:
    """Consecutive failures by host and by domain. Remembers at most `rules.names` of each."""

    def __init__(self, rules: BackoffRules, chance: random.Random) -> None:
        self._rules = rules
        self._chance = chance
        self._hosts: OrderedDict[HostKey, int] = OrderedDict()
        self._domains: OrderedDict[Domain, tuple[int, Instant]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._hosts) + len(self._domains)

    def on_failure(self, host: HostKey, domain: Domain | None, now: Instant) -> Instant:
        """Record a failure; returns when to look the host up again."""
        failures = self._hosts.pop(host, 0) + 1
        self._hosts[host] = failures
        if domain is not None:
            self._blame(domain, now, another=failures == 1)
        self._trim()
        return Instant(now + self._wait(failures))

    def on_success(self, host: HostKey, domain: Domain | None) -> None:
        """The host was resolved: reset its failures and those of its domain."""
        if self._hosts:
            self._hosts.pop(host, None)
        if self._domains and domain is not None:
            self._domains.pop(domain, None)

    def domain_blocked_until(self, domain: Domain | None, now: Instant) -> Instant | None:
        """When names of a domain may be looked up again; None for now."""
        if domain is None:
            return None
        _, until = self._domains.get(domain, (0, now))
        return until if until > now else None

    def _blame(self, domain: Domain, now: Instant, *, another: bool) -> None:
        failures, until = self._domains.pop(domain, (0, now))
        # Repeated failures of the same host do not count against the domain, except once the domain was skipped.
        failures += another or failures >= self._rules.domain_after
        beyond = failures - self._rules.domain_after
        if beyond >= 0 and until <= now:
            until = Instant(now + self._wait(beyond + 1))
        self._domains[domain] = (failures, until)

    def _wait(self, failures: int) -> Seconds:
        rules = self._rules
        doubled = rules.first * 2.0 ** min(failures - 1, _MAX_DOUBLINGS)
        return Seconds(min(doubled * (1.0 + rules.jitter * self._chance.random()), rules.longest))

    def _trim(self) -> None:
        most = self._rules.names
        while len(self._hosts) > most:
            self._hosts.popitem(last=False)
        while len(self._domains) > most:
            self._domains.popitem(last=False)
