"""A store that does not commit stops fetching; it does not make memory grow, and nothing is lost."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
import uvloop

from gossamer.backends.sqlite.driver import connect
from gossamer.config.load import make_config
from gossamer.crawl.document.queue import DocumentQueueLimits
from gossamer.crawl.run.assemble import assemble
from gossamer.filter.canonical import canonicalise
from gossamer.model.batch import Batch, Committed
from gossamer.model.settlement import Settlement
from gossamer.model.units import Instant
from gossamer.seed.lists import read_arguments
from gossamer.store.ports import BatchWriter
from tests.integration.crawl_checks import check_everything
from tests.integration.crawl_process import Scene, scene, small_web

pytestmark = pytest.mark.service

# At 80 % of a bound nothing more is fetched. What is in flight or on the desk then must fit into the last fifth, as it
# does with the bounds of a real crawl.
CONCURRENCY = 4
WEB = small_web(seed=71, hosts=60, pages=350, fault_rate=0.0, crawl_delay_hosts=0, slow_hosts=0, bytes_spread=0.0)


QUEUED = 100
"""URLs in the queue when commits stop: links of uncommitted pages cannot be visited, and these fill every bound."""


class HeldWriter:
    """A writer that stops committing once, when the queue is long, until it may go on."""

    def __init__(self, writer: BatchWriter, path: Path) -> None:
        self._writer = writer
        self._path = path
        self.is_held = False
        self.go_on = threading.Event()

    def commit(self, batch: Batch, now: Instant) -> Committed:
        if self.is_held:
            self.go_on.wait()
        committed = self._writer.commit(batch, now)
        if not self.is_held:
            with closing(connect(self._path, read_only=True)) as db:
                (queued,) = db.execute("SELECT count(*) FROM urls WHERE state = 0").fetchone()
            self.is_held = queued >= QUEUED
        return committed

    def close(self) -> None:
        self._writer.close()


@dataclass(slots=True)
class Peaks:
    """The most that was ever waiting."""

    settlements: int = 0
    weight: int = 0
    documents: int = 0
    commits: int = 0
    fetched: int = 0
    finished: bool = False


async def crawl_slowly(stage: Scene, *, max_settlements: int, max_weight: int) -> Peaks:
    """Crawl in this process with small bounds and a store that stops committing until the crawl stands still; notes
    how full the queues were at every step."""
    peaks = Peaks()
    wishes = {"dir": str(stage.dir), "scope": "tld:test", "allow_private": True, "dns": stage.web.dns_address}
    config = make_config({}, {**wishes, "delay": 0.01, "concurrency": CONCURRENCY})
    crawl = assemble(config, read_arguments(stage.web.seeds, canonicalise))
    store, documents = crawl.store, crawl.engine.documents
    store._writer = held = HeldWriter(store._writer, stage.dir / "crawl.db")
    store.slow_after = 3600.0
    store._max_settlements, store._max_weight = max_settlements, max_weight
    documents._limits = DocumentQueueLimits(max_documents=max_settlements)
    settle = Batch.settle

    def watched(batch: Batch, settlement: Settlement) -> None:
        settle(batch, settlement)
        peaks.settlements = max(peaks.settlements, len(batch.settlements))
        peaks.weight = max(peaks.weight, batch.weight)
        peaks.documents = max(peaks.documents, len(documents))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Batch, "settle", watched)
        running = asyncio.create_task(crawl.engine.run())

        async def until(holds: Callable[[], bool]) -> None:
            for _ in range(60_000):
                if holds() or running.done():
                    break
                await asyncio.sleep(0.01)

        try:
            await until(lambda: store.saturation >= 0.8 and crawl.engine.in_flight == 0 and not len(documents))
        finally:
            held.go_on.set()
        await running
    peaks.commits, peaks.fetched = store.commits, crawl.counters.total["fetched"]
    peaks.finished = crawl.engine.finished
    await crawl.close()
    return peaks


@pytest.mark.parametrize(
    ("max_settlements", "max_weight"), [(40, 10_000_000), (10_000, 150_000)], ids=["by number", "by weight"]
)
def test_a_store_that_does_not_commit_stops_fetching_and_loses_nothing(
    tmp_path: Path, max_settlements: int, max_weight: int
) -> None:
    with scene(tmp_path / "web", WEB) as stage:
        peaks = uvloop.run(crawl_slowly(stage, max_settlements=max_settlements, max_weight=max_weight))

    check_everything(stage, stage.web.requests())
    assert peaks.finished
    assert peaks.settlements <= max_settlements
    assert peaks.weight <= max_weight
    assert peaks.documents <= max_settlements
    # The bounds were felt: at 80 % nothing more is fetched.
    assert peaks.settlements >= 0.8 * max_settlements or peaks.weight >= 0.8 * max_weight
    assert peaks.commits >= peaks.fetched / max_settlements
