"""Requeues visited URLs that are due: in bounded batches, within the budget, and without starving new URLs.

A crawl that runs once requeues what was due when it started, and ends; missing URLs that come due before the end are
requeued too. A crawl with `keep_fresh` continues as long as any URL has a date. Requeued URLs are served by the
frontier like all others.

No host blocks the others, whatever the policy: the backlog of each host is bounded (`recrawl.due`). URLs that
do not fit are postponed; a crawl that runs once skips them until all others were checked, and then allows longer
backlogs. If requeued URLs are hardly visited because all of them are on slow hosts, more are requeued.
"""

import math
from collections.abc import Sequence
from typing import Final

from gossamer.config.sections import RecrawlSection
from gossamer.crawl.observers import CrawlObserver
from gossamer.crawl.visit.settle import Counters
from gossamer.model.batch import Batch, Committed, RobotsRecord
from gossamer.model.requeue import REFRESHING, DueCursor, RequeueOrder
from gossamer.model.settlement import ProcessedDocument, Settlement
from gossamer.model.states import UrlState
from gossamer.model.task import HostRecord, Visit
from gossamer.model.units import HostId, Instant, Seconds
from gossamer.recrawl.budget import PACE, TOKENS, RefreshBudget, VisitRates
from gossamer.recrawl.due import MAX_BACKLOG
from gossamer.recrawl.planner import RecrawlPlanner
from gossamer.store.threads import WriterThread

MAX_REQUEUED: Final = 1_024
"""URLs that one commit requeues: some ten milliseconds of it."""
LOW_MARK: Final = 256
"""More URLs are requeued when fewer than this wait ..."""
STALLED_AFTER: Final = 10.0
"""... or when fewer than LOW_MARK / 4 were visited in this many seconds."""

# Looking up a member costs as much as a call.
_QUEUED, _STORED, _MISSING = UrlState.QUEUED, UrlState.STORED, UrlState.MISSING
_RETRY_SECONDS = 1.0  # seconds until the next check where something else must happen first
_FIRST = DueCursor(-math.inf, 0, 0)
_BACKLOG_GROWTH = 4  # factor by which backlogs may be longer in the next round


def _min_gap_of(settings: RecrawlSection) -> Seconds | None:
    """The smallest gap between two visits of any page. None if a rule sets a fixed interval for some pages."""
    if any(rule.interval is not None for rule in settings.rules):
        return None
    return Seconds(max(settings.shortest, *(rule.shortest or 0.0 for rule in settings.rules), 0.0))


class Requeue(CrawlObserver):
    """Requeues due URLs. Owned by the event loop. The caller calls `schedule` when `next_check_at` has come."""

    def __init__(
        self,
        settings: RecrawlSection,
        planner: RecrawlPlanner,
        store: WriterThread,
        counters: Counters,
        now: Instant,
        tokens: str | None = None,
        rates: str | None = None,
    ) -> None:
        """`tokens` and `rates`: the stored state of the budget, and of the visits a day."""
        self.planner = planner
        self.rates = VisitRates(now, rates)
        self._budget = RefreshBudget(settings, now, tokens)
        self._due_by = now
        self._store = store
        self._counters = counters
        self._apply(settings)
        self._next_early_check = 0.0
        self._credit = float(MAX_REQUEUED)  # requeues that visits to new URLs have earned
        self._uncredited = 0  # visits to new URLs not added to it yet
        self._waiting = 0  # requeued and not visited yet
        self._order_pending = False
        self._last_order = (now, now)  # up to which date, and when
        self._visited = 0  # requeued URLs visited since `_progress_at`
        self._progress_at = now
        self._replan_cursor: DueCursor | None = None  # how far all URLs were replanned; None: no replanning
        self._replan_at = 0.0  # time of the next part
        self._replan_pending = False  # a part of it is in the last order
        self._cursor = _FIRST  # of a crawl that runs once: what was checked ...
        self._max_backlog = MAX_BACKLOG  # ... with backlogs of this length ...
        self._skipped = 0  # ... and how many URLs did not fit
        self._done = False
        self._next_missing = 0.0  # ... and when the next missing URL is due; 0: unknown
        self._next_due = 0.0  # the first date; 0: unknown
        self._earliest_settled = math.inf  # the first date of what was settled since the last order
        self.next_check_at = 0.0

    def _apply(self, settings: RecrawlSection) -> None:
        self._keep_fresh = settings.keep_fresh
        self._apply_budget()
        self._min_gap = _min_gap_of(settings) if self.planner.moves_price else None
        self._discovery_share, self._refresh_share = settings.discovery_share, settings.refresh_share

    def change_to(self, settings: RecrawlSection, now: Instant) -> None:
        """Use other settings from now on."""
        self._budget.reconfigure(settings, now)
        self._apply(settings)
        self._next_due = self._next_missing = self.next_check_at = self._next_early_check = 0.0

    def change_share(self, share: float, now: Instant) -> None:
        """Of several workers, this one owns another share of the partitions."""
        self._budget.change_share(share, now)
        self._apply_budget()

    @property
    def is_over(self) -> bool:
        """Whether nothing more will be requeued by this process."""
        if self._keep_fresh:
            return self._next_due == math.inf and not self._order_pending
        return self._done and not self._order_pending and (self._next_missing > 0 or not self._missing)

    @property
    def _missing(self) -> int:
        return self._counters.total["state:missing"]

    @property
    def next_date(self) -> float:
        """When the next URL is due that is not queued; 0: unknown until the next check."""
        return self._next_due

    @property
    def backlog(self) -> int:
        """Requeued URLs that wait to be visited."""
        return self._waiting

    def rescan(self) -> None:
        """Other URLs may be due than those that were found so far: partitions were taken over."""
        self._next_due = self._next_missing = self.next_check_at = self._next_early_check = 0.0
        self._cursor, self._done = _FIRST, False

    def schedule(self, now: Instant) -> None:
        """Requeue what is due, as much as the limits allow."""
        self.next_check_at = math.inf
        if self._order_pending:
            return  # its commit comes first
        if self._done and not self._keep_fresh:
            self._queue_missing(now)
            return
        if self.is_over:
            return
        self._queue(now)
        self._replan(now)

    def _queue_missing(self, now: Instant) -> None:
        """A crawl that runs once has requeued everything else."""
        if not self._missing:
            self._next_missing = math.inf
        elif self._next_missing > now:
            self.next_check_at = self._next_missing
        else:
            self._give(RequeueOrder(now, MAX_REQUEUED, only_missing=True), now)

    def _give(self, order: RequeueOrder, now: Instant) -> None:
        self._order_pending = True
        self._last_order = (order.due_by, now)
        self._earliest_settled = math.inf
        self._store.batch.requeue = order
        self._store.nudge()

    def _queue(self, now: Instant) -> None:
        most, early = MAX_REQUEUED, False
        if self._waiting - self.planner.backlogs.blocked >= LOW_MARK:
            if not self._is_stalled(now):
                self.next_check_at = max(self._progress_at + STALLED_AFTER, self._next_due if self._keep_fresh else 0.0)
                return
            most = LOW_MARK
        budget = self._budget
        budget.refill(now)
        if self._keep_fresh and self._next_due > now:
            early = self._early_at(now) <= now
            if not early:
                self.next_check_at = min(self._next_due, self._early_at(now))
                return
            most = max(1, int(budget.capacity / 2))  # leaves budget for what is due soon
            self._next_early_check = now + budget.seconds_to_earn(
                most
            )  # if nothing is found now, do not try again soon
        if budget.tokens < 1.0:
            if not self._keep_fresh:
                self._done = True  # the rest is left to a later run
            else:
                self.next_check_at = budget.next_at(now)
            return
        most = int(min(most, budget.tokens))
        with_new = self._counters.total["state:queued"] > self._waiting
        self._update_credit(with_new)
        if self._credit < 1.0:
            self.next_check_at = now + _RETRY_SECONDS
            return
        most = int(min(most, self._credit))
        self._visited, self._progress_at = 0, now
        by = now if self._keep_fresh else self._due_by
        early_by = self._min_gap if early else None
        # The number is decided here; requeued URLs must not wait behind all new ones as well.
        lines = self.planner.backlogs
        order = RequeueOrder(by, most, self._keep_fresh, with_new, early_by, lines.prices, MAX_BACKLOG, lines.waiting)
        if not self._keep_fresh:
            order = order._replace(priced_hosts=(), max_backlog=self._max_backlog, after=self._cursor)
        self._give(order, now)

    def _replan(self, now: Instant) -> None:
        """Replan all URLs after the price of a visit has fallen far: their dates would be much too late. A thousand
        with each order, one second apart."""
        price = self.planner.price
        if self._replan_cursor is None:
            if not (self._keep_fresh and self.planner.moves_price and price.has_fallen()):
                return
            price.start_replanning()
            self._replan_cursor = DueCursor(now, 0, 0)
        if now < self._replan_at:
            self.next_check_at = min(self.next_check_at, self._replan_at)
            return
        order = self._store.batch.requeue if self._order_pending else None
        self._store.batch.requeue = (order or RequeueOrder(now, 0))._replace(replan_after=self._replan_cursor)
        self._order_pending = self._replan_pending = True
        self._last_order = (now, now) if order is None else self._last_order
        self._store.nudge()

    def _is_stalled(self, now: Instant) -> bool:
        """Whether requeued URLs are hardly visited."""
        if now - self._progress_at < STALLED_AFTER:
            return False
        still = self._visited < LOW_MARK / 4
        self._visited, self._progress_at = 0, now
        return still

    def _update_credit(self, with_new: bool) -> None:
        """Update how many may be requeued: no limit, unless new URLs wait too and get their share of visits."""
        share = self.planner.refresh_share(self._discovery_share, self._refresh_share) if with_new else 1.0
        if share >= 1.0:
            self._credit = float(MAX_REQUEUED)
        else:
            self._credit = min(self._credit + self._uncredited * share / (1 - share), float(MAX_REQUEUED))
        self._uncredited = 0

    def _early_at(self, now: Instant) -> float:
        """When the budget has been unused for so long that URLs may be visited before they are due."""
        if self._min_gap is None or self._budget.budget is None:
            return math.inf
        return max(self._budget.full_at(now), self._next_early_check)

    def _apply_budget(self) -> None:
        budget = self.rates.budget = self._budget.budget
        if budget is not None and budget != self.planner.price.budget:
            self.planner.price.change_budget(budget)

    def committed(self, committed: Committed) -> None:
        """Count what the commit has requeued, and schedule the next check."""
        if committed.reported:
            self._counters.total["reported"] += committed.reported
            self._counters.run["reported"] += committed.reported
            self._next_due, self._done, self.next_check_at = 0.0, False, 0.0
            self._skipped += 1  # such a date may lie before the cursor: another round is needed
        if committed.next_due is None:
            return
        self._order_pending = False
        queued = 0
        for state, n in committed.requeued:
            queued += n
            self._counters.move(state, _QUEUED, n)
            if state is UrlState.STORED:
                for counts in (self._counters.total, self._counters.run):
                    counts[REFRESHING] += n
        self._waiting += queued
        self._credit -= queued
        self._budget.spend(queued)
        next_due = min(committed.next_due, self._earliest_settled)
        lines = self.planner.backlogs
        lines.on_requeued(committed.requeued_by_host)
        if self._done and not self._keep_fresh:
            self._next_missing, self.next_check_at = next_due, 0.0
            return
        self._next_due = next_due
        if self._replan_pending:
            self._replan_pending, self._replan_cursor, self._replan_at = (
                False,
                committed.replanned_to,
                self._last_order[1] + _RETRY_SECONDS,
            )
        by, at = self._last_order
        lines.on_scanned(self._checked_up_to(committed, by), at)
        self.planner.on_postponed(committed.postponed)
        if not self._keep_fresh:
            self._next_round(committed)
        self.next_check_at = 0.0

    def _checked_up_to(self, committed: Committed, by: float) -> float:
        """The date up to which all URLs were requeued, postponed or skipped."""
        if self._keep_fresh:
            return min(self._next_due, by)
        return by if committed.requeued_to is None else committed.requeued_to.date

    def _next_round(self, committed: Committed) -> None:
        """A crawl that runs once checks all that is due, then the URLs that were skipped."""
        self._skipped += committed.skipped
        if committed.requeued_to is not None:
            self._cursor = committed.requeued_to
        elif self._skipped:
            self._cursor, self._skipped, self._max_backlog = _FIRST, 0, self._max_backlog * _BACKLOG_GROWTH
        else:
            self._done = True

    def host_loaded(self, record: HostRecord, robots: Sequence[RobotsRecord]) -> None:
        self.planner.host_loaded(record)

    def host_retired(self, host_id: HostId) -> None:
        self.planner.host_retired(host_id)

    def settled(
        self, visit: Visit, settlement: Settlement, document: ProcessedDocument | None, requested: bool
    ) -> None:
        """Count a visit to a new URL or to a requeued one."""
        before, date = visit.task.previous, settlement.available_at
        if settlement.state is _QUEUED:
            return
        if date is not None:
            self._on_date(date, settlement.state)
        if before is None or before.state is _QUEUED:
            self._uncredited += 1
            self.rates.discoveries += 1
        else:
            self.rates.refreshes += 1
            self._waiting = max(0, self._waiting - 1)
            self._visited += 1
            lines = self.planner.backlogs
            lines.on_visited(settlement.host_id, settlement.at)
            self._counters.count(self._store.batch, "refreshed")
            if before.state is _STORED:
                self._counters.count(self._store.batch, REFRESHING, -1)
            if self._waiting - lines.blocked < LOW_MARK:
                self.next_check_at = min(self.next_check_at, self._next_due)

    def _on_date(self, date: Instant, state: UrlState) -> None:
        """A URL has a date, in the next commit."""
        if not self._keep_fresh and state is _MISSING:
            if date < self._next_missing:
                self._next_missing = date
                self.next_check_at = min(self.next_check_at, date)
        elif date < self._next_due:
            self._next_due = date
            self.next_check_at = 0.0
        if self._keep_fresh or state is _MISSING:
            self._earliest_settled = min(self._earliest_settled, date)

    def on_queue_empty(self) -> bool:
        """No URL is queued. Returns whether the crawl is over; if not, the next due URLs are requeued."""
        if not self.is_over and not self._order_pending and self._waiting:
            self._waiting = 0  # some were settled without a visit
            self.planner.backlogs.clear()
            self.next_check_at = 0.0
        return self.is_over

    def before_commit(self, batch: Batch, now: Instant) -> None:
        """Store the state of the planner, of the budget and of the rates with the batch."""
        self.planner.before_commit(batch, now, self._counters.total["state:queued"] - self._waiting)
        if (batch.requeue is not None or batch.settlements) and (text := self._budget.to_text()) is not None:
            batch.facts[TOKENS] = text
        if batch.settlements:
            self.rates.fold(now)
            batch.facts[PACE] = self.rates.to_text()
