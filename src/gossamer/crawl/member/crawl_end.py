"""The end of a run of the crawl: one worker finds it, the others read it with their heartbeats."""

import asyncio
from collections.abc import Callable

from gossamer.cluster import crawl_end
from gossamer.cluster.heartbeat import View
from gossamer.cluster.page_grants import PageGrants
from gossamer.cluster.ports import Session
from gossamer.crawl.member.shared_store import SharedStore
from gossamer.crawl.run.crawl import Crawl
from gossamer.model.units import Epoch, Instant
from gossamer.store.ports import Database

END = 0.5
"""Seconds between two attempts to end the crawl, at first ..."""
LONGEST_END = 5.0
"""... and at last."""


class Idleness:
    """Whether the engine has nothing to do. Owned by the event loop."""

    def __init__(self) -> None:
        self.is_idle = False
        self.may_end = False
        """As far as this worker knows, when it is idle: there is nothing to do later either."""

    def begin(self, *, may_end: bool) -> None:
        self.may_end = may_end
        self.is_idle = True

    def end(self) -> None:
        """There may be something to do, until the engine says otherwise again."""
        self.is_idle = False


class SharedRun:
    """A run of the crawl, which all workers take part in."""

    def __init__(self, session: Session, epoch: Epoch) -> None:
        self._session, self._epoch = session, epoch
        self._beat_at_start = 0  # of this worker

    def start(self, max_pages: int | None, due_by: Instant) -> None:
        """A run begins, for all workers. Raises StoreFailed."""
        self._session.execute("start_run", max_pages, due_by)
        self._beat_at_start = int(self._session.fetch_value("beat_of", self._epoch))

    def state_in(self, view: View) -> str:
        """The state of the crawl; one that was read before this run had begun is that of the last run."""
        # The next heartbeat may have been in progress then, and have read the state before.
        since = self._beat_at_start + 2
        read_since = any(member.epoch == self._epoch and member.beat >= since for member in view.members)
        return view.state if read_since else "running"

    def is_drained(self, view: View) -> bool:
        """Whether this worker was asked to leave."""
        return any(member.draining and member.epoch == self._epoch for member in view.members)


class CrawlEnd:
    """Ends the crawl when it is idle and nothing is left to do, and the engine when the crawl has ended. Owned by the
    event loop."""

    def __init__(
        self,
        crawl: Crawl,
        store: SharedStore,
        run: SharedRun,
        grants: PageGrants,
        idleness: Idleness,
        finish: Callable[[Database], bool],
    ) -> None:
        """`finish`: ends the crawl if that is possible, in a transaction behind the fence."""
        self._crawl, self._store = crawl, store
        self._run, self._grants = run, grants
        self._idleness = idleness
        self._finish = finish

    def follow(self, view: View) -> None:
        """The state of the crawl is decided by all."""
        engine = self._crawl.engine
        if self._run.is_drained(view) and not engine.stopping:
            engine.stop("requested")
        state = self._run.state_in(view)
        if state in crawl_end.ENDED and not engine.stopping:
            reason = {"finished": "finished", "page_limit": "page_limit"}.get(state, "requested")
            engine.end(reason)  # type: ignore[arg-type]

    async def run(self) -> None:
        """Until the crawl has ended, or cancelled."""
        crawl, grants, idleness = self._crawl, self._grants, self._idleness
        pause = END
        while True:
            await asyncio.sleep(pause if idleness.is_idle else END)
            if not idleness.is_idle or not crawl.engine.is_resting:
                idleness.end()
                pause = END
                continue
            if self._store.has_uncounted:
                crawl.store.batch.count_links = True
                await crawl.store.until_commit()
                continue
            grants.keep(crawl.engine.unsettled)
            await self._store.call(lambda _: grants.give_back())  # also if the crawl goes on: others may use them
            may_end = idleness.may_end and not crawl.engine.is_kept_open
            if may_end and (state := await self._store.write(self._try_to_end)) is not None:
                crawl.engine.end("page_limit" if state == "page_limit" else "finished")
                return
            idleness.end()
            crawl.engine.pump_soon()
            pause = min(pause * 1.5, LONGEST_END)

    def _try_to_end(self, db: Database) -> str | None:
        """The state in which the crawl has ended, if it has."""
        if not self._finish(db):
            return None
        found = db.fetch_one("crawl_now")
        return "finished" if found is None else str(found[0])
