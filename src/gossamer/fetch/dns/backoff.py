"""When a name is not looked up: exponential backoff for names that cannot be resolved, and a circuit breaker of the
resolver. Pure: time and randomness are parameters.

A name whose servers fail or do not answer is skipped for a time that doubles with each consecutive failure. If several
names of one domain fail in a row, the whole domain is skipped: its name servers are down.

The circuit breaker detects that DNS as a whole fails, not single names:

    CLOSED ── a name got no answer, nor did any other for 5 s ──► OPEN
      ▲                                                     pause │  ▲
      │                                                      over │  │ no answer,
      └───────── an answer ──── PROBING (one query at a time) ◄───┘  │ or lost
                                     └───────────────────────────────┘

While it is not CLOSED, no new name is looked up; callers get a time to try again. Cached names are still answered. The
first probe is sent at once, because the name alone may be the cause: only when another query has failed too, the outage
is confirmed. A server that is slow but answers does not open the breaker.
"""

import random
from collections import OrderedDict
from dataclasses import dataclass
from enum import Enum

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


class BreakerState(Enum):
    CLOSED = "closed"
    OPEN = "open"
    PROBING = "probing"


@dataclass(frozen=True, slots=True)
class BreakerRules:
    quiet: Seconds = Seconds(5.0)  # without an answer to any query
    pause: Seconds = Seconds(2.0)  # between probes; short, so that a recovery is noticed at once
    lost: Seconds = Seconds(6.0)  # after this long without a report of a probe, another may be sent


class ResolverBreaker:
    """Watches the outcomes of lookups.

    Invariants: at most one probe is in flight; `until` is when the next one may be sent, in the past while CLOSED;
    `confirmed` is False while CLOSED.
    """

    def __init__(self, rules: BreakerRules) -> None:
        self._rules = rules
        self._last_answer: Instant | None = None
        self.state = BreakerState.CLOSED
        self.until = Instant(0.0)
        self.recovered_at = Instant(0.0)  # when the resolver last answered again after an outage
        self.confirmed = False  # a probe or another name has failed since it opened: it was not the name
        self.opened = 0

    @property
    def is_closed(self) -> bool:
        return self.state is BreakerState.CLOSED

    def on_answer(self, now: Instant) -> None:
        """A name server answered, positively or negatively. Closes the breaker."""
        self._last_answer = now
        if not self.is_closed:
            self.recovered_at = now if self.confirmed else self.recovered_at
            self.confirmed = False
            self.state = BreakerState.CLOSED

    def on_no_answer(self, now: Instant, *, unreachable: bool = False) -> None:
        """All servers failed or did not answer about a name.

        `unreachable`: none of them is even listening, which no name can cause.
        """
        if not self.is_closed:
            self.confirmed = True
        elif unreachable or self._last_answer is None or now - self._last_answer >= self._rules.quiet:
            self.state = BreakerState.OPEN
            self.until = now  # the first probe goes out at once: it may have been the name
            self.opened += 1

    def take_probe(self, now: Instant) -> bool:
        """Whether the caller is to send a probe now. It must report with `on_answer` or `on_probe_failure`."""
        if self.is_closed or now < self.until:
            return False
        self.state = BreakerState.PROBING
        self.until = Instant(now + self._rules.lost)
        return True

    def on_probe_failure(self, now: Instant) -> None:
        if self.state is BreakerState.PROBING:
            self.confirmed = True
            self.state = BreakerState.OPEN
            self.until = Instant(now + self._rules.pause)
