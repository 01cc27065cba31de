"""The politeness heap: hosts by the time at which they may be contacted again. Hot: benchmarks/bench_frontier.py.

A calendar queue: each bucket (page) covers 1/16 s and is sorted when it becomes due. Most rests end in the order in
which they began, so there is little to sort, and entries of later buckets cost nothing.
"""

import math
from bisect import bisect_right, insort
from collections import deque
from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from itertools import chain, pairwise

from gossamer.frontier.back_queue import WAITING, HostQueue
from gossamer.model.units import Instant, Seconds

_Entry = tuple[float, int, int, HostQueue]
"""(minus until, a decreasing number, turn, host): in this order, the next host to be ready is last."""

_PAGE = Seconds(1 / 16)  # most gaps are longer, so few entries go to the open page
_FAR = 1e300  # longer rests share a page: a Crawl-delay may be any number, even infinite
_FEW = 32  # pages of this size are cheap to sort twice
_SLACK = 1024  # stale entries that are not worth a sweep


class PolitenessHeap:
    """Hosts in state WAITING. An entry is stale when its host's turn has moved on since."""

    def __init__(self, long_rest: Seconds) -> None:
        self._long_rest = long_rest
        self._open: list[_Entry] = []  # the open page, sorted
        self._open_number = 0.0
        self._pages: dict[float, list[_Entry]] = {}  # later pages, unsorted
        self._numbers: list[float] = []  # heap of their numbers
        self._long: deque[tuple[int, HostQueue]] = deque()  # (turn, host) of hosts with a long rest
        self._entry = 0  # decreasing; breaks ties
        self._count = 0
        self._stale = 0
        self.first = math.inf  # no rest ends before this

    def __len__(self) -> int:
        """Waiting hosts."""
        return self._count

    def push(self, host: HostQueue, until: Instant, now: Instant) -> None:
        host.turn = turn = host.turn + 1
        host.state = WAITING
        self._count += 1
        self._entry -= 1
        entry = (-until, self._entry, turn, host)
        number = (until if until < _FAR else _FAR) // _PAGE
        if number <= self._open_number:
            self._note_early(entry, number)
        elif (page := self._pages.get(number)) is not None:
            page.append(entry)
        else:
            self._pages[number] = [entry]
            heappush(self._numbers, number)
        if until < self.first:
            self.first = until
        if host.not_before - now >= self._long_rest:
            if len(self._long) >= 2 * self._count + _SLACK:
                self._long = deque((turn, waiting) for turn, waiting in self._long if turn == waiting.turn)
            self._long.append((turn, host))

    def _note_early(self, entry: _Entry, number: float) -> None:
        """Add an entry that belongs to the open page, or to an earlier one."""
        page, opened = self._open, self._open_number
        if number < opened and (not page or (len(page) <= _FEW and -page[-1][0] >= opened * _PAGE)):
            # The page was opened early, when there was no other, and may be far ahead: put it back.
            if page:
                self._pages[opened] = page
                heappush(self._numbers, opened)
            self._open, self._open_number = [entry], number
        else:
            insort(page, entry)

    def leave(self, host: HostQueue) -> None:
        """Remove a waiting host; its entry is stale from now on."""
        host.turn += 1
        self._count -= 1
        self._stale += 1
        if self._stale > self._count + _SLACK:
            self._sweep()

    def _sweep(self) -> None:
        """Remove stale entries once they prevail. Amortised O(1)."""
        self._open = [entry for entry in self._open if entry[2] == entry[3].turn]
        for number, page in list(self._pages.items()):
            page[:] = [entry for entry in page if entry[2] == entry[3].turn]
            if not page:
                del self._pages[number]
        self._numbers = list(self._pages)
        heapify(self._numbers)
        self._stale = 0

    def pop_due(self, now: Instant) -> HostQueue | None:
        """Remove and return a host whose rest is over, or None."""
        while self.first <= now:
            page = self._open
            if not page:
                # Open it only when it is due: until then entries are appended unsorted.
                self.first = self._numbers[0] * _PAGE if self._numbers else math.inf
                if self.first <= now:
                    self._open_next()
                continue
            minus_until, _, turn, host = page[-1]
            self.first = -minus_until
            if turn != host.turn:
                page.pop()
                self._stale -= 1
            elif self.first <= now:
                page.pop()
                self._count -= 1
                return host
        return None

    def _open_next(self) -> None:
        self._open_number = heappop(self._numbers)
        self._open = self._pages.pop(self._open_number)
        self._open.sort()

    @property
    def next(self) -> float:
        """When the first rest ends; infinity if no host rests."""
        while self._open or self._numbers:
            if not self._open:
                self._open_next()
            minus_until, _, turn, host = self._open[-1]
            if turn == host.turn:
                return -minus_until
            self._open.pop()
            self._stale -= 1
        return math.inf

    def histogram(self, now: Instant, bounds: Sequence[float]) -> list[int]:
        """The number of hosts by remaining rest in seconds: one bin per bound (`bounds` are increasing) and one above
        the last. Reads every entry, so it is for monitoring, not for every turn."""
        entries = chain(self._open, *self._pages.values())
        ends = sorted([-minus_until for minus_until, _, turn, host in entries if turn == host.turn])
        upto = [0, *(bisect_right(ends, now + bound) for bound in bounds), len(ends)]
        return [after - before for before, after in pairwise(upto)]

    def long_resting(self, now: Instant) -> HostQueue | None:
        """A waiting host with a long rest ahead and nothing that ties it to its back queue; None if there is none."""
        for _ in range(len(self._long)):
            turn, host = self._long.popleft()
            if turn != host.turn or host.state is not WAITING or host.not_before - now < self._long_rest:
                continue
            if not host.unsettled and not host.loading:
                return host
            self._long.append((turn, host))
            return None  # the oldest is still in use; try again at the next refill
        return None
