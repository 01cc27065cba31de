"""Hot: who is best, when what each is worth may fall behind our back (benchmarks/bench_orderings.py).

A worth is a *place*: one whole number, `entry - score * 2**40`. The smallest is the highest score, and among equals the
oldest entry. Scores are whole numbers too, so that sums are exact and equals are equal.
"""

from collections.abc import Callable
from heapq import heappop, heappush, heapreplace

_ENTRY_BITS = 40
_ENTRY = (1 << _ENTRY_BITS) - 1

LAST = 1 << _ENTRY_BITS
"""Behind every place whose score is not negative."""


def place_of(score: int, entry: int) -> int:
    return entry - (score << _ENTRY_BITS)


def entry_of(place: int) -> int:
    return place & _ENTRY


class Promises:
    """A heap of bidders with lazy correction: a rise is told at once, a fall is found out at the top.

    Invariant: a bidder with something to offer has exactly one valid entry, that in `_promised`, which is at least as
    good as what it has. So when the first entry is true, nothing better is hidden behind it.
    """

    def __init__(self, true: Callable[[int], int | None]) -> None:
        """`true` says what a bidder has to offer now; None is nothing."""
        self._true = true
        self._heap: list[tuple[int, int]] = []
        self._promised: dict[int, int] = {}

    def rose(self, who: int, place: int) -> None:
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
