"""Circuit breaker of the resolver: detects that DNS as a whole fails, not single names. Pure: time is a parameter.

    CLOSED ── most recent names, or all during one lookup, got no answer ────────────► OPEN
      ▲                                                                          pause │  ▲
      │                                                                           over │  │ no answer,
      └──────────── an answer ──────── PROBING (one query at a time) ◄─────────────────┘  │ or lost
                                            └─────────────────────────────────────────────┘

While it is not CLOSED, no new name is looked up; callers get a time to try again. Cached names are still answered.
"""

from collections import OrderedDict
from dataclasses import dataclass
from enum import Enum

from gossamer.model.units import HostKey, Instant, Seconds


class BreakerState(Enum):
    CLOSED = "closed"
    OPEN = "open"
    PROBING = "probing"


@dataclass(frozen=True, slots=True)
class BreakerRules:
    names: int = 20  # how many of the most recent different names are considered
    share: float = 0.6  # opens if this share of them is unanswered
    least: int = 5  # the least number of names for that,
    quiet: Seconds = Seconds(2.0)  # unless there was no answer for this long, or during the whole lookup
    memory: Seconds = Seconds(60.0)  # older outcomes are ignored
    pause: Seconds = Seconds(2.0)  # between probes; short, so that a recovery is noticed at once
    lost: Seconds = Seconds(6.0)  # after this long without a report of a probe, another may be sent
    # After a successful probe, failures count against the names for this long: longer than one more lookup takes.
    calm: Seconds = Seconds(8.0)


class ResolverBreaker:
    """Watches the outcomes of lookups.

    Invariants: at most one probe is in flight; `until` is when the next one may be sent, in the past while CLOSED.
    """

    def __init__(self, rules: BreakerRules) -> None:
        self._rules = rules
        self._recent: OrderedDict[HostKey, tuple[Instant, bool]] = OrderedDict()  # the bool: answered
        self._last_answer: Instant | None = None
        self._calm_until = Instant(0.0)
        self.state = BreakerState.CLOSED
        self.until = Instant(0.0)
        self.recovered_at = Instant(0.0)  # when the resolver last answered again after an outage
        self._confirmed = False  # a probe or another name has failed since it opened: it was not the name
        self.opened = 0

    @property
    def is_closed(self) -> bool:
        return self.state is BreakerState.CLOSED

    def on_answer(self, host: HostKey, now: Instant) -> None:
        """A name server answered about this name, positively or negatively. Closes the breaker."""
        self._last_answer = now
        if not self.is_closed:
            self.recovered_at = now if self._confirmed else self.recovered_at
            self._confirmed = False
            self.state = BreakerState.CLOSED
            self._recent.clear()
            self._calm_until = Instant(now + self._rules.calm)
        self._note(host, now, answered=True)

    def on_no_answer(self, host: HostKey, asked: Instant, now: Instant, *, unreachable: bool = False) -> None:
        """All servers failed or did not answer about a name whose lookup began at `asked`.

        `unreachable`: none of them is even listening, which no name can cause.
        """
        self._note(host, now, answered=False)
        if not self.is_closed:
            self._confirmed = True
        elif unreachable or self._should_open(asked, now):
            self.state = BreakerState.OPEN
            self.until = now  # the first probe goes out at once: it may have been the names
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
            self._confirmed = True
            self.state = BreakerState.OPEN
            self.until = Instant(now + self._rules.pause)

    def suspects(self) -> list[HostKey]:
        """Names that recently got no answer; their failures are reset if the resolver turns out to be down."""
        return [host for host, (_, answered) in self._recent.items() if not answered]

    def _note(self, host: HostKey, now: Instant, *, answered: bool) -> None:
        recent = self._recent
        recent.pop(host, None)
        recent[host] = (now, answered)
        oldest = now - self._rules.memory
        while len(recent) > self._rules.names or next(iter(recent.values()))[0] < oldest:
            recent.popitem(last=False)

    def _should_open(self, asked: Instant, now: Instant) -> bool:
        if now < self._calm_until:
            return False
        if self._last_answer is None or self._last_answer < max(asked, now - self._rules.quiet):
            return True  # no other name was answered meanwhile: one failure is enough to send a probe
        bad = sum(not answered for _, answered in self._recent.values())
        return len(self._recent) >= self._rules.least and bad >= self._rules.share * len(self._recent)
