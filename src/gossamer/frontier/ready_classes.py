"""The ready structure of orderings by class: hosts that may be contacted now, by the class of their URLs.

A host that is ready stands in every class it has URLs of, at the place of its oldest URL of that class. When it
is served through one class its other entries are stale; they are recognised by their turn number
and dropped when they come to the top. So each entry is pushed once and popped once.
"""

from collections.abc import Callable
from heapq import heapify, heappop, heappush

from gossamer.frontier.back_queue import READY, HostQueue
from gossamer.frontier.selector import Selector

_Entry = tuple[float, int, int, HostQueue]  # (place, url_id, turn, host): oldest URL first
_SLACK = 1024  # stale entries that are not worth a sweep


class ReadyClasses:
    """Front queues of ready hosts, served by the biased selector, first in first out within a class."""

    def __init__(self, selector: Selector, fronts: int) -> None:
        self._selector = selector
        self._heaps: list[list[_Entry]] = [[] for _ in range(fronts)]
        self._numbered = list(enumerate(self._heaps))
        self._count = 0

    def __len__(self) -> int:
        """Hosts that are ready."""
        return self._count

    def push(self, host: HostQueue) -> None:
        host.turn = turn = host.turn + 1
        host.state = READY
        self._count = count = self._count + 1
        limit = 2 * count + _SLACK
        for tasks in host.fronts:
            if tasks:
                head = tasks[-1]
                heap = self._heaps[head.front]
                if len(heap) >= limit:
                    self._sweep(heap)
                heappush(heap, (head.place, head.url_id, turn, host))

    @staticmethod
    def _sweep(heap: list[_Entry]) -> None:
        """Rid a heap of stale entries, which prevail: a host served through one class again and again would otherwise
        leave an entry in the others each time. Amortised O(1)."""
        heap[:] = [entry for entry in heap if entry[2] == entry[3].turn]
        heapify(heap)

    def push_front(self, host: HostQueue, front: int) -> None:
        """A ready host has got its first URL of a class while it waits."""
        head = host.fronts[front][-1]
        heappush(self._heaps[front], (head.place, head.url_id, host.turn, host))

    def leave(self, host: HostQueue) -> None:
        """Take a ready host out; its entries are stale from now on."""
        host.turn += 1
        self._count -= 1

    def pop(self, closed: Callable[[HostQueue], bool]) -> tuple[HostQueue, int] | None:
        """The host to contact and the class to serve it from. Hosts for which `closed` says so are passed over
        (it has then put them elsewhere, in a later turn). None when no host is ready."""
        while True:
            waiting = []
            shut = False
            for front, heap in self._numbered:
                while heap:
                    _, _, turn, host = heap[0]
                    if turn == host.turn:
                        # Whoever is closed must not cost a class its turn, so look before drawing.
                        if host.address is not None and closed(host):
                            self._count -= 1  # its entries are stale: whoever took it in has begun another turn
                            shut = True
                        else:
                            waiting.append(front)
                        break
                    heappop(heap)
            if shut:
                continue
            if not waiting:
                return None
            front = self._selector.draw(waiting)
            host = heappop(self._heaps[front])[3]
            host.turn += 1  # its entries in the other classes are stale
            self._count -= 1
            return host, front
