"""What a worker publishes about itself with each heartbeat, for operators (`observe.workers`)."""

import os
from collections import deque

from gossamer.cluster.heartbeat import Heartbeat
from gossamer.crawl.run.crawl import Crawl
from gossamer.observe.workers import WorkerFigures

RECENT = 10.0
"""Seconds that the rate and the commit time are averaged over."""
_LONGEST_ERROR = 500  # characters


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
