"""The back queue of one host, and how far the task table was read for it. Hot: benchmarks/bench_frontier.py.

`RankedUrls` holds the URLs in memory under orderings by score; `HostQueue` is the back queue itself.
"""

from collections.abc import Callable, Collection, Iterator
from enum import Enum
from heapq import heapify, heappop, heappush
from operator import attrgetter
from typing import NamedTuple

from gossamer.model.facts import HostFacts
from gossamer.model.task import HostRecord, Task
from gossamer.model.units import HostId, HostKey, Instant

Key = tuple[float, int]
"""(minus the score, url_id): the smallest is the highest score, and among equals the oldest entry."""

_SLACK = 64  # stale entries that are not worth a sweep
_URL_ID = attrgetter("url_id")


class RankedUrls:
    """A heap whose scores may change. Every change is O(log n): the old entry stays and is recognised as stale.

    Invariant: a URL in the heap has exactly one valid entry, that of its current priority.
    """

    __slots__ = ("_heap", "_tasks", "dated")

    def __init__(self) -> None:
        self._tasks: dict[int, Task] = {}
        self._heap: list[Key] = []
        self.dated = 0  # of these, how many were loaded from the queue by date

    def __len__(self) -> int:
        return len(self._tasks)

    def __contains__(self, url_id: int) -> bool:
        return url_id in self._tasks

    def __iter__(self) -> Iterator[Task]:
        return iter(self._tasks.values())

    def add(self, task: Task) -> None:
        self._tasks[task.url_id] = task
        self.dated += task.front
        heappush(self._heap, (-task.priority, task.url_id))

    def head(self) -> Key | None:
        """The key of the best URL; None if there is none."""
        heap, tasks = self._heap, self._tasks
        while heap:
            key = heap[0]
            task = tasks.get(key[1])
            if task is not None and task.priority == -key[0]:
                return key
            heappop(heap)
        return None

    def pop(self) -> Task:
        """Remove and return the best URL. There must be one."""
        key = self.head()
        assert key is not None
        heappop(self._heap)
        task = self._tasks.pop(key[1])
        self.dated -= task.front
        return task

    def rescore(self, url_id: int, priority: float) -> bool:
        """Change the priority of a URL. Returns False if it is not here."""
        task = self._tasks.get(url_id)
        if task is None:
            return False
        if task.priority != priority:
            self._tasks[url_id] = task._replace(priority=priority)
            if len(self._heap) >= 2 * len(self._tasks) + _SLACK:
                self._heap = [(-t.priority, t.url_id) for t in self._tasks.values()]
                heapify(self._heap)
            else:
                heappush(self._heap, (-priority, url_id))
        return True

    def remove(self, url_ids: Collection[int]) -> None:
        """Drop these URLs; their entries in the heap become stale."""
        for url_id in url_ids:
            self.dated -= self._tasks.pop(url_id).front

    def trim(self, most: int) -> Key | None:
        """Keep the best `most`. If any were dropped, returns the key of the worst one kept."""
        if len(self._tasks) <= most:
            return None
        self._heap = sorted((-t.priority, t.url_id) for t in self._tasks.values())[:most]
        self._tasks = {url_id: self._tasks[url_id] for _, url_id in self._heap}
        self.dated = sum(task.front for task in self._tasks.values())
        return self._heap[-1]

    def clear(self) -> None:
        self._tasks.clear()
        self._heap.clear()
        self.dated = 0


FIRST_LOAD = 4
LARGEST_LOAD = 64
LOW_MARK = 2  # load more when a class has no more than this left
MAX_RANKED = 4 * LARGEST_LOAD  # URLs by score in memory; moved URLs come on top of what was loaded

START: tuple[float, int] = (-1e300, 0)
"""The cursor of a queue that has not been read."""


class HostState(Enum):
    EMPTY = "empty"  # no URL in memory is known to be next; a load is pending or will be
    WAITING = "waiting"  # its earliest contact is in the future
    READY = "ready"  # may be contacted now
    OUT = "out"  # a visit is in flight, or another host's request to this one
    PARKED = "parked"  # its address is resting, or busy with another host


EMPTY, WAITING, READY, OUT, PARKED = HostState
"""As module constants, because the frontier uses them at every step and class attributes are slow to look up."""


class Growth(NamedTuple):
    """A commit added URLs to a queue of the task table, or moved one."""

    commit: int
    front: int
    place: float  # nothing new is before this
    url_id: int = 0  # the URL that moved
    priority: float = 0.0


class HostQueue:
    """One host's URLs in the order in which they will be fetched: by class, or all together by score.

    Invariants:
      * all URLs are of this host;
      * at most one visit is in flight (state OUT);
      * `not_before` only moves forward;
      * it is in the ready structure exactly in state READY, in the politeness heap exactly in WAITING,
        and parked at the gate of its address or domain exactly in PARKED;
      * a URL is in memory, in flight, or being written to the store (`unsettled`), never two of these.
    """

    __slots__ = (
        *("host_id", "host", "domain_id", "suffix_id", "fronts", "ranked", "cursors", "more", "as_of", "begun_at"),
        *("not_before", "last_took", "state", "turn", "address", "unsettled", "loading", "known", "out_id", "grown"),
        *("settled_since", "rewound", "served", "load_size", "yields_until", "facts", "counted", "domain_gate"),
    )

    def __init__(self, host_id: HostId, fronts: int, *, by_score: bool = False, moves: bool = False) -> None:
        """`moves`: URLs may move from one class to another while they wait."""
        self.host_id = host_id
        self.host = HostKey("")
        self.domain_id = 0
        self.suffix_id = 0
        self.fronts: list[list[Task]] = [] if by_score else [[] for _ in range(fronts)]  # by class; the next is last
        self.ranked = RankedUrls() if by_score else None
        self.cursors = [START] * fronts  # per front queue: (place, url_id) of the last one loaded
        self.more = [True] * fronts  # per front queue: the table may hold more beyond the cursor
        self.as_of = [0] * fronts  # per front queue: the last commit included in the last load, and ...
        self.begun_at = [START[0]] * fronts  # ... the place from which it read
        self.not_before = Instant(0.0)
        self.yields_until = Instant(0.0)  # its own URLs wait until then for another host's request
        self.last_took = 0.0
        self.state = EMPTY
        self.turn = 0  # incremented on every move between structures, which makes old entries stale
        self.address: str | None = None
        self.domain_gate: str | None = None  # key of the gate of its domain, if the hosts of a domain share one
        self.unsettled: list[int] = []
        self.loading = False
        self.known = False  # its record has been read
        self.out_id = 0  # the URL in flight; 0: none
        self.grown: list[Growth] = []  # what was added during a load
        self.settled_since: list[tuple[int, int]] = []  # (url_id, commit), during a load
        self.rewound = moves  # a cursor moved back, so a load may return URLs that are here already
        self.served = 0  # visits since it got this back queue
        self.load_size = FIRST_LOAD
        self.facts = HostFacts()
        self.counted = 0  # the commit that `facts` are as of

    def __lt__(self, other: "HostQueue") -> bool:
        # Heaps compare hosts only when a stale entry of a retired host meets a new entry of the same host.
        return self.host_id < other.host_id

    def learn(self, record: HostRecord, commit: int) -> None:
        """Take over the stored record of the host, as of a commit."""
        known, fetched = self.facts[:2] if self.counted > commit else record.facts[:2]
        self.facts = HostFacts(known, fetched, record.facts.number)
        self.host = record.host
        self.domain_id = record.domain_id
        self.suffix_id = record.suffix_id
        self.not_before = max(self.not_before, record.next_contact)
        self.last_took = record.last_took
        self.address = record.address
        self.known = True

    def count(self, commit: int, known: int, fetched: int) -> bool:
        """A commit reports the URLs of the host. Returns whether their numbers have changed."""
        before = self.facts
        self.counted = commit
        self.facts = HostFacts(known, fetched, before.number)
        return self.facts != before

    def has_next(self) -> bool:
        """Whether there is a URL that certainly comes before everything left in the table."""
        if self.ranked is None:
            return any(self.fronts)
        head = self.ranked.head()
        return head is not None and (head <= self.cursors[0] or not self.more[0])

    @property
    def held(self) -> int:
        """The number of URLs in memory."""
        return sum(map(len, self.fronts)) if self.ranked is None else len(self.ranked)

    def take(self, front: int) -> Task:
        """Remove and return the next URL of a class (by score: of all)."""
        task = self.fronts[front].pop() if self.ranked is None else self.ranked.pop()
        self.out_id = task.url_id
        return task

    def put_back(self, task: Task) -> None:
        """Make the URL in flight the next one again."""
        self.out_id = 0
        if self.ranked is None:
            self.fronts[task.front].append(task)
        else:
            self.ranked.add(task)

    def withdraw(self, is_refused: Callable[[Task, HostKey], bool]) -> list[Task]:
        """Remove and return the URLs in memory that are refused."""
        waiting = [task for tasks in self.fronts for task in tasks] if self.ranked is None else list(self.ranked)
        refused = [task for task in waiting if is_refused(task, self.host)]
        if refused and self.ranked is not None:
            self.ranked.remove([task.url_id for task in refused])
        elif refused:
            url_ids = {task.url_id for task in refused}
            self.fronts = [[task for task in tasks if task.url_id not in url_ids] for tasks in self.fronts]
        return refused

    def on_withdrawn(self, url_id: int, commit: int) -> None:
        """The table no longer has this URL in a queue. A load that began before may still return it."""
        self.rewound = True
        if self.loading:
            self.settled_since.append((url_id, commit))

    def release(self) -> None:
        """Drop the URLs in memory; the task table has them all. Nothing is loaded until something is added."""
        self.state = EMPTY
        for tasks in self.fronts:
            tasks.clear()
        if self.ranked is not None:
            self.ranked.clear()
        for front in range(len(self.cursors)):
            self.cursors[front] = START
            self.more[front] = False
        self.rewound = True

    def release_unread(self) -> None:
        """Load nothing more until something is added. Where no visit is in flight, drop the URLs in memory as well."""
        if self.state is EMPTY:
            self.release()
        else:
            for front in range(len(self.more)):
                self.more[front] = False

    # --- loading ---------------------------------------------------------------------------------------

    def fronts_to_load(self) -> list[int]:
        """The front queues that run low although the table may hold more."""
        more, ranked = self.more, self.ranked
        if ranked is None:
            return [f for f, unread in enumerate(more) if unread and len(self.fronts[f]) <= LOW_MARK]
        wanted = [0] if more[0] and (len(ranked) <= LOW_MARK or not self.has_next()) else []
        return [*wanted, 1] if more[1] and ranked.dated <= LOW_MARK else wanted

    def runs_low(self) -> bool:
        """Whether `fronts_to_load` is not empty."""
        return True in self.more and bool(self.fronts_to_load())

    def add(self, front: int, tasks: list[Task], *, exhausted: bool, commit: int) -> bool:
        """Append what was loaded for a front queue, as of a commit. Returns whether anything was added."""
        self.more[front] = not exhausted
        self.as_of[front] = commit
        self.begun_at[front] = self.cursors[front][0]
        taken = tasks
        if tasks:
            last = tasks[-1]
            self.cursors[front] = (last.place, last.url_id)
            if self.ranked is not None or self.rewound or self.unsettled:
                taken = self._not_held(front, tasks, commit)
            # After a rewind most of what is loaded is here already, and only the first few are needed.
            mostly_new = 2 * len(taken) >= len(tasks)
            self.load_size = min(self.load_size * 2, LARGEST_LOAD) if mostly_new else FIRST_LOAD
        if self.ranked is None:
            if taken:
                waiting = self.fronts[front]
                waiting[:0] = taken[::-1]
        else:
            for task in taken:
                self.ranked.add(task)
        return bool(taken)

    def _not_held(self, front: int, tasks: list[Task], commit: int) -> list[Task]:
        """The tasks that are not in memory, in flight, or settled by a later commit than the load includes."""
        held = {self.out_id, *self.unsettled, *(url_id for url_id, since in self.settled_since if since > commit)}
        if self.ranked is None:
            for waiting in self.fronts:
                held.update(map(_URL_ID, waiting))
            return [task for task in tasks if task.url_id not in held]
        return [task for task in tasks if task.url_id not in held and task.url_id not in self.ranked]

    def end_load(self, commit: int) -> None:
        """A load, as of a commit, is complete: apply what happened since."""
        self.loading = False
        grown, self.grown = self.grown, []
        for growth in grown:
            if self._knows(growth):
                continue
            if growth.url_id and self.ranked is not None and self.ranked.rescore(growth.url_id, growth.priority):
                continue
            self._rewind(growth)
        self.settled_since.clear()
        if self.ranked is not None and (worst := self.ranked.trim(MAX_RANKED)) is not None:
            self.cursors[0] = min(self.cursors[0], worst)
            self.cursors[1] = START
            self.more = [True, True]

    # --- commits -----------------------------------------------------------------------------------------

    def settle(self, url_id: int, commit: int) -> None:
        """An outcome was committed."""
        if url_id in self.unsettled:
            self.unsettled.remove(url_id)
        if self.loading:
            self.settled_since.append((url_id, commit))

    def move(self, growth: Growth) -> bool:
        """A waiting URL changed its place. Returns whether that changed anything in memory."""
        url_id = growth.url_id
        if url_id == self.out_id or url_id in self.unsettled:
            return False
        if self.ranked is not None:
            if self.ranked.rescore(url_id, growth.priority):
                return True
            self.grow(growth)
            return False
        if not self.loading and self._knows(growth):
            return False  # already loaded from its new class; or, if it was here before, it stays in its old one
        self.grow(growth)
        return self._leave_class(url_id)

    def _leave_class(self, url_id: int) -> bool:
        for tasks in self.fronts:
            ids = [*map(_URL_ID, tasks)]
            if url_id in ids:
                del tasks[ids.index(url_id)]
                return True
        return False

    def grow(self, growth: Growth) -> None:
        """A queue of the table has grown. If the cursor has already passed that place, move it back."""
        if self.loading:
            self.grown.append(growth)
        elif not self._knows(growth):
            self._rewind(growth)

    def _knows(self, growth: Growth) -> bool:
        """Whether the last load includes the addition, or the next one will."""
        return growth.commit <= self.as_of[growth.front] and growth.place >= self.begun_at[growth.front]

    def _rewind(self, growth: Growth) -> None:
        front = growth.front
        self.more[front] = True
        if self.cursors[front][0] > growth.place:
            self.cursors[front] = (growth.place, 0)
            self.rewound = True

    @property
    def is_drained(self) -> bool:
        """Nothing in memory, nothing more to load, nothing being written to the store."""
        return (
            self.state is EMPTY
            and self.known
            and not self.loading
            and not self.unsettled
            and not any(self.more)
            and not self.held
        )
