"""The stream behind `GET /events`: a snapshot four times a second, and the outcomes of visits."""

import asyncio
import re
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple

from gossamer.crawl.events import Outcome, OutcomeEvents
from gossamer.model.queue_depth import QueueDepth
from gossamer.observe.snapshot import ProcessUse, Snapshot
from gossamer.service.history import History, LiveProbes, Row

MOST_WATCHERS = 20
PAGES_KEPT = 50
"""Outcomes sent with an update: the last ones if there were more ..."""
MOST_TEXT = 32_768
"""... and only as many as have this many characters together: URLs can be very long."""


LINGER = 40
"""Snapshots (ten seconds) for which outcomes are still collected after the last client has disconnected, so that a
browser that reconnects misses none."""


_POSITION = re.compile(r"([0-9]{1,20})-([0-9]{1,20})").fullmatch


class Update(NamedTuple):
    """What a client receives at a time, and the position from which it can continue after a reconnect."""

    snapshot: Snapshot
    outcomes: list[Outcome]
    position: str


class EventStream:
    """Sends progress to clients. It is the display of the session, and subscribes to outcomes while there are clients.
    Never full: a slow client misses updates and does not slow the crawl down."""

    saturation = 0.0
    fill = QueueDepth(0)

    def __init__(self) -> None:
        self._latest: Snapshot | None = None
        self._take_snapshot: Callable[[], Snapshot] | None = None
        self._commits: Callable[[], int] = lambda: 0
        self._as_of = 0
        self._history = History()
        self._probes = LiveProbes()
        self._details: tuple[Snapshot, dict[str, object]] | None = None  # shared by all clients
        self._updated = asyncio.Event()
        self._events: OutcomeEvents | None = None
        self._recent: deque[tuple[int, Outcome]] = deque(maxlen=PAGES_KEPT)
        self._number = 0
        self._watchers = 0
        self._run = ""  # positions of another run are invalid
        self._unwatched = 0  # snapshots since the last client disconnected
        self._subscribed = False
        self._closed = False
        self.front_usage: ProcessUse | None = None  # as last reported by the front process
        self.on_update: Callable[[], None] = lambda: None

    def open(
        self,
        events: OutcomeEvents,
        take_snapshot: Callable[[], Snapshot],
        commits: Callable[[], int],
        probes: LiveProbes | None = None,
    ) -> None:
        """Connect the stream to a crawl. `commits` returns the number of commits so far; `probes` are used only while
        there are clients."""
        self._events, self._take_snapshot, self._commits = events, take_snapshot, commits
        self._probes = probes or LiveProbes()

    @property
    def latest(self) -> Snapshot | None:
        """The last snapshot, taken again if there was a commit since: a client whose change was acknowledged sees it.
        A snapshot costs milliseconds with many hosts, so it is not taken for every request."""
        if self._take_snapshot is not None and self._commits() != self._as_of:
            self._as_of = self._commits()
            self._latest = replace(self._take_snapshot(), front=self.front_usage)
        return self._latest

    # --- called by the crawl ---------------------------------------------------------------------

    def update(self, snapshot: Snapshot) -> None:
        snapshot = replace(snapshot, front=self.front_usage)
        self._latest, self._as_of = snapshot, self._commits()
        self._history.add(snapshot)
        self._run = self._run or f"{1000 * snapshot.at:.0f}"
        self._unwatched = 0 if self._watchers else self._unwatched + 1
        if self._unwatched > LINGER:
            self._subscribe(False)
        updated, self._updated = self._updated, asyncio.Event()
        updated.set()
        self.on_update()

    def close(self) -> None:
        """End the stream of every client."""
        self._closed = True
        self._updated.set()

    def publish(self, outcome: Outcome) -> None:
        self._number += 1
        self._recent.append((self._number, outcome._replace(response=None)))

    # --- data for clients ------------------------------------------------------------------------

    def history(self) -> list[Row]:
        """The last minutes, sent to a client when it connects."""
        return self._history.rows()

    def details(self, snapshot: Snapshot) -> dict[str, object]:
        """What is sent with a snapshot. Computed once for all clients."""
        if self._details is None or self._details[0] is not snapshot:
            self._details = snapshot, self._history.details(snapshot, self._probes)
        return self._details[1]

    # --- clients ---------------------------------------------------------------------------------

    @property
    def watchers(self) -> int:
        return self._watchers

    @contextmanager
    def admit(self) -> Iterator[bool]:
        """Count a client while the block runs. False if there are too many; then it is not counted."""
        if self._watchers >= MOST_WATCHERS:
            yield False
            return
        self._watchers += 1
        self._subscribe(True)
        try:
            yield True
        finally:
            self._watchers -= 1

    def _subscribe(self, subscribe: bool) -> None:
        if self._events is None or subscribe is self._subscribed:
            return
        self._subscribed = subscribe
        if subscribe:
            self._events.subscribe(self)
        else:
            self._events.unsubscribe(self)

    def position(self, last: str | None = None) -> str:
        """Where a client starts: after `last`, the last position it received, if that is of this run; otherwise now."""
        found = _POSITION(last or "")
        is_ours = found is not None and found[1] == self._run and int(found[2]) <= self._number
        return f"{self._run}-{int(found[2]) if found is not None and is_ours else self._number}"

    async def updates(self, every: int = 4, last: str | None = None) -> AsyncIterator[Update]:
        """Every `every`-th snapshot with the outcomes since the previous one, until the crawl ends. The first update
        has the outcomes since the position `last`, as far as they are kept. For admitted clients."""
        sent = int(self.position(last).rpartition("-")[2])
        while True:
            if (latest := self.latest) is not None:
                outcomes = newest_within([outcome for number, outcome in self._recent if number > sent])
                sent = self._number
                yield Update(latest, outcomes, self.position())
            for _ in range(every):
                if self._closed:
                    return
                await self._updated.wait()


def newest_within(outcomes: list[Outcome], room: int = MOST_TEXT) -> list[Outcome]:
    """The last outcomes that have at most `room` characters together."""
    for at in range(len(outcomes) - 1, -1, -1):
        room -= len(outcomes[at].url) + len(outcomes[at].title or "")
        if room < 0:
            return outcomes[at + 1 :]
    return outcomes
