"""What the routes are made over."""

from collections.abc import Callable
from typing import Protocol

from gossamer.config import Config
from gossamer.observe.snapshot import Snapshot
from gossamer.service.asking import Questions
from gossamer.service.feed import Feed
from gossamer.service.metrics import Metrics
from gossamer.service.operator import Operator
from gossamer.service.standing import StandingOrders


class CrawlShown(Protocol):
    """A crawl as those see it who only read: in front as it was shown last, beside the crawl as it is."""

    @property
    def config(self) -> Config:
        """The configuration as it holds now, with what was ordered."""
        ...

    @property
    def orders(self) -> StandingOrders: ...

    @property
    def latest(self) -> Snapshot | None:
        """The last picture; None before the first."""
        ...

    @property
    def stopping(self) -> bool: ...

    @property
    def paused(self) -> bool: ...


class Parts:
    """What the routes need. The application is made once, before there are two processes, and each fills in its own
    parts: beside the crawl all of them, in front those of the routes that only read. A part that is not there is never
    asked for: `across` sees to that."""

    crawl: CrawlShown
    questions: Questions
    metrics: Metrics
    # beside the crawl alone
    operator: Operator
    feed: Feed
    stop: Callable[[], None]
