"""Within a worker: sends the outbox to the owners, receives URLs from other workers, and reports the worker's activity.

At most one batch of URLs is in transit to each owner. The owner acknowledges it when it is committed; only then do the
URLs leave the outbox. An owner that was restarted is sent again what it has not acknowledged.
"""

import asyncio
from collections import Counter
from collections.abc import Coroutine

from gossamer.crawl.observers import CrawlObserver
from gossamer.crawl.run.crawl import Crawl
from gossamer.ipc import Link
from gossamer.model.batch import Committed
from gossamer.model.partition import OutboxUrl, WorkerShare
from gossamer.workers.hub import ACKNOWLEDGED, QUOTA, STATE, URLS, Activity

LOT = 1000
"""Maximum number of URLs in transit to one owner."""
LOOK_SECONDS = 0.05


class OutboxExchange(CrawlObserver):
    """Owned by the worker's event loop."""

    def __init__(self, crawl: Crawl, part: WorkerShare, link: Link) -> None:
        self._crawl = crawl
        self._link = link
        self._others = [number for number in range(part.total) if number != part.number]
        self._sent = dict.fromkeys(self._others, 0)  # by owner: the last id sent
        self._in_transit: dict[int, int] = {}  # by owner: the last id not yet acknowledged
        self._reading: set[int] = set()  # owners for which the outbox is being read
        self._more: set[int] = set()  # owners that may have more in the outbox
        self._receiving = 0  # batches not committed yet
        self._reported: tuple[Activity, int] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        crawl.engine.observers.subscribe(self)

    # --- sending -------------------------------------------------------------------------------------

    def committed(self, committed: Committed) -> None:
        if committed.outboxed:
            self.send_all()

    def send_all(self) -> None:
        """There may be URLs for every owner."""
        for owner in self._others:
            self._send(owner)

    def _send(self, owner: int) -> None:
        if owner in self._in_transit or owner in self._reading:
            self._more.add(owner)
            return
        self._more.discard(owner)
        self._reading.add(owner)
        self._spawn(self._send_lot(owner))

    async def _send_lot(self, owner: int) -> None:
        try:
            crawl = self._crawl
            lot: list[OutboxUrl] = await crawl.reads.ask(crawl.loader.outbox_urls, owner, self._sent[owner], LOT)
        finally:
            self._reading.discard(owner)
        if lot:
            self._sent[owner] = self._in_transit[owner] = lot[-1].id
            self._link.send(URLS, owner, lot)
        elif owner in self._more:
            self._send(owner)

    def on_acknowledged(self, owner: int, last: int) -> None:
        """An owner has committed everything up to this id."""
        self._crawl.store.batch.delivered[owner] = last
        self._crawl.store.nudge()
        if self._in_transit.get(owner) == last:
            del self._in_transit[owner]
            self._send(owner)

    def on_worker_restarted(self, owner: int) -> None:
        """An owner was restarted: what it has not acknowledged may be lost."""
        self._in_transit.pop(owner, None)
        self._sent[owner] = 0
        self._send(owner)

    # --- receiving -----------------------------------------------------------------------------------

    def receive(self, sender: int, lot: list[OutboxUrl]) -> None:
        """Admit URLs that another worker found for us."""
        self._receiving += 1
        self._report(Activity.WORKING)  # before the acknowledgement, or the hub could think that all workers rest
        self._spawn(self._admit(sender, lot))

    async def _admit(self, sender: int, lot: list[OutboxUrl]) -> None:
        crawl = self._crawl
        try:
            excluded: Counter[str] = Counter()
            crawl.store.batch.candidates += crawl.admission.admit_foreign(lot, excluded)
            for reason, n in excluded.items():
                crawl.counters.count(crawl.store.batch, "excluded:" + reason, n)
            crawl.store.hasten()
            await crawl.store.until_committed()
        finally:
            self._receiving -= 1
        self._link.send(ACKNOWLEDGED, sender, lot[-1].id)

    # --- activity --------------------------------------------------------------------------------------

    def set_page_limit(self, pages: int | None) -> None:
        """Limit the stored pages; pages already in progress are kept."""
        engine = self._crawl.engine
        if pages is not None:
            pages = max(pages, engine.pages + engine.in_flight + len(engine.documents))
        engine.change_page_limit(pages)
        if pages is not None:
            self._link.send(QUOTA, pages)

    async def report_activity(self) -> None:
        """Report to the hub whenever the activity changes."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            activity = self._activity()
            if activity is Activity.RESTING and await self._crawl.reads.ask(self._crawl.loader.has_outbox_urls):
                activity = Activity.WORKING
                self.send_all()
            self._report(activity if activity is self._activity() else Activity.WORKING)

    def _activity(self) -> Activity:
        crawl, engine = self._crawl, self._crawl.engine
        if self._receiving or self._in_transit or self._reading or engine.in_flight or len(engine.documents):
            return Activity.WORKING
        if not crawl.store.is_idle or engine.readmission.is_pending:
            return Activity.WORKING
        if crawl.counters.total["state:queued"] == 0 and crawl.frontier.is_quiet and engine.requeue.is_over:
            return Activity.RESTING
        allowed = engine.limits.max_pages
        return Activity.WORKING if allowed is None or engine.pages < allowed else Activity.FULL

    def _report(self, activity: Activity) -> None:
        previous, report = self._reported, (activity, self._crawl.engine.pages)
        if report == previous:
            return
        if previous is None or activity is not Activity.WORKING or activity is not previous[0]:
            self._reported = report
            self._link.send(STATE, *report)

    def _spawn(self, job: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(job)
        self._tasks.add(task)
        task.add_done_callback(self._on_task_done)

    def _on_task_done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._crawl.engine.fail(error)

    def close(self) -> None:
        for task in self._tasks:
            task.cancel()
