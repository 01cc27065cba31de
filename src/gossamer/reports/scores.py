"""The priorities that reports show: the ordering's own score of a URL, computed from the facts on record.

The number in the task table is not shown. It sorts the queue, in the unit of the ordering, without the terms of domain
and suffix.
"""

from gossamer.config.policies import PolicyCache, ordering_for
from gossamer.frontier.orderings import Ordering
from gossamer.model.facts import PriorityFacts
from gossamer.model.units import Instant
from gossamer.reports.ports import CrawlReader


class Scores:
    """Scores of one ordering at one time."""

    def __init__(self, ordering: Ordering, now: Instant) -> None:
        self._ordering = ordering
        self._now = now

    def total(self, facts: PriorityFacts) -> float:
        """The whole score."""
        return self._ordering.total(facts.url_as_of(self._now), facts.domain, facts.suffix_visits)

    def parts(self, facts: PriorityFacts) -> dict[str, float]:
        """The components of the score by name."""
        return self._ordering.parts(facts.url_as_of(self._now), facts.domain, facts.suffix_visits)


def scores_of(reader: CrawlReader, policies: PolicyCache, now: Instant) -> Scores:
    """Scores of the ordering by which the queue of a crawl is sorted, or will be. Raises ConfigError if there is no
    such ordering (any more), and StoreFailed."""
    order = reader.status.queue_order()
    same = order is None or order == policies.config.order
    return Scores(policies.ordering if same else ordering_for(policies.config, order), now)
