"""What the workers tell: carried from one to the other, and put together. Knows when nothing is left to do.

A worker tells that it works before it answers for what it was handed, and whoever handed it over counts as working
until then. All of it comes over one link from each, in order. So when all are known to rest, nothing is on its way.

The figures of all workers as those of one crawl.

What supervisor and workers tell each other, each a tuple that begins with one of these.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import Enum
from itertools import zip_longest
from typing import Any, Final, NamedTuple, Protocol

from gossamer.config.load import Config
from gossamer.errors import GossamerError
from gossamer.model.partition import WorkerShare
from gossamer.model.queue_depth import QueueDepth
from gossamer.observe.freshness import merge_freshness
from gossamer.observe.snapshot import Internals, Snapshot
from gossamer.seed.lists import Seed

_LARGEST = ("at", "elapsed", "loop_lag", "worst_loop_lag", "store_saturation")
_MOST_SLOW = 5


def merge_snapshots(moments: Sequence[Snapshot], *, finished: bool) -> Snapshot:
    """One moment of the whole crawl: sums, but for what is largest or true of any. There is at least one worker."""
    found: dict[str, object] = {}
    for name in (column.name for column in fields(Snapshot)):
        values = [getattr(moment, name) for moment in moments]
        if name in _LARGEST:
            found[name] = max(values)
        elif isinstance(values[0], bool):
            found[name] = any(values)
        elif isinstance(values[0], int | float):
            found[name] = sum(values)
    high = next((moment for moment in moments if moment.load != "normal"), moments[0])
    drawn = _added(moment.drawn for moment in moments)
    found |= {
        "statuses": _counted(moment.statuses for moment in moments),
        "errors": _counted(moment.errors for moment in moments),
        "excluded": _counted(moment.excluded for moment in moments),
        "urls_by_front": _added(moment.urls_by_front for moment in moments),
        "drawn": drawn,
        "selector_shares": tuple(100.0 * n / sum(drawn) if sum(drawn) else 0.0 for n in drawn),
        "load": high.load,
        "load_reason": high.load_reason,
        "waiting_for": _waits(moments),
        "slowest": tuple(sorted((s for m in moments for s in m.slowest), key=lambda s: -s[1])[:_MOST_SLOW]),
        "queues": _filled([moment.queues for moment in moments]),
        "freshness": merge_freshness([(moment.freshness, moment.pages) for moment in moments]),
        "internals": Internals(),
        "finished": finished,
    }
    return Snapshot(**found)  # type: ignore[arg-type]


def _counted(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for one in counts:
        total.update(one)
    return dict(total.most_common())


def _added(rows: Iterable[Sequence[int]]) -> tuple[int, ...]:
    return tuple(sum(column) for column in zip_longest(*rows, fillvalue=0))


def _waits(moments: Sequence[Snapshot]) -> str:
    """What the crawl waits for: nothing, as long as any of its workers has something to do."""
    said = [moment.waiting_for for moment in moments]
    return "; ".join(dict.fromkeys(said)) if all(said) else ""


def _filled(queues: Sequence[Mapping[str, QueueDepth]]) -> dict[str, QueueDepth]:
    found: dict[str, QueueDepth] = {}
    for one in queues:
        for name, fill in one.items():
            found[name] = QueueDepth(*map(sum, zip(found.get(name, QueueDepth(0)), fill, strict=True)))
    return found


# Both ways; the hub puts the sender in the place of the receiver.
URLS: Final = "urls"  # worker, URLs: found for it
ACKNOWLEDGED: Final = "has"  # worker, number: what it has found up to this one is on record at its owner

# From the supervisor.
BEGIN: Final = "begin"  # Begin: open your part
START: Final = "go"  # every worker has opened its part: contact hosts
ALLOW: Final = "allow"  # pages or None: store no more than that
RESTARTED: Final = "back"  # worker: it was started anew
RULES: Final = "rules"  # Config: take the rules of entry from it
STOP: Final = "stop"  # finish what is in flight; told again, leave it

# From a worker.
OPEN: Final = "open"  # pages: its part is open, with so many pages
STATE: Final = "state"  # Doing, pages
QUOTA: Final = "kept"  # pages: at most so many will be stored, after ALLOW
SNAPSHOT: Final = "shown"  # Snapshot, four times a second
ENDED: Final = "ended"  # Snapshot: the last; everything is committed
FAILED: Final = "failed"  # the error that it cannot go on for, and how that is told


class Activity(Enum):
    """What keeps a worker."""

    WORKING = "working"
    RESTING = "resting"  # nothing is left to do, and its outbox is empty
    FULL = "full"  # it has stored as many pages as it may


class Begin(NamedTuple):
    """How a worker begins."""

    config: Config
    seeds: list[Seed]
    part: WorkerShare
    add_seeds: bool
    fingerprint_key: int | None  # of all workers; None: each has its own


class WorkerLink(Protocol):
    """The end of a link to a worker."""

    def send(self, *message: Any) -> None: ...


@dataclass(slots=True)
class WorkerState:
    """What is known of one worker."""

    link: WorkerLink | None = None  # None: it has died
    is_open: bool = False
    activity: Activity = Activity.WORKING
    pages: int = 0
    allowed: int = 0  # pages, where there is a limit
    reclaiming: bool = False  # what it may not need of that
    snapshot: Snapshot | None = None
    ended: bool = False


@dataclass(slots=True)
class Hub:
    """Sits in the supervisor, between all workers."""

    workers: list[WorkerState]
    max_pages: int | None
    on_open: Callable[[], None]  # every part is there, for the first time in this run
    on_done: Callable[[], None]  # nothing is left to do, or nothing more may be done
    on_failure: Callable[[GossamerError], None]
    finished: bool = False
    _started: bool = False  # all were open once
    _stopping: bool = False
    _spare: int = field(default=0)  # pages that nobody has been allowed

    # --- coming and going --------------------------------------------------------------------------------

    def on_started(self, number: int, link: WorkerLink) -> None:
        """A worker was started; it is not open yet."""
        seat = self.workers[number]
        seat.link, seat.is_open, seat.activity, seat.reclaiming = link, False, Activity.WORKING, False

    def on_death(self, number: int) -> None:
        """The others go on; what is for this one waits in their outboxes."""
        seat = self.workers[number]
        seat.link, seat.is_open, seat.activity = None, False, Activity.WORKING

    def stop(self) -> None:
        """Everybody is to finish what is in flight; told again, to leave it."""
        self._stopping = True
        self.broadcast(STOP)

    def broadcast(self, *message: Any) -> None:
        for seat in self.workers:
            if seat.link is not None:
                seat.link.send(*message)

    # --- messages ----------------------------------------------------------------------------------------

    def on_message(self, number: int, what: str, *rest: Any) -> None:
        """One message of a worker."""
        seat = self.workers[number]
        if what in (URLS, ACKNOWLEDGED):
            self._forward(number, what, *rest)
        elif what == SNAPSHOT:
            (seat.snapshot,) = rest
        elif what == STATE:
            seat.activity, seat.pages = rest
            self._check_progress()
        elif what == OPEN:
            (seat.pages,) = rest
            seat.is_open = True
            self._on_opened(number)
        elif what == QUOTA:
            self._on_quota(seat, *rest)
        elif what == ENDED:
            (seat.snapshot,) = rest
            seat.ended = True
        elif what == FAILED:
            self.on_failure(*rest)

    def _forward(self, number: int, what: str, to: int, load: Any) -> None:
        """What is for a worker that is not there is dropped: it is sent again when that one is back."""
        seat = self.workers[to]
        if seat.link is not None and seat.is_open:
            seat.link.send(what, number, load)

    def _on_opened(self, number: int) -> None:
        if self._stopping:
            return
        if not self._started:
            if all(seat.is_open for seat in self.workers):
                self._started = True
                self.on_open()
                self._share_out()
                self.broadcast(START)
            return
        seat = self.workers[number]
        assert seat.link is not None
        if self.max_pages is not None:
            seat.link.send(ALLOW, seat.allowed)
        seat.link.send(START)
        for other in self.workers:
            if other is not seat and other.link is not None:
                other.link.send(RESTARTED, number)

    # --- how many pages ------------------------------------------------------------------------------------

    def _share_out(self) -> None:
        """Let everybody begin with an equal share of the pages that may still be stored; half of all is kept back."""
        if self.max_pages is None:
            return
        left = max(0, self.max_pages - sum(seat.pages for seat in self.workers))
        each = left // (2 * len(self.workers))
        self._spare = left - each * len(self.workers)
        for seat in self.workers:
            seat.allowed = seat.pages + each
            self._allow(seat)

    def _allow(self, seat: WorkerState) -> None:
        if seat.link is not None:
            seat.link.send(ALLOW, seat.allowed)

    def _on_quota(self, seat: WorkerState, pages: int) -> None:
        """A worker will store no more than so many: what it gives back is somebody else's."""
        self._spare += seat.allowed - pages
        seat.allowed, seat.reclaiming = pages, False
        self._check_progress()

    def _check_progress(self) -> None:
        """Is everything done? Does somebody need more?"""
        if self._stopping or not self._started or not all(seat.is_open for seat in self.workers):
            return
        full = [seat for seat in self.workers if seat.activity is Activity.FULL and seat.pages >= seat.allowed]
        resting = [seat for seat in self.workers if seat.activity is Activity.RESTING]
        if full and self._spare:
            each = -(-self._spare // (2 * len(full)))
            for seat in full:
                given = min(each, self._spare)
                self._spare -= given
                seat.allowed += given
                seat.activity = Activity.WORKING
                self._allow(seat)
            return
        if full:
            for seat in resting:
                if seat.allowed > seat.pages and not seat.reclaiming and seat.link is not None:
                    seat.reclaiming = True
                    seat.link.send(ALLOW, seat.pages)
        if len(full) + len(resting) == len(self.workers) and not any(seat.reclaiming for seat in self.workers):
            self.finished = not full
            self._stopping = True
            self.on_done()
