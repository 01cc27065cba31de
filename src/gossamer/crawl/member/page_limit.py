"""The limit of pages of a crawl that workers share: this worker starts no more visits than it was granted pages."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from gossamer.cluster.page_grants import PageGrants
from gossamer.crawl.member.crawl_end import Idleness
from gossamer.crawl.member.shared_store import SharedStore
from gossamer.crawl.run.crawl import Crawl
from gossamer.crawl.visit.settle import Counters
from gossamer.model.requeue import REFRESHING
from gossamer.model.units import Epoch
from gossamer.store.ports import Database
from gossamer.store.table.writer import TableWriter

T = TypeVar("T")

_LOOK = 0.25
"""Seconds until pages are asked for again when none were granted."""
_OTHERS_FIRST = 4 * _LOOK
"""Seconds for which a worker with nothing to fetch leaves to others what it has given back."""


def pages_stored(counters: Counters) -> int:
    """Pages stored by this worker, those in the open batch included."""
    return counters.run["state:stored"] + counters.run[REFRESHING]


class _WriterFence:
    """The transactions of the writer for `PageGrants`."""

    def __init__(self, writer: TableWriter, epoch: Epoch, counters: Counters) -> None:
        self._writer = writer
        self.epoch = epoch
        self._counters = counters

    @property
    def stored(self) -> int:
        return pages_stored(self._counters)

    def run(self, work: Callable[[], T]) -> T:
        return self._writer.run(lambda _: work())


def page_grants_for(db: Database, writer: TableWriter, epoch: Epoch, counters: Counters) -> PageGrants:
    """The grants of a worker whose writer commits on `db`."""
    return PageGrants(db, _WriterFence(writer, epoch, counters))


class PageLimit:
    """Asks for pages before the engine runs out of them. Owned by the event loop."""

    def __init__(self, crawl: Crawl, store: SharedStore, grants: PageGrants, idleness: Idleness) -> None:
        self._crawl, self._store = crawl, store
        self._grants, self._idleness = grants, idleness
        self._wants_grant = asyncio.Event()
        self._limit_changed = False

    def room(self, unsettled: int) -> int | None:
        """How many visits may start, given how many are in progress; None: no limit."""
        if not self._grants.limited:
            return None
        room = self._grants.granted - pages_stored(self._crawl.counters) - unsettled
        if room <= 0:
            self._wants_grant.set()
        return max(room, 0)

    def on_limit_changed(self) -> None:
        """There may be another limit."""
        self._limit_changed = True
        self._grants.on_limit_changed(self._crawl.engine.unsettled)
        self._wants_grant.set()

    async def run(self) -> None:
        """Until cancelled."""
        engine, grants = self._crawl.engine, self._grants
        await self._store.call(lambda _: grants.ask())
        engine.pump_soon()
        while True:
            await self._wants_grant.wait()
            self._wants_grant.clear()
            if self._limit_changed:
                self._limit_changed = False
                grants.on_limit_changed(engine.unsettled)  # again: an answer may have come since
            if grants.has_given_back and self._crawl.frontier.is_quiet:
                await asyncio.sleep(_OTHERS_FIRST)  # or it takes back at once what others have something to fetch for
            if not await self._store.call(lambda _: grants.ask()):
                if engine.is_resting:
                    self._idleness.begin(may_end=True)
                await asyncio.sleep(_LOOK)
            engine.pump_soon()
