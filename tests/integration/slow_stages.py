"""A crawl in this process with a brake in it: pulled until the crawl stands still, then released; and what was seen."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

from gossamer.config.load import make_config
from gossamer.crawl.document.queue import DocumentQueueLimits
from gossamer.crawl.hooks import Hook
from gossamer.crawl.run.session import Session, session
from gossamer.crawl.status import QUEUES
from gossamer.filter.canonical import canonicalise
from gossamer.lab.simweb.audit import ground_truth
from gossamer.observe.display import NoDisplay
from gossamer.seed.lists import read_arguments
from tests.integration.crawl_process import PATIENCE, Scene, small_web

T = TypeVar("T")

WEB = small_web(
    seed=77, hosts=60, pages=720, seed_hosts=12, fault_rate=0.0, crawl_delay_hosts=0, slow_hosts=0, bytes_spread=0.0
)
# Small bounds for a small web. At 80 % nothing more is fetched; what is under way then must fit into the last fifth.
CONCURRENCY = 2
MAX_OUT = 3 * CONCURRENCY  # late visits step aside
MAX_DOCUMENTS = 5 * MAX_OUT
MAX_SETTLEMENTS = 5 * (MAX_OUT + MAX_DOCUMENTS)


class Slowing(Protocol):
    """Makes something slow, and quick again."""

    def pull(self) -> None: ...

    def release(self) -> None: ...

    @property
    def passed(self) -> int:
        """What came through so far."""
        ...


class Brake:
    """While pulled, what it is around comes to a stop: until it is released, or for so many seconds each time."""

    def __init__(self, seconds: float | None = None) -> None:
        self._seconds = seconds
        self._let_go = threading.Event()
        self._let_go.set()
        self.slowed = 0  # times
        self.passed = 0

    @property
    def pulled(self) -> bool:
        return not self._let_go.is_set()

    def pull(self) -> None:
        self._let_go.clear()

    def release(self) -> None:
        """Also what is stopped at the moment."""
        self._let_go.set()

    def around(self, operation: Callable[[], T], passes: int = 1) -> T:
        found = operation()
        if self.pulled:
            self.slowed += 1
            self._let_go.wait(self._seconds)
        self.passed += passes
        return found


@dataclass(slots=True)
class Seen:
    """What was seen of a crawl, a hundred times a second."""

    peaks: dict[str, float] = field(default_factory=lambda: dict.fromkeys(QUEUES, 0.0))
    fetched: int = 0  # from when the queue was full until the crawl stood still
    passed: int = 0
    waiting: int = 0  # URLs that could have been fetched meanwhile
    grown: int = 0  # bytes of memory, while the brake was pulled
    finished: bool = False
    errors: dict[str, int] = field(default_factory=dict)


def rss_bytes() -> int:
    return 4096 * int(Path("/proc/self/statm").read_text().split()[1])


class Watcher:
    """Looks at every queue while its block runs."""

    def __init__(self, opened: Session) -> None:
        self.opened = opened
        self.seen = Seen()
        self.full: dict[str, float] = {}
        self.looks = 0
        self._watching: asyncio.Task[None] | None = None

    async def __aenter__(self) -> "Watcher":
        self._watching = asyncio.create_task(self._watch())
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._watching is not None
        self._watching.cancel()
        await asyncio.gather(self._watching, return_exceptions=True)

    async def _watch(self) -> None:
        while True:
            self.full = {name: fill.saturation for name, fill in self.opened.watch.snapshot().queues.items()}
            for name, full in self.full.items():
                self.seen.peaks[name] = max(self.seen.peaks[name], full)
            self.looks += 1
            await asyncio.sleep(0.01)

    @property
    def fetched(self) -> int:
        return int(self.opened.crawl.counters.total["fetched"])

    @property
    def queued(self) -> int:
        return int(self.opened.crawl.counters.total["state:queued"])

    async def until(self, holds: Callable[[], object], why: str) -> None:
        for _ in range(30_000):
            if holds():
                return
            await asyncio.sleep(0.01)
        raise AssertionError(f"waited in vain for {why}: {self.full}")

    @property
    def in_flight(self) -> int:
        return self.opened.watch.snapshot().in_flight


async def play(
    stage: Scene,
    brake: Slowing,
    queue: str | None,
    *,
    still: Callable[[Watcher], bool] = lambda watcher: watcher.in_flight == 0,
    prepare: Callable[[Session], object] = lambda opened: None,
    hooks: Sequence[Hook] = (),
    **wishes: object,
) -> Seen:
    """A whole crawl. The brake is pulled after some pages and released when the crawl stands `still` with `queue` full,
    if one is named. What `prepare` returns lives as long as the crawl."""
    usual = {"dir": str(stage.dir), "scope": "tld:test", "allow_private": True, "dns": stage.web.dns_address}
    config = make_config({}, {**usual, "delay": 0.01, "concurrency": CONCURRENCY, **wishes})
    # All URLs are known from the beginning: however late commits are, there is more to fetch than fits into the queues.
    seeds = read_arguments(sorted(ground_truth(stage.web.web()).all_urls()), canonicalise)
    async with session(config, seeds, False, NoDisplay(), hooks=hooks) as opened:
        store: Any = opened.crawl.store
        documents: Any = opened.crawl.engine.documents
        store._max_settlements, store.slow_after = MAX_SETTLEMENTS, 3600.0
        documents._limits = DocumentQueueLimits(max_documents=MAX_DOCUMENTS)
        kept = prepare(opened)
        async with Watcher(opened) as watcher:
            running = asyncio.create_task(opened.crawl.engine.run())
            try:
                return await _brake_once(watcher, running, brake, queue, still)
            finally:
                brake.release()
                running.cancel()
                await asyncio.gather(running, return_exceptions=True)
                del kept


async def _brake_once(
    watcher: Watcher,
    running: "asyncio.Task[None]",
    brake: Slowing,
    queue: str | None,
    still: Callable[[Watcher], bool],
) -> Seen:
    seen = watcher.seen
    await watcher.until(lambda: watcher.fetched >= 20, "the crawl to begin")
    assert watcher.queued >= 2 * MAX_SETTLEMENTS  # enough to fill every queue

    memory = rss_bytes()
    slowed = brake.slowed if isinstance(brake, Brake) else 0
    brake.pull()
    if queue is not None and isinstance(brake, Brake):  # it holds a batch that was full before; the next one fills
        await watcher.until(lambda: brake.slowed > slowed, "the stage to stop")
        looks = watcher.looks
        await watcher.until(lambda: watcher.looks > looks, "another look at the queues")
    if queue is not None:
        await watcher.until(lambda: watcher.full[queue] >= 0.8, f"{queue} to fill")
    fetched, passed = watcher.fetched, brake.passed
    await watcher.until(lambda: still(watcher), "the crawl to stand still")
    looks = watcher.looks
    await watcher.until(lambda: watcher.looks >= looks + 5, "five looks at it")
    seen.fetched, seen.passed = watcher.fetched - fetched, brake.passed - passed
    seen.waiting = watcher.queued
    seen.grown = rss_bytes() - memory

    brake.release()
    await asyncio.wait_for(running, PATIENCE)
    last = watcher.opened.watch.snapshot()
    seen.finished, seen.errors = last.finished, dict(last.errors)
    return seen
