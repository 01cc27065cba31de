"""What a worker publishes about itself with each heartbeat (`observe.workers`), and what it learns of the others."""

import asyncio
import os
from collections import deque
from contextlib import suppress

from gossamer.clock import boot_time
from gossamer.cluster.heartbeat import Heartbeat
from gossamer.crawl.member.ownership import PartitionOwnership
from gossamer.crawl.member.page_limit import pages_stored
from gossamer.crawl.member.shared_store import SharedStore
from gossamer.crawl.run.crawl import Crawl
from gossamer.errors import StoreFailed
from gossamer.observe.snapshot import SharingCounts
from gossamer.observe.workers import WorkerFigures

RECENT = 10.0
"""Seconds that the rate and the commit time are averaged over."""
_LONGEST_ERROR = 500  # characters
_STATS = 1.0
"""Seconds between two publications."""
_COUNTS = 5.0
"""Seconds between two looks at what the metrics show of the whole crawl."""


class FigureTaker:
    """Takes the figures of a running worker. For the event loop."""

    def __init__(self, crawl: Crawl, heartbeat: Heartbeat) -> None:
        self._crawl, self._heartbeat = crawl, heartbeat
        self._samples: deque[tuple[float, int, int, float]] = deque()  # (monotonic, pages, commits, their seconds)
        self._error: str | None = None
        self._error_at: float | None = None

    def take(self, pages: int, lease: float) -> WorkerFigures:
        """`pages`: stored in this life. `lease`: seconds that are left."""
        crawl = self._crawl
        now, store = crawl.clock.monotonic(), crawl.store
        self._samples.append((now, pages, store.commits, store.commit_seconds))
        while len(self._samples) > 2 and self._samples[1][0] <= now - RECENT:
            self._samples.popleft()
        then, pages_then, commits_then, seconds_then = self._samples[0]
        commits = store.commits - commits_then
        self._note_error()
        return WorkerFigures(
            at=crawl.clock.now(),
            fetched=crawl.counters.run["fetched"],
            rate=round(max(0, pages - pages_then) / (now - then), 3) if now > then else 0.0,
            in_flight=crawl.engine.in_flight,
            lease=round(max(lease, 0.0), 3),
            commit_seconds=round((store.commit_seconds - seconds_then) / commits, 4) if commits else None,
            cache=None if crawl.cache is None else crawl.cache.counts().fault or "in use",
            error=self._error,
            error_at=self._error_at,
            directory=str(crawl.directory.path.absolute()),
            machine=os.uname().nodename,
            pid=os.getpid(),
        )

    def _note_error(self) -> None:
        crawl = self._crawl
        failing = crawl.store.failing or self._heartbeat.failure
        if failing is not None:
            self._error, self._error_at = str(failing)[:_LONGEST_ERROR], crawl.clock.now()


class FigurePublisher:
    """Publishes the figures of a running worker, and adds to its counters what the others have counted. `text` is for
    any thread, everything else for the event loop."""

    def __init__(self, crawl: Crawl, heartbeat: Heartbeat) -> None:
        self._crawl, self._heartbeat = crawl, heartbeat
        self._figures = FigureTaker(crawl, heartbeat)
        self.text = "{}"
        """What the heartbeats send."""

    async def run(self) -> None:
        """Until cancelled."""
        crawl = self._crawl
        while True:
            lease = self._heartbeat.lease.end() - boot_time()
            self.text = self._figures.take(pages_stored(crawl.counters), lease).encode()
            if not crawl.reads.is_closed:  # else the crawl is over, and its spool is being delivered
                with suppress(StoreFailed):
                    crawl.counters.rebase(await crawl.reads.ask(crawl.loader.counters_of_others))
            await asyncio.sleep(_STATS)


class SharingMetrics:
    """What the metrics show of a worker, and of the whole crawl. For the event loop."""

    def __init__(self, store: SharedStore, name: str, heartbeat: Heartbeat, ownership: PartitionOwnership) -> None:
        self._store, self._name = store, name
        self._heartbeat, self._ownership = heartbeat, ownership
        self._free = self._deaths = 0

    async def run(self) -> None:
        """Ask the store now and then, until cancelled."""
        while True:
            with suppress(StoreFailed):
                self._free, self._deaths = await self._store.read(lambda loader: loader.free_and_deaths(self._name))
            await asyncio.sleep(_COUNTS)

    def counts(self) -> SharingCounts:
        view, lease = self._heartbeat.view, self._heartbeat.lease
        return SharingCounts(
            lease=max(0.0, lease.end() - boot_time()),
            partitions=len(self._ownership),
            free=self._free,
            workers=0 if view is None else len(view.members),
            deaths=self._deaths,
        )
