"""The back queue of one host: its URLs that are in memory, by priority class."""

from collections import deque
from dataclasses import dataclass, field
from enum import Enum

from gossamer.model.task import HostRecord, Task
from gossamer.model.units import HostId, HostKey, Instant

FIRST_LOAD = 4
LARGEST_LOAD = 64
LOW_MARK = 2  # ask for more when a class has no more than this left


class HostState(Enum):
    EMPTY = "empty"  # no URL in memory; the store has been asked, or is about to be
    WAITING = "waiting"  # its earliest contact lies ahead
    READY = "ready"  # may be contacted now
    OUT = "out"  # one visit is out
    PARKED = "parked"  # its address is resting, or busy with another host


@dataclass(slots=True)
class HostQueue:
    """One host's URLs in the order they will be fetched, class by class.

    Invariants:
      * all its URLs are of this host;
      * at most one visit is out at a time (state OUT);
      * `not_before` only moves forward;
      * it stands in the ready structure exactly in state READY, in the politeness heap exactly in WAITING,
        at its address's gate exactly in PARKED;
      * a URL is in `fronts`, or out, or on its way into the store (`unsettled`), never two of these.
    """

    host_id: HostId
    host: HostKey
    fronts: list[deque[Task]]
    cursors: list[tuple[float, int]]  # per class: (available_at, url_id) of the last one loaded
    more: list[bool]  # per class: the task table may hold more beyond the cursor
    domain_id: int = 0
    not_before: Instant = Instant(0.0)
    last_took: float = 0.0
    state: HostState = HostState.EMPTY
    turn: int = 0  # grows whenever it enters or leaves the ready structure, so that stale entries are known
    address: str | None = None
    unsettled: set[int] = field(default_factory=set)
    loading: bool = False
    known: bool = False  # its record has been read
    out_id: int | None = None  # the URL that is out
    grown_since: dict[int, Instant] = field(default_factory=dict)  # classes that got URLs while a load was under way
    settled_since: set[int] = field(default_factory=set)  # settled while a load was under way, which may not know of it
    rewound: bool = False  # a cursor went back, so what is loaded may be here already
    served: int = 0  # visits since it was given this back queue
    load_size: int = FIRST_LOAD

    @classmethod
    def of(cls, host_id: HostId, fronts: int) -> "HostQueue":
        return cls(
            host_id,
            HostKey(""),
            [deque() for _ in range(fronts)],
            [(-1.0, 0)] * fronts,
            [True] * fronts,
        )

    def learn(self, record: HostRecord) -> None:
        """Take over what the store remembers of the host."""
        self.host = record.host
        self.domain_id = record.domain_id
        self.not_before = max(self.not_before, record.next_contact)
        self.last_took = record.last_took
        self.address = record.address
        self.known = True

    @property
    def has_urls(self) -> bool:
        return any(self.fronts)

    def add(self, front: int, tasks: list[Task], *, exhausted: bool) -> int:
        """Append what was loaded for a class; returns how many were taken."""
        self.more[front] = not exhausted
        taken = tasks
        if tasks:
            last = tasks[-1]
            self.cursors[front] = (last.available_at, last.url_id)
            held = self.unsettled
            if self.rewound:
                held = held | self.settled_since | {task.url_id for task in self.fronts[front]} | {self.out_id or 0}
            if held:
                taken = [task for task in tasks if task.url_id not in held]
            self.fronts[front].extend(taken)
            self.load_size = min(self.load_size * 2, LARGEST_LOAD)
        if front in self.grown_since:
            self._rewind(front, self.grown_since.pop(front))
        return len(taken)

    def loaded(self) -> None:
        """A load has come to its end."""
        self.loading = False
        self.settled_since.clear()

    def settle(self, url_id: int) -> None:
        """An outcome is on record."""
        self.unsettled.discard(url_id)
        if self.loading:
            self.settled_since.add(url_id)

    def touch(self, front: int, since: Instant) -> None:
        """URLs were added to a class, all dated after `since`. The cursor may have passed that date before they could
        be seen, so it goes back there."""
        if self.loading:
            self.grown_since[front] = min(since, self.grown_since.get(front, since))
        else:
            self._rewind(front, since)

    def _rewind(self, front: int, since: Instant) -> None:
        self.more[front] = True
        if self.cursors[front][0] > since:
            self.cursors[front] = (since, 0)
            self.rewound = True

    def put_down(self) -> None:
        """Let go of what is in memory; the task table has it all. Nothing more is loaded unless something is added."""
        self.state = HostState.EMPTY
        for front, tasks in enumerate(self.fronts):
            tasks.clear()
            self.cursors[front] = (-1.0, 0)
            self.more[front] = False
        self.rewound = True

    def wanted(self) -> list[int]:
        """The classes that run low although the table may hold more."""
        return [f for f, more in enumerate(self.more) if more and len(self.fronts[f]) <= LOW_MARK]

    @property
    def is_drained(self) -> bool:
        """Nothing in memory, nothing more to load, nothing on its way into the store."""
        return (
            self.state is HostState.EMPTY
            and self.known
            and not self.loading
            and not self.unsettled
            and not any(self.more)
            and not any(self.fronts)
        )
