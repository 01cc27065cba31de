"""The URL-seen test: has this URL entered the crawl before? Hot: benchmarks/bench_seen.py.

Input: the fingerprints of a page's links. A fingerprint is a URL's identity in 64 bits: xxh3 seeded with the crawl's
secret key, so that without the key two URLs with one fingerprint cannot be constructed to hide a page from the crawl.
Fingerprints are stored, so key and function stay the same for the life of a crawl.

Three tiers are consulted in turn, the cheapest first:

1. `Recent`, an exact cache of the latest fingerprints. Its "yes" is certain, its "no" is inconclusive.

2. A Bloom filter over all fingerprints (`sketch.Bloom`). Its "no" is certain, its "yes" is inconclusive.

3. The store, which knows: the URL is inserted unless it is there.

Output: for each link, *seen*, *new* or *unsure*. Invariants: **only the exact cache or the store may say "seen"**, so
an error of the Bloom filter costs a query of the store and never a URL; everything here is a cache of the store, which
may be dropped at any time and is filled from it again.
"""

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import NamedTuple, cast

from xxhash import xxh3_64_digest

from gossamer.model.units import Fingerprint
from gossamer.sketch import Bloom


class Recent:
    """A set that forgets members that were not used for a while.

    Two generations: additions go to the young one; when that is full it becomes the old one, and the previous old one
    is dropped. A member found in the old one is added to the young one, so links that appear on every page stay. This
    costs two set look-ups, where a list of uses would cost an allocation for each.

    Invariants:
      * "yes" is always true: the fingerprint was added;
      * "no" is inconclusive: it may have been forgotten;
      * the last `limit // 2` additions are kept; at most `limit` plus one batch are held.
    """

    def __init__(self, limit: int) -> None:
        """`limit` is in fingerprints, at about 80 bytes each."""
        if limit < 2:
            raise ValueError(f"limit must be at least 2 fingerprints, not {limit}")
        self._generation = limit // 2
        self._young: set[int] = set()
        self._old: set[int] = set()

    def __contains__(self, fingerprint: int) -> bool:
        return fingerprint in self._young or fingerprint in self._old

    def __len__(self) -> int:
        """Entries; a fingerprint in both generations counts twice."""
        return len(self._young) + len(self._old)

    def add(self, fingerprint: int) -> None:
        self._young.add(fingerprint)
        self._rotate_when_full()

    def update(self, fingerprints: Iterable[int]) -> None:
        self._young.update(fingerprints)
        self._rotate_when_full()

    def clear(self) -> None:
        self._young.clear()
        self._old.clear()

    def admit(self, fingerprints: Sequence[int]) -> tuple[list[int], list[int]]:
        """Add all, and return the positions of those held before and of those that are new.

        A fingerprint that occurs twice in the batch counts as held the second time.
        """
        young, old = self._young, self._old
        fresh: list[int] = []
        for index in [i for i, fingerprint in enumerate(fingerprints) if fingerprint not in young]:
            fingerprint = fingerprints[index]
            if fingerprint not in old and fingerprint not in young:
                fresh.append(index)
            young.add(fingerprint)
        self._rotate_when_full()
        return sorted({*range(len(fingerprints))}.difference(fresh)), fresh

    def _rotate_when_full(self) -> None:
        # Between batches only, so that a batch cannot forget what it has just added.
        if len(self._young) >= self._generation:
            self._old = self._young
            self._young = set()


class Classified(NamedTuple):
    """Positions in the batch; every position is in exactly one of the lists, in order."""

    seen: list[int]  # entered before: only references to count
    new: list[int]  # not seen before: insert
    unsure: list[int]  # possibly seen: insert unless it is there


@dataclass(frozen=True, slots=True)
class SeenStatistics:
    """A snapshot. The first three count links since the start."""

    seen: int
    new: int
    asked: int
    remembered: int
    filter_keys: int
    filter_bytes: int


class SeenTest:
    """Classifies links as seen, new, or to be checked by the store. Does no IO.

    The contract with the store, by which no URL is lost:

      * what `classify` calls new or unsure goes into the store, in the order of the batches. From then on its
        fingerprint counts as seen: it is in the store or on its way there;
      * a batch that cannot be committed ends the crawl. Links that were called seen in the meantime are found again
        after the restart, because the pages of that batch are still due;
      * after a restart nothing is called new until all fingerprints of the store were passed to `warm` and
        `finish_warming` was called. What is classified in the meantime is remembered as well, so it does not matter
        whether the store's reader still meets it.
    """

    def __init__(self, *, capacity: int, error_rate: float = 0.001, remember: int = 1_000_000) -> None:
        """`capacity`: URLs expected in the crawl. `remember`: fingerprints in the exact cache, 80 bytes each."""
        self._recent = Recent(remember)
        self._filter = Bloom(capacity, error_rate)
        self._seen = 0
        self._new = 0
        self._asked = 0

    def classify(self, fingerprints: Sequence[int]) -> Classified:
        """Classify a batch of links. New and unsure ones are called seen from now on, also within the batch."""
        seen, fresh = self._recent.admit(fingerprints)
        new: list[int] = []
        ask: list[int] = []
        surely_new = self._filter.add_each([fingerprints[index] for index in fresh])
        for index, sure in zip(fresh, surely_new, strict=True):
            (new if sure else ask).append(index)
        self._seen += len(seen)
        self._new += len(new)
        self._asked += len(ask)
        return Classified(seen, new, ask)

    def add_known(self, fingerprints: Sequence[int]) -> None:
        """Add fingerprints known to be in the store: seeds, or rows loaded for another reason."""
        self._filter.add_each(fingerprints)
        self._recent.update(fingerprints)

    def forget_recent(self) -> None:
        """Drop the exact cache: everything the filter does not know to be new is checked by the store."""
        self._recent.clear()

    def warm(self, fingerprints: Sequence[int]) -> None:
        """Add a chunk of all fingerprints in the store, in any order."""
        self._filter.update(fingerprints)

    def finish_warming(self) -> None:
        """The store holds nothing that was not passed to `warm`, `add_known` or `classify`. Also called for an empty
        store."""
        self._filter.declare_complete()

    def statistics(self) -> SeenStatistics:
        of_filter = self._filter.statistics()
        return SeenStatistics(
            seen=self._seen,
            new=self._new,
            asked=self._asked,
            remembered=len(self._recent),
            filter_keys=of_filter.keys,
            filter_bytes=of_filter.approximate_bytes,
        )


def fingerprints(urls: Sequence[str], key: int) -> list[Fingerprint]:
    """The fingerprints of these URLs, in order: signed 64-bit integers, as SQL has them.

    `key` is the crawl's secret, 0 to 2**64 - 1. The URLs are in the form that is their identity: canonical, or
    minimised if the crawl is configured so.
    """
    # Unpacking all digests at once is cheaper than making each unsigned result signed.
    digests = b"".join(map(xxh3_64_digest, map(str.encode, urls), repeat(key)))
    return cast(list[Fingerprint], list(struct.unpack(f">{len(urls)}q", digests)))


def fingerprint(url: str, key: int) -> Fingerprint:
    """The fingerprint of one URL."""
    return fingerprints((url,), key)[0]
