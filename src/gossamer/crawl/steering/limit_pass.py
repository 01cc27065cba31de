"""Applies changed limits to all known URLs, in the background, while the crawl runs.

`LimitEnforcement` (`crawl.run.rule_changes`) takes URLs that the limits exclude out of the frontier at once. A pass
over the table does the rest: it excludes queued URLs that are not in memory, and requeues URLs that only the former
limits excluded.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import closing

from gossamer.crawl.run.rule_changes import LIMIT_REASONS, exclusions
from gossamer.crawl.run.session import Session
from gossamer.crawl.steering.state_changes import StateChanges, commit
from gossamer.model.states import UrlState
from gossamer.observe.snapshot import LimitProgress
from gossamer.reports.records import LimitedUrl
from gossamer.store.table.bulk_changes import MOST

_Pairs = list[tuple[int, str]]


class LimitPass:
    """The passes of one crawl, one at a time: the one after the last change of limits. Owned by the event loop."""

    def __init__(self, opened: Session, changes: StateChanges) -> None:
        self._opened = opened
        self._changes = changes
        self._running: asyncio.Task[None] | None = None  # or ended
        self._is_superseded = False  # other limits are about to be applied
        self._requeued = self._unchecked = 0  # by the last pass

    async def end(self) -> None:
        """Stop applying the limits that are about to change. On return what they have changed is committed."""
        if self._running is not None and not self._running.done():
            self._is_superseded = True
            await asyncio.wait({self._running})
        await commit(self._opened.crawl.store)

    def start(self) -> None:
        """Apply the rules, which have changed just now, to the URLs that are known: queued ones become excluded, and
        URLs that only the old limits excluded are requeued."""
        crawl = self._opened.crawl
        unfinished = crawl.engine.limit_enforcement.start()
        self._is_superseded, self._requeued, self._unchecked = False, 0, crawl.counters.total["discovered"]
        self._running = task = asyncio.create_task(self._apply_limits(unfinished))
        task.add_done_callback(self._on_done)

    def call_when_done(self, callback: Callable[[], None]) -> None:
        """At the end of the pass, or now if none is running."""
        if self._running is None or self._running.done():
            callback()
        else:
            self._running.add_done_callback(lambda _: callback())

    def _on_done(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._opened.log.event("limits.failed", error=str(error))
        self._opened.live.publish()

    async def _apply_limits(self, unfinished: frozenset[int]) -> None:
        """Exclude queued URLs and requeue excluded ones as the rules say now, a slice per commit. If the store fails or
        the service stops, the queued URLs that are left are excluded by their visits, as after a restart."""
        crawl = self._opened.crawl
        pages, files = crawl.admission.rules, crawl.admission.file_rules

        def next_changes(windows: Iterator[tuple[list[LimitedUrl], int]]) -> tuple[_Pairs, list[int], int] | None:
            found = next(windows, None)
            if found is None:
                return None
            excluded: _Pairs = []
            allowed: list[int] = []
            for number, url, host, depth, sitemap, state in found[0]:
                reason = (files if sitemap else pages).may_enter(url, host, depth)
                if state != UrlState.QUEUED:
                    if reason is None:
                        allowed.append(number)
                elif reason is not None and reason in LIMIT_REASONS and number not in unfinished:
                    excluded.append((number, reason))
            return excluded, allowed, found[1]

        await commit(crawl.store)  # what the former limits have excluded, so that the reader finds it
        with closing(await asyncio.to_thread(crawl.open_own_reader)) as reader:
            windows = reader.dead_letters.limited(LIMIT_REASONS)
            while not self._is_superseded and (found := await asyncio.to_thread(next_changes, windows)) is not None:
                excluded, allowed, left = found
                for at in range(0, len(excluded), MOST):
                    crawl.store.batch.bulk_changes += exclusions(excluded[at : at + MOST])
                    await commit(crawl.store)
                self._requeued += await self._changes.change(allowed, UrlState.EXCLUDED, UrlState.QUEUED, LIMIT_REASONS)
                self._unchecked = left
        await commit(crawl.store)  # with what was loaded meanwhile

    def progress(self) -> LimitProgress:
        """How far the last change of limits is applied, with the links that the former limits refused."""
        engine = self._opened.crawl.engine
        reread = engine.readmission.counts
        returned, left = (0, 0) if reread is None else (reread.returned, reread.pages - reread.done)
        is_counted = reread is not None or not engine.readmission.is_pending
        return LimitProgress(
            engine.limit_enforcement.excluded,
            self._requeued + returned,
            self._unchecked,
            left,
            is_counted and (self._running is None or self._running.done()),
        )
