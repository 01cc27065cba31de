"""Due URLs: the backlog of each host, and adjusted due dates.

The backlog (`HostBacklogs`) has the URLs of a host that were requeued; it detects hosts that are too slow for what is
due. The lateness of a visit counts from when its URL could have been in the backlog: from its due date, or from when
dates up to that one were scanned, if the budget or a stop delayed the scan. The rest is due to the host and moves the
host's price (`recrawl.price`).

A backlog is short: URLs beyond `MAX_BACKLOG` are postponed, under every policy, so that no host fills the queue and
keeps others from being visited.

`DueDates` adjusts dates. It keeps no state, and reads prices that the event loop updates. It is called inside the
commit, in the store's thread. A reported change brings a date forward; a higher price of the host, or a full backlog,
postpones it.
"""

from bisect import bisect_left
from collections.abc import Callable, Mapping
from typing import Final

from gossamer.model.requeue import DueUrl, Postponement, ReportedChange
from gossamer.model.states import UrlState
from gossamer.model.units import DAY, HostId, Instant, Seconds
from gossamer.recrawl.change_hints import FEEDS, HostChangeHistory, reported_change
from gossamer.recrawl.estimate import USUAL, Estimate
from gossamer.recrawl.policy import Memory, RecrawlPolicy
from gossamer.recrawl.price import MAX_HOSTS, HostPrices, Price, value_when_flagged
from gossamer.recrawl.rules import PageFacts, PageStatus, RecrawlRules, prior_of

MAX_BACKLOG: Final = 32
"""URLs in the backlog of a host: for a busy host, more than are visited while the next ones are loaded."""

_ORDERS = 64  # scans remembered; earlier dates count from the first of them
_LEAST_BETWEEN = 1.0  # seconds between visits to a host without measurements
_SMOOTH = 0.1  # weight of the latest interval in the moving average
_PATIENCE = 0.5  # of its lateness: a URL of a host without measurements is not checked again sooner
_MAX_LATENESS = DAY
_SURE = 0.8  # of the expected time: better a little too soon than an idle host
_SOON = 1.0


class HostBacklogs:
    """Owned by the event loop; the store's thread may read. Memory is bounded by what is queued at a time."""

    def __init__(self, now: Instant) -> None:
        self.prices = HostPrices()
        self.waiting: dict[HostId, int] = {}  # backlog by host
        self.blocked = 0  # of these, on hosts with their own price
        self._intervals: dict[
            HostId, tuple[float, float]
        ] = {}  # last visit, 0 if none waits; mean seconds between visits
        self._start = now
        self._scanned_up_to: list[float] = []
        self._scanned_at: list[float] = []  # 0: on time

    def update_price(
        self, host_id: HostId, *, now: Instant, before: Instant, gap: float, usual: float, pages: int
    ) -> float:
        """A visit planned `gap` seconds after `before` takes place now. Returns the host's price from now on, where the
        crawl's is `usual`. `pages`: pages of the host that were visited at least twice."""
        date = before + gap
        late = max(0.0, now - max(date, self._since(date)))
        prices = self.prices
        was = host_id in prices
        price = prices.update(host_id, gap=gap / DAY, late=late / DAY, usual=usual, pages=pages)
        if (host_id in prices) is not was:
            n = self.waiting.get(host_id, 0)
            self.blocked = max(0, self.blocked + (-n if was else n))
        return price

    def _since(self, date: float) -> float:
        """Since when a URL with this date can have been in the backlog; for those queued before the start, since the
        start."""
        at = bisect_left(self._scanned_up_to, date)
        return max(self._start, self._scanned_at[at]) if at < len(self._scanned_at) else self._start

    def on_scanned(self, up_to: float, now: Instant) -> None:
        """All dates up to `up_to` were scanned: due URLs were requeued or postponed."""
        if self._scanned_up_to and up_to <= self._scanned_up_to[-1]:
            return
        at = 0.0 if now - up_to < _SOON else now
        if not at and self._scanned_at and not self._scanned_at[-1]:
            self._scanned_up_to[-1] = up_to  # still on time
            return
        self._scanned_up_to.append(up_to)
        self._scanned_at.append(at)
        del self._scanned_up_to[:-_ORDERS], self._scanned_at[:-_ORDERS]

    def on_requeued(self, hosts: Mapping[HostId, int]) -> None:
        """Add requeued URLs by host."""
        for host_id, n in hosts.items():
            self.waiting[host_id] = self.waiting.get(host_id, 0) + n
            if host_id in self.prices:
                self.blocked += n

    def on_visited(self, host_id: HostId, now: float) -> None:
        """A URL of the backlog was visited."""
        n = self.waiting.get(host_id, 0)
        if n > 1:
            self.waiting[host_id] = n - 1
            self._update_interval(host_id, now)
        elif n:
            del self.waiting[host_id]
            if host_id in self._intervals:
                self._intervals[host_id] = (0.0, self._intervals[host_id][1])
        if n and self.blocked and host_id in self.prices:
            self.blocked -= 1

    def _update_interval(self, host_id: HostId, now: float) -> None:
        """Others still wait there: update the mean interval between visits."""
        last, between = self._intervals.get(host_id, (0.0, 0.0))
        if last and now > last:
            between += (now - last - between) * (_SMOOTH if between else 1.0)
        elif not last and host_id not in self._intervals and len(self._intervals) >= MAX_HOSTS:
            del self._intervals[next(iter(self._intervals))]
        self._intervals[host_id] = (now, between)

    def drop_host(self, host_id: HostId) -> None:
        """The host has no back queue any more, so none of its URLs is known to wait."""
        n = self.waiting.pop(host_id, 0)
        if n and host_id in self._intervals:
            self._intervals[host_id] = (0.0, self._intervals[host_id][1])
        if n and host_id in self.prices:
            self.blocked = max(0, self.blocked - n)

    def clear(self) -> None:
        """No URL waits anywhere."""
        self.waiting.clear()
        self._intervals.clear()
        self.blocked = 0

    def slot_free_at(self, host_id: HostId, before: int, now: float, date: float) -> float:
        """When the backlog has a free slot for a URL with `before` others ahead of it, due at `date`."""
        between = self._intervals.get(host_id, (0.0, 0.0))[1]
        if between:
            return now + max(_SOON, _SURE * before * between)
        # The interval is known after two visits. Until then, avoid checking postponed URLs too often.
        late = min(now - max(date, self._start), _MAX_LATENESS)
        return now + max(_SOON, _SURE * before * _LEAST_BETWEEN, _PATIENCE * late)


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
