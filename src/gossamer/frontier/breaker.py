"""Is a host in trouble, and how long is it left alone? Pure: time and chance are parameters.

    CLOSED ─── 5 failures in a row ───► OPEN ─── its rest is over ───► HALF-OPEN: one visit
      ▲                                   ▲                                 │        │
      │                                   └────────── it fails ─────────────┘        │
      └───────────────────────────────── an answer ──────────────────────────────────┘

A host has one visit out at a time, so whichever comes first after a rest is the probe, and the host is back at its full
rate with the first answer. While it is open no URL loses a try: the host is sick, not they. A host that stays sick for
longer than our patience is given up: its URLs go to the dead letters without another request, until the next probe.

A host that was not reached at all rests after the first failure already: no other URL would fare better.

A host that has never answered is waited for only while there is something else to do (`should_stop_waiting`): a crawl
of a host that does not exist ends after a minute.
"""

import random
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, Self

from gossamer.model.units import Instant, Seconds

_MOST_DOUBLINGS = 32
_LAST_PATIENCE = 4.0  # first rests: three or four tries, a minute or a little more
_LEAST_TRIES = 3


@dataclass(frozen=True, slots=True)
class BreakerPolicy:
    """Rests double from the first one on until a minute, so that a host that is back is noticed within it. Trouble that
    has lasted long is noticed to be over within a tenth of the time that it has lasted."""

    opens_after: int = 5
    first_rest: Seconds = Seconds(10.0)
    noticed_within: Seconds = Seconds(60.0)
    noticed_share: float = 0.1
    longest_rest: Seconds = Seconds(3600.0)
    patience: Seconds = Seconds(900.0)  # trouble that lasts longer: the host's URLs are given up

    @property
    def last_patience(self) -> Seconds:
        """So long a host that never answered is waited for when nothing else is left to do."""
        return Seconds(_LAST_PATIENCE * self.first_rest)


class Silence(Enum):
    """Whether a host in trouble has ever answered."""

    NONE = ""  # it has
    NEVER_ANSWERED = "unanswered"
    GIVEN_UP = "given-up"  # it has not, and nobody waits for it any more


class HostFailures(NamedTuple):
    """A host that fails: how often in a row, since when, until when it is left alone, and the last reason."""

    failures: int
    since: Instant
    until: Instant
    reason: str
    silence: Silence = Silence.NONE

    def to_text(self) -> str:
        """`5:1700000000.0:1700000060.0:conn_refused:unanswered`, as it is kept with the host's row over a restart."""
        return f"{self.failures}:{self.since!r}:{self.until!r}:{self.reason}:{self.silence.value}"

    @classmethod
    def from_text(cls, text: str) -> Self | None:
        """The same again; None for what was not written by `to_text`. Never raises."""
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
    """One more failure. `unreached`: it says nothing about the URL; `asked`: the host said how long it wants to be
    left; `unanswered`: nothing has come from the host, neither now nor before its trouble."""
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
    """Whether the host counts as sick."""
    return trouble is not None and trouble.failures >= policy.opens_after


def is_given_up(policy: BreakerPolicy, trouble: HostFailures | None, now: Instant) -> bool:
    """Whether the host has been sick for so long that its URLs wait no longer."""
    if trouble is None:
        return False
    if trouble.silence is Silence.GIVEN_UP:
        return True
    return is_open(policy, trouble) and now - trouble.since >= policy.patience


def should_stop_waiting(policy: BreakerPolicy, trouble: HostFailures, now: Instant) -> bool:
    """Whether nobody would wait longer for this host who has nothing else to do."""
    if trouble.silence is not Silence.NEVER_ANSWERED or trouble.failures < _LEAST_TRIES:
        return False
    return now - trouble.since >= policy.last_patience
