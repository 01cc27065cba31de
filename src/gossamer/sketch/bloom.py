"""A Bloom filter that grows: "surely new" or "possibly known". Hot: benchmarks/bench_seen.py.

A Bloom filter has to know in advance how many keys will be added, and a crawl does not. So this is a chain of filters
(a scalable Bloom filter): when one has taken the keys it was made for, a larger one follows it. The error rate of the
chain is at most the sum over its filters, so each filter gets a share, and the shares add up to the given rate however
many filters there are.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from rbloom import Bloom as _Filter

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
