"""The front queues: hosts that have due URLs of a class but no back queue yet, oldest (or best) first.

The task table is the front queue; what is in memory is a window of it. An entry is a host, representing its first
waiting URL of the class: working on hosts rather than URLs keeps a refill independent of how many URLs one host has
waiting. `DueTimers` knows when to read a queue again for URLs that were not due yet.
"""

import heapq
import math
from collections import deque
from dataclasses import dataclass, field

from gossamer.frontier.back_queue import START
from gossamer.model.units import HostId, Instant

WINDOW = 512  # entries of a class read at a time


@dataclass(slots=True)
class FrontQueue:
    """The window of one class."""

    window: deque[HostId] = field(default_factory=deque)
    cursor: tuple[float, int] = START  # (place, host_id) of the last one read
    more: bool = True  # the table may hold due entries beyond the cursor
    reading: bool = False  # a window has been requested
    as_of: int = 0  # the last commit included in the last window, and ...
    begun_at: float = START[0]  # ... the place from which it was read
    grown: list[tuple[int, float]] = field(default_factory=list)  # (commit, place) added during a read

    def add(self, entries: list[tuple[float, HostId]], *, exhausted: bool, commit: int) -> None:
        self.reading = False
        self.more = not exhausted
        self.as_of, self.begun_at = commit, self.cursor[0]
        if entries:
            self.cursor = entries[-1]
            self.window.extend([host_id for _, host_id in entries])
        grown, self.grown = self.grown, []
        for number, place in grown:
            self.grow(number, place)

    def grow(self, commit: int, place: float) -> None:
        """Entries were added, none before `place`. If the cursor has already passed it, move it back."""
        if self.reading:
            self.grown.append((commit, place))
        elif commit > self.as_of or place < self.begun_at:
            self.more = True
            if self.cursor[0] > place:
                self.cursor = (place, 0)

    def rewind(self) -> None:
        """Read the whole queue again: for when there is nothing else to do."""
        self.cursor = START
        self.more = True


_SLACK = 1024  # stale entries that are not worth a sweep


class DueTimers:
    """The next due date of each (host, class), or of each front queue (host None), whose due URLs have all been read.

    One date per queue: the following one is found when the queue is read again. So memory is bounded by the number of
    hosts with a back queue.
    """

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, tuple[HostId | None, int]]] = []
        self._dates: dict[tuple[HostId | None, int], float] = {}
        self._entry = 0  # breaks ties
        self.first = math.inf  # no date is before this

    def __len__(self) -> int:
        return len(self._dates)

    def set(self, due: float, host_id: HostId | None, front: int) -> None:
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
        """Remove and return a queue whose date has come, or None."""
        if self.next > now:
            return None
        _, _, queue = heapq.heappop(self._heap)
        del self._dates[queue]
        return queue

    @property
    def next(self) -> float:
        """The next date; infinity if there is none."""
        heap = self._heap
        while heap and self._dates.get(heap[0][2]) != heap[0][0]:
            heapq.heappop(heap)
        self.first = heap[0][0] if heap else math.inf
        return self.first
