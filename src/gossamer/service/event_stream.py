"""The picture of a running crawl, made four times a second, and who looks at it."""

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
"""Outcomes that are shown with a picture; of a fast crawl the last ones ..."""
MOST_TEXT = 32_768
"""... and of those no more than have so many characters together: an address may be as long as a book."""


LINGER = 40
"""Pictures, ten seconds of them, for which outcomes are still noted when the last who watched is gone: a browser that
lost its connection is back by then, and misses none."""


_PLACE = re.compile(r"([0-9]{1,20})-([0-9]{1,20})").fullmatch


class Seen(NamedTuple):
    """What whoever watches is shown at a time, and where he stands then: from there he can go on."""

    snapshot: Snapshot
    outcomes: list[Outcome]
    place: str


class EventStream:
    """Shows progress to whoever watches. A display of the session, and a listener of the audience while anybody
    watches. Never full: whoever is slow misses pictures, not the crawl its pace."""

    saturation = 0.0
    fill = QueueDepth(0)

    def __init__(self) -> None:
        self._latest: Snapshot | None = None
        self._look: Callable[[], Snapshot] | None = None
        self._commits: Callable[[], int] = lambda: 0
        self._as_of = 0
        self._moments = History()
        self._sights = LiveProbes()
        self._shown: tuple[Snapshot, dict[str, object]] | None = None  # the same for all who watch
        self._news = asyncio.Event()
        self._events: OutcomeEvents | None = None
        self._recent: deque[tuple[int, Outcome]] = deque(maxlen=PAGES_KEPT)
        self._number = 0
        self._watchers = 0
        self._run = ""  # places of another run mean nothing
        self._alone = 0  # pictures since somebody watched
        self._listens = False
        self._closed = False
        self.front: ProcessUse | None = None  # as it told last
        self.on_picture: Callable[[], None] = lambda: None

    def open(
        self,
        events: OutcomeEvents,
        look: Callable[[], Snapshot],
        commits: Callable[[], int],
        sights: LiveProbes | None = None,
    ) -> None:
        """The crawl is there: whom it tells, how to look at it, how many commits it has made, and what is asked of it
        only while somebody watches."""
        self._events, self._look, self._commits = events, look, commits
        self._sights = sights or LiveProbes()

    @property
    def latest(self) -> Snapshot | None:
        """The last picture, which knows of the last commit: whoever was told that a change is on record sees it.
        Looking costs milliseconds with many hosts, so it is not done for every caller."""
        if self._look is not None and self._commits() != self._as_of:
            self._as_of = self._commits()
            self._latest = replace(self._look(), front=self.front)
        return self._latest

    # --- what the crawl tells --------------------------------------------------------------------

    def update(self, snapshot: Snapshot) -> None:
        snapshot = replace(snapshot, front=self.front)
        self._latest, self._as_of = snapshot, self._commits()
        self._moments.note(snapshot)
        self._run = self._run or f"{1000 * snapshot.at:.0f}"
        self._alone = 0 if self._watchers else self._alone + 1
        if self._alone > LINGER:
            self._listen(False)
        news, self._news = self._news, asyncio.Event()
        news.set()
        self.on_picture()

    def close(self) -> None:
        """Nothing more will come; whoever watches is told so."""
        self._closed = True
        self._news.set()

    def publish(self, outcome: Outcome) -> None:
        self._number += 1
        self._recent.append((self._number, outcome._replace(response=None)))

    # --- what only a watcher sees ----------------------------------------------------------------

    def history(self) -> list[Row]:
        """The last minutes, for whoever comes to watch."""
        return self._moments.history()

    def moment(self, snapshot: Snapshot) -> dict[str, object]:
        """What goes with a picture, made once however many watch."""
        if self._shown is None or self._shown[0] is not snapshot:
            self._shown = snapshot, self._moments.moment(snapshot, self._sights)
        return self._shown[1]

    # --- who watches -----------------------------------------------------------------------------

    @property
    def is_crowded(self) -> bool:
        return self._watchers >= MOST_WATCHERS

    @property
    def watchers(self) -> int:
        return self._watchers

    @contextmanager
    def _watching(self) -> Iterator[None]:
        self._watchers += 1
        self._listen(True)
        try:
            yield
        finally:
            self._watchers -= 1

    def _listen(self, listens: bool) -> None:
        if self._events is None or listens is self._listens:
            return
        self._listens = listens
        if listens:
            self._events.subscribe(self)
        else:
            self._events.unsubscribe(self)

    def place(self, last: str | None = None) -> str:
        """Where whoever comes to watch begins: at `last`, the place that he was shown last, if it is one of this run;
        else now."""
        found = _PLACE(last or "")
        is_ours = found is not None and found[1] == self._run and int(found[2]) <= self._number
        return f"{self._run}-{int(found[2]) if found is not None and is_ours else self._number}"

    async def pictures(self, every: int = 4, last: str | None = None) -> AsyncIterator[Seen]:
        """Each `every`-th picture, and the outcomes since the one before, until the crawl is over; the first has those
        since the place `last`, as far as they are kept."""
        with self._watching():
            told = int(self.place(last).rpartition("-")[2])
            while True:
                if (latest := self.latest) is not None:
                    outcomes = within([outcome for number, outcome in self._recent if number > told])
                    told = self._number
                    yield Seen(latest, outcomes, self.place())
                for _ in range(every):
                    if self._closed:
                        return
                    await self._news.wait()


def within(outcomes: list[Outcome], room: int = MOST_TEXT) -> list[Outcome]:
    """The last ones, as many as have no more than `room` characters together."""
    for at in range(len(outcomes) - 1, -1, -1):
        room -= len(outcomes[at].url) + len(outcomes[at].title or "")
        if room < 0:
            return outcomes[at + 1 :]
    return outcomes
