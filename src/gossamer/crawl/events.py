"""Events for subscribers of a crawl (pages, hooks, the service): the outcomes of visits.

An outcome is published after its commit, never before, so that it remains true after a crash. A slow subscriber slows
the crawl down (`saturation`); what waits for it is bounded by its own limits and one commit.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from typing import NamedTuple, Protocol

from gossamer.crawl.observers import CrawlObserver
from gossamer.model.batch import Batch, Committed
from gossamer.model.outcome import Response
from gossamer.model.queue_depth import QueueDepth
from gossamer.model.settlement import ProcessedDocument, Settlement
from gossamer.model.states import UrlState
from gossamer.model.task import Visit
from gossamer.model.units import Instant, Url


class Outcome(NamedTuple):
    """The committed outcome of a visit."""

    url: Url
    state: UrlState
    at: Instant
    depth: int  # links followed from a seed
    status: int | None  # of the response, if there was one
    reason: str | None  # why it failed, by the names in docs/OPERATING.md
    title: str | None
    redirect_to: str | None
    response: Response | None  # of a page that was stored
    priority: float = 0.0  # the ordering's score when it was chosen
    size: int | None = None  # bytes of the decoded document


class Subscriber(Protocol):
    """Receives every outcome, on the event loop and in the order of the commits. Must be quick."""

    @property
    def saturation(self) -> float:
        """How full its queue is; 1.0 is the limit."""

    @property
    def fill(self) -> QueueDepth:
        """The depth of its queue."""

    def publish(self, outcome: Outcome) -> None: ...


class OutcomeEvents(CrawlObserver):
    """Publishes the outcomes of visits to subscribers, after their commit. Holds the outcomes of the open batch and of
    the one that is being committed, and nothing while there is no subscriber."""

    def __init__(self) -> None:
        self._subscribers: list[Subscriber] = []
        self._settled: list[tuple[Visit, Settlement]] = []  # in the open batch
        self._in_commit: list[tuple[Visit, Settlement]] = []

    def subscribe(self, subscriber: Subscriber) -> None:
        self._subscribers.append(subscriber)

    def unsubscribe(self, subscriber: Subscriber) -> None:
        self._subscribers.remove(subscriber)
        if not self._subscribers:
            self._settled.clear()

    @property
    def saturation(self) -> float:
        """Of the fullest subscriber."""
        return max([each.saturation for each in self._subscribers]) if self._subscribers else 0.0

    @property
    def fill(self) -> QueueDepth:
        """Of the fullest subscriber."""
        return max((each.fill for each in self._subscribers), key=lambda fill: fill.saturation, default=QueueDepth(0))

    def settled(
        self, visit: Visit, settlement: Settlement, document: ProcessedDocument | None, requested: bool
    ) -> None:
        if self._subscribers:
            self._settled.append((visit, settlement))

    def before_commit(self, batch: Batch, now: Instant) -> None:
        self._in_commit, self._settled = self._settled, []

    def committed(self, committed: Committed) -> None:
        in_commit, self._in_commit = self._in_commit, []
        for visit, settlement in in_commit:
            outcome = _outcome(visit, settlement)
            for subscriber in self._subscribers:
                subscriber.publish(outcome)


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
        visit.priority,
        settled.size,
    )


class PageQueue:
    """A subscriber that queues stored pages for one consumer, bounded in number and bytes."""

    def __init__(self, max_pages: int, max_bytes: int, on_room: Callable[[], None]) -> None:
        """`on_room` is called when pages were taken, so that the crawl can continue."""
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
        """No more pages will come; iteration ends with those in the queue."""
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
