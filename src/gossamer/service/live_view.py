"""The crawl as its last live status shows it, for the routes: that of the process next to this one, or of all workers
that share a crawl (`all_workers`)."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Final, NamedTuple, Protocol

from gossamer.clock import Clock
from gossamer.config.load import Config
from gossamer.crawl.status import own_use
from gossamer.observe.snapshot import STALE_AFTER, Snapshot, Status, decode_status
from gossamer.observe.workers import WorkerStatus
from gossamer.store.ports import LiveStatus

REFRESH_SECONDS: Final = 0.25


class Reading(NamedTuple):
    """What was read at a time."""

    status: Status
    workers: tuple[WorkerStatus, ...] | None = None  # that are alive; None: the store is not one that workers share


class LiveSource(Protocol):
    """Where the live status comes from. Used by one thread at a time."""

    def read(self) -> Reading | None:
        """The status; None if there is no other than before, or it cannot be read."""
        ...

    def close(self) -> None: ...


class OneProcess:
    """`LiveSource` of the crawl that runs in one process."""

    def __init__(self, live: LiveStatus, process: int) -> None:
        self._live = live
        self._process = process
        self._texts: list[bytes] = []

    def read(self) -> Reading | None:
        texts = self._live.read()
        if not texts or texts == self._texts:
            return None
        self._texts = texts
        found = decode_status(texts, self._process)
        return None if found is None else Reading(found)

    def close(self) -> None:
        self._live.close()


class LiveView:
    """Reads the live status of a crawl. Owned by the event loop."""

    def __init__(self, source: LiveSource, config: Config, clock: Clock) -> None:
        """`config`: without the overrides; replaced when it is read again."""
        self.config = config
        self.status: Status | None = None
        """The last status; None before the first."""
        self.workers: tuple[WorkerStatus, ...] | None = None
        """The workers that are alive; None: the store is not one that workers share."""
        self._source = source
        self._clock = clock
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
        """Whether the crawl has been opened. If it runs in one process, that takes orders."""
        return self.status is not None and (self.status.steering is not None or self.workers is not None)

    @property
    def takes_orders(self) -> bool:
        return self.status is not None and self.status.steering is not None

    async def refresh(self) -> bool:
        """Read the status again. Returns whether there was a new one."""
        found = await asyncio.get_running_loop().run_in_executor(self._thread, self._source.read)
        if found is None:
            return False
        (self.status, self.workers), self._read_at = found, self._clock.monotonic()
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
        self._thread.submit(self._source.close)
        self._thread.shutdown()
