"""Publishes the live status of a running crawl for other processes: its snapshot and, if it takes orders, the last
outcomes of visits, the waiting times of hosts and what has taken effect of the orders."""

import asyncio
import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from gossamer.crawl.events import Outcome
from gossamer.model.queue_depth import QueueDepth
from gossamer.observe.formatter import timestamp
from gossamer.observe.snapshot import Snapshot, Status, SteeringStatus, encode_status
from gossamer.store.ports import LiveStatus

OUTCOMES_KEPT: Final = 50
"""Outcomes published: the last ones if there were more ..."""
MOST_TEXT: Final = 32_768
"""... and only as many as have this many characters together: URLs can be very long."""
_PATIENCE: Final = 1.0  # seconds for the removal


class LivePublisher:
    """Writes the status in a thread, one at a time, and without being waited for: the disk may be busy with commits.
    Owned by the event loop."""

    def __init__(self, live: LiveStatus, take_snapshot: Callable[[], Snapshot], *, is_on_server: bool = False) -> None:
        self.is_on_server = is_on_server
        self._live = live
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="gossamer-live")
        self._take_snapshot = take_snapshot
        self._writing: asyncio.Task[None] | None = None
        self._is_wanted = False  # once more, after the one that is being written
        self._is_closed = False
        self.steering: Callable[[Snapshot], SteeringStatus] | None = None  # of a crawl that takes orders

    def publish(self, snapshot: Snapshot | None = None) -> None:
        """Publish this snapshot; without one, a new one as soon as the last is written."""
        if self._is_closed:
            return
        if self._writing is not None:
            self._is_wanted = self._is_wanted or snapshot is None
            return
        self._writing = asyncio.create_task(self._write(snapshot))

    async def _write(self, snapshot: Snapshot | None) -> None:
        try:
            while True:
                self._is_wanted = False
                # What has taken effect must be in the snapshot: one that was taken before this turn may be older.
                taken = self._take_snapshot() if snapshot is None or self.steering is not None else snapshot
                steering = None if self.steering is None else self.steering(taken)
                status = Status(os.getpid(), taken, steering)
                await asyncio.get_running_loop().run_in_executor(self._thread, self._write_now, status)
                if not self._is_wanted or self._is_closed:
                    return
                snapshot = None
        finally:
            self._writing = None

    def _write_now(self, status: Status) -> None:
        self._live.write(encode_status(status))

    async def close(self) -> None:
        """Publish nothing more, and remove what was published."""
        self._is_closed = True
        removing = asyncio.get_running_loop().run_in_executor(self._thread, self._remove)
        await asyncio.wait([removing], timeout=_PATIENCE)
        self._thread.shutdown(wait=False)

    def _remove(self) -> None:
        self._live.clear()
        self._live.close()


class RecentOutcomes:
    """A subscriber that keeps the last outcomes. Never full."""

    saturation = 0.0
    fill = QueueDepth(0)

    def __init__(self) -> None:
        self.number = 0  # of all outcomes so far
        self._recent: deque[tuple[int, Outcome]] = deque(maxlen=OUTCOMES_KEPT)

    def publish(self, outcome: Outcome) -> None:
        self.number += 1
        self._recent.append((self.number, outcome._replace(response=None)))

    def shown(self, room: int = MOST_TEXT) -> tuple[tuple[int, dict[str, Any]], ...]:
        """The last outcomes that have at most `room` characters together, each with its number, the oldest first."""
        found: list[tuple[int, dict[str, Any]]] = []
        for number, outcome in reversed(self._recent):
            room -= len(outcome.url) + len(outcome.title or "")
            if room < 0:
                break
            found.append((number, _outcome_object(outcome)))
        return tuple(reversed(found))


def _outcome_object(outcome: Outcome) -> dict[str, Any]:
    """As the clients of `/events` get it."""
    title = outcome.title
    return {
        "url": outcome.url,
        "state": outcome.state.word,
        "at": timestamp(outcome.at),
        "depth": outcome.depth,
        "status": outcome.status,
        "reason": outcome.reason,
        "title": None if title is None else title.encode("utf-8", "replace").decode(),
    }
