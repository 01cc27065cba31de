"""The crawl: the stages in order, on one event loop.

Rings when a date has come. Under a clock that runs fast while nothing is done, it says when that is.

How much a pipeline does at a time, and when it stops.
"""

import asyncio
import math
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Final

from gossamer.clock import Clock, FastClock
from gossamer.crawl.counters import Counters
from gossamer.crawl.document.processor import DocumentProcessor
from gossamer.crawl.document.queue import DocumentQueue, DocumentQueueLimits
from gossamer.crawl.document.sitemaps import Sitemaps
from gossamer.crawl.events import OutcomeEvents
from gossamer.crawl.load_detector import LoadDetector
from gossamer.crawl.observers import NullObserver, Observers
from gossamer.crawl.requeue import Requeue
from gossamer.crawl.run.recovery import recall, warm
from gossamer.crawl.slots import Slots, open_file_limit, overflow_capacity
from gossamer.crawl.visit.host_context import HostContexts
from gossamer.crawl.visit.settle import Settler
from gossamer.crawl.visit.visit import Visitor
from gossamer.dedup.exact import ContentSeen
from gossamer.errors import GossamerError
from gossamer.fetch.http.body import BodyMemory
from gossamer.frontier.decisions import WaitUntil
from gossamer.frontier.frontier import Frontier
from gossamer.frontier.selector import Load
from gossamer.model.batch import Committed, RetiredHost
from gossamer.model.loads import Loaded, LoadRequest
from gossamer.model.queue_depth import QueueDepth
from gossamer.model.task import Visit
from gossamer.model.units import Instant, Seconds
from gossamer.recrawl.planner import REFRESHING
from gossamer.seen.tiers import SeenTest
from gossamer.store.ports import TaskSource
from gossamer.store.threads import ReaderThread, WriterThread

_LONGEST: Final = 3600.0  # seconds; then we look again


class Alarm:
    """One date at a time: `set` takes the place of what was set before. Owned by the event loop."""

    def __init__(self, clock: Clock, ring: Callable[[], None]) -> None:
        self._fast = clock if isinstance(clock, FastClock) else None
        self._ring = ring
        self._timer: asyncio.TimerHandle | None = None

    @property
    def runs_fast(self) -> bool:
        """Whether time passes quickly when `set` is told that nothing is under way."""
        return self._fast is not None

    def set(self, wait: float, least: float, *, idle: bool) -> None:
        """Ring after `wait` seconds of the clock, and not before `least` real ones. `idle`: nothing is under way."""
        if self._fast is not None and idle:
            real: float = self._fast.rest(Seconds(wait), Seconds(least))
        else:
            real = max(least, wait)
        self._timer = asyncio.get_running_loop().call_later(min(real, _LONGEST), self._ring)

    def clear(self) -> None:
        """It does not ring any more, and time passes as usual."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._fast is not None:
            self._fast.wake()


@dataclass(frozen=True, slots=True)
class EngineLimits:
    concurrency: int = 80
    documents: DocumentQueueLimits = DocumentQueueLimits()
    high_water: float = 0.8  # of any queue: nothing new is fetched
    max_pages: int | None = None
    max_hosts: int = 10_000  # that the frontier has in memory


class Engine(NullObserver):
    """Pulls visits from the frontier while there are slots, and moves what they bring to the store.

    There is one rule: `pump` is called after everything that may let a visit go out (a slot, a load, a commit, the
    clock), and it alone starts visits.
    """

    def __init__(
        self,
        *,
        frontier: Frontier,
        loader: TaskSource,
        reads: ReaderThread,
        store: WriterThread,
        bodies: BodyMemory,
        reader: DocumentProcessor,
        seen: SeenTest,
        contents: ContentSeen[int],
        host_contexts: HostContexts,
        requeue: Requeue,
        counters: Counters,
        clock: Clock,
        limits: EngineLimits,
        observers: Observers,
        settler: Settler,
        events: OutcomeEvents,
        lists: Sitemaps | None = None,
    ) -> None:
        self._frontier = frontier
        self._loader = loader
        self._store = store
        self._bodies = bodies
        self._seen = seen
        self._contents = contents
        self._host_contexts = host_contexts
        self.requeue = requeue
        self._counters = counters
        self._clock = clock
        self.limits = limits
        self.observers = observers
        self.visitor: Visitor | None = None  # set by the assembly; it needs the desk
        room = overflow_capacity(limits.concurrency, open_file_limit())
        self._slots: Slots[asyncio.Task[None]] = Slots(limits.concurrency, room)
        self.documents = DocumentQueue(
            reader,
            clock,
            limits=limits.documents,
            settle=settler.settle,
            on_pause=self.pump,
            find_owners=lambda digests: reads.ask(loader.content_owners, digests),
            on_failure=self.fail,
            lists=lists,
        )
        self._reads = reads
        self._loading = False
        self._pumping = False  # a call of `pump` is on its way
        self._alarm = Alarm(clock, self.pump)
        self._looked_again = False
        self._failure: BaseException | None = None
        self.over = asyncio.Event()
        self.stopping = False
        self.finished = False
        self.keep_open = self.paused = False  # with nothing left to do, waits for more; starts no visit
        self._load_watch = LoadDetector()
        self.events = events
        self.on_load: Callable[[Load, str], None] = lambda load, reason: None  # told of every switch
        observers.subscribe(self)

    # --- starting visits -------------------------------------------------------------------------

    def pump(self) -> None:
        """Start every visit that may start now; then see to what is needed for the next ones."""
        self._pumping = False
        if self.over.is_set():
            return
        loop, idle, wait = asyncio.get_running_loop(), False, math.inf
        self._alarm.clear()
        now = self._clock.now()
        if now >= self.requeue.next_check_at and not self.stopping:
            self.requeue.schedule(now)
        if self.limits.concurrency == 1:
            self._load(now)  # one at a time means in order: what may come before the next one is read first
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
            self._alarm.set(wait, least, idle=self._alarm.runs_fast and self._nothing_under_way())
        if idle and not self._loading:
            self._nothing_to_start()
        elif self.stopping or (self._page_limit_reached() and not self.keep_open):
            self._wind_up()

    def pump_soon(self) -> None:
        """`pump` once for everything that ends in this turn of the loop."""
        if not self._pumping:
            self._pumping = True
            asyncio.get_running_loop().call_soon(self.pump)

    def _room(self) -> int:
        """How many visits may start at this moment."""
        limits, free = self.limits, self._slots.free
        if free <= 0 or self.stopping or self.paused or self.saturation >= limits.high_water:
            return 0
        if limits.concurrency == 1 and not self._all_is_known():
            return 0
        if limits.max_pages is not None:  # every visit under way may become a page: none may be one too many
            free = min(free, limits.max_pages - self.pages - len(self._slots) - len(self.documents))
        return free

    def _all_is_known(self) -> bool:
        """Whether everything that the last page brought is in the queue. With a single slot the order of visits is then
        exactly the ordering's; with more it is as good as what is known when a slot is free."""
        if len(self.documents) or self._loading:
            return False
        self._store.hasten()
        return self._store.is_idle

    @property
    def pages(self) -> int:
        return self._counters.total["state:stored"] + self._counters.total.get(REFRESHING, 0)

    @property
    def saturation(self) -> float:
        """How full the fullest queue is."""
        return max(self.documents.saturation, self._store.saturation, self.events.saturation, self._bodies.saturation)

    def _page_limit_reached(self) -> bool:
        return self.limits.max_pages is not None and self.pages >= self.limits.max_pages

    async def _visit(self, visit: Visit) -> None:
        assert self.visitor is not None
        self.observers.visit_started(visit)
        try:
            await self.visitor.visit(visit)
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # a bug of ours: the crawl must stop loudly, not lose a worker silently
            self.fail(error)
        finally:
            task = asyncio.current_task()
            assert task is not None
            self._slots.leave(task)
            self.pump_soon()

    @property
    def in_flight(self) -> int:
        return len(self._slots)

    @property
    def fills(self) -> tuple[QueueDepth, QueueDepth]:
        """Of the hosts that have a back queue, and of the visits that are out."""
        return QueueDepth(len(self._host_contexts), self.limits.max_hosts), QueueDepth(
            len(self._slots), self._slots.bound
        )

    # --- the end ---------------------------------------------------------------------------------

    def _nothing_to_start(self) -> None:
        """The frontier is idle. An empty queue while anything is under way is not the end."""
        if not self._nothing_under_way() or not self._frontier.is_quiet:
            return
        if self._counters.total["state:queued"] == 0:
            if self.requeue.nothing_waits() and not self.keep_open:
                self.finished = True
                self.over.set()
            elif self.requeue.next_check_at == 0.0:  # something is to be queued, and the timer does not know
                self.pump_soon()
        elif not self._looked_again:
            self._looked_again = True
            self._frontier.rewind()
            self.pump()
        else:
            waiting = self._counters.total["state:queued"]
            self.fail(GossamerError(f"{waiting} URLs are queued, but the frontier cannot find them"))

    def _nothing_under_way(self) -> bool:
        """Whether nothing can happen before a date comes. What has to be committed first is, without delay."""
        if len(self._slots) or len(self.documents) or self._loading:
            return False
        self._store.hasten()
        return self._store.is_idle

    def only_silence_left(self) -> bool:
        """Whether all that is left to do is to wait for hosts that have never answered. Looks at every host."""
        if self._loading or len(self.documents) or len(self._host_contexts) >= self.limits.max_hosts:
            return False
        return self._host_contexts.none_has_answered() and self._frontier.statistics().next_due is None

    def _wind_up(self) -> None:
        """No more visits are started; over when what is under way has been committed."""
        if len(self._slots) or len(self.documents):
            return
        if not self._store.is_idle:
            self._store.hasten()
        else:
            self.over.set()

    def stop(self) -> None:
        """Finish what is in flight, commit it, and end."""
        self.stopping = True
        self.pump()

    def pause(self, paused: bool) -> None:
        """Start no visits, or start them again. What is in flight goes on."""
        self.paused = paused
        self.pump()

    def fail(self, error: BaseException) -> None:
        """Something that must not happen has happened; `run` raises it."""
        if self._failure is None:
            self._failure = error
        self.over.set()

    # --- loading -----------------------------------------------------------------------------------

    def _retire(self) -> None:
        if retired := self._frontier.take_retired():
            self._store.batch.retired.extend(RetiredHost(r.host_id, r.not_before) for r in retired)
            self._store.nudge()

    def _load(self, now: Instant) -> None:
        if self._loading or self.stopping:
            return
        order = self._frontier.request_load(now)
        if not order:
            return
        self._loading = True
        future = self._reads.ask(self._loader.load, order)
        future.add_done_callback(lambda done: self._loaded(order, done))

    def _loaded(self, order: LoadRequest, done: "asyncio.Future[Loaded]") -> None:
        self._loading = False
        if done.cancelled():
            return
        if (error := done.exception()) is not None:
            self.fail(error)
            return
        try:
            self._take_in(done.result())
        except Exception as bug:  # raised in a callback, it would only be printed
            self.fail(bug)
        self.pump()

    def _take_in(self, loaded: Loaded) -> None:
        now = self._clock.now()
        for front in loaded.fronts:
            self._frontier.add_front(front.front, front.entries, front.next_due, loaded.number)
        for host in loaded.hosts:
            if host.record is not None:
                self.observers.host_loaded(host.record, host.robots)
            self._frontier.add_host(host.host_id, host.record, host.classes, loaded.number, now)
        self._frontier.end_load()

    # --- commits -----------------------------------------------------------------------------------

    def committed(self, committed: Committed) -> None:
        """The engine is the last observer: everything else knows of the commit when visits are started."""
        self._looked_again = False
        self._frontier.on_commit(committed)
        self.pump()

    # --- running -----------------------------------------------------------------------------------

    async def run(self) -> None:
        """Crawl until nothing is left, a limit is reached, or `stop`. Everything is committed on return."""
        storing = asyncio.create_task(self._guard(self._store.run()))
        reading = self.documents.run(recall(self._loader, self._reads.ask, self.documents.near))
        warming = warm(self._loader, self._reads.ask, self._contents, self._seen)
        side = [asyncio.create_task(self._guard(job)) for job in (reading, warming, self._watch_load())]
        try:
            self.pump()
            await self.over.wait()
            if self._failure is not None:
                raise self._failure
            self._store.finish()
            await storing
            if self._failure is not None:
                raise self._failure
        finally:
            self.over.set()  # or visits that are cancelled would make room for new ones
            self._alarm.clear()
            tasks = (*side, *self._slots.all, storing)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._reads.close()

    async def _guard(self, job: Coroutine[None, None, None]) -> None:
        """A side task that dies stops the crawl."""
        try:
            await job
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            self.fail(error)

    async def _watch_load(self) -> None:
        """Switch the selector's ratios with the load (`crawl.load_detector`), and let late visits step aside
        where they keep others from starting."""
        while True:
            await asyncio.sleep(0.25)
            if self._slots.overflow_late(self._clock.now()):
                self.pump()
            load, reason = self._load_watch.look(self._clock.monotonic(), self._slots.busy, self.saturation)
            if load is not self._frontier.selector.load:
                self._frontier.set_load(load)
                self.on_load(load, reason)

    @property
    def load_reason(self) -> str:
        """Why the load is what it is, in words."""
        return self._load_watch.reason
