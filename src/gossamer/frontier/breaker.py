"""Per-host circuit breaker: how long a failing host is left alone. Pure: time and random generator are parameters.

    CLOSED ─── 5 failures in a row ───► OPEN ─── its rest is over ───► HALF-OPEN: one visit
      ▲                                   ▲                                 │        │
      │                                   └────────── it fails ─────────────┘        │
      └───────────────────────────────── an answer ──────────────────────────────────┘

A host has one visit in flight at a time, so the first visit after a rest is the probe, and the first answer restores
the full rate. While the breaker is open no URL loses a try, because the fault is the host's. When a host has failed for
longer than `patience`, its URLs become dead letters without another request, until the next probe.

A host that could not be reached at all rests after the first failure: other URLs would fail too.

A crawl waits for a host that has never answered only while there is other work (`should_stop_waiting`): crawling a host
that does not exist ends after a minute.
"""

import random
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, Self

from gossamer.model.units import Instant, Seconds

_MOST_DOUBLINGS = 32
_LAST_PATIENCE = 4.0  # times `first_rest`: three or four tries, about a minute
_LEAST_TRIES = 3


@dataclass(frozen=True, slots=True)
class BreakerPolicy:
    """Rests double from `first_rest` up to a minute, so that a recovered host is noticed within that time. After long
    failures, recovery is noticed within a tenth of the time that they have lasted."""

    opens_after: int = 5
    first_rest: Seconds = Seconds(10.0)
    noticed_within: Seconds = Seconds(60.0)
    noticed_share: float = 0.1
    longest_rest: Seconds = Seconds(3600.0)
    patience: Seconds = Seconds(900.0)  # after this long, the host's URLs are given up

    @property
    def last_patience(self) -> Seconds:
        """How long to wait for a host that never answered when there is no other work."""
        return Seconds(_LAST_PATIENCE * self.first_rest)


class Silence(Enum):
    """Whether a failing host has ever answered."""

    NONE = ""  # it has
    NEVER_ANSWERED = "unanswered"
    GIVEN_UP = "given-up"  # it has not, and the crawl no longer waits for it


class HostFailures(NamedTuple):
    """The failures of a host: how many in a row, since when, until when it is left alone, and the last reason."""

    failures: int
    since: Instant
    until: Instant
    reason: str
    silence: Silence = Silence.NONE

    def to_text(self) -> str:
        """`5:1700000000.0:1700000060.0:conn_refused:unanswered`, as stored in the host's row."""
        return f"{self.failures}:{self.since!r}:{self.until!r}:{self.reason}:{self.silence.value}"

    @classmethod
    def from_text(cls, text: str) -> Self | None:
        """The inverse of `to_text`; None for any other text. Never raises."""
        try:
            failures, since, until, words = text.split(":", 3)
            reason, _, silence = words.partition(":")
            return cls(int(failures), Instant(float(since)), Instant(float(until)), reason, Silence(silence))
        except ValueError:
            return None


def after_failure(
    policy: BreakerPolicy,
    before: HostFailures | None,
    reason: str,
    now: Instant,
    chance: random.Random,
    *,
    unreached: bool,
    asked: Seconds | None = None,
    unanswered: bool = False,
) -> HostFailures:
    """Count one more failure. `unreached`: it says nothing about the URL; `asked`: the delay the host asked for;
    `unanswered`: the host has sent nothing, neither now nor before."""
    failures, since = (1, now) if before is None else (before.failures + 1, before.since)
    silence = Silence.NONE
    if unanswered:
        silence = Silence.NEVER_ANSWERED if before is None else before.silence
    doublings = failures - (1 if unreached else policy.opens_after)
    rest = 0.0
    if doublings >= 0:
        soon = min(policy.first_rest * 2.0 ** min(doublings, _MOST_DOUBLINGS), policy.noticed_within)
        rest = min(max(soon, policy.noticed_share * (now - since)), policy.longest_rest) * chance.uniform(0.8, 1.0)
    return HostFailures(failures, since, Instant(now + max(rest, asked or 0.0)), reason, silence)


def is_open(policy: BreakerPolicy, trouble: HostFailures | None) -> bool:
    """Whether the breaker is open."""
    return trouble is not None and trouble.failures >= policy.opens_after


def is_given_up(policy: BreakerPolicy, trouble: HostFailures | None, now: Instant) -> bool:
    """Whether the host has failed for so long that its URLs are given up."""
    if trouble is None:
        return False
    if trouble.silence is Silence.GIVEN_UP:
        return True
    return is_open(policy, trouble) and now - trouble.since >= policy.patience


def should_stop_waiting(policy: BreakerPolicy, trouble: HostFailures, now: Instant) -> bool:
    """Whether a crawl with no other work should stop waiting for this host."""
    if trouble.silence is not Silence.NEVER_ANSWERED or trouble.failures < _LEAST_TRIES:
        return False
    return now - trouble.since >= policy.last_patience
