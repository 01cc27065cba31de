"""Is it the name that does not resolve, or is the resolver itself sick? Pure: time is a parameter.

    CLOSED ── most names of late, or all while one waited, got no answer anywhere ──► OPEN
      ▲                                                                          pause │  ▲
      │                                                                           over │  │ no answer,
      └──────────── an answer ──────── PROBING (one question at a time) ◄──────────────┘  │ or lost
                                            └─────────────────────────────────────────────┘

While it is not CLOSED no new name is asked for: those who ask are told when to come back. Names that are known go on
with what is known of them.
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
    names: int = 20  # the last so many different names are looked at
    share: float = 0.6  # so many of them unanswered: the resolver is sick
    least: int = 5  # of fewer names nothing follows,
    quiet: Seconds = Seconds(2.0)  # unless nobody was answered for so long, or while the name waited
    memory: Seconds = Seconds(60.0)  # older outcomes say nothing about now
    pause: Seconds = Seconds(2.0)  # between probes; short, so that a resolver that is back is noticed at once
    lost: Seconds = Seconds(6.0)  # a probe without a report for so long: another may be sent
    # After a good probe the names are to blame for so long: longer than a question takes that is asked once more then.
    calm: Seconds = Seconds(8.0)


class ResolverBreaker:
    """Watches what becomes of questions.

    Invariants: at most one probe is out; `until` is when the next one may be sent, in the past while CLOSED.
    """

    def __init__(self, rules: BreakerRules) -> None:
        self._rules = rules
        self._recent: OrderedDict[HostKey, tuple[Instant, bool]] = OrderedDict()  # the bool: answered
        self._last_answer: Instant | None = None
        self._calm_until = Instant(0.0)
        self.state = BreakerState.CLOSED
        self.until = Instant(0.0)
        self.recovered_at = Instant(0.0)  # when it was last seen to answer again after it had been sick
        self._confirmed = False  # since it opened a probe or another name has failed: it was not the name
        self.opened = 0

    @property
    def is_closed(self) -> bool:
        return self.state is BreakerState.CLOSED

    def on_answer(self, host: HostKey, now: Instant) -> None:
        """A name server gave an answer about this name, be it a denial. That is what closes the breaker, too."""
        self._last_answer = now
        if not self.is_closed:
            self.recovered_at = now if self._confirmed else self.recovered_at
            self._confirmed = False
            self.state = BreakerState.CLOSED
            self._recent.clear()
            self._calm_until = Instant(now + self._rules.calm)
        self._note(host, now, answered=True)

    def on_no_answer(self, host: HostKey, asked: Instant, now: Instant, *, nobody_there: bool = False) -> None:
        """All servers failed or were silent about a name that was asked for at `asked`.

        `nobody_there`: none of them even listens, which no name can cause.
        """
        self._note(host, now, answered=False)
        if not self.is_closed:
            self._confirmed = True
        elif nobody_there or self._should_open(asked, now):
            self.state = BreakerState.OPEN
            self.until = now  # the first probe goes out at once: it may have been the names
            self.opened += 1

    def take_probe(self, now: Instant) -> bool:
        """Whether the caller is to ask now, on behalf of all. It reports with `answered` or `probe_failed`."""
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
        """Names that went unanswered lately: they are cleared of blame when the resolver turns out to be sick."""
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
            return True  # nobody else was answered at the end of its wait: one failure is enough to look closer
        bad = sum(not answered for _, answered in self._recent.values())
        return len(self._recent) >= self._rules.least and bad >= self._rules.share * len(self._recent)
