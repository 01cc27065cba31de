"""The hub: forwards messages between workers, merges their snapshots, and detects that all work is done.

A worker reports that it is working before it acknowledges what it received, and the sender counts as working until
then. All messages of a worker come over one link, in order. So when all workers are known to be resting, nothing is in
transit.

Messages are tuples that begin with one of the constants below.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, NamedTuple, Protocol

from gossamer.config.load import Config
from gossamer.errors import GossamerError
from gossamer.model.partition import WorkerShare
from gossamer.observe.snapshot import Snapshot
from gossamer.seed.lists import Seed

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
