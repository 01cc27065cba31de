"""Discovery and refresh compete for every visit by one number, and neither starves.

A new page is worth `index.value_of_new`, a page that is due `index.value` (which is its price, or more if it is late).
The larger goes first, unless the other has had less than its floor of late.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Final

from gossamer.errors import UsageError

MEMORY: Final = 200.0
"""Visits over which shares are counted: what lies further back fades."""


class Turn(Enum):
    """Whose turn it is."""

    DISCOVERY = "discovery"
    REFRESH = "refresh"


@dataclass(frozen=True, slots=True)
class Floors:
    """Shares of the visits that each is sure of while it has something to visit. Together 1 at most."""

    discovery: float = 0.1
    refresh: float = 0.1

    def __post_init__(self) -> None:
        if min(self.discovery, self.refresh) < 0 or self.discovery + self.refresh > 1:
            raise UsageError(f"floors of {self.discovery} and {self.refresh} are no shares of one whole")


def whose_turn(floors: Floors, *, new: float | None, due: float | None, discovered: float) -> Turn | None:
    """Who goes next. `new` and `due` are the values of the best of each, None where there is none.

    `discovered`: the share of discoveries among the latest visits, as `counted_turn` keeps it.
    """
    if new is None:
        return None if due is None else Turn.REFRESH
    if due is None:
        return Turn.DISCOVERY
    if discovered < floors.discovery:
        return Turn.DISCOVERY
    if 1 - discovered < floors.refresh:
        return Turn.REFRESH
    return Turn.DISCOVERY if new > due else Turn.REFRESH


def counted_turn(discovered: float, turn: Turn) -> float:
    """The share of discoveries after one more visit."""
    return discovered + ((turn is Turn.DISCOVERY) - discovered) / MEMORY
