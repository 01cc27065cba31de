"""The hub: forwards messages between workers, merges their snapshots, and detects that all work is done.

A worker reports that it is working before it acknowledges what it received, and the sender counts as working until
then. All messages of a worker come over one link, in order. So when all workers are known to be resting, nothing is in
transit.

Messages are tuples that begin with one of the constants below.
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
from gossamer.observe.snapshot import Internals, ReadmissionCounts, SeedCounts, Snapshot, StopReason
from gossamer.seed.lists import Seed

_LARGEST = ("at", "elapsed", "loop_lag", "worst_loop_lag", "store_saturation")
_MOST_SLOW = 5


def merge_snapshots(snapshots: Sequence[Snapshot], *, finished: bool, stopped: StopReason | None = None) -> Snapshot:
    """One snapshot of the whole crawl: sums, maxima of some fields, and `any` of flags. There is at least one
    worker."""
    found: dict[str, object] = {}
    for name in (column.name for column in fields(Snapshot)):
        values = [getattr(snapshot, name) for snapshot in snapshots]
        if name in _LARGEST:
            found[name] = max(values)
        elif name == "next_missing":
            found[name] = min((value for value in values if value is not None), default=None)
        elif isinstance(values[0], bool):
            found[name] = any(values)
        elif isinstance(values[0], int | float):
            found[name] = sum(values)
    high = next((snapshot for snapshot in snapshots if snapshot.load != "normal"), snapshots[0])
    drawn = _added(snapshot.drawn for snapshot in snapshots)
    found |= {
        "statuses": _counted(snapshot.statuses for snapshot in snapshots),
        "errors": _counted(snapshot.errors for snapshot in snapshots),
        "excluded": _counted(snapshot.excluded for snapshot in snapshots),
        "urls_by_front": _added(snapshot.urls_by_front for snapshot in snapshots),
        "drawn": drawn,
        "selector_shares": tuple(100.0 * n / sum(drawn) if sum(drawn) else 0.0 for n in drawn),
        "load": high.load,
        "load_reason": high.load_reason,
        "waiting_for": _waits(snapshots),
        "slowest": tuple(sorted((s for m in snapshots for s in m.slowest), key=lambda s: -s[1])[:_MOST_SLOW]),
        "queues": _filled([snapshot.queues for snapshot in snapshots]),
        "freshness": merge_freshness([(snapshot.freshness, snapshot.pages) for snapshot in snapshots]),
        "internals": Internals(),
        "finished": finished,
        "stopped": stopped,
        "readmission": _all_readmissions([snapshot.readmission for snapshot in snapshots]),
        "seeds": _all_seeds([snapshot.seeds for snapshot in snapshots if snapshot.seeds is not None]),
    }
    return Snapshot(**found)  # type: ignore[arg-type]


def _all_seeds(counts: Sequence[SeedCounts]) -> SeedCounts | None:
    """Every worker has all seeds, and knows what became of its own."""
    if not counts:
        return None
    given, stored = max(seeds.given for seeds in counts), sum(seeds.stored for seeds in counts)
    return SeedCounts(given, stored, _counted(seeds.failed for seeds in counts))


def _all_readmissions(counts: Sequence[ReadmissionCounts | None]) -> ReadmissionCounts | None:
    """None until every worker has counted its pages: the rules become wider for all of them. A worker that was started
    again after its pass has no counts, while those of the others are complete."""
    found = [each for each in counts if each is not None]
    if not found or (len(found) < len(counts) and not all(each.complete for each in found)):
        return None
    return ReadmissionCounts(
        changes=found[0].changes,
        pages=sum(each.pages for each in found),
        done=sum(each.done for each in found),
        returned=sum(each.returned for each in found),
        unreadable=sum(each.unreadable for each in found),
        unreadable_files=tuple(name for each in found for name in each.unreadable_files),
        complete=all(each.complete for each in found),
    )


def _counted(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for one in counts:
        total.update(one)
    return dict(total.most_common())


def _added(rows: Iterable[Sequence[int]]) -> tuple[int, ...]:
    return tuple(sum(column) for column in zip_longest(*rows, fillvalue=0))


def _waits(snapshots: Sequence[Snapshot]) -> str:
    """What the crawl waits for: nothing, as long as any worker has work."""
    said = [snapshot.waiting_for for snapshot in snapshots]
    return "; ".join(dict.fromkeys(said)) if all(said) else ""


def _filled(queues: Sequence[Mapping[str, QueueDepth]]) -> dict[str, QueueDepth]:
    found: dict[str, QueueDepth] = {}
    for one in queues:
        for name, fill in one.items():
            found[name] = QueueDepth(*map(sum, zip(found.get(name, QueueDepth(0)), fill, strict=True)))
    return found


# In both directions; the hub replaces the receiver by the sender.
URLS: Final = "urls"  # worker, URLs found for it
ACKNOWLEDGED: Final = "has"  # worker, outbox id: committed by the owner up to this one

# From the supervisor.
BEGIN: Final = "begin"  # Begin: open the share
START: Final = "go"  # every worker has opened its share: start crawling
ALLOW: Final = "allow"  # page limit, or None
RESTARTED: Final = "back"  # worker: it was restarted
RULES: Final = "rules"  # Config: reload the rules
STOP: Final = "stop"  # finish what is in flight; the second time, drop it

# From a worker.
OPEN: Final = "open"  # pages: its share is open and has this many pages
STATE: Final = "state"  # Activity, pages
QUOTA: Final = "kept"  # pages: the limit it accepted after ALLOW
SNAPSHOT: Final = "shown"  # Snapshot, four times a second
ENDED: Final = "ended"  # the last Snapshot; everything is committed
FAILED: Final = "failed"  # the error that ended it


class Activity(Enum):
    """What a worker is doing."""

    WORKING = "working"
    RESTING = "resting"  # no work left, and its outbox is empty
    FULL = "full"  # it has reached its page limit


class Begin(NamedTuple):
    """Parameters of a worker."""

    config: Config
    seeds: list[Seed]
    part: WorkerShare
    add_seeds: bool
    fingerprint_key: int | None  # of all workers; None: each has its own


class WorkerLink(Protocol):
    """The supervisor's end of a link to a worker."""

    def send(self, *message: Any) -> None: ...


@dataclass(slots=True)
class WorkerState:
    """What the supervisor knows about one worker."""

    link: WorkerLink | None = None  # None: it died
    is_open: bool = False
    activity: Activity = Activity.WORKING
    pages: int = 0
    allowed: int = 0  # page limit, if there is one
    reclaiming: bool = False  # the unused part of it was requested back
    snapshot: Snapshot | None = None
    ended: bool = False


@dataclass(slots=True)
class Hub:
    """Runs in the supervisor, between all workers."""

    workers: list[WorkerState]
    max_pages: int | None
    on_open: Callable[[], None]  # all shares are open, for the first time in this run
    on_done: Callable[[], None]  # no work left, or the page limit is reached
    on_failure: Callable[[GossamerError], None]
    finished: bool = False
    _started: bool = False  # all workers were open once
    _stopping: bool = False
    _spare: int = field(default=0)  # pages of the limit not allotted to a worker

    # --- workers -------------------------------------------------------------------------------------------

    def on_started(self, number: int, link: WorkerLink) -> None:
        """A worker process was started; its share is not open yet."""
        worker = self.workers[number]
        worker.link, worker.is_open, worker.activity, worker.reclaiming = link, False, Activity.WORKING, False

    def on_death(self, number: int) -> None:
        """The others go on; URLs for this worker wait in their outboxes."""
        worker = self.workers[number]
        worker.link, worker.is_open, worker.activity = None, False, Activity.WORKING

    def stop(self) -> None:
        """All workers finish what is in flight; called again, they drop it."""
        self._stopping = True
        self.broadcast(STOP)

    def broadcast(self, *message: Any) -> None:
        for worker in self.workers:
            if worker.link is not None:
                worker.link.send(*message)

    # --- messages ----------------------------------------------------------------------------------------

    def on_message(self, number: int, what: str, *rest: Any) -> None:
        """Handle a message of a worker."""
        worker = self.workers[number]
        if what in (URLS, ACKNOWLEDGED):
            self._forward(number, what, *rest)
        elif what == SNAPSHOT:
            (worker.snapshot,) = rest
        elif what == STATE:
            worker.activity, worker.pages = rest
            self._check_progress()
        elif what == OPEN:
            (worker.pages,) = rest
            worker.is_open = True
            self._on_opened(number)
        elif what == QUOTA:
            self._on_quota(worker, *rest)
        elif what == ENDED:
            (worker.snapshot,) = rest
            worker.ended = True
        elif what == FAILED:
            self.on_failure(*rest)

    def _forward(self, number: int, what: str, to: int, load: Any) -> None:
        """Messages to a worker that is down are dropped: they are sent again when it is back."""
        worker = self.workers[to]
        if worker.link is not None and worker.is_open:
            worker.link.send(what, number, load)

    def _on_opened(self, number: int) -> None:
        if self._stopping:
            return
        if not self._started:
            if all(worker.is_open for worker in self.workers):
                self._started = True
                self.on_open()
                self._share_out()
                self.broadcast(START)
            return
        worker = self.workers[number]
        assert worker.link is not None
        if self.max_pages is not None:
            worker.link.send(ALLOW, worker.allowed)
        worker.link.send(START)
        for other in self.workers:
            if other is not worker and other.link is not None:
                other.link.send(RESTARTED, number)

    # --- page limit ----------------------------------------------------------------------------------------

    def _share_out(self) -> None:
        """Give all workers an equal part of half of the pages that may still be stored; keep the other half."""
        if self.max_pages is None:
            return
        left = max(0, self.max_pages - sum(worker.pages for worker in self.workers))
        each = left // (2 * len(self.workers))
        self._spare = left - each * len(self.workers)
        for worker in self.workers:
            worker.allowed = worker.pages + each
            self._allow(worker)

    def _allow(self, worker: WorkerState) -> None:
        if worker.link is not None:
            worker.link.send(ALLOW, worker.allowed)

    def _on_quota(self, worker: WorkerState, pages: int) -> None:
        """A worker lowered its quota; redistribute the difference."""
        self._spare += worker.allowed - pages
        worker.allowed, worker.reclaiming = pages, False
        self._check_progress()

    def _check_progress(self) -> None:
        """Check whether all work is done, and whether a worker needs a larger quota."""
        if self._stopping or not self._started or not all(worker.is_open for worker in self.workers):
            return
        full = [
            worker for worker in self.workers if worker.activity is Activity.FULL and worker.pages >= worker.allowed
        ]
        resting = [worker for worker in self.workers if worker.activity is Activity.RESTING]
        if full and self._spare:
            each = -(-self._spare // (2 * len(full)))
            for worker in full:
                given = min(each, self._spare)
                self._spare -= given
                worker.allowed += given
                worker.activity = Activity.WORKING
                self._allow(worker)
            return
        if full:
            for worker in resting:
                if worker.allowed > worker.pages and not worker.reclaiming and worker.link is not None:
                    worker.reclaiming = True
                    worker.link.send(ALLOW, worker.pages)
        if len(full) + len(resting) == len(self.workers) and not any(worker.reclaiming for worker in self.workers):
            self.finished = not full
            self._stopping = True
            self.on_done()
