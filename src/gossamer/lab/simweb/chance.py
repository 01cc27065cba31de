"""Randomness without state: every draw is a hash of what it is for, so that it can be repeated.

Also when a page changes: a Poisson process that is computed, not stored. Time is divided into slots of three mean
intervals. How many changes fall into a slot, and when, are hashes of page and slot; so the version at any time needs
only the slots back to the last one with a change.
"""

import math
import struct
from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache
from hashlib import shake_128
from itertools import accumulate
from statistics import NormalDist

from xxhash import xxh3_64_intdigest

from gossamer.model.units import DAY, Instant

_UNIT = 2.0**-64
_QUANTILES = 256


def hash64(*parts: int | str) -> int:
    """64 well-mixed bits of `parts`; by convention the first is the web's seed, the second the purpose."""
    return int(xxh3_64_intdigest("/".join(map(str, parts)).encode()))


def page_key(seed: int, host: int, page: int) -> int:
    """The hash from which all properties of one page are derived. Like `hash64`, but faster."""
    return int(xxh3_64_intdigest(b"%d/%d/%d" % (seed, host, page)))


def uniform(*parts: int | str) -> float:
    """A number in [0, 1)."""
    return hash64(*parts) * _UNIT


def draws(key: bytes, count: int) -> tuple[int, ...]:
    """`count` independent numbers of 32 bits each. The cheapest way to get many."""
    return _unpacker(count).unpack(shake_128(key).digest(4 * count))


def short_draws(key: bytes, count: int) -> tuple[int, ...]:
    """`count` numbers of 16 bits each."""
    return _short_unpacker(count).unpack(shake_128(key).digest(2 * count))


def lognormal_quantiles(mean: float, spread: float) -> tuple[float, ...]:
    """256 values that, picked with equal probability, are log-normal with that mean; `spread` is sigma."""
    normal = NormalDist()
    middle = math.log(mean) - spread * spread / 2
    return tuple(math.exp(middle + spread * normal.inv_cdf((k + 0.5) / _QUANTILES)) for k in range(_QUANTILES))


@lru_cache(maxsize=4096)
def _unpacker(count: int) -> struct.Struct:
    return struct.Struct(f"<{count}I")


@lru_cache(maxsize=4096)
def _short_unpacker(count: int) -> struct.Struct:
    return struct.Struct(f"<{count}H")


_HALF_UNIT = 2.0**-32
_MEAN_PER_SLOT = 3.0
_MAX_PER_SLOT = 15
# e ** -3 of the slots are empty, so forty in a row never happen.
_LOOK_BACK = 40

_CUMULATIVE = tuple(
    accumulate(math.exp(-_MEAN_PER_SLOT) * _MEAN_PER_SLOT**k / math.factorial(k) for k in range(_MAX_PER_SLOT))
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
    """The version of the page with hash `key` at `time`."""
    if per_day > 0.0 and time > 0.0:
        length = _MEAN_PER_SLOT * DAY / per_day
        slot = int(time // length)
        for earlier in range(slot, max(slot - _LOOK_BACK, -1), -1):
            shown = [at for at in changes_in(key, earlier, length) if at <= time]
            if shown:
                return Version(earlier * (_MAX_PER_SLOT + 1) + len(shown), shown[-1])
    # Created some time in the years 2010 to 2019.
    return Version(0, Instant(1_262_304_000.0 + (key & 0xFFFFFFFF) % 315_000_000))


def changes_between(key: int, per_day: float, start: Instant, end: Instant) -> list[Instant]:
    """The times after `start`, up to `end`, at which the page with hash `key` changes, in order."""
    if per_day <= 0.0:
        return []
    length = _MEAN_PER_SLOT * DAY / per_day
    slots = range(int(start // length), int(end // length) + 1)
    return [at for slot in slots for at in changes_in(key, slot, length) if start < at <= end]


def changes_in(key: int, slot: int, length: float) -> list[Instant]:
    """The times of change in a slot, in order."""
    first, *others = draws(b"%d/%d" % (key, slot), 1 + _MAX_PER_SLOT)
    count = bisect_right(_CUMULATIVE, first * _HALF_UNIT)
    return sorted(Instant((slot + draw * _HALF_UNIT) * length) for draw in others[:count])
