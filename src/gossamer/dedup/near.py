"""The content-seen test for near-duplicates: is there a document that is almost this one? Hot: bench_neardup.py.

Documents are as far apart as their signatures (`gossamer.sketch.minhash`), and those within `MAX_DISTANCE` are found by
the bands that they share (`gossamer.sketch.bands`): the latest in a table in memory, all others in the store.

Only originals are in the tables. A near-duplicate belongs to the original that it was compared with, and nothing
is compared with it: so no chain of small steps makes one document of two different ones, and a host with a million
copies of one page has one entry.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from gossamer.sketch.bands import BANDS, MAX_DISTANCE, bands_of
from gossamer.sketch.bloom import Bloom

_BYTES: Final = 64


class Near(NamedTuple):
    """The original that a document is almost the same as."""

    owner: int
    distance: int


class Ask(NamedTuple):
    """Memory has no answer: the store may hold originals with some of these bands."""

    bands: list[int]


@dataclass(frozen=True, slots=True)
class NearStatistics:
    """A snapshot. The first three count answers since the start."""

    near: int
    new: int
    asked: int
    remembered: int
    filter_keys: int
    filter_bytes: int
    warm: bool


def nearest(signature: bytes, originals: Iterable[tuple[int, bytes]]) -> Near | None:
    """The closest of some originals (owner, signature), if it is close enough; the first owner of several."""
    ours = int.from_bytes(signature, "little")
    best: Near | None = None
    for owner, theirs in originals:
        apart = _BYTES - (ours ^ int.from_bytes(theirs, "little")).to_bytes(_BYTES, "little").count(0)
        if apart <= MAX_DISTANCE and (best is None or (apart, owner) < (best.distance, best.owner)):
            best = Near(owner, apart)
    return best


class NearSeen:
    """Finds the original that a document nearly repeats. Does no IO.

    `look` answers from memory, or says which bands to ask the store for; what the store finds goes through `nearest`.
    Whoever finds nothing near says `learn` before looking again: the document is an original then. The latest
    `remember` originals are held, about a kilobyte each; a Bloom filter knows the bands of all others, so that the
    store is asked only about bands that it has (but for one page in a thousand).
    """

    def __init__(self, *, capacity: int, remember: int = 20_000, error_rate: float = 0.0001) -> None:
        """`capacity`: documents expected in the crawl. `error_rate`: of the filter, for each band."""
        if remember < 1:
            raise ValueError(f"a memory of {remember} signatures")
        self._remember = remember
        self._signatures: dict[int, bytes] = {}  # by owner, the oldest first
        self._owners: dict[int, int | list[int]] = {}  # by band; seldom more than one
        self._filter = Bloom(capacity * BANDS, error_rate)
        self._whole = False  # memory holds every original that there is
        self._dropped = False  # it has had to forget some
        self._near = 0
        self._new = 0
        self._asked = 0

    @property
    def whole(self) -> bool:
        """Memory holds every original there is: the store need not be asked."""
        return self._whole

    def look(self, signature: bytes, visitor: int) -> Near | Ask | None:
        """What `visitor`'s document nearly repeats: an original of another URL, in memory; None if there is none at
        all; or a question. Changes nothing."""
        bands = bands_of(signature)
        if not self._owners.keys().isdisjoint(bands):  # seldom
            signatures = self._signatures
            near = nearest(signature, [(owner, signatures[owner]) for owner in self._under(bands) - {visitor}])
            if near is not None:
                self._near += 1
                return near
        if not self._whole:
            filter_ = self._filter
            perhaps = [band for band in bands if band in filter_]
            if perhaps:
                self._asked += 1
                return Ask(perhaps)
        self._new += 1
        return None

    def _under(self, bands: Iterable[int]) -> set[int]:
        """Who stands in memory under any of these."""
        found: set[int] = set()
        for band in bands:
            owner = self._owners.get(band)
            if isinstance(owner, int):
                found.add(owner)
            elif owner is not None:
                found.update(owner)
        return found

    def learn(self, signature: bytes, owner: int) -> None:
        """This document is an original, in place of what `owner` had before."""
        if owner in self._signatures:
            self.forget(owner)
        elif len(self._signatures) >= self._remember:
            oldest, its_signature = next(iter(self._signatures.items()))
            self._filter.add_each(bands_of(its_signature))
            self.forget(oldest)
            self._whole, self._dropped = False, True
        self._signatures[owner] = signature
        owners = self._owners
        for band in bands_of(signature):
            before = owners.setdefault(band, owner)
            if before is owner:  # nobody else stands there: the usual case
                continue
            if isinstance(before, list):
                before.append(owner)
            elif before != owner:
                owners[band] = [before, owner]

    def forget(self, owner: int) -> None:
        """Drop an original from memory: it is none any more."""
        signature = self._signatures.pop(owner, None)
        if signature is None:
            return
        owners = self._owners
        for band in bands_of(signature):
            there = owners[band]
            if not isinstance(there, list):
                del owners[band]
                continue
            there.remove(owner)
            if len(there) == 1:
                owners[band] = there[0]

    def recall(self, originals: Sequence[tuple[int, bytes]]) -> None:
        """Some originals (owner, signature) of the store, into memory, as far as there is room and nothing newer."""
        for owner, signature in originals:
            if owner not in self._signatures and len(self._signatures) < self._remember:
                self.learn(signature, owner)

    def warm(self, bands: Sequence[int]) -> None:
        """A chunk of all bands that the store holds, in any order."""
        self._filter.update(bands)

    def warmed(self, *, whole: bool = False) -> None:
        """Whatever the store holds was passed to `warm`, `recall` or `learn`; `whole`: nothing of it to `warm`."""
        self._filter.declare_complete()
        self._whole = whole and not self._dropped

    def statistics(self) -> NearStatistics:
        of_filter = self._filter.statistics()
        return NearStatistics(
            near=self._near,
            new=self._new,
            asked=self._asked,
            remembered=len(self._signatures),
            filter_keys=of_filter.keys,
            filter_bytes=of_filter.approximate_bytes,
            warm=of_filter.ready,
        )
