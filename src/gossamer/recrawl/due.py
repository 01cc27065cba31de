"""Computes adjusted due dates. Keeps no state; reads prices that the event loop updates.

Called inside the commit, in the store's thread. A reported change brings a date forward; a higher price of the host, or
a full backlog, postpones it.
"""

from collections.abc import Callable, Mapping
from typing import Final

from gossamer.model.requeue import DueUrl, Postponement, ReportedChange
from gossamer.model.states import UrlState
from gossamer.model.units import HostId, Instant, Seconds
from gossamer.recrawl.change_hints import FEEDS, HostChangeHistory, reported_change
from gossamer.recrawl.estimate import USUAL, Estimate
from gossamer.recrawl.host_backlog import MAX_BACKLOG, HostBacklogs
from gossamer.recrawl.policy import Memory, RecrawlPolicy
from gossamer.recrawl.price import Price, value_when_flagged
from gossamer.recrawl.rules import PageFacts, PageStatus, RecrawlRules, prior_of

_UNKNOWN: Final = HostChangeHistory()
_LEAST = 1.0  # seconds; shorter postponements are not worthwhile


class DueDates:
    """Decides dates by the current prices. Callable from any thread."""

    def __init__(
        self,
        policy: RecrawlPolicy,
        rules: RecrawlRules,
        price: Price,
        backlogs: HostBacklogs,
        importance: Callable[[float], float],
        hosts: Mapping[HostId, HostChangeHistory],
    ) -> None:
        """`hosts`: the change histories of the hosts in memory."""
        self.rules = rules
        self.policy = policy
        self._price = price
        self._backlogs = backlogs
        self._importance = importance
        self._hosts = hosts

    def date_of_reported(self, page: ReportedChange) -> Instant | None:
        """The due date of a page that a trusted list reports as changed; None: as planned."""
        if page.change_history is not None and not self._trusts_reports(page.host_id, page.change_history):
            return None
        ruling = self.rules.ruling(PageFacts(page.host, page.url, page.mime or ""))
        if ruling.fixed is not None:
            return None
        known = Estimate(page.rate_shape, page.rate_span) if page.rate_shape and page.rate_span else USUAL
        price = self._backlogs.prices.price_for(page.host_id, self._price.price)
        if self.policy.moved_by_price and value_when_flagged(known, self._importance(page.priority)) < price:
            return None  # it changes so often that not even a well-timed visit is worth it
        return Instant(max(page.modified, page.visited + ruling.shortest))

    def _trusts_reports(self, host_id: HostId, changing: str) -> bool:
        known = self._hosts.get(host_id)
        if known is None and changing:
            known = HostChangeHistory.from_text(changing)
        return known is not None and known.recall > 0

    def postpone(self, page: DueUrl, before: int, now: Instant) -> Postponement | None:
        """For a due URL with `before` others ahead of it in its host's backlog: postpone until when, or None to requeue
        it now."""
        gap = self._replanned_gap(page) if page.host_id in self._backlogs.prices else None
        if gap is not None and page.visited is not None and page.visited + gap > now + _LEAST:
            return Postponement(Instant(page.visited + gap), gap)
        if before >= MAX_BACKLOG:
            date = now if page.visited is None or page.planned_gap is None else page.visited + page.planned_gap
            return Postponement(Instant(self._backlogs.slot_free_at(page.host_id, before, now, date)))
        return None

    def replan(self, page: DueUrl) -> Postponement | None:
        """An earlier date for a page at today's price; None: unchanged."""
        gap = self._replanned_gap(page)
        if gap is None or page.visited is None or page.planned_gap is None or gap + _LEAST > page.planned_gap:
            return None
        return Postponement(Instant(page.visited + gap), gap)

    def _replanned_gap(self, page: DueUrl) -> Seconds | None:
        """The gap of a page at the price of its host; None if the price does not determine it."""
        if page.state is not UrlState.STORED or page.visited is None:
            return None
        if (
            page.planned_gap in (None, self.rules.gaps.get(PageStatus.NEAR_DUPLICATE))
            or page.sitemap
            or page.mime in FEEDS
        ):
            return None  # near-duplicates and lists of other pages have their own gaps
        ruling = self.rules.ruling(PageFacts(page.host, page.url, page.mime or ""))
        if ruling.fixed is not None:
            return None
        known = self._hosts.get(page.host_id)
        if known is None:
            known = HostChangeHistory.from_text(page.change_history) if page.change_history else _UNKNOWN
        recall = 0.0 if page.modified is None else known.recall
        if recall > 0 and reported_change(page.modified, page.visited):
            return None  # its visit was brought forward already, or was due anyway
        terms = self.rules.terms(
            ruling,
            importance=self._importance(page.priority),
            price=self._backlogs.prices.price_for(page.host_id, self._price.price),
            prior=prior_of(page.changefreq, self.policy.prior(known.rates, self.rules.default_gap)),
            recall=recall,
        )
        return self.policy.replanned_gap(Memory(page.rate_shape or 0.0, page.rate_span or 0.0), terms)
