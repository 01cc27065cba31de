"""The threads of the store, off the event loop: one commits batches, one runs queries, each one at a time, and others
have a connection each.

Group commit: while a batch is being committed the next one grows, and it is committed when the thread is free. So the
busier the crawl, the larger the transactions, and the cost per page falls.
"""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol, TypeVar

from gossamer.clock import Clock
from gossamer.errors import ConnectionLost, DiskFull, NotThisCrawl, SpoolFull, StoreFailed
from gossamer.model.batch import Batch, Committed
from gossamer.model.loads import HostLoaded, Loaded, LoadRequest, SitemapFacts
from gossamer.model.queue_depth import QueueDepth
from gossamer.model.units import Fingerprint, HostId, HostKey
from gossamer.sketch import Durations
from gossamer.store.ports import BatchWriter, Database, TaskSource

T = TypeVar("T")


class ReaderThread:
    """Asks in the thread. Owned by the event loop.

    Bounded by its callers: each visit in flight and each document in the queue has at most one query, and all others
    (loads, the warming of filters) wait for their last answer. Callers wait, so a slow store fills the document queue,
    and that slows fetching.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="gossamer-load")
        self._is_closing = False
        self.waiting = 0
        """Questions without an answer yet."""

    def ask(self, function: Callable[..., T], *args: object) -> "asyncio.Future[T]":
        """What one of the loader's functions answers."""
        self.waiting += 1
        future = asyncio.get_running_loop().run_in_executor(self._thread, self._repeat, function, *args)
        future.add_done_callback(self._answered)
        return future

    def _repeat(self, function: Callable[..., T], *args: object) -> T:
        """The answer, asked for again as long as the server is away: each question waits for it for a while."""
        while True:
            try:
                return function(*args)
            except ConnectionLost:
                if self._is_closing:
                    raise

    def _answered(self, _: "asyncio.Future[T]") -> None:
        self.waiting -= 1

    @property
    def is_closed(self) -> bool:
        """Whether nothing may be asked any more."""
        return self._is_closing

    def close(self) -> None:
        """Wait for the last answer and end the thread."""
        self._is_closing = True
        self._thread.shutdown()


class ConnectionThread:
    """A connection with a thread of its own, which is opened when it is needed, and again after it has failed. Owned by
    the event loop."""

    def __init__(self, open_database: Callable[[], Database], name: str) -> None:
        self._open = open_database
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._db: Database | None = None

    async def run(self, use: Callable[[Database], T]) -> T:
        """What `use` returns. Raises StoreFailed."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._run, use)

    def run_from_thread(self, use: Callable[[Database], T]) -> T:
        """The same for another thread, which waits. Raises StoreFailed, also after `close`."""
        try:
            running = self._thread.submit(self._run, use)
        except RuntimeError as error:
            raise StoreFailed("the connection is closed") from error
        return running.result()

    def _run(self, use: Callable[[Database], T]) -> T:
        try:
            if self._db is None:
                self._db = self._open()
            return use(self._db)
        except NotThisCrawl as error:  # as long as there are no tables
            raise StoreFailed(str(error)) from error
        except StoreFailed:
            self._close()
            raise

    def _close(self) -> None:
        db, self._db = self._db, None
        if db is not None:
            with suppress(StoreFailed):
                db.close()

    def close(self) -> None:
        """Wait for what is running, and close the connection."""
        self._thread.submit(self._close)
        self._thread.shutdown()


class StoreQueries:
    """The queries of `TaskSource` as futures. They raise StoreFailed. Owned by the event loop."""

    def __init__(self, source: TaskSource, thread: ReaderThread) -> None:
        self.source = source
        self.thread = thread
        self.is_loading = False  # a load request has no answer yet

    def load(self, request: LoadRequest) -> "asyncio.Future[Loaded]":
        """Not to be called while `is_loading`."""
        self.is_loading = True
        future = self.thread.ask(self.source.load, request)
        future.add_done_callback(self._end_load)
        return future

    def _end_load(self, _: "asyncio.Future[Loaded]") -> None:
        self.is_loading = False

    def find_host(self, host: HostKey) -> "asyncio.Future[HostLoaded | None]":
        return self.thread.ask(self.source.find_host, host)

    def redirects_to(self, url_id: int, most: int) -> "asyncio.Future[list[Fingerprint]]":
        return self.thread.ask(self.source.redirects_to, url_id, most)

    def sitemap_facts(self, url_id: int, host_id: HostId) -> "asyncio.Future[SitemapFacts]":
        return self.thread.ask(self.source.sitemap_facts, url_id, host_id)

    def content_owners(self, digests: list[bytes]) -> "asyncio.Future[list[int | None]]":
        return self.thread.ask(self.source.content_owners, digests)

    def close(self) -> None:
        """Wait for the last answer and end the thread."""
        self.thread.close()


FIRST_RETRY, LONGEST_RETRY = 0.25, 5.0
"""Seconds between the tries of a commit that fails; they double."""
SLOW_AFTER = 5.0
"""Seconds after which a commit that is still under way counts as slow. Most take some tens of milliseconds."""


class CommitListener(Protocol):
    """What a crawl does before and after a commit. Called on the event loop; must not wait."""

    def before_commit(self, batch: Batch) -> None:
        """The open batch is about to be committed; this is the last chance to add to it."""
        ...

    def committed(self, committed: Committed) -> None: ...

    def store_failing(self, error: StoreFailed | None) -> None:
        """A commit failed and is tried again; None: one has succeeded since."""
        ...

    def store_slow(self, slow: bool) -> None:
        """The commit under way takes very long, or has ended after that."""
        ...


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """How large the open batch may become."""

    linger: float = 0.1  # seconds that it waits for more outcomes ...
    full_settlements: int = 256  # ... unless it has this many ...
    full_weight: int = 64 * 1024 * 1024  # ... or this many bytes
    max_settlements: int = 2048  # bound of its saturation
    max_weight: int = 64 * 1024 * 1024  # the same, in bytes


class WriterThread:
    """Owns the open batch. Everything but the commit itself happens on the event loop.

    A breaker is built in: while a commit fails it is tried again, and the batch counts as full, so that nothing is
    fetched that could not be stored; the same while a commit takes very long. Nothing is lost meanwhile, and the first
    commit that succeeds closes it. A store whose server is away is waited for however long that takes, unless the crawl
    is to end.
    """

    def __init__(
        self,
        writer: BatchWriter,
        clock: Clock,
        listener: CommitListener,
        limits: BatchLimits | None = None,
        *,
        patience: float = 30.0,
        slow_after: float = SLOW_AFTER,
    ) -> None:
        """`patience`: how long a failing store is retried, in seconds; a full disk only if `outlasts_full_disk`."""
        self._writer = writer
        self._clock = clock
        self._listener = listener
        limits = limits or BatchLimits()
        self._linger = limits.linger
        self._full, self._full_weight = limits.full_settlements, limits.full_weight
        self._max_settlements = limits.max_settlements
        self._max_weight = limits.max_weight
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="gossamer-store")
        self._wake = asyncio.Event()  # there is something to commit
        self._go = asyncio.Event()  # and no reason to wait for more
        self._in_hand: Batch | None = None
        self._waiters: list[asyncio.Future[Committed]] = []  # for the commit of the open batch
        self._closing = False
        self.patience = patience
        self.slow_after = slow_after
        self.outlasts_full_disk = False
        self.prepare: Callable[[Batch], Awaitable[None]] | None = None
        """Looks at a batch before it is committed, and may leave candidates out of it. Never fails."""
        self.failing: StoreFailed | None = None  # why the last try to commit did not succeed
        self.slow = False  # the commit under way takes very long
        self.batch = Batch()
        self.commits = 0
        self.commit_seconds = 0.0
        self.times = Durations()  # of commits

    @property
    def saturation(self) -> float:
        """How full the open batch is; 1.0 is the bound, at which nothing more should be fetched."""
        batch = self.batch
        if self.failing is not None or self.slow:
            return 1.0
        return max(len(batch.settlements) / self._max_settlements, batch.weight / self._max_weight)

    @property
    def fill(self) -> QueueDepth:
        """Of the open batch. The one that is being committed is no larger."""
        batch = self.batch
        return QueueDepth(len(batch.settlements), self._max_settlements, batch.weight, self._max_weight)

    @property
    def is_idle(self) -> bool:
        return self._in_hand is None and not self.batch

    def nudge(self) -> None:
        """Something was put into the batch."""
        self._wake.set()
        if len(self.batch.settlements) >= self._full or self.batch.weight >= self._full_weight:
            self._go.set()

    def hasten(self) -> None:
        """Commit what there is without waiting for company: somebody has nothing to do until then."""
        if self.batch:
            self._wake.set()
            self._go.set()

    async def until_committed(self) -> None:
        """Wait until everything that was put into a batch up to now is committed."""
        if not self.is_idle:
            await self._next_commit()

    async def until_commit(self) -> Committed:
        """Wait until the open batch is committed, and return what came of it."""
        return await self._next_commit()

    def _next_commit(self) -> asyncio.Future[Committed]:
        if not self.batch:  # what is in hand is the last of it
            self.batch.counters["waited_for"] = 0
        waiter: asyncio.Future[Committed] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        self._wake.set()
        return waiter

    async def try_to_commit_within(self, usual: float, patience: float) -> Committed | None:
        """Have the open batch committed without delay: what came of it. None if it is not on record after `patience`
        seconds or, where the store fails, after the `usual` ones: a store that is only slow is waited for."""
        self.hasten()
        waiting = self._next_commit()
        try:
            for _ in range(max(1, round(patience / usual))):
                done, _ = await asyncio.wait({waiting}, timeout=usual)
                if done:
                    return waiting.result()
                if self.failing is not None:
                    return None
            return None
        finally:
            waiting.cancel()

    async def call(self, work: Callable[[], T]) -> T:
        """Run something else in the thread of the writer, between two commits. If the store fails it is run again,
        until patience is at its end. Raises what it raises."""
        loop, pause, failed_at = asyncio.get_running_loop(), FIRST_RETRY, None
        while True:
            try:
                return await loop.run_in_executor(self._executor, work)
            except StoreFailed as error:
                now = self._clock.monotonic()
                failed_at = now if failed_at is None else failed_at
                if self._closing or (now - failed_at >= self.patience and not isinstance(error, ConnectionLost)):
                    raise
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_RETRY)

    async def run(self) -> None:
        """Commit batches until `close`. Raises what a batch could not be committed for: the crawl must stop."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            if not self.batch:
                if self._closing:
                    return
                continue
            await self._company()
            self._listener.before_commit(self.batch)
            self._in_hand, self.batch = self.batch, Batch()
            waiters, self._waiters = self._waiters, []
            batch = self._in_hand
            if self.prepare is not None:
                await self.prepare(batch)
            committed = await self._commit(batch)
            self._in_hand = None
            self.commits += 1
            self.commit_seconds += committed.seconds
            self.times.note_seconds(committed.seconds)
            if self.batch or self._closing:
                self._wake.set()
            self._listener.committed(committed)
            for waiter in waiters:
                if not waiter.done():  # its task may have been cancelled
                    waiter.set_result(committed)

    async def _commit(self, batch: Batch) -> Committed:
        """Commit it, if need be after some tries. Raises StoreFailed when patience is at its end."""
        failed_at: float | None = None
        pause = FIRST_RETRY
        while True:
            try:
                committed = await self._try_to_commit(batch)
            except StoreFailed as error:
                if isinstance(error, DiskFull) and not self.outlasts_full_disk:
                    raise
                now = self._clock.monotonic()
                failed_at = now if failed_at is None else failed_at
                # What is away comes back, be it after hours: for storage only a second signal ends the wait, for the
                # server of the store the first one.
                is_over = now - failed_at >= self.patience and not isinstance(error, ConnectionLost)
                if not isinstance(error, SpoolFull) and (self._closing or is_over):
                    raise
                if self.failing is None:
                    self._listener.store_failing(error)
                self.failing = error
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_RETRY)
            else:
                if self.failing is not None:
                    self.failing = None
                    self._listener.store_failing(None)
                return committed

    async def _try_to_commit(self, batch: Batch) -> Committed:
        loop = asyncio.get_running_loop()
        slow = loop.call_later(self.slow_after, self._is_slow, True)
        try:
            return await loop.run_in_executor(self._executor, self._writer.commit, batch, self._clock.now())
        finally:
            slow.cancel()
            self._is_slow(False)

    def _is_slow(self, slow: bool) -> None:
        if slow is not self.slow:
            self.slow = slow
            self._listener.store_slow(slow)

    async def _company(self) -> None:
        """Let the batch grow for a moment, unless it is large enough or somebody waits for it."""
        try:
            async with asyncio.timeout(self._linger):
                await self._go.wait()
        except TimeoutError:
            pass
        if not self._closing:
            self._go.clear()

    def finish(self) -> None:
        """Commit what is left, then let `run` end."""
        self._closing = True
        self._wake.set()
        self._go.set()

    def close(self) -> None:
        """After `run` has ended: give the writer's files back."""
        self._executor.submit(self._writer.close).result()
        self._executor.shutdown()
