"""Whoever wants to hear what becomes of URLs: subscribers of pages, and hooks.

They are told when it is committed, not before: what they have heard is true whatever happens next. Whoever listens
slowly slows the crawl down (`saturation`), so that what waits to be heard stays bounded: by the bounds of the listener
and what one commit may bring.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from typing import NamedTuple, Protocol

from gossamer.model.batch import Batch
from gossamer.model.outcome import Response
from gossamer.model.queue_depth import QueueDepth
from gossamer.model.settlement import Settlement
from gossamer.model.states import UrlState
from gossamer.model.task import Visit
from gossamer.model.units import HostId, Instant, Url


class Outcome(NamedTuple):
    """What became of a visit, as it is on record now."""

    url: Url
    state: UrlState
    at: Instant
    depth: int  # links followed from a seed
    status: int | None  # of the answer, if there was one
    reason: str | None  # why it did not end well, in the words of docs/OPERATING.md
    title: str | None
    redirect_to: str | None
    response: Response | None  # of a page that was stored


class Subscriber(Protocol):
    """Is told of every outcome, on the event loop and in the order of the commits. Must be quick."""

    @property
    def saturation(self) -> float:
        """How full it is; 1.0 is its bound."""

    @property
    def fill(self) -> QueueDepth:
        """The same in figures."""

    def publish(self, outcome: Outcome) -> None: ...


class OutcomeEvents:
    """Keeps the addresses of visits that are under way, while anybody listens, and tells their outcomes.

    Bounded by the visits that are out or in a batch, and one for each host in memory: a URL that has gone back into its
    queue is still among them.
    """

    def __init__(self) -> None:
        self._listeners: list[Subscriber] = []
        self._under_way: dict[int, Visit] = {}
        self._handed_over: list[Settlement] = []

    def __bool__(self) -> bool:
        return bool(self._listeners)

    def subscribe(self, listener: Subscriber) -> None:
        self._listeners.append(listener)

    def unsubscribe(self, listener: Subscriber) -> None:
        self._listeners.remove(listener)
        if not self._listeners:
            self._under_way.clear()  # nobody would hear how these end

    @property
    def saturation(self) -> float:
        return max([listener.saturation for listener in self._listeners]) if self._listeners else 0.0

    @property
    def fill(self) -> QueueDepth:
        """Of the fullest."""
        return max(
            (listener.fill for listener in self._listeners), key=lambda fill: fill.saturation, default=QueueDepth(0)
        )

    def visit_begins(self, visit: Visit) -> None:
        self._under_way[visit.task.url_id] = visit

    def handed_over(self, batch: Batch) -> None:
        """The batch is about to be committed."""
        self._handed_over = batch.settlements

    def committed(self, retired: Sequence[HostId] = ()) -> None:
        """It is. `retired` are hosts that have given their back queues up: what was begun there and not settled is due
        another time, and will be begun again."""
        settlements, self._handed_over = self._handed_over, []
        for settlement in settlements:
            visit = self._under_way.pop(settlement.url_id, None)
            if visit is not None:
                outcome = _outcome(visit, settlement)
                for listener in self._listeners:
                    listener.publish(outcome)
        if retired:
            gone = frozenset(retired)
            self._under_way = {key: visit for key, visit in self._under_way.items() if visit.host_id not in gone}


def _outcome(visit: Visit, settled: Settlement) -> Outcome:
    is_page = settled.state is UrlState.STORED and settled.capture is not None
    return Outcome(
        visit.task.url,
        settled.state,
        settled.at,
        visit.task.depth,
        settled.status,
        settled.reason,
        settled.title,
        settled.redirect_to,
        settled.capture.response if is_page and settled.capture else None,
    )


class PageQueue:
    """A listener that keeps stored pages until somebody takes them, within bounds on their number and their bytes."""

    def __init__(self, max_pages: int, max_bytes: int, on_room: Callable[[], None]) -> None:
        """`on_room` is told when pages were taken: the crawl may go on."""
        self._max_pages = max_pages
        self._max_bytes = max_bytes
        self._on_room = on_room
        self._pages: deque[Outcome] = deque()
        self._bytes = 0
        self._news = asyncio.Event()
        self._ended = False

    @property
    def saturation(self) -> float:
        return max(len(self._pages) / self._max_pages, self._bytes / self._max_bytes)

    @property
    def fill(self) -> QueueDepth:
        return QueueDepth(len(self._pages), self._max_pages, self._bytes, self._max_bytes)

    def publish(self, outcome: Outcome) -> None:
        if outcome.response is not None:
            self._pages.append(outcome)
            self._bytes += len(outcome.response.wire_body)
            self._news.set()

    def end(self) -> None:
        """Nothing more will come."""
        self._ended = True
        self._news.set()

    async def __aiter__(self) -> AsyncIterator[Outcome]:
        while True:
            while self._pages:
                page = self._pages.popleft()
                assert page.response is not None
                self._bytes -= len(page.response.wire_body)
                self._on_room()
                yield page
            if self._ended:
                return
            self._news.clear()
            await self._news.wait()
