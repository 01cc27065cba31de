"""Randomness without state: every draw is a hash of what it is for, so that it can be repeated. Also the words of the
simulated web: those in its paths, and paragraphs of prose to fill pages with.

When a page changes is a Poisson process that is computed, not stored. Time is divided into slots of three mean
intervals. How many changes fall into a slot, and when, are hashes of page and slot; so the version at any time needs
only the slots back to the last one with a change.
"""

import math
import random
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


_SLUG_WORDS = """
    amber anchor apple arch atlas autumn basin beacon birch blossom border bottle branch bridge bronze brook
    cabin canal candle canyon castle cedar chalk cherry circle clay cliff cloud clover coast cobalt comet
    copper coral cotton cove crane creek crystal dawn delta desert drift dune dusk eagle echo elm
    ember engine falcon feather fern field flint forest fossil fountain frost garden garnet gate glacier glass
    gold granite grass gravel grove harbor harvest hazel heath heron hill hollow honey horizon iris iron
    island ivory ivy jade jasper kelp kettle lagoon lake lantern larch lark lemon lichen lily limestone
    linen lotus maple marble marsh meadow mint mist moon moss
"""
_SECTION_WORDS = """
    news guides reviews stories science travel history music sports food health culture business letters
    research people places notes projects recipes events gallery library reports
"""
_SYLLABLE_WORDS = "ka lo mi ren tas vo el dar ni su pa rin go the mar is un con ter al ver é sel qua"
_GLUE_WORDS = "the of and to in is that for on with as was by it from are be this which at or had its not were"

SLUGS = tuple(_SLUG_WORDS.split())
SECTIONS = tuple(_SECTION_WORDS.split())
PARAGRAPHS = 2048
ANCHORS = 1024

_SYLLABLES = tuple(_SYLLABLE_WORDS.split())
_GLUE = tuple(_GLUE_WORDS.split())


@lru_cache(maxsize=4)
def paragraphs(seed: int) -> tuple[bytes, ...]:
    """`PARAGRAPHS` paragraphs of HTML, 200 to 1,100 bytes each, the same for the same seed."""
    rng = random.Random(f"{seed}/paragraphs")
    # Many words, most of them rare as in real prose, so that two pages are not near-duplicates by accident.
    vocabulary = ["".join(rng.choices(_SYLLABLES, k=rng.randint(2, 4))) for _ in range(20_000)]
    sentences = [_sentence(rng, vocabulary) for _ in range(6000)]
    return tuple(
        f"<p>{' '.join(rng.choices(sentences, k=rng.randint(3, 9)))}</p>\n".encode() for _ in range(PARAGRAPHS)
    )


@lru_cache(maxsize=4)
def anchors(seed: int) -> tuple[str, ...]:
    """`ANCHORS` texts for links, each the rest of an `<a href="…` after the address."""
    rng = random.Random(f"{seed}/anchors")
    return tuple(f'">{" ".join(rng.choices(SLUGS, k=rng.randint(1, 4)))}</a>' for _ in range(ANCHORS))


def _sentence(rng: random.Random, vocabulary: list[str]) -> str:
    words = [rng.choice(_GLUE) if rng.random() < 0.4 else rng.choice(vocabulary) for _ in range(rng.randint(6, 20))]
    return f"{' '.join(words).capitalize()}."
