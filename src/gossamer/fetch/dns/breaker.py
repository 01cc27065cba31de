"""Circuit breaker of the resolver: detects that DNS as a whole fails, not single names. Pure: time is a parameter.

    CLOSED ── a name got no answer, nor did any other for 5 s ──► OPEN
      ▲                                                     pause │  ▲
      │                                                      over │  │ no answer,
      └───────── an answer ──── PROBING (one query at a time) ◄───┘  │ or lost
                                     └───────────────────────────────┘

While it is not CLOSED, no new name is looked up; callers get a time to try again. Cached names are still answered. The
first probe is sent at once, because the name alone may be the cause: only when another query has failed too, the outage
is confirmed. A server that is slow but answers does not open the breaker.
"""

from dataclasses import dataclass
from enum import Enum

from gossamer.model.units import Instant, Seconds


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
