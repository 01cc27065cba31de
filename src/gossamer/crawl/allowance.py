"""What may be spent on visits to known URLs: so many a day, or a share of what the crawl can do.

What it can do is as many visits at a time as it may make, one after the other, each as long as visits take of late; but
no process makes more than so many a second. So a share of 0.2 means that a fifth of the slots are in use for what is
known already, on the average. A crawl that keeps fresh spends evenly; one that runs once has a day's worth. Pure: time
is a parameter.
"""

import math
from typing import Final

from gossamer.model.units import Instant
from gossamer.sections import RecrawlSection

TOKENS: Final = "recrawl_tokens"
"""The fact that has what may be spent, and since when that is so."""
MOST_A_SECOND: Final = 500.0
"""Visits of a process, however soon they are answered."""

_DAY = 86_400.0
_UNKNOWN = 1.0  # seconds that a visit takes, before any was seen
_SMOOTH = 0.005  # the share of the latest visit in the mean
_SAME = 0.01  # of a budget: changes by less are not worth the while


class Allowance:
    """A budget and what is left of it. Owned by the event loop.

    Always true: `tokens` is between 0 and `most`, which is infinite where there is no budget.
    """

    def __init__(
        self,
        wishes: RecrawlSection,
        now: Instant,
        concurrency: int,
        text: str | None = None,
        budget: float | None = None,
    ) -> None:
        """`text` and `budget`: what the crawl remembers of it, and what the budget was."""
        self._concurrency = concurrency
        self._took = 0.0
        self._since: float = now
        if wishes.capacity_share is not None and budget is not None:
            self._took = wishes.capacity_share * concurrency * _DAY / budget
        self._wish(wishes)
        held, since = (float(part) for part in text.split()) if text else (self.most, now)
        self.tokens, self._since = min(held, self.most), since

    def _wish(self, wishes: RecrawlSection) -> None:
        self._share, self._keeps = wishes.capacity_share, wishes.keep_fresh
        self._allow(wishes.budget if self._share is None else self._share_a_day(self._share))

    def _allow(self, budget: float | None) -> None:
        self.budget = budget  # visits a day; None: no limit
        self.most = math.inf if budget is None else max(1.0, budget / (24 if self._keeps else 1))

    def _share_a_day(self, share: float) -> float:
        return share * _DAY * min(self._concurrency / (self._took or _UNKNOWN), MOST_A_SECOND)

    def change_to(self, wishes: RecrawlSection, now: Instant) -> None:
        """Spend by other wishes from now on. A crawl that goes on has saved nothing of a budget that is new."""
        self.refill(now)
        before = self.budget
        self._wish(wishes)
        is_new = before is None and self._keeps and self.budget is not None
        self.tokens = 0.0 if is_new else min(self.tokens, self.most)
        self._since = now

    def took(self, seconds: float) -> None:
        """A visit, to whatever URL, took so long."""
        self._took += (seconds - self._took) * (_SMOOTH if self._took else 1.0)

    def reckon(self) -> bool:
        """Find what the crawl can do by how long visits take of late. Whether the budget is another now."""
        if self._share is None or self.budget is None:
            return False
        budget = self._share_a_day(self._share)
        if abs(budget - self.budget) <= _SAME * self.budget:
            return False
        self._allow(budget)
        self.tokens = min(self.tokens, self.most)
        return True

    def refill(self, now: Instant) -> None:
        """Time has passed."""
        if self.budget is None:
            self.tokens = math.inf
        else:
            self.tokens = min(self.tokens + max(0.0, now - self._since) * self.budget / _DAY, self.most)
            self._since = now

    def spend(self, visits: int) -> None:
        if self.budget is not None:
            self.tokens = max(0.0, self.tokens - visits)

    def lasts(self, visits: float) -> float:
        """Seconds in which so many are earned."""
        return math.inf if self.budget is None else visits * _DAY / self.budget

    def next_at(self, now: Instant) -> float:
        """When there is one to be had."""
        return now + self.lasts(1.0 - self.tokens)

    def full_at(self, now: Instant) -> float:
        """When no more can be saved."""
        missing = self.most - self.tokens
        return now if missing < 1e-6 else now + self.lasts(missing)

    def to_text(self) -> str | None:
        """What must survive of it; None where there is no budget."""
        return None if self.budget is None else f"{self.tokens!r} {self._since!r}"
