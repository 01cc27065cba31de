"""What a running crawl tells while it runs: on the screen, in a file, in the log."""

import asyncio
import json
import os
from pathlib import Path
from typing import cast

from gossamer.crawl.run.directory import STATUS
from gossamer.crawl.run.live import LivePublisher
from gossamer.crawl.run.session import Watch, _tick
from gossamer.model.units import Instant
from gossamer.observe.log import EventLog
from gossamer.observe.snapshot import Snapshot, StatusFile


class OneMoment:
    """A crawl in which nothing changes."""

    def __init__(self) -> None:
        self.looks = 0

    def snapshot(self) -> Snapshot:
        self.looks += 1
        return Snapshot(at=Instant(1_700_000_000.0), in_flight=7, waiting_for="7 visits in flight")

    def log_delivery(self) -> None: ...


class Shown:
    def __init__(self) -> None:
        self.snapshots: list[Snapshot] = []

    def update(self, snapshot: Snapshot) -> None:
        self.snapshots.append(snapshot)

    def close(self) -> None: ...


async def told(directory: Path, shown: Shown) -> dict[str, object]:
    """What the file says while it runs, once it is there."""
    log = EventLog(directory / "crawl.log")
    moment = OneMoment()
    live = LivePublisher(StatusFile(directory / STATUS), moment.snapshot)
    ticking = asyncio.create_task(_tick(cast(Watch, moment), shown, log, live))
    for _ in range(12_000):
        await asyncio.sleep(0.01)
        if (directory / STATUS).exists() or ticking.done():
            break
    found = json.loads((directory / STATUS).read_text())
    ticking.cancel()
    await asyncio.gather(ticking, return_exceptions=True)
    await live.close()
    log.close()
    assert isinstance(found, dict)
    return found


def test_a_running_crawl_says_what_is_in_flight_and_takes_it_back_when_it_ends(tmp_path: Path) -> None:
    shown = Shown()

    found = asyncio.run(told(tmp_path, shown))

    assert found["process"] == os.getpid()
    snapshot = found["snapshot"]
    assert isinstance(snapshot, dict)
    assert (snapshot["in_flight"], snapshot["waiting_for"]) == (7, "7 visits in flight")
    assert shown.snapshots
    assert not [name for name in os.listdir(tmp_path) if "status" in name]
