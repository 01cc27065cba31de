"""The tiers of the URL-seen test, asked in order. Hot: `benchmarks/bench_seen.py`.

The exact memory of recent fingerprints, of bounded size. Hot: `benchmarks/bench_seen.py`.

A URL's identity in 64 bits. Hot: `benchmarks/bench_seen.py`.

xxh3 seeded with the crawl's secret key: whoever does not know the key cannot make two URLs of one fingerprint and so
hide a page from the crawl. The fingerprints are stored, so key and function stay the same for the life of a crawl.
"""

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import NamedTuple, cast

from xxhash import xxh3_64_digest

from gossamer.model.units import Fingerprint
from gossamer.sketch.bloom import Bloom


class Recent:
    """A set that forgets what has not been met for a while.

    Two generations: additions go to the young one; when that is full it becomes the old one, and the former old one
    is forgotten. Whatever is met in the old one becomes young again, so the links that stand on every page stay.
    This costs two set look-ups, where a list of uses would cost an allocation for each.

    Invariants:
      * "yes" is always true: the fingerprint was added;
      * "no" means nothing: it may have been forgotten;
      * the last `limit // 2` additions are remembered; no more than `limit` plus one batch is held.
    """

    def __init__(self, limit: int) -> None:
        """`limit` is in fingerprints, at about 80 bytes each."""
        if limit < 2:
            raise ValueError(f"a memory of {limit} fingerprints")
        self._generation = limit // 2
        self._young: set[int] = set()
        self._old: set[int] = set()

    def __contains__(self, fingerprint: int) -> bool:
        return fingerprint in self._young or fingerprint in self._old

    def __len__(self) -> int:
        """Places taken; a fingerprint of the old generation that became young again takes two."""
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
        """Add them all, and sort their positions: those held before, and those met for the first time.

        A fingerprint that occurs twice in the batch counts as held the second time.
        """
        young, old = self._young, self._old
        remember = young.add
        held: list[int] = []
        fresh: list[int] = []
        for index, fingerprint in enumerate(fingerprints):
            if fingerprint in young:
                held.append(index)
                continue
            remember(fingerprint)
            if fingerprint in old:
                held.append(index)
            else:
                fresh.append(index)
        self._rotate_when_full()
        return held, fresh

    def _rotate_when_full(self) -> None:
        # Only between batches, never inside one: a batch then cannot forget what it has just added.
        if len(self._young) >= self._generation:
            self._old = self._young
            self._young = set()


class Classified(NamedTuple):
    """Positions in the batch that was asked about; every position is in exactly one of the lists, in order."""

    seen: list[int]  # entered before: at most a reference to count
    new: list[int]  # never met: insert without asking
    unsure: list[int]  # perhaps: insert unless it is there


@dataclass(frozen=True, slots=True)
class SeenStatistics:
    """A snapshot. The first three count answers since the start, one for each link."""

    seen: int
    new: int
    asked: int
    remembered: int
    filter_keys: int
    filter_bytes: int


class SeenTest:
    """Sorts links into seen, new, and to be asked of the store. Does no IO.

    The contract with the store, by which no URL is lost:

      * what `sort_out` calls new or ask goes into the store, in the order of the batches. From then on its
        fingerprint counts as seen: it is in the store or on its way there;
      * a batch that cannot be committed ends the crawl. Links that were called seen meanwhile are found again after
        the restart, because the pages of that batch are still due;
      * after a restart nothing is called new until all the store's fingerprints came in through `warm` and
        `warmed` was said. What is sorted out meanwhile is remembered as well, so it does not matter whether the
        store's reader still meets it.
    """

    def __init__(self, *, capacity: int, error_rate: float = 0.001, remember: int = 1_000_000) -> None:
        """`capacity`: URLs expected in the crawl. `remember`: fingerprints in the exact memory, 80 bytes each."""
        self._recent = Recent(remember)
        self._filter = Bloom(capacity, error_rate)
        self._seen = 0
        self._new = 0
        self._asked = 0

    def classify(self, fingerprints: Sequence[int]) -> Classified:
        """Sort a batch of links. What is new or to be asked is called seen from now on, also within the batch."""
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
        """These are in the store, as we happen to know: seeds, or rows loaded for another reason."""
        self._filter.add_each(fingerprints)
        self._recent.update(fingerprints)

    def forget_recent(self) -> None:
        """Drop the exact memory: the store is asked about everything that the filter does not know to be new."""
        self._recent.clear()

    def warm(self, fingerprints: Sequence[int]) -> None:
        """A chunk of all that the store holds, in any order."""
        self._filter.update(fingerprints)

    def finish_warming(self) -> None:
        """The store holds nothing that was not passed to `warm`, `learn` or `sort_out`. Also said of an empty store."""
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
    """The fingerprints of these URLs, in their order: signed 64-bit integers, as SQL knows them.

    `key` is the crawl's secret, 0 to 2**64 - 1. The URLs are in the form whose identity counts: canonical, or
    minimised where the crawl is so configured.
    """
    # Unpacking all digests at once is cheaper than making each unsigned result signed.
    digests = b"".join(map(xxh3_64_digest, map(str.encode, urls), repeat(key)))
    return cast(list[Fingerprint], list(struct.unpack(f">{len(urls)}q", digests)))


def fingerprint(url: str, key: int) -> Fingerprint:
    """The fingerprint of one URL."""
    return fingerprints((url,), key)[0]
