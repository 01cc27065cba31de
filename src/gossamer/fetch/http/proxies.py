"""Is a proxy down? Pure: time is a parameter.

A proxy that cannot be reached, or that does not take our credentials, is our trouble and nobody else's: whoever would
be asked through it waits, and loses nothing. After a pause one visit goes ahead and finds out; the others wait for it.

    UP ── not reached ──► DOWN ── its pause is over ──► one probe ── an answer ──► UP
                            ▲                               │
                            └────── not reached, or lost ───┘

One that is reached and says nothing may be waiting for the host. It is taken to be down when several hosts in a row got
no answer through it, and none got one in between. A host that is silent time and again is blamed all the same: else
hosts that never answer would wait for a proxy that works, for ever.
"""

from dataclasses import dataclass, field

from gossamer.fetch.http.options import Proxy
from gossamer.model.outcome import Failed, Failure, FetchOutcome
from gossamer.model.units import HostKey, Instant, Seconds

TIMEOUTS = frozenset(
    (Failure.CONNECT_TIMEOUT, Failure.TLS_HANDSHAKE_TIMEOUT, Failure.READ_TIMEOUT, Failure.TOTAL_TIMEOUT)
)
_MAX_SILENT = 1000  # hosts remembered; whoever fell silent first is forgotten first


@dataclass(frozen=True, slots=True)
class ProxyRules:
    pause: Seconds = Seconds(1.0)  # after the first failure; doubling
    longest_pause: Seconds = Seconds(15.0)  # so that a proxy that is back is noticed soon: it is ours to ask
    lost: Seconds = Seconds(30.0)  # a probe without a report for so long: another may go
    silent_hosts: int = 3  # in a row: then it is the proxy
    silences: int = 3  # of one host among them: then it is blamed itself


@dataclass(slots=True)
class _Standing:
    answered: bool = False  # ever
    failures: int = 0  # in a row
    until: Instant = Instant(0.0)
    probing: bool = False
    silent: dict[HostKey, int] = field(default_factory=dict)  # hosts that got no answer since anybody got one


class Proxies:
    """How the proxies of a crawl do. Invariant: while one is down, at most one probe of it is out."""

    def __init__(self, rules: ProxyRules | None = None) -> None:
        self._rules = rules or ProxyRules()
        self._known: dict[Proxy, _Standing] = {}

    @property
    def failing(self) -> bool:
        """Whether any of them is down, as far as is known."""
        return any(standing.failures for standing in self._known.values())

    def wait_for(self, proxy: Proxy, now: Instant) -> Instant | None:
        """When to come back because it is down; None: go ahead, and tell with `heard` what came of it."""
        standing = self._known.get(proxy)
        if standing is None or not standing.failures:
            return None
        if now < standing.until:
            # While a probe is out that is not how long it will take.
            return Instant(min(standing.until, now + self._rules.pause)) if standing.probing else standing.until
        standing.until = Instant(now + self._rules.lost)
        standing.probing = True
        return None

    def on_outcome(self, proxy: Proxy, host: HostKey, outcome: FetchOutcome, now: Instant) -> bool:
        """What came of a request to a host through it. True if it failed because of the proxy."""
        standing = self._known.setdefault(proxy, _Standing())
        standing.probing = False
        if not isinstance(outcome, Failed):
            standing.answered = True
        elif outcome.failure in TIMEOUTS:
            return self._on_silence(standing, host, now)
        elif outcome.failure is Failure.PROXY_FAILED:
            if outcome.contacted and standing.answered:
                return False  # it works for others: a host may speak like a proxy, but not for it
            self._mark_down(standing, now)
            return True
        standing.failures = 0
        standing.silent.clear()
        return False

    def _on_silence(self, standing: _Standing, host: HostKey, now: Instant) -> bool:
        silent = standing.silent
        times = silent[host] = silent.pop(host, 0) + 1
        if len(silent) < self._rules.silent_hosts:
            standing.failures = 0  # it was reached
            return False
        if len(silent) > _MAX_SILENT:
            del silent[next(iter(silent))]
        self._mark_down(standing, now)
        return times <= self._rules.silences

    def _mark_down(self, standing: _Standing, now: Instant) -> None:
        pause = self._rules.pause * 2.0 ** min(standing.failures, 16)
        standing.failures += 1
        standing.until = Instant(now + min(pause, self._rules.longest_pause))
