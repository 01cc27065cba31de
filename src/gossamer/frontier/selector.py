"""The biased front-queue selector: decides which priority class is served next.

Not drawn at random but by *smooth weighted round robin*: over any period in which the same classes have something
waiting, each gets exactly its share (to within one draw), and a class of weight w waits at most about total/w draws. So
no class starves, and a run can be repeated.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum


class Load(Enum):
    NORMAL = "normal"
    HIGH = "high"


STEEPNESS = 4
"""In the last group, each class gets this many times the share of the next."""


@dataclass(frozen=True, slots=True)
class SelectorRatios:
    """Shares by group of classes, highest first: high, medium and low. Any positive numbers; only their proportions
    matter. Every group is one class, except that the last has all classes that are left."""

    normal: tuple[float, ...] = (60, 30, 10)
    high: tuple[float, ...] = (80, 15, 5)

    def __post_init__(self) -> None:
        if len(self.normal) != len(self.high):
            raise ValueError(f"{len(self.normal)} normal shares but {len(self.high)} under load")
        for share in (*self.normal, *self.high):
            if not 0 < share < float("inf"):
                raise ValueError(f"a share must be a positive number, not {share}")

    @property
    def groups(self) -> int:
        return len(self.normal)

    def for_classes(self, fronts: int) -> "SelectorRatios":
        """The share of each of N classes. The total of each group is unchanged."""
        return SelectorRatios(_divided(self.normal, fronts), _divided(self.high, fronts))

    def for_load(self, load: Load) -> tuple[float, ...]:
        shares = self.normal if load is Load.NORMAL else self.high
        return tuple(float(share) for share in shares)  # adding an int to a float is slower


def _divided(shares: tuple[float, ...], fronts: int) -> tuple[float, ...]:
    """Fewer classes than groups leave the last groups out."""
    *alone, last = shares[:fronts]
    parts = [STEEPNESS**-n for n in range(fronts - len(alone))]
    return (*alone, *(last * part / sum(parts) for part in parts))


class Selector:
    """Deals turns to classes by the ratios of the current load."""

    def __init__(self, ratios: SelectorRatios) -> None:
        self._ratios = ratios
        self._weights = ratios.for_load(Load.NORMAL)
        self._credit = [0.0] * len(self._weights)
        self.load = Load.NORMAL
        self.drawn = [0] * len(self._weights)  # the observed shares

    def set_load(self, load: Load) -> None:
        """Switch to the ratios of `load`. Credit already earned is kept, so no class is set back."""
        self.load = load
        self._weights = self._ratios.for_load(load)

    def draw(self, waiting: Sequence[int]) -> int:
        """The class to serve next, among `waiting` (not empty). Every call counts as a turn taken."""
        chosen = waiting[0]
        if len(waiting) == 1:
            # The usual case when hosts, not slots, are scarce. No class is passed over, so no credit moves.
            self.drawn[chosen] += 1
            return chosen
        credit, weights = self._credit, self._weights
        total, best = 0.0, -math.inf
        for front in waiting:
            weight = weights[front]
            total += weight
            credit[front] = earned = credit[front] + weight
            if earned > best:
                best, chosen = earned, front
        credit[chosen] = best - total
        self.drawn[chosen] += 1
        return chosen
