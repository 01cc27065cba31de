"""The crawl as its last live status shows it, for the routes."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Final

from gossamer.clock import Clock
from gossamer.config.load import Config
from gossamer.crawl.status import own_use
from gossamer.observe.snapshot import STALE_AFTER, Snapshot, Status, decode_status
from gossamer.store.ports import LiveStatus

REFRESH_SECONDS: Final = 0.25


class LiveView:
    """Reads the live status of a crawl. Owned by the event loop."""

    def __init__(self, live: LiveStatus, process: int, config: Config, clock: Clock) -> None:
        """`process`: that of the crawl. `config`: without the overrides; replaced when it is read again."""
        self.config = config
        self.status: Status | None = None
        """The last status; None before the first."""
        self._live = live
        self._process = process
        self._clock = clock
        self._texts: list[bytes] = []
        self._read_at = 0.0  # when the last status was read first, monotonic
        self._thread = ThreadPoolExecutor(1, "gossamer-live")
        self._latest: tuple[Status, Snapshot] | None = None

    @property
    def latest(self) -> Snapshot | None:
        """The last snapshot, with what this process uses. If there has been none for long, the crawl could not publish
        it: its disk is full, or the server of its store is gone."""
        status = self.status
        if status is None:
            return None
        if self._latest is None or self._latest[0] is not status:
            self._latest = status, replace(status.snapshot, front=own_use())
        snapshot = self._latest[1]
        return replace(snapshot, store_failing=True) if self.age >= STALE_AFTER else snapshot

    @property
    def age(self) -> float:
        """Seconds since the last status came."""
        return self._clock.monotonic() - self._read_at

    @property
    def is_open(self) -> bool:
        """Whether the crawl has been opened and takes orders."""
        return self.status is not None and self.status.steering is not None

    async def refresh(self) -> bool:
        """Read the status again. Returns whether there was a new one."""
        texts = await asyncio.get_running_loop().run_in_executor(self._thread, self._live.read)
        if not texts or texts == self._texts:
            return False
        self._texts = texts
        found = decode_status(texts, self._process)
        if found is None:
            return False
        self.status, self._read_at = found, self._clock.monotonic()
        return True

    async def watch(self, on_update: Callable[[], None]) -> None:
        """Call `on_update` for every new status, until cancelled."""
        seen: Status | None = None
        while True:
            await self.refresh()
            if self.status is not seen:
                seen = self.status
                on_update()
            await asyncio.sleep(REFRESH_SECONDS)

    def close(self) -> None:
        self._thread.submit(self._live.close)
        self._thread.shutdown()
