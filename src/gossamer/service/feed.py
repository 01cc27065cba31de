"""The picture of a running crawl, made four times a second, and who looks at it."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager

from gossamer.crawl.audience import Audience, Outcome
from gossamer.model.fill import Fill
from gossamer.observe.snapshot import Snapshot
from gossamer.service.moments import Moments, Row, Sights

MOST_WATCHERS = 20
PAGES_KEPT = 50
"""Outcomes that are shown with a picture; of a fast crawl the last ones ..."""
MOST_TEXT = 32_768
"""... and of those no more than have so many characters together: an address may be as long as a book."""


class Feed:
    """Shows progress to whoever watches. A display of the session, and a listener of the audience while anybody
    watches. Never full: whoever is slow misses pictures, not the crawl its pace."""

    saturation = 0.0
    fill = Fill(0)

    def __init__(self) -> None:
        self._latest: Snapshot | None = None
        self._look: Callable[[], Snapshot] | None = None
        self._commits: Callable[[], int] = lambda: 0
        self._as_of = 0
        self._moments = Moments()
        self._sights = Sights()
        self._shown: tuple[Snapshot, dict[str, object]] | None = None  # the same for all who watch
        self._news = asyncio.Event()
        self._audience: Audience | None = None
        self._recent: deque[tuple[int, Outcome]] = deque(maxlen=PAGES_KEPT)
        self._number = 0
        self._watchers = 0
        self._closed = False
        self.on_picture: Callable[[], None] = lambda: None

    def open(
        self, audience: Audience, look: Callable[[], Snapshot], commits: Callable[[], int], sights: Sights | None = None
    ) -> None:
        """The crawl is there: whom it tells, how to look at it, how many commits it has made, and what is asked of it
        only while somebody watches."""
        self._audience, self._look, self._commits = audience, look, commits
        self._sights = sights or Sights()

    @property
    def latest(self) -> Snapshot | None:
        """The last picture, which knows of the last commit: whoever was told that a change is on record sees it.
        Looking costs milliseconds with many hosts, so it is not done for every caller."""
        if self._look is not None and self._commits() != self._as_of:
            self._as_of = self._commits()
            self._latest = self._look()
        return self._latest

    # --- what the crawl tells --------------------------------------------------------------------

    def update(self, snapshot: Snapshot) -> None:
        self._latest, self._as_of = snapshot, self._commits()
        self._moments.note(snapshot)
        news, self._news = self._news, asyncio.Event()
        news.set()
        self.on_picture()

    def close(self) -> None:
        """Nothing more will come; whoever watches is told so."""
        self._closed = True
        self._news.set()

    def tell(self, outcome: Outcome) -> None:
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
        if self._watchers == 1 and self._audience is not None:
            self._audience.join(self)
        try:
            yield
        finally:
            self._watchers -= 1
            if self._watchers == 0 and self._audience is not None:
                self._audience.leave(self)

    async def pictures(self, every: int = 4) -> AsyncIterator[tuple[Snapshot, list[Outcome]]]:
        """Each `every`-th picture, and the outcomes since the one before, until the crawl is over."""
        with self._watching():
            told = self._number
            while True:
                if (latest := self.latest) is not None:
                    outcomes = within([outcome for number, outcome in self._recent if number > told])
                    told = self._number
                    yield latest, outcomes
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
