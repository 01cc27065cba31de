"""Each stage stopped in the middle of a crawl (X1): the queue before it fills to its bound and no further, nothing more
is fetched than fits, memory stays, and when the stage goes on nothing is lost."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import pytest
import uvloop

from gossamer.crawl.document.processor import DecodedDocument
from gossamer.crawl.events import Outcome, PageQueue
from gossamer.crawl.hooks import MAX_WAITING, Hook
from gossamer.crawl.run.session import Session
from gossamer.extract.crawl_page import PageContent
from gossamer.model.batch import Batch, Committed
from gossamer.model.units import Instant
from gossamer.store.ports import BatchWriter
from tests.integration.crawl_checks import check_everything
from tests.integration.crawl_process import scene
from tests.integration.slow_stages import MAX_DOCUMENTS, MAX_OUT, MAX_SETTLEMENTS, WEB, Brake, Watcher, play

pytestmark = pytest.mark.service
T = TypeVar("T")

MAX_PAGES = 20  # ahead of whoever takes them
GROWTH = 32 * 1024 * 1024  # bytes of memory; what fits into all queues here is some megabytes


class Slowed:
    """Whatever it stands for, with one method behind the brake."""

    def __init__(self, real: Any, method: str, brake: Brake) -> None:
        self._real, self._method, self._brake = real, method, brake

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._real, name)
        if name != self._method:
            return found
        return lambda *args: self._brake.around(lambda: found(*args))


# --- the stages ------------------------------------------------------------------------------------------


def reading(opened: Session, brake: Brake) -> None:
    """On the event loop, as most pages are: whoever fetches waits for it too."""
    documents: Any = opened.crawl.engine.documents
    documents._processor = Slowed(documents._processor, "extract", brake)


class AllLarge(Slowed):
    """Every page is read in the child process."""

    def __init__(self, real: Any, brake: Brake) -> None:
        super().__init__(real, "", brake)
        self._turn = asyncio.Lock()

    def is_large(self, _: DecodedDocument) -> bool:
        return True

    async def extract_in_process(self, opened: DecodedDocument) -> tuple[DecodedDocument, PageContent | None]:
        async with self._turn:
            await asyncio.to_thread(self._brake.around, lambda: None)
            found: tuple[DecodedDocument, PageContent | None] = await self._real.extract_in_process(opened)
            return found


def reading_elsewhere(opened: Session, brake: Brake) -> None:
    documents: Any = opened.crawl.engine.documents
    documents._processor = AllLarge(documents._processor, brake)


def archive(opened: Session, brake: Brake) -> None:
    store: Any = opened.crawl.store
    store._writer._captures = Slowed(store._writer._captures, "append", brake)


class SlowWriter:
    """`BatchWriter`."""

    def __init__(self, writer: BatchWriter, brake: Brake) -> None:
        self._writer, self._brake = writer, brake

    def commit(self, batch: Batch, now: Instant) -> Committed:
        return self._brake.around(lambda: self._writer.commit(batch, now), len(batch.settlements))

    def close(self) -> None:
        self._writer.close()


def commits(opened: Session, brake: Brake) -> None:
    store: Any = opened.crawl.store
    store._writer = SlowWriter(store._writer, brake)


class SlowHook(Hook):
    """A user's."""

    def __init__(self, brake: Brake) -> None:
        self._brake = brake
        self.urls: list[str] = []

    def on_outcome(self, outcome: Outcome) -> None:
        self._brake.around(lambda: self.urls.append(outcome.url))


def hooks(opened: Session, brake: Brake) -> None:
    """They were given when the session was opened."""


class Taker:
    """Takes pages as `Crawl.pages` of the library does, and works on each."""

    def __init__(self, opened: Session, brake: Brake) -> None:
        engine = opened.crawl.engine
        self._queue = PageQueue(MAX_PAGES, 1 << 30, engine.pump_soon)
        self._brake = brake
        engine.events.subscribe(self._queue)
        self.task = asyncio.create_task(self._take())

    async def _take(self) -> None:
        async for _ in self._queue:
            if self._brake.pulled:
                await asyncio.to_thread(self._brake.around, lambda: None)
            else:
                self._brake.around(lambda: None)


class Stage(NamedTuple):
    prepare: Callable[[Session, Brake], object]
    queue: str | None  # that fills before it, if any does
    upstream: int  # what fits between a fetch and the stage, beyond 80 % of its queue
    seconds: float | None = None  # for which it stops each time, where it cannot until it is let go on


TO_THE_BATCH = MAX_OUT + MAX_DOCUMENTS
STAGES = {
    "reading": Stage(reading, None, TO_THE_BATCH, 0.04),
    "reading elsewhere": Stage(reading_elsewhere, "documents", TO_THE_BATCH),
    "archive": Stage(archive, "batch", TO_THE_BATCH),
    "commits": Stage(commits, "batch", TO_THE_BATCH),
    "hooks": Stage(hooks, "listeners", TO_THE_BATCH + 2 * MAX_SETTLEMENTS),
    "taking pages": Stage(Taker, "listeners", TO_THE_BATCH + 2 * MAX_SETTLEMENTS),
}


@pytest.mark.parametrize("name", STAGES)
def test_a_stage_that_stops_stops_fetching_bounds_memory_and_loses_nothing(tmp_path: Path, name: str) -> None:
    stopped = STAGES[name]
    brake = Brake(stopped.seconds)
    own = [SlowHook(brake)] if stopped.prepare is hooks else []

    def still(watcher: Watcher) -> bool:
        # What blocks the event loop blocks this question too.
        return watcher.in_flight == 0 if stopped.queue is not None else brake.slowed >= 20

    with scene(tmp_path / "web", WEB) as stage:
        seen = uvloop.run(
            play(
                stage,
                brake,
                stopped.queue,
                still=still,
                prepare=lambda opened: stopped.prepare(opened, brake),
                hooks=own,
            )
        )

    truth = check_everything(stage, stage.web.requests())
    assert seen.finished and brake.slowed > 0
    # The queue before the stage was felt, and no queue was ever fuller than it may be. Listeners are told of whole
    # commits: theirs may be exceeded by what was on its way.
    assert stopped.queue is None or seen.peaks[stopped.queue] >= 0.8
    assert seen.peaks.pop("listeners") <= 1.0 + 2 * MAX_SETTLEMENTS / (MAX_WAITING if own else MAX_PAGES)
    assert all(peak <= 1.0 for peak in seen.peaks.values()), seen.peaks
    # No more was fetched than the stage let through, and what fits between; though there was more to fetch.
    assert seen.fetched <= seen.passed + stopped.upstream
    assert seen.waiting > 0
    assert seen.grown < GROWTH
    if own:
        assert set(own[0].urls) == truth.all_urls()
