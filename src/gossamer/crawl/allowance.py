"""The budget for visits to known URLs. A crawl that keeps fresh spends it evenly; one that runs once has a day's worth.

Pure: time is a parameter.
"""

import math
from typing import Final

from gossamer.model.units import Instant
from gossamer.sections import RecrawlSection

TOKENS: Final = "recrawl_tokens"
"""The fact that has what may be spent, and since when that is so."""

_DAY = 86_400.0


class Allowance:
    """A budget and what is left of it. Owned by the event loop.

    Always true: `tokens` is between 0 and `most`, which is infinite where there is no budget.
    """

    def __init__(self, wishes: RecrawlSection, now: Instant, text: str | None = None) -> None:
        """`text`: what the crawl remembers of it."""
        self._wish(wishes)
        held, since = (float(part) for part in text.split()) if text else (self.most, now)
        self.tokens, self._since = min(held, self.most), float(since)

    def _wish(self, wishes: RecrawlSection) -> None:
        self.budget = wishes.budget  # visits a day; None: no limit
        self.most = math.inf if self.budget is None else max(1.0, self.budget / (24 if wishes.keep_fresh else 1))

    def change_to(self, wishes: RecrawlSection, now: Instant) -> None:
        """Spend by other wishes from now on. A crawl that goes on has saved nothing of a budget that is new."""
        self.refill(now)
        before = self.budget
        self._wish(wishes)
        is_new = before is None and wishes.keep_fresh and self.budget is not None
        self.tokens = 0.0 if is_new else min(self.tokens, self.most)
        self._since = now

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
