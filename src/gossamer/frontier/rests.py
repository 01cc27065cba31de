"""The politeness heap: hosts that may not be contacted yet, by the moment they may."""

import heapq
import math
from collections import deque

from gossamer.frontier.back_queue import HostQueue, HostState
from gossamer.model.units import Instant, Seconds

_SLACK = 1024  # stale entries that are not worth a sweep


class PolitenessHeap:
    """Hosts in state WAITING. An entry is stale when its host's turn has moved on since."""

    def __init__(self, long_rest: Seconds) -> None:
        self._long_rest = long_rest
        self._heap: list[tuple[Instant, int, int, HostQueue]] = []  # (until, entry, turn, host)
        self._long: deque[tuple[int, HostQueue]] = deque()  # (turn, host) of those that rest long
        self._entry = 0  # breaks ties
        self._count = 0

    def __len__(self) -> int:
        """Hosts that wait."""
        return self._count

    def push(self, host: HostQueue, until: Instant, now: Instant) -> None:
        host.turn += 1
        host.state = HostState.WAITING
        self._count += 1
        self._entry += 1
        if len(self._heap) >= 2 * self._count + _SLACK:
            self._heap = [entry for entry in self._heap if entry[2] == entry[3].turn]
            heapq.heapify(self._heap)
        heapq.heappush(self._heap, (until, self._entry, host.turn, host))
        if host.not_before - now >= self._long_rest:
            if len(self._long) >= 2 * self._count + _SLACK:
                self._long = deque((turn, waiting) for turn, waiting in self._long if turn == waiting.turn)
            self._long.append((host.turn, host))

    def leave(self, host: HostQueue) -> None:
        """Take a waiting host out; its entry is stale from now on."""
        host.turn += 1
        self._count -= 1

    def pop_due(self, now: Instant) -> HostQueue | None:
        """A host whose rest is over, taken out; or None."""
        heap = self._heap
        while heap:
            until, _, turn, host = heap[0]
            if turn == host.turn:
                if until > now:
                    return None
                heapq.heappop(heap)
                self._count -= 1
                return host
            heapq.heappop(heap)
        return None

    @property
    def next(self) -> float:
        """When the first rest is over; infinity if nobody rests."""
        heap = self._heap
        while heap and heap[0][2] != heap[0][3].turn:
            heapq.heappop(heap)
        return heap[0][0] if heap else math.inf

    def long_resting(self, now: Instant) -> HostQueue | None:
        """A waiting host that rests long from now on and that nothing ties to its back queue; None if there is none."""
        for _ in range(len(self._long)):
            turn, host = self._long.popleft()
            if turn != host.turn or host.state is not HostState.WAITING or host.not_before - now < self._long_rest:
                continue
            if not host.unsettled and not host.loading:
                return host
            self._long.append((turn, host))
            return None  # the oldest is still tied; look again at the next refill
        return None
