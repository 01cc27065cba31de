"""Puts queued URLs in order again, in a running crawl, after its priority rules have changed."""

from gossamer.crawl.observers import CrawlObserver
from gossamer.frontier.orderings import Ordering
from gossamer.frontier.orderings.class_rules import PriorityRules
from gossamer.model.batch import Batch, Committed
from gossamer.model.units import Instant
from gossamer.store.threads import WriterThread

SETTINGS = "order_settings"
"""The name under which the settings of the order are on record."""
_UNFINISHED = "unfinished"


class Reordering(CrawlObserver):
    """Every commit moves some of the URLs, in the order of their discovery, until all have their new position. After a
    crash in the middle, the next start puts the whole queue in order. Owned by the event loop."""

    def __init__(self, ordering: Ordering, store: WriterThread) -> None:
        self._ordering = ordering
        self._store = store
        self._after: int | None = None  # the last URL that has its position; None: all have
        self._asked = False  # the batch in commit moves URLs by the current rules

    def change_rules(self, rules: PriorityRules) -> None:
        """Apply other rules, to new URLs at once. Rules for an ordering with a single class wait for the next start if
        there were none before, or are none any more."""
        if rules.text != self._ordering.rules.text and self._ordering.use_rules(rules, running=True):
            self._after, self._asked = 0, False
            self._go_on()

    def before_commit(self, batch: Batch, now: Instant) -> None:
        batch.reorder_after = self._after
        self._asked = self._after is not None

    def committed(self, committed: Committed) -> None:
        if self._asked:
            self._after = committed.reordered_to
        if self._asked or self._after is not None:
            self._go_on()
        self._asked = False

    def _go_on(self) -> None:
        """Ask for the next commit; the last one records that the queue is in order."""
        finished = self._after is None
        self._store.batch.facts[SETTINGS] = self._ordering.queue_settings if finished else _UNFINISHED
        self._store.nudge()
