"""Who is first, when what each has to offer may fall behind our back. Hot: benchmarks/bench_frontier.py.

A rise is told at once, a fall is found out at the top: so a term that all URLs of a domain share, and that falls with
every visit, costs one entry in a heap and not one for each of them.
"""

from collections.abc import Callable
from heapq import heapify, heappop, heappush, heapreplace

Key = tuple[float, int]
"""(minus the total score, url_id): the smallest is first."""

_SLACK = 64  # stale entries that are not worth a sweep


class Line:
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

    def rose(self, who: int, key: Key) -> None:
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
