"""When URLs that were visited are queued again: in bounded batches, within the budget, and not at the cost of new ones.

A crawl that runs once looks at what was due when it began, and ends. One that keeps fresh goes on for as long as
anything has a date. What is queued is served by the frontier like everything else.

No host holds the others up, whatever the policy: only so many of its URLs stand in line (`lines`). Those that find no
room are dated later; by a crawl that runs once they are passed over until all others have been looked at, and then
lines may be longer. And if what is queued hardly moves, because all of it is on slow hosts, more is queued.
"""

import math
from collections.abc import Sequence
from typing import Final

from gossamer.config.sections import RecrawlSection
from gossamer.crawl.counters import Counters
from gossamer.crawl.observers import NullObserver
from gossamer.model.batch import Batch, Committed, RobotsRecord
from gossamer.model.document import ProcessedDocument
from gossamer.model.requeue import REFRESHING, DueCursor, RequeueOrder
from gossamer.model.settlement import Settlement
from gossamer.model.states import UrlState
from gossamer.model.task import HostRecord, Visit
from gossamer.model.units import HostId, Instant, Seconds
from gossamer.recrawl.budget import PACE, TOKENS, RefreshBudget, VisitRates
from gossamer.recrawl.host_backlog import MAX_BACKLOG
from gossamer.recrawl.planner import RecrawlPlanner
from gossamer.store.threads import WriterThread

__all__ = ["REFRESHING", "TOKENS", "Requeue"]

AT_ONCE: Final = 1_024
"""URLs that are queued by one commit: some ten milliseconds of it."""
LOW_MARK: Final = 256
"""More are queued when fewer than these wait ..."""
STANDSTILL: Final = 10.0
"""... or when fewer than LOW_MARK / 4 were visited in so many seconds."""

_QUEUED, _STORED = UrlState.QUEUED, UrlState.STORED  # an enumeration takes its time to look a member up
_SOON = 1.0  # seconds until we look again where something else must happen first
_FIRST = DueCursor(-math.inf, 0, 0)
_MORE_ROOM = 4  # times: how much longer lines may be when those that found no room are looked at again


def _least_gap(wishes: RecrawlSection) -> Seconds | None:
    """What no visit comes sooner than after the last one. None where a rule says for some pages when it comes."""
    if any(rule.interval is not None for rule in wishes.rules):
        return None
    return Seconds(max(wishes.shortest, *(rule.shortest or 0.0 for rule in wishes.rules), 0.0))


class Requeue(NullObserver):
    """Owned by the event loop. `look_at` says when `order` has something to decide; the caller waits for that."""

    def __init__(
        self,
        wishes: RecrawlSection,
        planner: RecrawlPlanner,
        store: WriterThread,
        counters: Counters,
        now: Instant,
        tokens: str | None = None,
        pace: str | None = None,
    ) -> None:
        """`tokens` and `pace`: what the crawl remembers of its budget, and of how it was spent."""
        self.planner = planner
        self.pace = VisitRates(now, pace)
        self._allowance = RefreshBudget(wishes, now, tokens)
        self._by = now
        self._store = store
        self._counters = counters
        self._apply(wishes)
        self._not_early = 0.0
        self._credit = float(AT_ONCE)  # visits to known URLs that new ones have left room for
        self._uncredited = 0  # visits to new URLs that are not in it yet
        self._waiting = 0  # queued again, and not visited yet
        self._ordered = False
        self._looked = (now, now)  # the last order: until which date, and when
        self._moved = 0  # visits to what was queued since then, or since the queue was seen to move
        self._stood = now  # when that was
        self._walk: DueCursor | None = None  # how far everything has been planned anew; None: nothing is being so
        self._walk_at = 0.0  # when the next part is
        self._walks = False  # whether it was with the last order
        self._after = _FIRST  # what a crawl that runs once has looked at ...
        self._room = MAX_BACKLOG  # ... with lines so long ...
        self._left_out = 0  # ... and how many found no room in them
        self._done = False
        self._next = 0.0  # when the first date comes
        self.next_check_at = 0.0

    def _apply(self, wishes: RecrawlSection) -> None:
        self._keep = wishes.keep_fresh
        self._tell_budget()
        self._early = _least_gap(wishes) if self.planner.moves_price else None
        self._discovery, self._refresh = wishes.discovery_share, wishes.refresh_share

    def change_to(self, wishes: RecrawlSection, now: Instant) -> None:
        """Queue by other wishes from now on."""
        self._allowance.reconfigure(wishes, now)
        self._apply(wishes)
        self._next = self.next_check_at = self._not_early = 0.0

    @property
    def is_over(self) -> bool:
        """Whether nothing will be queued again by this run."""
        return self._done if not self._keep else self._next == math.inf and not self._ordered

    @property
    def next_date(self) -> float:
        """When the next URL comes due that is not queued, as far as is known; 0: that is to be looked up."""
        return self._next

    @property
    def backlog(self) -> int:
        """URLs that were queued again and wait for their visit."""
        return self._waiting

    def schedule(self, now: Instant) -> None:
        """Queue what is due, as much of it as there is room for."""
        self.next_check_at = math.inf
        if self._ordered or self.is_over:
            return  # a commit comes first
        self._queue(now)
        self._replan(now)

    def _queue(self, now: Instant) -> None:
        most, early = AT_ONCE, False
        if self._waiting - self.planner.lines.blocked >= LOW_MARK:
            if not self._stands_still(now):
                self.next_check_at = max(self._stood + STANDSTILL, self._next if self._keep else 0.0)
                return
            most = LOW_MARK
        allowance = self._allowance
        allowance.refill(now)
        if self._keep and self._next > now:
            early = self._may_be_early_at(now) <= now
            if not early:
                self.next_check_at = min(self._next, self._may_be_early_at(now))
                return
            most = max(1, int(allowance.capacity / 2))  # what comes due in a moment is still paid for
            self._not_early = now + allowance.seconds_to_earn(most)  # if there is nothing now, there will be none soon
        if allowance.tokens < 1.0:
            if not self._keep:
                self._done = True  # the rest of what is due is left to another day
            else:
                self.next_check_at = allowance.next_at(now)
            return
        most = int(min(most, allowance.tokens))
        beside_new = self._counters.total["state:queued"] > self._waiting
        self._take_credit(beside_new)
        if self._credit < 1.0:
            self.next_check_at = now + _SOON
            return
        most = int(min(most, self._credit))
        self._ordered = True
        self._moved, self._stood = 0, now
        by = now if self._keep else self._by
        self._looked = (by, now)
        early_by = self._early if early else None
        # How many go is decided here; they must not wait behind a million others on top of it.
        lines = self.planner.lines
        order = RequeueOrder(by, most, self._keep, beside_new, early_by, lines.prices, MAX_BACKLOG, lines.waiting)
        if not self._keep:
            order = order._replace(priced_hosts=(), max_backlog=self._room, after=self._after)
        self._store.batch.requeue = order
        self._store.nudge()

    def _replan(self, now: Instant) -> None:
        """What was planned when visits were far dearer would come much too late. Then all is planned anew, a thousand
        with an order and a second between them."""
        price = self.planner.price
        if self._walk is None:
            if not (self._keep and self.planner.moves_price and price.has_fallen()):
                return
            price.start_replanning()
            self._walk = DueCursor(now, 0, 0)
        if now < self._walk_at:
            self.next_check_at = min(self.next_check_at, self._walk_at)
            return
        order = self._store.batch.requeue if self._ordered else None
        self._store.batch.requeue = (order or RequeueOrder(now, 0))._replace(replan_after=self._walk)
        self._ordered = self._walks = True
        self._looked = (now, now) if order is None else self._looked
        self._store.nudge()

    def _stands_still(self, now: Instant) -> bool:
        """Whether what is queued hardly moves."""
        if now - self._stood < STANDSTILL:
            return False
        still = self._moved < LOW_MARK / 4
        self._moved, self._stood = 0, now
        return still

    def _take_credit(self, beside_new: bool) -> None:
        """How many may be queued: without limit, unless new URLs wait too and are to get their share."""
        share = self.planner.refresh_share(self._discovery, self._refresh) if beside_new else 1.0
        if share >= 1.0:
            self._credit = float(AT_ONCE)
        else:
            self._credit = min(self._credit + self._uncredited * share / (1 - share), float(AT_ONCE))
        self._uncredited = 0

    def _may_be_early_at(self, now: Instant) -> float:
        """When the budget is left unused for so long that what comes due next may be visited already."""
        if self._early is None or self._allowance.budget is None:
            return math.inf
        return max(self._allowance.full_at(now), self._not_early)

    def _tell_budget(self) -> None:
        budget = self.pace.budget = self._allowance.budget
        if budget is not None and budget != self.planner.price.budget:
            self.planner.price.change_budget(budget)

    def committed(self, committed: Committed) -> None:
        """A batch is on record."""
        if committed.reported:
            self._counters.total["reported"] += committed.reported
            self._counters.run["reported"] += committed.reported
            self._next, self._done, self.next_check_at = 0.0, False, 0.0
            self._left_out += 1  # such a date may lie before what has been looked at: there is another round
        if committed.next_due is None:
            return
        self._ordered = False
        queued = 0
        for state, n in committed.requeued:
            queued += n
            self._counters.move(state, _QUEUED, n)
            if state is UrlState.STORED:
                for counts in (self._counters.total, self._counters.run):
                    counts[REFRESHING] += n
        self._waiting += queued
        self._credit -= queued
        self._allowance.spend(queued)
        self._next = committed.next_due
        if self._walks:
            self._walks, self._walk, self._walk_at = False, committed.replanned_to, self._looked[1] + _SOON
        lines = self.planner.lines
        lines.on_requeued(committed.requeued_by_host)
        by, at = self._looked
        lines.on_scanned(self._looked_up_to(committed, by), at)
        self.planner.on_postponed(committed.postponed)
        if not self._keep:
            self._next_round(committed)
        self.next_check_at = 0.0

    def _looked_up_to(self, committed: Committed, by: float) -> float:
        """Of which dates all were queued, put off or found no room."""
        if self._keep:
            return min(self._next, by)
        return by if committed.requeued_to is None else committed.requeued_to.date

    def _next_round(self, committed: Committed) -> None:
        """A crawl that runs once goes through all that is due, and again through what found no room."""
        self._left_out += committed.skipped
        if committed.requeued_to is not None:
            self._after = committed.requeued_to
        elif self._left_out:
            self._after, self._left_out, self._room = _FIRST, 0, self._room * _MORE_ROOM
        else:
            self._done = True

    def host_loaded(self, record: HostRecord, robots: Sequence[RobotsRecord]) -> None:
        self.planner.host_loaded(record)

    def host_retired(self, host_id: HostId) -> None:
        self.planner.host_retired(host_id)

    def settled(
        self, visit: Visit, settlement: Settlement, document: ProcessedDocument | None, requested: bool
    ) -> None:
        """A visit to a new URL, or to one that was requeued, has been settled."""
        before, date = visit.task.previous, settlement.available_at
        if settlement.state is _QUEUED:
            return
        if date is not None and date < self._next:
            self._next = date
            self.next_check_at = 0.0
        if before is None or before.state is _QUEUED:
            self._uncredited += 1
            self.pace.discoveries += 1
        else:
            self.pace.refreshes += 1
            self._waiting = max(0, self._waiting - 1)
            self._moved += 1
            lines = self.planner.lines
            lines.on_visited(settlement.host_id, settlement.at)
            self._counters.count(self._store.batch, "refreshed")
            if before.state is _STORED:
                self._counters.count(self._store.batch, REFRESHING, -1)
            if self._waiting - lines.blocked < LOW_MARK:
                self.next_check_at = min(self.next_check_at, self._next)

    def on_queue_empty(self) -> bool:
        """No URL is queued any more. Whether the crawl is over; if not, what comes due next is queued."""
        if not self.is_over and not self._ordered and self._waiting:
            self._waiting = 0  # some were settled without a visit of ours
            self.planner.lines.clear()
            self.next_check_at = 0.0
        return self.is_over

    def before_commit(self, batch: Batch, now: Instant) -> None:
        """Remember what was learnt and what may be spent, with a batch that is about to be committed."""
        self.planner.before_commit(batch, now, self._counters.total["state:queued"] - self._waiting)
        if (batch.requeue is not None or batch.settlements) and (text := self._allowance.to_text()) is not None:
            batch.facts[TOKENS] = text
        if batch.settlements:
            self.pace.fold(now)
            batch.facts[PACE] = self.pace.to_text()
