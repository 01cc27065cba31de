"""A store that is slow makes fetching slow; it does not make memory grow, and nothing is lost."""

import time
from dataclasses import dataclass
from pathlib import Path

import pytest
import uvloop
from checking import check_everything
from running import Scene, scene, small_web

from gossamer.assemble import assemble
from gossamer.config import make_config
from gossamer.crawl.desk import DeskLimits
from gossamer.filter.canonical import canonicalise
from gossamer.model.units import Instant
from gossamer.seed.lists import read_arguments
from gossamer.store.changes import Batch, Committed, Settlement
from gossamer.store.ports import BatchWriter

pytestmark = pytest.mark.service

# At 80 % of a bound nothing more is fetched. What is in flight or on the desk then must fit into the last fifth, as it
# does with the bounds of a real crawl.
CONCURRENCY = 4
WEB = small_web(seed=71, hosts=60, pages=350, fault_rate=0.0, crawl_delay_hosts=0, slow_hosts=0, bytes_spread=0.0)


class SlowWriter:
    """A writer that takes its time over every batch."""

    def __init__(self, writer: BatchWriter) -> None:
        self._writer = writer

    def commit(self, batch: Batch, now: Instant) -> Committed:
        time.sleep(0.25)
        return self._writer.commit(batch, now)

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
    """Crawl with small bounds and a slow store, in this process; notes how full the queues were at every step."""
    peaks = Peaks()
    wishes = {"dir": str(stage.dir), "scope": "tld:test", "allow_private": True, "dns": stage.web.dns_address}
    config = make_config({}, {**wishes, "delay": 0.01, "concurrency": CONCURRENCY})
    crawl = assemble(config, read_arguments(stage.web.seeds, canonicalise))
    store, desk = crawl.store, crawl.pipeline.desk
    store._writer = SlowWriter(store._writer)
    store._max_settlements, store._max_weight = max_settlements, max_weight
    desk._limits = DeskLimits(max_documents=max_settlements)
    settle = Batch.settle

    def watched(batch: Batch, settlement: Settlement) -> None:
        settle(batch, settlement)
        peaks.settlements = max(peaks.settlements, len(batch.settlements))
        peaks.weight = max(peaks.weight, batch.weight)
        peaks.documents = max(peaks.documents, len(desk))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Batch, "settle", watched)
        await crawl.pipeline.run()
    peaks.commits, peaks.fetched = store.commits, crawl.tally.total["fetched"]
    peaks.finished = crawl.pipeline.finished
    await crawl.close()
    return peaks


@pytest.mark.parametrize(
    ("max_settlements", "max_weight"), [(40, 10_000_000), (10_000, 150_000)], ids=["by number", "by weight"]
)
def test_a_slow_store_slows_fetching_down_and_loses_nothing(
    tmp_path: Path, max_settlements: int, max_weight: int
) -> None:
    with scene(tmp_path / "web", WEB) as stage:
        peaks = uvloop.run(crawl_slowly(stage, max_settlements=max_settlements, max_weight=max_weight))

    check_everything(stage, stage.web.requests())
    assert peaks.finished
    assert peaks.settlements <= max_settlements
    assert peaks.weight <= max_weight
    assert peaks.documents <= max_settlements
    # The bounds were felt: at 80 % nothing more is fetched, so the store saw many batches, and full ones.
    assert peaks.settlements >= 0.8 * max_settlements or peaks.weight >= 0.8 * max_weight
    assert peaks.commits >= peaks.fetched / max_settlements
