"""Who is first, when what each has to offer may fall behind our back. Hot: benchmarks/bench_frontier.py.

A rise is told at once, a fall is found out at the top: so a term that all URLs of a domain share, and that falls with
every visit, costs one entry in a heap and not one for each of them.

Hot: who is best, when what each is worth may fall behind our back (benchmarks/bench_orderings.py).

A worth is a *place*: one whole number, `entry - score * 2**40`. The smallest is the highest score, and among equals the
oldest entry. Scores are whole numbers too, so that sums are exact and equals are equal.
"""

from collections.abc import Callable
from heapq import heapify, heappop, heappush, heapreplace

Key = tuple[float, int]
"""(minus the total score, url_id): the smallest is first."""

_SLACK = 64  # stale entries that are not worth a sweep


class LazyHeap:
    """Bidders by what they offer, smallest key first.

    Invariant: a bidder with something to offer has exactly one valid entry, the one in `_promised`, which is at least
    as good as what it has. So when the first entry is true, nothing better is hidden behind it.
    """

    __slots__ = ("_heap", "_promised", "_true")

    def __init__(self, true: Callable[[int], Key | None]) -> None:
        """`true` says what a bidder has to offer now; None is nothing."""
        self._true = true
        self._heap: list[tuple[Key, int]] = []
        self._promised: dict[int, Key] = {}

    def __len__(self) -> int:
        """Entries, stale ones among them."""
        return len(self._heap)

    def raise_to(self, who: int, key: Key) -> None:
        """The bidder may have as much as `key` to offer."""
        promised = self._promised.get(who)
        if promised is None or key < promised:
            self._promised[who] = key
            if len(self._heap) >= 2 * len(self._promised) + _SLACK:
                self._heap = [(promise, bidder) for bidder, promise in self._promised.items()]
                heapify(self._heap)
            else:
                heappush(self._heap, (key, who))

    def first(self) -> tuple[Key, int] | None:
        """The best that is really offered, and by whom. None if nobody has anything."""
        heap, promised = self._heap, self._promised
        while heap:
            entry = heap[0]
            key, who = entry
            if promised.get(who) != key:
                heappop(heap)
                continue
            true = self._true(who)
            if true == key:
                return entry
            if true is None:
                heappop(heap)
                del promised[who]
            else:
                heapreplace(heap, (true, who))
                promised[who] = true
        return None


_ENTRY_BITS = 40
_ENTRY = (1 << _ENTRY_BITS) - 1

LAST = 1 << _ENTRY_BITS
"""Behind every place whose score is not negative."""


def place_of(score: int, entry: int) -> int:
    return entry - (score << _ENTRY_BITS)


def entry_of(place: int) -> int:
    return place & _ENTRY


class PromiseHeap:
    """A heap of bidders with lazy correction: a rise is told at once, a fall is found out at the top.

    Invariant: a bidder with something to offer has exactly one valid entry, that in `_promised`, which is at least as
    good as what it has. So when the first entry is true, nothing better is hidden behind it.
    """

    def __init__(self, true: Callable[[int], int | None]) -> None:
        """`true` says what a bidder has to offer now; None is nothing."""
        self._true = true
        self._heap: list[tuple[int, int]] = []
        self._promised: dict[int, int] = {}

    def raise_to(self, who: int, place: int) -> None:
        """The bidder may have as much as `place` to offer."""
        promised = self._promised.get(who)
        if promised is None or place < promised:
            self._promised[who] = place
            heappush(self._heap, (place, who))

    def withdraw(self, who: int) -> None:
        """The bidder has nothing to offer until it rises again."""
        self._promised.pop(who, None)

    def first(self) -> tuple[int, int] | None:
        """The best place that is really offered, and by whom. None if nobody has anything."""
        heap = self._heap
        while heap:
            place, who = heap[0]
            if self._promised.get(who) != place:
                heappop(heap)
                continue
            true = self._true(who)
            if true == place:
                return place, who
            if true is None:
                heappop(heap)
                del self._promised[who]
            else:
                heapreplace(heap, (true, who))
                self._promised[who] = true
        return None
