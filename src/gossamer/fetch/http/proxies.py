"""Detects that a proxy is down. Pure: time is a parameter.

A proxy that cannot be reached, or that rejects our credentials, is not the fault of the hosts behind it: they wait
without losing a try. After a pause, one visit is let through as a probe; the others wait for its outcome.

    UP ── not reached ──► DOWN ── its pause is over ──► one probe ── an answer ──► UP
                            ▲                               │
                            └────── not reached, or lost ───┘

A proxy that is reached but times out may be waiting for the host. It counts as down when several hosts in a row got no
answer through it, with no answer in between. A host that times out again and again is blamed itself: otherwise hosts
that never answer would wait for ever for a proxy that works.
"""

from dataclasses import dataclass, field

from gossamer.fetch.http.options import Proxy
from gossamer.model.outcome import Failed, Failure, FetchOutcome
from gossamer.model.units import HostKey, Instant, Seconds

TIMEOUTS = frozenset(
    (Failure.CONNECT_TIMEOUT, Failure.TLS_HANDSHAKE_TIMEOUT, Failure.READ_TIMEOUT, Failure.TOTAL_TIMEOUT)
)
_MAX_SILENT = 1000  # hosts remembered; the oldest is dropped first


@dataclass(frozen=True, slots=True)
class ProxyRules:
    pause: Seconds = Seconds(1.0)  # after the first failure; doubling
    longest_pause: Seconds = Seconds(15.0)  # short, so that a recovery is noticed soon; the proxy is ours
    lost: Seconds = Seconds(30.0)  # after this long without a report of a probe, another may be sent
    silent_hosts: int = 3  # consecutive hosts without an answer before the proxy counts as down
    silences: int = 3  # timeouts of one host among them before the host is blamed


@dataclass(slots=True)
class _Standing:
    answered: bool = False  # ever
    failures: int = 0  # in a row
    until: Instant = Instant(0.0)
    probing: bool = False
    silent: dict[HostKey, int] = field(default_factory=dict)  # hosts without an answer since the last answer


class Proxies:
    """The state of the crawl's proxies. Invariant: while one is down, at most one probe of it is in flight."""

    def __init__(self, rules: ProxyRules | None = None) -> None:
        self._rules = rules or ProxyRules()
        self._known: dict[Proxy, _Standing] = {}

    @property
    def failing(self) -> bool:
        """Whether any proxy is known to be down."""
        return any(standing.failures for standing in self._known.values())

    def wait_for(self, proxy: Proxy, now: Instant) -> Instant | None:
        """When to try again because the proxy is down; None to go ahead, and report with `on_outcome`."""
        standing = self._known.get(proxy)
        if standing is None or not standing.failures:
            return None
        if now < standing.until:
            # While a probe is in flight, its outcome is expected earlier.
            return Instant(min(standing.until, now + self._rules.pause)) if standing.probing else standing.until
        standing.until = Instant(now + self._rules.lost)
        standing.probing = True
        return None

    def on_outcome(self, proxy: Proxy, host: HostKey, outcome: FetchOutcome, now: Instant) -> bool:
        """Record the outcome of a request through the proxy. True if it failed because of the proxy."""
        standing = self._known.setdefault(proxy, _Standing())
        standing.probing = False
        if not isinstance(outcome, Failed):
            standing.answered = True
        elif outcome.failure in TIMEOUTS:
            return self._on_silence(standing, host, now)
        elif outcome.failure is Failure.PROXY_FAILED:
            if outcome.contacted and standing.answered:
                return False  # it works for other hosts: a host must not be able to pretend that the proxy failed
            self._mark_down(standing, now)
            return True
        standing.failures = 0
        standing.silent.clear()
        return False

    def _on_silence(self, standing: _Standing, host: HostKey, now: Instant) -> bool:
        silent = standing.silent
        times = silent[host] = silent.pop(host, 0) + 1
        if len(silent) < self._rules.silent_hosts:
            standing.failures = 0  # the proxy was reached
            return False
        if len(silent) > _MAX_SILENT:
            del silent[next(iter(silent))]
        self._mark_down(standing, now)
        return times <= self._rules.silences

    def _mark_down(self, standing: _Standing, now: Instant) -> None:
        pause = self._rules.pause * 2.0 ** min(standing.failures, 16)
        standing.failures += 1
        standing.until = Instant(now + min(pause, self._rules.longest_pause))
