"""The budget for visits to known URLs, and the rates of visits to new and known ones. Pure: time is a parameter.

A crawl with `keep_fresh` spends the budget evenly; one that runs once has a day's worth at the start.
"""

import math
from math import exp
from typing import Final

from gossamer.model.units import DAY, Instant
from gossamer.recrawl.policy import RecrawlSettings

TOKENS: Final = "recrawl_tokens"
"""Metadata key of the tokens left, and since when."""


class RefreshBudget:
    """A token bucket. Owned by the event loop.

    Always true: `tokens` is between 0 and `capacity`, which is infinite without a budget. Of several workers each has a
    share of the budget, in proportion to the partitions that it owns.
    """

    def __init__(self, settings: RecrawlSettings, now: Instant, text: str | None = None) -> None:
        """`text`: the stored state, if any."""
        self._share = 1.0
        self._configure(settings)
        held, since = (float(part) for part in text.split()) if text else (self.capacity, now)
        self.tokens, self._since = min(held, self.capacity), float(since)

    def _configure(self, settings: RecrawlSettings) -> None:
        self._settings = settings
        whole = settings.budget
        self.budget = None if whole is None else whole * self._share  # visits per day; None: unlimited
        self.capacity = math.inf if self.budget is None else max(1.0, self.budget / (24 if settings.keep_fresh else 1))

    def reconfigure(self, settings: RecrawlSettings, now: Instant) -> None:
        """Change the settings. A running crawl starts a new budget without saved tokens."""
        self.refill(now)
        before = self.budget
        self._configure(settings)
        is_new = before is None and settings.keep_fresh and self.budget is not None
        self.tokens = 0.0 if is_new else min(self.tokens, self.capacity)
        self._since = now

    def change_share(self, share: float, now: Instant) -> None:
        """Have this share of the budget, above 0. What is saved of it is in proportion."""
        self.refill(now)
        capacity = self.capacity
        self._share = share
        self._configure(self._settings)
        if self.budget is not None:
            self.tokens = min(self.tokens * self.capacity / capacity, self.capacity)

    def refill(self, now: Instant) -> None:
        """Add the tokens earned since the last call."""
        if self.budget is None:
            self.tokens = math.inf
        else:
            self.tokens = min(self.tokens + max(0.0, now - self._since) * self.budget / DAY, self.capacity)
            self._since = now

    def spend(self, visits: int) -> None:
        if self.budget is not None:
            self.tokens = max(0.0, self.tokens - visits)

    def seconds_to_earn(self, visits: float) -> float:
        """Seconds in which this many visits are earned."""
        return math.inf if self.budget is None else visits * DAY / self.budget

    def next_at(self, now: Instant) -> float:
        """When the next visit can be paid for."""
        return now + self.seconds_to_earn(1.0 - self.tokens)

    def full_at(self, now: Instant) -> float:
        """When the bucket is full."""
        missing = self.capacity - self.tokens
        return now if missing < 1e-6 else now + self.seconds_to_earn(missing)

    def to_text(self) -> str | None:
        """The state to be stored, as of the whole budget; None without a budget."""
        return None if self.budget is None else f"{self.tokens / self._share!r} {self._since!r}"


PACE: Final = "recrawl_pace"
"""Metadata key of the visit rates."""

_HOUR = 1 / 24  # in days


class VisitRates:
    """Rates of visits to new and known pages, with exponential decay over a day. Does no IO and reads no clock."""

    __slots__ = ("_discovered", "_refreshed", "_since", "_weight", "budget", "discoveries", "refreshes")

    def __init__(self, now: Instant, text: str | None = None) -> None:
        """`text`: the stored state, if any."""
        self.discoveries = self.refreshes = 0  # since `fold`
        *numbers, budget = text.split() if text else ("0", "0", "0", str(now), "-")
        self._discovered, self._refreshed, self._weight, since = map(float, numbers)
        self._since = Instant(since)
        self.budget = None if budget == "-" else float(budget)  # allowed refreshes per day

    def fold(self, now: Instant) -> None:
        """Add the visits since the last call to the decaying averages."""
        passed = max(0.0, now - self._since) / DAY
        kept = exp(-passed)
        self._discovered = self._discovered * kept + self.discoveries
        self._refreshed = self._refreshed * kept + self.refreshes
        self._weight = self._weight * kept + (1 - kept)
        self._since = Instant(max(now, self._since))
        self.discoveries = self.refreshes = 0

    def per_day(self, now: Instant) -> tuple[float, float]:
        """Discoveries and refreshes per day. For a crawl younger than a day, extrapolated."""
        passed = max(0.0, now - self._since) / DAY
        kept = exp(-passed)
        weight = max(self._weight * kept + (1 - kept), 1 / DAY)  # at least a second
        discovered = self._discovered * kept + self.discoveries
        return discovered / weight, (self._refreshed * kept + self.refreshes) / weight

    def is_young(self, now: Instant) -> bool:
        """Whether the rates are extrapolated from less than an hour."""
        passed = max(0.0, now - self._since) / DAY
        return (1 - self._weight) * exp(-passed) > exp(-_HOUR)

    def to_text(self) -> str:
        budget = "-" if self.budget is None else repr(self.budget)
        return f"{self._discovered!r} {self._refreshed!r} {self._weight!r} {self._since!r} {budget}"
