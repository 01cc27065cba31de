"""When a page changes: a Poisson process that is computed, not remembered.

Time is cut into slots of three mean intervals. How many changes fall into a slot, and when, are hashes of
page and slot; so the version at any time needs only the slots back to the last that has a change.
"""

import math
from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate

from gossamer.model.units import Instant
from gossamer.simweb.chance import draws, lognormal_quantiles

_DAY = 86_400.0
_UNIT = 2.0**-32
_MEAN_PER_SLOT = 3.0
_MOST_PER_SLOT = 15
# e ** -3 of the slots are empty, so that forty in a row never happen.
_LOOK_BACK = 40

_CUMULATIVE = tuple(
    accumulate(math.exp(-_MEAN_PER_SLOT) * _MEAN_PER_SLOT**k / math.factorial(k) for k in range(_MOST_PER_SLOT))
)
_RATE_FACTORS = lognormal_quantiles(1.0, 1.0)


@dataclass(frozen=True, slots=True)
class Version:
    """A state of a page: `number` grows with every change and is 0 for the first state."""

    number: int
    since: Instant


def changes_per_day(key: int, mean: float, static: float) -> float:
    """How often the page with hash `key` changes: never for a share `static`, else log-normal around `mean`."""
    if (key >> 40) & 0xFFFF < static * 65_536:
        return 0.0
    return mean * _RATE_FACTORS[(key >> 32) & 255]


def version_at(key: int, per_day: float, time: Instant) -> Version:
    """The version of the page with hash `key` that is on show at `time`."""
    if per_day > 0.0 and time > 0.0:
        length = _MEAN_PER_SLOT * _DAY / per_day
        slot = int(time // length)
        for earlier in range(slot, max(slot - _LOOK_BACK, -1), -1):
            shown = [moment for moment in changes_in(key, earlier, length) if moment <= time]
            if shown:
                return Version(earlier * (_MOST_PER_SLOT + 1) + len(shown), shown[-1])
    # Made some time in the years 2010 to 2019.
    return Version(0, Instant(1_262_304_000.0 + (key & 0xFFFFFFFF) % 315_000_000))


def changes_between(key: int, per_day: float, start: Instant, end: Instant) -> list[Instant]:
    """The moments after `start`, up to `end`, at which the page with hash `key` changes, in order."""
    if per_day <= 0.0:
        return []
    length = _MEAN_PER_SLOT * _DAY / per_day
    slots = range(int(start // length), int(end // length) + 1)
    return [moment for slot in slots for moment in changes_in(key, slot, length) if start < moment <= end]


def changes_in(key: int, slot: int, length: float) -> list[Instant]:
    """The moments of change in a slot, in order."""
    first, *others = draws(b"%d/%d" % (key, slot), 1 + _MOST_PER_SLOT)
    count = bisect_right(_CUMULATIVE, first * _UNIT)
    return sorted(Instant((slot + draw * _UNIT) * length) for draw in others[:count])
