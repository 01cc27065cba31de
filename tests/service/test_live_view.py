"""What the service knows of a crawl: its last live status, and that it is old if it is."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from gossamer.clock import VirtualClock
from gossamer.config.load import Config
from gossamer.model.units import Instant, Seconds
from gossamer.observe.snapshot import STALE_AFTER, Snapshot, Status, StatusFile, SteeringStatus, encode_status
from gossamer.service.app import state_of
from gossamer.service.live_view import LiveView, OneProcess

CRAWL, OTHER = 77, 78


def status(process: int, at: float = 0.0, steering: SteeringStatus | None = None) -> bytes:
    return encode_status(Status(process, Snapshot(at=Instant(at), queued=1), steering))


def viewed(folder: Path, use: Callable[[LiveView, StatusFile, VirtualClock], Awaitable[None]]) -> None:
    async def main() -> None:
        clock, file = VirtualClock(), StatusFile(folder / "status.json")
        view = LiveView(OneProcess(file, CRAWL), Config(), clock)
        try:
            await use(view, file, clock)
        finally:
            view.close()

    asyncio.run(main())


def test_a_crawl_is_open_when_it_takes_orders(tmp_path: Path) -> None:
    async def use(view: LiveView, file: StatusFile, clock: VirtualClock) -> None:
        found = [(await view.refresh(), view.latest is None, view.is_open)]
        for steering in (None, SteeringStatus()):
            file.write(status(CRAWL, 1.0, steering))
            found.append((await view.refresh(), view.latest is None, view.is_open))

        assert found == [(False, True, False), (True, False, False), (True, False, True)]

    viewed(tmp_path, use)


def test_the_status_of_another_process_and_what_is_no_status_are_ignored(tmp_path: Path) -> None:
    async def use(view: LiveView, file: StatusFile, clock: VirtualClock) -> None:
        for text in (status(OTHER), b"{", b""):
            file.write(text)
            assert not await view.refresh() and view.latest is None
        file.write(status(CRAWL))
        assert await view.refresh()
        file.clear()
        assert not await view.refresh() and view.latest is not None

    viewed(tmp_path, use)


def test_a_crawl_that_has_published_nothing_for_long_fails(tmp_path: Path) -> None:
    async def use(view: LiveView, file: StatusFile, clock: VirtualClock) -> None:
        file.write(status(CRAWL))
        await view.refresh()
        clock.advance(Seconds(STALE_AFTER - 0.1))
        assert state_of(view.latest) == "running" and not await view.refresh()
        clock.advance(Seconds(0.2))
        assert state_of(view.latest) == "store failing"
        file.write(status(CRAWL, 1.0))
        await view.refresh()
        assert state_of(view.latest) == "running"

    viewed(tmp_path, use)


def test_a_snapshot_has_what_this_process_uses(tmp_path: Path) -> None:
    async def use(view: LiveView, file: StatusFile, clock: VirtualClock) -> None:
        file.write(status(CRAWL))
        await view.refresh()
        latest = view.latest
        assert latest is not None and latest.front is not None and latest.front.rss_bytes > 0

    viewed(tmp_path, use)
