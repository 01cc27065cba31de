"""Chance without state: every draw is a hash of what it is drawn for, so it can be drawn again."""

import math
import struct
from functools import lru_cache
from hashlib import shake_128
from statistics import NormalDist

from xxhash import xxh3_64_intdigest

_UNIT = 2.0**-64
_QUANTILES = 256


def hash64(*parts: int | str) -> int:
    """64 well-mixed bits of `parts`; the first is by custom the web's seed, the second says what for."""
    return int(xxh3_64_intdigest("/".join(map(str, parts)).encode()))


def page_key(seed: int, host: int, page: int) -> int:
    """The hash from which all that is particular to one page is told. `hash64`, but quicker."""
    return int(xxh3_64_intdigest(b"%d/%d/%d" % (seed, host, page)))


def uniform(*parts: int | str) -> float:
    """A number in [0, 1)."""
    return hash64(*parts) * _UNIT


def draws(key: bytes, count: int) -> tuple[int, ...]:
    """`count` numbers of 32 bits each, independent of each other. The cheapest way to get many."""
    return _unpacker(count).unpack(shake_128(key).digest(4 * count))


def short_draws(key: bytes, count: int) -> tuple[int, ...]:
    """`count` numbers of 16 bits each."""
    return _short_unpacker(count).unpack(shake_128(key).digest(2 * count))


def lognormal_quantiles(mean: float, spread: float) -> tuple[float, ...]:
    """256 values that, picked with equal chance, are log-normal with that mean; `spread` is sigma."""
    normal = NormalDist()
    middle = math.log(mean) - spread * spread / 2
    return tuple(math.exp(middle + spread * normal.inv_cdf((k + 0.5) / _QUANTILES)) for k in range(_QUANTILES))


@lru_cache(maxsize=4096)
def _unpacker(count: int) -> struct.Struct:
    return struct.Struct(f"<{count}I")


@lru_cache(maxsize=4096)
def _short_unpacker(count: int) -> struct.Struct:
    return struct.Struct(f"<{count}H")
