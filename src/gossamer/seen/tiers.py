"""The tiers of the URL-seen test, asked in order. Hot: `benchmarks/bench_seen.py`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from gossamer.seen.recent import Recent
from gossamer.sketch.bloom import Bloom


class Sorted(NamedTuple):
    """Positions in the batch that was asked about; every position is in exactly one of the lists, in order."""

    seen: list[int]  # entered before: at most a reference to count
    new: list[int]  # never met: insert without asking
    ask: list[int]  # perhaps: insert unless it is there


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

    def sort_out(self, fingerprints: Sequence[int]) -> Sorted:
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
        return Sorted(seen, new, ask)

    def learn(self, fingerprints: Sequence[int]) -> None:
        """These are in the store, as we happen to know: seeds, or rows loaded for another reason."""
        self._filter.add_each(fingerprints)
        self._recent.update(fingerprints)

    def forget_recent(self) -> None:
        """Drop the exact memory: the store is asked about everything that the filter does not know to be new."""
        self._recent.clear()

    def warm(self, fingerprints: Sequence[int]) -> None:
        """A chunk of all that the store holds, in any order."""
        self._filter.update(fingerprints)

    def warmed(self) -> None:
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
