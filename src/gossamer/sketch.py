"""Much in little memory: a Bloom filter of keys, signatures of texts, a histogram of durations. Hot:
benchmarks/bench_seen.py, benchmarks/bench_neardup.py, benchmarks/bench_crawl.py.

**Bloom filter** ("surely new" or "possibly known"). A Bloom filter has to know in advance how many keys will be added,
and a crawl does not. So this is a chain of filters (a scalable Bloom filter): when one has taken the keys it was made
for, a larger one follows it. The error rate of the chain is at most the sum over its filters, so each filter gets a
share, and the shares add up to the given rate however many filters there are.

**MinHash signatures** (similar texts have similar signatures). A text is the set of its shingles: the `SHINGLE`
characters that begin at each word, up to the end of the line; so the order of lines, as in a menu, does not matter.
Each shingle is hashed into one of 64 bins, and the smallest hash of each bin is kept (one-permutation MinHash): two
texts agree in a bin about as often as their sets overlap, |A and B| / |A or B|. Eight bits of each smallest hash are
enough, so a signature is 64 bytes, and the distance of two is the number of bytes in which they differ. Why not
simhash, and why these numbers: ADR 13.

**Durations** in classes that double. A plain list of counts: adding one costs a tenth of a microsecond, and single
values are not kept. Quantiles are known to a factor of two, and better by interpolation, as in Prometheus.
"""

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, NamedTuple

from rbloom import Bloom as _Filter

from gossamer.native import kernels

_GROWTH = 2  # each filter holds this many times the keys of the one before it
_TIGHTENING = 0.5  # and makes this fraction of its errors: 1/2 + 1/4 + 1/8 + … is the whole
_RESERVE = 0.9  # measured: filters of rbloom exceed their error rate by up to 5 %


@dataclass(frozen=True, slots=True)
class BloomStatistics:
    """A snapshot."""

    keys: int
    capacity: int
    filters: int
    approximate_bytes: int
    error_rate: float
    ready: bool


class Bloom:
    """A set of 64-bit integers without false negatives.

    Invariants:
      * a key that was added is never called surely new;
      * once `ready`, a key that was not added is called surely new, except for a fraction of at most `error_rate`;
      * until `ready` no key is called surely new: not all existing keys have been added yet.

    Keys must already be evenly distributed (fingerprints, digests): the filter uses Python's `hash`, which for an int
    is almost the int itself, and that is more than twice as fast as calling a hash function of our own.
    """

    def __init__(self, capacity: int, error_rate: float, *, ready: bool = False) -> None:
        """`capacity` is the number of keys expected; more only cost a further filter and a little time."""
        if capacity < 1:
            raise ValueError(f"capacity must be at least 1 key, not {capacity}")
        if not 0.0 < error_rate < 1.0:
            raise ValueError(f"error_rate must be between 0 and 1, not {error_rate}")
        self.error_rate = error_rate
        self._ready = ready
        self._keys = 0
        self._capacity = capacity  # of the newest filter
        self._room = capacity  # left in the newest filter
        self._share = error_rate * _RESERVE * (1.0 - _TIGHTENING)  # of the error rate, for the newest filter
        self._newest = _Filter(capacity, self._share)
        self._full: tuple[_Filter, ...] = ()  # newest first: most keys are there

    @property
    def ready(self) -> bool:
        """Whether "surely new" can be relied on."""
        return self._ready

    def declare_complete(self) -> None:
        """All existing keys have been added: from now on an absent key is new."""
        self._ready = True

    def __contains__(self, key: int) -> bool:
        """False: the key is surely new. True: possibly known, check elsewhere."""
        if not self._ready or key in self._newest:
            return True
        return bool(self._full) and any(key in older for older in self._full)

    def add(self, key: int) -> None:
        """Add a key. One that is there already (or seems to be) takes no space."""
        if key in self._newest or (self._full and any(key in older for older in self._full)):
            return
        self._newest.add(key)
        self._keys += 1
        self._room -= 1
        if self._room == 0:
            self._grow()

    def add_each(self, keys: Iterable[int]) -> list[bool]:
        """Add all keys, and return for each whether it was surely new."""
        ready = self._ready
        newest, full = self._newest, self._full
        verdicts: list[bool] = []
        append = verdicts.append
        for key in keys:
            if key in newest or (full and any(key in older for older in full)):
                append(False)
                continue
            newest.add(key)
            self._keys += 1
            self._room -= 1
            if self._room == 0:
                self._grow()
                newest, full = self._newest, self._full
            append(ready)
        return verdicts

    def update(self, keys: Sequence[int]) -> None:
        """Add many distinct keys at the speed of the native filter, as when warming up.

        Repeated keys are counted again, so a chunk added twice makes the filter grow early.
        """
        waiting = iter(keys)
        left = len(keys)
        while left:
            taken = min(left, self._room)
            self._newest.update(islice(waiting, taken))
            self._keys += taken
            self._room -= taken
            left -= taken
            if self._room == 0:
                self._grow()

    def statistics(self) -> BloomStatistics:
        filters = (self._newest, *self._full)
        return BloomStatistics(
            keys=self._keys,
            capacity=self._keys + self._room,
            filters=len(filters),
            approximate_bytes=sum(one.size_in_bits for one in filters) // 8,
            error_rate=self.error_rate,
            ready=self._ready,
        )

    def _grow(self) -> None:
        self._full = (self._newest, *self._full)
        self._capacity *= _GROWTH
        self._room = self._capacity
        self._share *= _TIGHTENING
        self._newest = _Filter(self._capacity, self._share)


BINS: Final = 64
"""Bytes of a signature."""

SHINGLE: Final = 12
"""Characters of a shingle: two or three English words, a clause in a language written without spaces."""

MIN_BINS: Final = 24
"""A text whose shingles fill fewer bins has no signature: with thirty words, a single one is too large a part."""

MAX_CHARACTERS: Final = 1 << 18
"""Only this much of a text is hashed: longer texts that differ only after it are rare."""


_LINE_END: Final = " " * (SHINGLE - 1)  # separates shingles of one line from the next
_FIRST, _SECOND, _FINISH = 0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0xD6E8FEB86659FD93  # odd and otherwise arbitrary
_MASK: Final = (1 << 64) - 1


def signature(text: str) -> bytes | None:
    """The signature of a text, 64 bytes, or None if the text is too short.

    Depends only on the characters, not on the process, the machine or the version of Python.
    """
    if kernels is not None:
        return kernels.signature(text, MAX_CHARACTERS, MIN_BINS)
    return signature_in_python(text, MAX_CHARACTERS, MIN_BINS)


def signature_in_python(text: str, most: int, least: int) -> bytes | None:
    """The signature of the first `most` characters, if they fill `least` bins. The reference for the C version."""
    coded = (" " + text[:most].replace("\n", _LINE_END)).encode("utf-16-le", "surrogatepass")
    units = struct.unpack(f"<{len(coded) // 2}H", coded)
    raw = bytes((unit ^ unit >> 8) & 0xFF for unit in units) + b" " * SHINGLE  # eight bits of each are enough
    smallest: dict[int, int] = {}  # bin -> hash
    shingles = 0
    for at in range(1, len(units)):
        unit = units[at]
        # A word begins, or it is a script of East or South-East Asia: there every character begins a shingle.
        if unit > 32 >= units[at - 1] or 0x0E00 <= unit < 0x10A0 or unit >= 0x2E80:
            shingles += 1
            first, second = int.from_bytes(raw[at : at + 8], "little"), int.from_bytes(raw[at + 8 : at + 12], "little")
            hashed = (first * _FIRST + second * _SECOND) & _MASK
            # A sum of products alone is too regular: similar texts would have similar hashes.
            hashed = (hashed ^ hashed >> 32) * _FINISH & _MASK
            number = hashed >> 58
            if hashed < smallest.get(number, _MASK):
                smallest[number] = hashed
    if shingles < least or len(smallest) < least:
        return None
    # An empty bin takes the hash of the next bin that has one, changed by how far that was.
    steps = [next(step for step in range(BINS) if (number + step) % BINS in smallest) for number in range(BINS)]
    return bytes(((smallest[(number + step) % BINS] >> 32) + step * 0x9D) & 0xFF for number, step in enumerate(steps))


def distance(one: bytes, other: bytes) -> int:
    """The number of bytes in which two signatures differ: 0 to 64."""
    apart = int.from_bytes(one, "little") ^ int.from_bytes(other, "little")
    return BINS - apart.to_bytes(BINS, "little").count(0)


_CLASSES: Final = 64


class Spread(NamedTuple):
    """A snapshot. Class n counts durations of more than 2**(n-1) and at most 2**n microseconds."""

    counts: tuple[int, ...] = (0,) * _CLASSES
    total: int = 0  # microseconds

    @property
    def number(self) -> int:
        return sum(self.counts)

    @property
    def seconds(self) -> float:
        return self.total / 1e6

    def up_to(self, first: int, last: int) -> list[tuple[float, int]]:
        """(seconds, number that took at most this long) for the bounds of these classes, cumulative like Prometheus
        buckets: earlier classes are included, later ones are not."""
        found = []
        number = sum(self.counts[:first])
        for which in range(first, last + 1):
            number += self.counts[which]
            found.append((2**which / 1e6, number))
        return found


class Durations:
    """Counts durations. Owned by one thread; others may read.

    Hot callers may update `counts` themselves, as `note` does; its last element is the sum.
    """

    __slots__ = ("counts",)

    def __init__(self) -> None:
        self.counts = [0] * (_CLASSES + 1)

    def note(self, microseconds: int) -> None:
        """Add one. A negative duration (the clock was set back) counts as 0."""
        if microseconds <= 0:
            microseconds = 0
        self.counts[(microseconds - 1).bit_length()] += 1
        self.counts[-1] += microseconds

    def note_seconds(self, seconds: float) -> None:
        self.note(int(seconds * 1e6))

    def spread(self) -> Spread:
        return Spread(tuple(self.counts[:-1]), self.counts[-1])
