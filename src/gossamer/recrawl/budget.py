"""The budget for visits to known URLs. A crawl that keeps fresh spends it evenly; one that runs once has a day's worth.

Pure: time is a parameter.

How many visits a day go to new pages, and how many to known ones: of late, restarts included.
"""

import math
from math import exp
from typing import Final

from gossamer.model.units import DAY, Instant
from gossamer.recrawl.policy import RecrawlSettings

TOKENS: Final = "recrawl_tokens"
"""The fact that has what may be spent, and since when that is so."""


class RefreshBudget:
    """A budget and what is left of it. Owned by the event loop.

    Always true: `tokens` is between 0 and `most`, which is infinite where there is no budget.
    """

    def __init__(self, settings: RecrawlSettings, now: Instant, text: str | None = None) -> None:
        """`text`: what the crawl remembers of it."""
        self._configure(settings)
        held, since = (float(part) for part in text.split()) if text else (self.capacity, now)
        self.tokens, self._since = min(held, self.capacity), float(since)

    def _configure(self, settings: RecrawlSettings) -> None:
        self.budget = settings.budget  # visits a day; None: no limit
        self.capacity = math.inf if self.budget is None else max(1.0, self.budget / (24 if settings.keep_fresh else 1))

    def reconfigure(self, settings: RecrawlSettings, now: Instant) -> None:
        """Spend by other wishes from now on. A crawl that goes on has saved nothing of a budget that is new."""
        self.refill(now)
        before = self.budget
        self._configure(settings)
        is_new = before is None and settings.keep_fresh and self.budget is not None
        self.tokens = 0.0 if is_new else min(self.tokens, self.capacity)
        self._since = now

    def refill(self, now: Instant) -> None:
        """Time has passed."""
        if self.budget is None:
            self.tokens = math.inf
        else:
            self.tokens = min(self.tokens + max(0.0, now - self._since) * self.budget / DAY, self.capacity)
            self._since = now

    def spend(self, visits: int) -> None:
        if self.budget is not None:
            self.tokens = max(0.0, self.tokens - visits)

    def seconds_to_earn(self, visits: float) -> float:
        """Seconds in which so many are earned."""
        return math.inf if self.budget is None else visits * DAY / self.budget

    def next_at(self, now: Instant) -> float:
        """When there is one to be had."""
        return now + self.seconds_to_earn(1.0 - self.tokens)

    def full_at(self, now: Instant) -> float:
        """When no more can be saved."""
        missing = self.capacity - self.tokens
        return now if missing < 1e-6 else now + self.seconds_to_earn(missing)

    def to_text(self) -> str | None:
        """What must survive of it; None where there is no budget."""
        return None if self.budget is None else f"{self.tokens!r} {self._since!r}"


PACE: Final = "recrawl_pace"
"""The fact of a crawl's database that has it."""


class VisitRates:
    """Visits are counted as they come, and fade within a day. Does no IO and reads no clock."""

    __slots__ = ("_discovered", "_refreshed", "_since", "_weight", "budget", "discoveries", "refreshes")

    def __init__(self, now: Instant, text: str | None = None) -> None:
        """`text`: what the crawl remembers of it."""
        self.discoveries = self.refreshes = 0  # since `fold`
        *numbers, budget = text.split() if text else ("0", "0", "0", str(now), "-")
        self._discovered, self._refreshed, self._weight, since = map(float, numbers)
        self._since = Instant(since)
        self.budget = None if budget == "-" else float(budget)  # refreshes a day that are allowed

    def fold(self, now: Instant) -> None:
        """Add what has come since the last call, which fades from now on."""
        passed = max(0.0, now - self._since) / DAY
        kept = exp(-passed)
        self._discovered = self._discovered * kept + self.discoveries
        self._refreshed = self._refreshed * kept + self.refreshes
        self._weight = self._weight * kept + (1 - kept)
        self._since = Instant(max(now, self._since))
        self.discoveries = self.refreshes = 0

    def per_day(self, now: Instant) -> tuple[float, float]:
        """Discoveries and refreshes a day. A crawl younger than a day is reckoned as if it went on like that."""
        passed = max(0.0, now - self._since) / DAY
        kept = exp(-passed)
        weight = max(self._weight * kept + (1 - kept), 1 / DAY)  # at least a second
        discovered = self._discovered * kept + self.discoveries
        return discovered / weight, (self._refreshed * kept + self.refreshes) / weight

    def to_text(self) -> str:
        budget = "-" if self.budget is None else repr(self.budget)
        return f"{self._discovered!r} {self._refreshed!r} {self._weight!r} {self._since!r} {budget}"
