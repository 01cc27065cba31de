"""The engine of a crawl: starts visits, loads the frontier, and ends the crawl. One event loop."""

import asyncio
import math
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from typing import Final, Protocol

from gossamer.clock import Clock, FastClock
from gossamer.crawl.document.queue import DocumentQueue
from gossamer.crawl.events import OutcomeEvents
from gossamer.crawl.observers import CrawlObserver, Observers
from gossamer.crawl.requeue import Requeue
from gossamer.crawl.run.cache import CacheServer
from gossamer.crawl.run.recovery import WarmUp
from gossamer.crawl.run.rule_changes import LimitEnforcement, Readmission
from gossamer.crawl.slots import LoadDetector, Slots, open_file_limit, overflow_capacity
from gossamer.crawl.visit.host_context import HostContexts
from gossamer.crawl.visit.settle import CrawlState
from gossamer.crawl.visit.visit import Visitor
from gossamer.errors import GossamerError
from gossamer.fetch.http.body import BodyMemory
from gossamer.frontier.decisions import WaitUntil
from gossamer.model.batch import Batch, Committed, RetiredHost
from gossamer.model.loads import HostLoaded, Loaded
from gossamer.model.queue_depth import QueueDepth
from gossamer.model.requeue import REFRESHING
from gossamer.model.task import Visit
from gossamer.model.units import Instant, Seconds
from gossamer.observe.snapshot import StopReason
from gossamer.store.ports import Delivery
from gossamer.store.threads import StoreQueries

_MAX_TIMER: Final = 3600.0  # seconds; then the engine checks again


class Alarm:
    """A timer for one date: `set` replaces the date set before. Owned by the event loop.

    In time-lapse (`FastClock`) it tells the clock when nothing is in progress, so that time may pass quickly.
    """

    def __init__(self, clock: Clock, ring: Callable[[], None]) -> None:
        self._fast = clock if isinstance(clock, FastClock) else None
        self._ring = ring
        self._timer: asyncio.TimerHandle | None = None

    @property
    def runs_fast(self) -> bool:
        """Whether time passes quickly while `set` is called with `idle`."""
        return self._fast is not None

    def set(self, wait: float, least: float, *, idle: bool) -> None:
        """Ring after `wait` seconds of the clock, and not before `least` real ones. `idle`: nothing is in progress."""
        if self._fast is not None and idle:
            real: float = self._fast.rest(Seconds(wait), Seconds(least))
        else:
            real = max(least, wait)
        self._timer = asyncio.get_running_loop().call_later(min(real, _MAX_TIMER), self._ring)

    def clear(self) -> None:
        """Cancel the timer; time passes as usual."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._fast is not None:
            self._fast.wake()


@dataclass(frozen=True, slots=True)
class EngineLimits:
    """How much an engine does at a time, and when it stops."""

    concurrency: int = 80
    high_water: float = 0.8  # saturation (see there) at which no visit is started
    max_pages: int | None = None
    max_hosts: int = 10_000  # with a back queue in memory


class CrawlSharing(Protocol):
    """What an engine asks where workers share a crawl (`crawl.member`). Called on the event loop."""

    def page_room(self, unsettled: int) -> int | None:
        """How many visits may start, given how many are in progress; None: no limit."""
        ...

    def loaded(self, host: HostLoaded) -> HostLoaded:
        """A host of a partition that was taken over: when it may be contacted first."""
        ...

    def on_idle(self, *, may_end: bool) -> None:
        """There is nothing to do in the partitions of this worker now; with `may_end`, nor later."""
        ...

    def on_ended(self) -> None:
        """The engine has ended: no contact is open any more, and nothing more is committed."""
        ...


@dataclass(frozen=True, slots=True)
class EngineStages:
    """What the engine drives."""

    visitor: Visitor
    documents: DocumentQueue
    requeue: Requeue
    events: OutcomeEvents
    limit_enforcement: LimitEnforcement
    readmission: Readmission


class Engine(CrawlObserver):
    """Takes visits from the frontier while there are free slots, and loads the frontier from the store.

    `pump` is called after everything that may allow a visit to start (a free slot, a load, a commit, a timer), and is
    the only place where visits are started.
    """

    def __init__(
        self,
        state: CrawlState,
        observers: Observers,
        host_contexts: HostContexts,
        stages: EngineStages,
        *,
        queries: StoreQueries,
        bodies: BodyMemory,
        warm_up: WarmUp,
        limits: EngineLimits,
        cache: CacheServer | None = None,
        delivery: Delivery | None = None,
    ) -> None:
        """`bodies` is needed for its saturation only, `delivery` for its pace."""
        self._frontier = state.frontier
        self._store = state.store
        self._counters = state.counters
        self._clock = state.clock
        self.observers = observers
        self._host_contexts = host_contexts
        self.visitor = stages.visitor
        self.documents = stages.documents
        self.requeue = stages.requeue
        self.events = stages.events
        self.limit_enforcement = self._limit_enforcement = stages.limit_enforcement
        self.readmission = stages.readmission
        self._queries = queries
        self._bodies = bodies
        self._delivery = delivery
        self._warm_up = warm_up
        self._cache = cache
        self.limits = limits
        self._slots: Slots[asyncio.Task[None]] = Slots(
            limits.concurrency, overflow_capacity(limits.concurrency, open_file_limit())
        )
        self._pump_scheduled = False
        self._alarm = Alarm(state.clock, self.pump)
        self._rewound = False  # the front queues were read from their start since the last commit
        self._failure: BaseException | None = None
        self.over = asyncio.Event()
        self.stopping = False
        self.stopped: StopReason | None = None  # why it ends, as soon as that is certain
        self.finished = False
        self._is_running = False
        self.is_kept_open = False  # with nothing left to do, wait for more
        self.sharing: CrawlSharing | None = None  # with other workers
        self.paused = False  # start no visit
        self._load_detector = LoadDetector()
        observers.subscribe(stages.limit_enforcement)
        observers.subscribe(self)

    # --- starting visits -------------------------------------------------------------------------

    def pump(self) -> None:
        """Start every visit that may start now; then load and schedule what the next ones need."""
        self._pump_scheduled = False
        if self.over.is_set():
            return
        loop, idle, wait = asyncio.get_running_loop(), False, math.inf
        self._alarm.clear()
        now = self._clock.now()
        if now >= self.requeue.next_check_at and not self.stopping:
            self.requeue.schedule(now)
        if self.limits.concurrency == 1:
            self._load(now)  # one visit at a time means in exact order: load what may precede the next one
        slots, room = self._slots, self._room()
        while room > 0:
            turn = self._frontier.next_turn(now)
            if isinstance(turn, Visit):
                unproven = turn.last_took == 0.0 or self._host_contexts[turn.host_id].trouble is not None
                if unproven and not slots.has_room_for_unproven():
                    self._frontier.delay(turn.host_id, slots.retry_at(now))
                    self._frontier.finish(turn, None, now, again=True)
                    continue
                slots.take(loop.create_task(self._visit(turn)), now, turn.last_took, unproven=unproven)
                room -= 1
                continue
            idle = not isinstance(turn, WaitUntil)
            wait = min(self.requeue.next_check_at, turn.when if isinstance(turn, WaitUntil) else math.inf) - now
            break
        self._retire()
        self._load(now)
        if wait < math.inf:
            # Many hosts come due one by one; letting a few gather saves a turn of the loop for each.
            least = 0.002 if self._frontier.resting > 200 else 0.0005
            self._alarm.set(wait, least, idle=self._alarm.runs_fast and self._nothing_in_progress())
        if idle and not self._queries.is_loading:
            self._on_idle()
        elif self.stopping or (self._page_limit_reached() and not self.is_kept_open):
            self._wind_up()

    def pump_soon(self) -> None:
        """Call `pump` once for everything that ends in this turn of the loop."""
        if not self._pump_scheduled:
            self._pump_scheduled = True
            asyncio.get_running_loop().call_soon(self.pump)

    def _room(self) -> int:
        """The number of visits that may start now."""
        limits, free = self.limits, self._slots.free
        if free <= 0 or self.stopping or self.paused or self.saturation >= limits.high_water:
            return 0
        if limits.concurrency == 1 and not self._order_is_known():
            return 0
        if self._delivery is not None and (pace := self._delivery.pace) < 1.0:
            free = min(free, max(1, int(pace * limits.concurrency)) - len(self._slots))
        if self.sharing is not None:
            room = self.sharing.page_room(self.unsettled)
            return free if room is None else min(free, room)
        if limits.max_pages is not None:  # every visit in progress may become a page, and the limit is exact
            free = min(free, limits.max_pages - self.pages - self.unsettled)
        return free

    def _order_is_known(self) -> bool:
        """Whether all links of the last page are in the queue. With a single slot the order of visits is then exactly
        that of the ordering; with more slots it is the best of what is known when a slot is free."""
        if len(self.documents) or self._queries.is_loading:
            return False
        self._store.hasten()
        return self._store.is_idle

    @property
    def pages(self) -> int:
        return self._counters.total["state:stored"] + self._counters.total.get(REFRESHING, 0)

    @property
    def saturation(self) -> float:
        """Of the fullest of four queues: documents, batch, subscribers, bodies."""
        return max(self.documents.saturation, self._store.saturation, self.events.saturation, self._bodies.saturation)

    def _page_limit_reached(self) -> bool:
        return self.limits.max_pages is not None and self.pages >= self.limits.max_pages

    async def _visit(self, visit: Visit) -> None:
        self.observers.visit_started(visit)
        try:
            await self.visitor.visit(visit)
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # a bug: the crawl must stop with an error, not lose a slot silently
            self.fail(error)
        finally:
            task = asyncio.current_task()
            assert task is not None
            self._slots.release(task)
            self.pump_soon()

    @property
    def unsettled(self) -> int:
        """Visits that were started and have no outcome in a batch yet: each may become a page."""
        return len(self._slots) + len(self.documents)

    @property
    def in_flight(self) -> int:
        return len(self._slots)

    @property
    def fills(self) -> tuple[QueueDepth, QueueDepth]:
        """Of the hosts that have a back queue, and of the visits in flight."""
        hosts = QueueDepth(len(self._host_contexts), self.limits.max_hosts)
        return hosts, QueueDepth(len(self._slots), self._slots.bound)

    # --- the end ---------------------------------------------------------------------------------

    def _on_idle(self) -> None:
        """The frontier has nothing to start or to wait for. The crawl is not over while anything is in progress."""
        if not self._nothing_in_progress() or not self._frontier.is_quiet:
            return
        if self.sharing is not None:
            self._on_share_idle(self.sharing)
            return
        if self._counters.total["state:queued"] == 0:
            if self.readmission.is_pending:
                return  # it calls when it is complete, or has found something
            if self.requeue.on_queue_empty() and not self.is_kept_open:
                self.finished, self.stopped = True, "finished"
                self.over.set()
            elif self.requeue.next_check_at == 0.0:  # something is to be queued, and no timer is set for it
                self.pump_soon()
        elif not self._rewound:
            self._rewound = True
            self._frontier.rewind()
            self.pump()
        else:
            waiting = self._counters.total["state:queued"]
            self.fail(GossamerError(f"{waiting} URLs are queued, but the frontier cannot find them"))

    def _on_share_idle(self, sharing: CrawlSharing) -> None:
        """What is queued elsewhere is not known here: the store is asked whether the crawl has ended."""
        if not self._rewound:
            self._rewound = True
            self._frontier.rewind()
            self.pump()
        elif not self.readmission.is_pending:
            is_over = self.requeue.on_queue_empty()
            if not is_over and self.requeue.next_check_at == 0.0:
                self.pump_soon()
            else:
                sharing.on_idle(may_end=is_over)

    @property
    def is_resting(self) -> bool:
        """Whether nothing is in progress and no page may be stored, or nothing is left to do."""
        return self._is_running and not self.readmission.is_pending and self._nothing_in_progress()

    def end(self, reason: StopReason) -> None:
        """The crawl has ended, by decision of all its workers: finish what is in flight, commit it, and end."""
        self.finished = reason == "finished"
        self.stop(reason)

    def reread(self) -> None:
        """Partitions were taken over: look for URLs there."""
        self._rewound = False
        self.requeue.rescan()
        self.pump_soon()

    def _nothing_in_progress(self) -> bool:
        """Whether nothing can happen before a date comes. An open batch is committed without delay."""
        if len(self._slots) or len(self.documents) or self._queries.is_loading:
            return False
        self._store.hasten()
        return self._store.is_idle

    def _wind_up(self) -> None:
        """Start no more visits; over when everything in progress has been committed."""
        if len(self._slots) or len(self.documents):
            return
        if not self._store.is_idle:
            self._store.hasten()
        else:
            self.stopped = self.stopped or "page_limit"
            self.over.set()

    def stop(self, reason: StopReason = "requested") -> None:
        """Finish the visits in flight, commit them, and end."""
        self.stopping = True
        self.stopped = self.stopped or reason
        self.pump()

    def pause(self, paused: bool) -> None:
        """Start no visits, or start them again. Visits in flight continue. Before `run`, it begins that way."""
        self.paused = paused
        if self._is_running:
            self.pump()

    def keep_open(self) -> None:
        """With nothing left to do, or at the page limit, wait for more until `stop`."""
        self.is_kept_open = True

    def change_page_limit(self, pages: int | None) -> None:
        """Stop when this number of pages is stored; None for no limit."""
        self.limits = replace(self.limits, max_pages=pages)
        self.pump_soon()

    def fail(self, error: BaseException) -> None:
        """End the crawl: `run` raises the first error that was reported here."""
        if self._failure is None:
            self._failure, self.stopped = error, "failed"
        self.over.set()

    # --- loading and commits -------------------------------------------------------------------------

    def _retire(self) -> None:
        if retired := self._frontier.take_retired():
            self._store.batch.retired.extend(RetiredHost(r.host_id, r.not_before) for r in retired)
            self._store.nudge()

    def _load(self, now: Instant) -> None:
        if self._queries.is_loading or self.stopping:
            return
        if request := self._frontier.request_load(now):
            self._queries.load(request).add_done_callback(self._on_loaded)

    def _on_loaded(self, done: "asyncio.Future[Loaded]") -> None:
        if done.cancelled():
            return
        if (error := done.exception()) is not None:
            self.fail(error)
            return
        try:
            self._add_to_frontier(done.result())
        except Exception as bug:  # raised in a callback, it would only be printed
            self.fail(bug)
        self.pump()

    def _add_to_frontier(self, loaded: Loaded) -> None:
        now = self._clock.now()
        for front in loaded.fronts:
            self._frontier.add_front(front.front, front.entries, front.next_due, loaded.number)
        for host in loaded.hosts:
            if self.sharing is not None:
                host = self.sharing.loaded(host)
            if host.record is not None:
                self.observers.host_loaded(host.record, host.robots)
            self._frontier.add_host(host.host_id, host.record, host.classes, loaded.number, now)
            self._limit_enforcement.on_host_added(host.host_id)
        self._frontier.end_load()

    def before_commit(self, batch: Batch, now: Instant) -> None:
        """The batch is handed over, so there is room in the next one: visits need not wait until the commit ends."""
        self.pump_soon()

    def committed(self, committed: Committed) -> None:
        """The engine is the last observer: all others know of the commit before visits are started."""
        self._rewound = False
        self._frontier.on_commit(committed)
        self.pump()

    # --- running -----------------------------------------------------------------------------------

    async def run(self) -> None:
        """Crawl until nothing is left, a limit is reached, or `stop`. Everything is committed on return."""
        storing = asyncio.create_task(self._guard(self._store.run()))
        processing = self.documents.run(self.pump, self._prepare_documents())
        jobs = (processing, self._warm_up.load_filters(), self._watch_load(), self.readmission.run(self.pump_soon))
        side = [asyncio.create_task(self._guard(job)) for job in jobs]
        self._is_running = True
        try:
            self.pump()
            await self.over.wait()
            if self._failure is not None:
                raise self._failure
            self._store.finish()
            await storing
            if self._failure is not None:
                raise self._failure
            if self._cache is not None:
                await self._cache.flush()
        finally:
            self.over.set()  # or visits that are cancelled would make room for new ones
            self._alarm.clear()
            tasks = (*side, *self._slots.all, storing)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._queries.close()
            if self.sharing is not None:
                self.sharing.on_ended()

    async def _prepare_documents(self) -> None:
        """What has to be there before a document is processed. The cache only gets a moment to connect."""
        if self._cache is not None:
            await self._cache.wait_for_connection()
        await self._warm_up.load_originals()

    async def _guard(self, job: Coroutine[None, None, None]) -> None:
        """Run a side task; if it fails, the crawl fails."""
        try:
            await job
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            self.fail(error)

    async def _watch_load(self) -> None:
        """Switch the ratios of the selector with the load (`LoadDetector`), and move late visits out of their
        slots where others wait for one."""
        while True:
            await asyncio.sleep(0.25)
            if self._slots.overflow_late(self._clock.now()):
                self.pump()
            load, reason = self._load_detector.check(self._clock.monotonic(), self._slots.busy, self.saturation)
            if load is not self._frontier.selector.load:
                self._frontier.set_load(load)
                self.observers.load_changed(load, reason)

    @property
    def load_reason(self) -> str:
        """Why the load is what it is, in words."""
        return self._load_detector.reason
