"""URLs that are not due yet: when to look at a queue of the task table again."""

import heapq
import math

from gossamer.model.units import HostId, Instant

_SLACK = 1024  # stale entries that are not worth a sweep


class Later:
    """For each (host, class), or front queue (host None), whose due URLs are all read: the nearest date of the others.

    One date per queue: a later one is learnt when the nearest has come and the queue is read again. So memory is
    bounded by the hosts that have a back queue.
    """

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, tuple[HostId | None, int]]] = []
        self._dates: dict[tuple[HostId | None, int], float] = {}
        self._entry = 0  # breaks ties
        self.first = math.inf  # no date comes before this

    def __len__(self) -> int:
        return len(self._dates)

    def note(self, due: float, host_id: HostId | None, front: int) -> None:
        """The next URL of this queue is due then (infinity: there is none)."""
        queue = (host_id, front)
        if due >= self._dates.get(queue, math.inf):
            return
        self._dates[queue] = due
        self._entry += 1
        if len(self._heap) >= 2 * len(self._dates) + _SLACK:
            self._heap = [entry for entry in self._heap if self._dates.get(entry[2]) == entry[0]]
            heapq.heapify(self._heap)
        heapq.heappush(self._heap, (due, self._entry, queue))
        if due < self.first:
            self.first = due

    def forget(self, host_id: HostId, fronts: int) -> None:
        """The host has no back queue any more; its front-queue entries carry its dates."""
        for front in range(fronts):
            self._dates.pop((host_id, front), None)

    def pop_due(self, now: Instant) -> tuple[HostId | None, int] | None:
        """A queue whose date has come, or None."""
        if self.next > now:
            return None
        _, _, queue = heapq.heappop(self._heap)
        del self._dates[queue]
        return queue

    @property
    def next(self) -> float:
        """The nearest date; infinity if there is none."""
        heap = self._heap
        while heap and self._dates.get(heap[0][2]) != heap[0][0]:
            heapq.heappop(heap)
        self.first = heap[0][0] if heap else math.inf
        return self.first
