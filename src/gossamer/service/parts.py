"""What the routes are made over."""

from collections.abc import Callable
from dataclasses import dataclass

from gossamer.crawl.pipeline import Pipeline
from gossamer.service.asking import Questions
from gossamer.service.feed import Feed
from gossamer.service.metrics import Metrics
from gossamer.service.operator import Operator


@dataclass(frozen=True, slots=True)
class Parts:
    """What the routes need."""

    operator: Operator
    questions: Questions
    feed: Feed
    metrics: Metrics
    pipeline: Pipeline
    stop: Callable[[], None]
