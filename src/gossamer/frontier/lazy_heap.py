"""A priority queue whose priorities may fall without notice. Hot: benchmarks/bench_frontier.py.

A rise is reported at once with `raise_to`; a fall is noticed when the entry reaches the top. A term that all URLs of a
domain share, and that falls with every visit, therefore costs one heap entry and not one for each URL.
"""

from collections.abc import Callable
from heapq import heapify, heappop, heappush, heapreplace
from typing import Generic, TypeVar

K = TypeVar("K", tuple[float, int], int)
"""A key; the smallest is first."""

_SLACK = 64  # stale entries that are not worth a sweep


class LazyHeap(Generic[K]):
    """Items ordered by key, smallest first.

    Invariant: an item that has a key has exactly one valid entry, the one in `_bounds`, which is at most its current
    key. So when the first entry is up to date, no smaller key is hidden behind it.
    """

    __slots__ = ("_bounds", "_heap", "_key_of")

    def __init__(self, key_of: Callable[[int], K | None]) -> None:
        """`key_of` returns the current key of an item, or None if it has none."""
        self._key_of: Callable[[int], K | None] = key_of
        self._heap: list[tuple[K, int]] = []
        self._bounds: dict[int, K] = {}

    def __len__(self) -> int:
        """Entries, including stale ones."""
        return len(self._heap)

    def raise_to(self, item: int, key: K) -> None:
        """The key of the item may now be as small as `key`."""
        bound = self._bounds.get(item)
        if bound is None or key < bound:
            self._bounds[item] = key
            if len(self._heap) >= 2 * len(self._bounds) + _SLACK:
                self._heap = [(bound, item) for item, bound in self._bounds.items()]
                heapify(self._heap)
            else:
                heappush(self._heap, (key, item))

    def withdraw(self, item: int) -> None:
        """The item has no key until it is raised again."""
        self._bounds.pop(item, None)

    def first(self) -> tuple[K, int] | None:
        """The smallest current key and its item; None if no item has a key."""
        heap, bounds = self._heap, self._bounds
        while heap:
            entry = heap[0]
            bound, item = entry
            if bounds.get(item) != bound:
                heappop(heap)
                continue
            key = self._key_of(item)
            if key == bound:
                return entry
            if key is None:
                heappop(heap)
                del bounds[item]
            else:
                heapreplace(heap, (key, item))
                bounds[item] = key
        return None
