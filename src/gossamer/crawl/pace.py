"""How many visits a day go to new pages, and how many to known ones: of late, restarts included."""

from math import exp
from typing import Final

from gossamer.model.units import Instant

PACE: Final = "recrawl_pace"
"""The fact of a crawl's database that has it."""

_DAY = 86_400.0


class Pace:
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
        passed = max(0.0, now - self._since) / _DAY
        kept = exp(-passed)
        self._discovered = self._discovered * kept + self.discoveries
        self._refreshed = self._refreshed * kept + self.refreshes
        self._weight = self._weight * kept + (1 - kept)
        self._since = Instant(max(now, self._since))
        self.discoveries = self.refreshes = 0

    def a_day(self, now: Instant) -> tuple[float, float]:
        """Discoveries and refreshes a day. A crawl younger than a day is reckoned as if it went on like that."""
        passed = max(0.0, now - self._since) / _DAY
        kept = exp(-passed)
        weight = max(self._weight * kept + (1 - kept), 1 / _DAY)  # at least a second
        discovered = self._discovered * kept + self.discoveries
        return discovered / weight, (self._refreshed * kept + self.refreshes) / weight

    def to_text(self) -> str:
        budget = "-" if self.budget is None else repr(self.budget)
        return f"{self._discovered!r} {self._refreshed!r} {self._weight!r} {self._since!r} {budget}"
