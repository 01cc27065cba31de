"""Within a worker: what it finds for others goes out, what they find for it comes in, and the hub is told how it does.

A lot of URLs at a time is under way to each owner. The owner answers when they are on record; only then do they leave
the outbox. An owner that has died and come back is sent again what it did not answer for.
"""

import asyncio
from collections import Counter
from collections.abc import Coroutine
from dataclasses import replace

from gossamer.crawl.run.assemble import Crawl
from gossamer.ipc import Link
from gossamer.model.partition import OutboxUrl, WorkerShare
from gossamer.workers.hub import HAS, KEPT, STATE, URLS, Doing

LOT = 1000
"""URLs that are under way to one owner at most."""
LOOK_SECONDS = 0.05


class OutboxExchange:
    """Lives on the worker's event loop."""

    def __init__(self, crawl: Crawl, part: WorkerShare, link: Link) -> None:
        self._crawl = crawl
        self._link = link
        self._others = [number for number in range(part.of) if number != part.number]
        self._sent = dict.fromkeys(self._others, 0)  # by owner: the last number that went out, answered for or not
        self._under_way: dict[int, int] = {}  # the same while there is no answer
        self._looking: set[int] = set()  # owners for whom the outbox is being read
        self._more: set[int] = set()  # and who may have more in it than was seen
        self._taking = 0  # lots that are not on record yet
        self._told: tuple[Doing, int] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        crawl.store.on_put_out = self.send_all

    # --- out -----------------------------------------------------------------------------------------

    def send_all(self) -> None:
        """There may be something for everybody."""
        for owner in self._others:
            self._send(owner)

    def _send(self, owner: int) -> None:
        if owner in self._under_way or owner in self._looking:
            self._more.add(owner)
            return
        self._more.discard(owner)
        self._looking.add(owner)
        self._later(self._send_lot(owner))

    async def _send_lot(self, owner: int) -> None:
        try:
            crawl = self._crawl
            lot: list[OutboxUrl] = await crawl.reads.ask(crawl.loader.outgoing, owner, self._sent[owner], LOT)
        finally:
            self._looking.discard(owner)
        if lot:
            self._sent[owner] = self._under_way[owner] = lot[-1].id
            self._link.tell(URLS, owner, lot)
        elif owner in self._more:
            self._send(owner)

    def answered(self, owner: int, last: int) -> None:
        """An owner has everything up to this number on record."""
        self._crawl.store.batch.delivered[owner] = last
        self._crawl.store.nudge()
        if self._under_way.get(owner) == last:
            del self._under_way[owner]
            self._send(owner)

    def came_back(self, owner: int) -> None:
        """An owner was started anew: what it has not answered for may be lost."""
        self._under_way.pop(owner, None)
        self._sent[owner] = 0
        self._send(owner)

    # --- in ------------------------------------------------------------------------------------------

    def take_in(self, sender: int, lot: list[OutboxUrl]) -> None:
        """What another worker has found for us."""
        self._taking += 1
        self._tell(Doing.WORKING)  # before the answer: whoever hears that all rest must not miss this
        self._later(self._take_in(sender, lot))

    async def _take_in(self, sender: int, lot: list[OutboxUrl]) -> None:
        crawl = self._crawl
        try:
            excluded: Counter[str] = Counter()
            crawl.store.batch.candidates += crawl.admission.admit_foreign(lot, excluded)
            for reason, n in excluded.items():
                crawl.counters.count(crawl.store.batch, "excluded:" + reason, n)
            crawl.store.hasten()
            await crawl.store.until_committed()
        finally:
            self._taking -= 1
        self._link.tell(HAS, sender, lot[-1].id)

    # --- how it does -----------------------------------------------------------------------------------

    def allow(self, pages: int | None) -> None:
        """So many pages may be stored, none of those taken back that are under way already."""
        engine = self._crawl.engine
        if pages is not None:
            pages = max(pages, engine.pages + engine.in_flight + len(engine.documents))
        engine.limits = replace(engine.limits, max_pages=pages)
        if pages is not None:
            self._link.tell(KEPT, pages)
        engine.pump()

    async def watch(self) -> None:
        """Tell the hub whenever we have nothing left to do, or something again."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            doing = self._doing()
            if doing is Doing.RESTING and await self._crawl.reads.ask(self._crawl.loader.any_outgoing):
                doing = Doing.WORKING
                self.send_all()
            self._tell(doing if doing is self._doing() else Doing.WORKING)

    def _doing(self) -> Doing:
        crawl, engine = self._crawl, self._crawl.engine
        if self._taking or self._under_way or self._looking or engine.in_flight or len(engine.documents):
            return Doing.WORKING
        if not crawl.store.is_idle:
            return Doing.WORKING
        if crawl.counters.total["state:queued"] == 0 and crawl.frontier.is_quiet and engine.requeue.is_over:
            return Doing.RESTING
        allowed = engine.limits.max_pages
        return Doing.WORKING if allowed is None or engine.pages < allowed else Doing.FULL

    def _tell(self, doing: Doing) -> None:
        told = (doing, self._crawl.engine.pages)
        if told != self._told and (self._told is None or doing is not Doing.WORKING or doing is not self._told[0]):
            self._told = told
            self._link.tell(STATE, *told)

    def _later(self, job: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(job)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._crawl.engine.fail(error)

    def close(self) -> None:
        for task in self._tasks:
            task.cancel()
