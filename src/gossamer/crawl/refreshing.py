"""When URLs that were visited are queued again: in bounded batches, within the budget, and not at the cost of new ones.

A crawl that runs once looks at what was due when it began, and ends. One that keeps fresh goes on for as long as
anything has a date. What is queued is served by the frontier like everything else.
"""

import math
from typing import Final

from gossamer.crawl.lines import ROOM
from gossamer.crawl.pace import PACE, Pace
from gossamer.crawl.recrawling import REFRESHING, Recrawling
from gossamer.crawl.tally import Tally
from gossamer.model.states import UrlState
from gossamer.model.task import Before
from gossamer.model.units import Instant, Seconds
from gossamer.sections import RecrawlSection
from gossamer.store.changes import Again, Batch, Committed, Settlement
from gossamer.store.thread import StoreThread

__all__ = ["REFRESHING", "Refreshing"]

AT_ONCE: Final = 1_024
"""URLs that are queued by one commit: some ten milliseconds of it."""
LOW_MARK: Final = 256
"""More are queued when fewer than these wait."""
TOKENS: Final = "recrawl_tokens"
"""The fact that has what may be spent of the budget, and since when that is so."""

_DAY = 86_400.0
_QUEUED, _STORED = UrlState.QUEUED, UrlState.STORED  # an enumeration takes its time to look a member up
_SOON = 1.0  # seconds until we look again where something else must happen first


def _least_gap(wishes: RecrawlSection) -> Seconds | None:
    """What no visit comes sooner than after the last one. None where a rule says for some pages when it comes."""
    if any(rule.interval is not None for rule in wishes.rules):
        return None
    return Seconds(max(wishes.shortest, *(rule.shortest or 0.0 for rule in wishes.rules), 0.0))


class Refreshing:
    """Owned by the event loop. `look_at` says when `order` has something to decide; the caller waits for that."""

    def __init__(
        self,
        wishes: RecrawlSection,
        recrawling: Recrawling,
        store: StoreThread,
        tally: Tally,
        now: Instant,
        tokens: str | None = None,
        pace: str | None = None,
    ) -> None:
        """`tokens` and `pace`: what the crawl remembers of its budget, and of how it was spent."""
        self.recrawling = recrawling
        self.pace = Pace(now, pace)
        self._by = now
        self._store = store
        self._tally = tally
        self._wish(wishes)
        held, since = (float(part) for part in tokens.split()) if tokens else (self._most, now)
        self._tokens, self._since = min(held, self._most), since
        self._not_early = 0.0
        self._credit = float(AT_ONCE)  # visits to known URLs that new ones have left room for
        self._uncredited = 0  # visits to new URLs that are not in it yet
        self._waiting = 0  # queued again, and not visited yet
        self._ordered = False
        self._looked = (now, now)  # the last order: until which date, and when
        self._done = False
        self._next = 0.0  # when the first date comes
        self.look_at = 0.0

    def _wish(self, wishes: RecrawlSection) -> None:
        self._keep = wishes.keep_fresh
        self._budget = self.pace.budget = wishes.budget
        self._most = math.inf if wishes.budget is None else max(1.0, wishes.budget / (24 if self._keep else 1))
        self._early = _least_gap(wishes) if self.recrawling.moves_price else None
        self._discovery, self._refresh = wishes.discovery_share, wishes.refresh_share

    def change_to(self, wishes: RecrawlSection, now: Instant) -> None:
        """Queue by other wishes from now on. A crawl that goes on has saved nothing of a budget that is new."""
        self._refill(now)
        before = self._budget
        self._wish(wishes)
        self._tokens = 0.0 if before is None and self._keep and self._budget else min(self._tokens, self._most)
        self._since = now
        self._next = self.look_at = self._not_early = 0.0

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

    def order(self, now: Instant) -> None:
        """Queue what is due, as much of it as there is room for."""
        self.look_at = math.inf
        if self._ordered or self.is_over or self._waiting - self.recrawling.lines.held_up >= LOW_MARK:
            return  # a commit or a visit comes first
        most, early = AT_ONCE, False
        self._refill(now)
        if self._keep and self._next > now:
            early = self._may_be_early_at(now) <= now
            if not early:
                self.look_at = min(self._next, self._may_be_early_at(now))
                return
            assert self._budget is not None
            most = max(1, int(self._most / 2))  # what comes due in a moment is still paid for
            self._not_early = now + most * _DAY / self._budget  # if there is nothing now, there will be none soon
        if self._tokens < 1.0:
            if not self._keep:
                self._done = True  # the rest of what is due is left to another day
            else:
                assert self._budget is not None
                self.look_at = now + (1.0 - self._tokens) * _DAY / self._budget
            return
        most = int(min(most, self._tokens))
        beside_new = self._tally.total["state:queued"] > self._waiting
        self._take_credit(beside_new)
        if self._credit < 1.0:
            self.look_at = now + _SOON
            return
        most = int(min(most, self._credit))
        self._ordered = True
        by = now if self._keep else self._by
        self._looked = (by, now)
        early_by = self._early if early else None
        # How many go is decided here; they must not wait behind a million others on top of it.
        order = Again(by, most, missing=self._keep, ahead=beside_new, early=early_by)
        if self._keep and self.recrawling.by_price:
            lines = self.recrawling.lines
            order = order._replace(dear=lines.prices, room=ROOM, waiting=lines.waiting)
        self._store.batch.again = order
        self._store.nudge()

    def _take_credit(self, beside_new: bool) -> None:
        """How many may be queued: without limit, unless new URLs wait too and are to get their share."""
        share = self.recrawling.share_of_refresh(self._discovery, self._refresh) if beside_new else 1.0
        if share >= 1.0:
            self._credit = float(AT_ONCE)
        else:
            self._credit = min(self._credit + self._uncredited * share / (1 - share), float(AT_ONCE))
        self._uncredited = 0

    def _may_be_early_at(self, now: Instant) -> float:
        """When the budget is left unused for so long that what comes due next may be visited already."""
        if self._early is None or self._budget is None:
            return math.inf
        missing = self._most - self._tokens
        full = now if missing < 1e-6 else now + missing * _DAY / self._budget
        return max(full, self._not_early)

    def _refill(self, now: Instant) -> None:
        if self._budget is None:
            self._tokens = math.inf
        else:
            self._tokens = min(self._tokens + max(0.0, now - self._since) * self._budget / _DAY, self._most)
            self._since = now

    def committed(self, committed: Committed) -> None:
        """A batch is on record."""
        if committed.reported:
            self._tally.total["reported"] += committed.reported
            self._tally.run["reported"] += committed.reported
            self._next, self._done, self.look_at = 0.0, False, 0.0
        if committed.next_again is None:
            return
        self._ordered = False
        queued = 0
        for state, n in committed.again:
            queued += n
            self._tally.queued_again(state, n)
            if state is UrlState.STORED:
                for counts in (self._tally.total, self._tally.run):
                    counts[REFRESHING] += n
        self._waiting += queued
        self._credit -= queued
        if self._budget is not None:
            self._tokens -= queued
        self._next = committed.next_again
        lines = self.recrawling.lines
        lines.queued(committed.again_at)
        by, at = self._looked
        lines.looked(min(self._next, by), at)
        self.recrawling.put_off(committed.put_off)
        if not self._keep and (not queued or self._next > self._by):
            self._done = True
        self.look_at = 0.0

    def settled(self, before: Before | None, settlement: Settlement, batch: Batch) -> None:
        """What came of any visit: of one to a new URL or of one that was queued again."""
        date = settlement.available_at
        if settlement.state is _QUEUED:
            return
        if date is not None and date < self._next:
            self._next = date
            self.look_at = 0.0
        if before is None or before.state is _QUEUED:
            self._uncredited += 1
            self.pace.discoveries += 1
        else:
            self.pace.refreshes += 1
            self._waiting = max(0, self._waiting - 1)
            lines = self.recrawling.lines
            lines.served(settlement.host_id)
            self._tally.count(batch, "refreshed")
            if before.state is _STORED:
                self._tally.count(batch, REFRESHING, -1)
            if self._waiting - lines.held_up < LOW_MARK:
                self.look_at = min(self.look_at, self._next)

    def nothing_waits(self) -> bool:
        """No URL is queued any more. Whether the crawl is over; if not, what comes due next is queued."""
        if not self.is_over and not self._ordered and self._waiting:
            self._waiting = 0  # some were settled without a visit of ours
            self.recrawling.lines.forget()
            self.look_at = 0.0
        return self.is_over

    def hand_over(self, batch: Batch, now: Instant) -> None:
        """Remember what was learnt and what may be spent, with a batch that is about to be committed."""
        self.recrawling.hand_over(batch, now, self._tally.total["state:queued"] - self._waiting)
        if self._budget is not None and (batch.again is not None or batch.settlements):
            batch.facts[TOKENS] = f"{self._tokens!r} {self._since!r}"
        if batch.settlements:
            self.pace.fold(now)
            batch.facts[PACE] = self.pace.to_text()
