"""The ordering `mercator`: front queues by score, served by the biased selector, first in first out in each."""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from gossamer.frontier.orderings.score import LOG2_UNIT, ScoredByLinks

DEFAULT_BOUNDS = (-3.0, -4.0, -5.0, -6.0, -7.0, -8.0, -9.0)
"""On the log2 scale. Chosen on link graphs: benchmarks/results/orderings.md."""


class Mercator(ScoredByLinks):
    """The page's own part of the score selects one of the front queues; `bounds` are the least scores of all but the
    last. The host's part is left out: it changes with every page, and a URL that waits in a queue cannot follow."""

    name = "mercator"
    fronts = len(DEFAULT_BOUNDS) + 1

    def __init__(
        self,
        weights: Mapping[str, float] | None = None,
        trusted: Iterable[str] = (),
        bounds: Sequence[float] = DEFAULT_BOUNDS,
    ) -> None:
        """`bounds` decrease: the first is the least score of class 0, and so on; below the last is the lowest class.
        Raises ValueError with the offending value."""
        super().__init__(weights, trusted)
        self.bounds = _checked_bounds(bounds)
        self._negative_bounds = [-LOG2_UNIT * bound for bound in self.bounds]  # increasing, for `bisect`
        self.fronts = len(self.bounds) + 1

    @property
    def settings(self) -> str:
        return f"{super().settings} bounds={self.bounds}"

    score = ScoredByLinks.page_score

    def front_of(self, score: float) -> int:
        return bisect_left(self._negative_bounds, -score)


def _checked_bounds(given: Sequence[float]) -> tuple[float, ...]:
    bounds = tuple(map(float, given))
    if any(not a > b for a, b in pairwise((float("inf"), *bounds, float("-inf")))):
        raise ValueError(f"bounds must be numbers in descending order, not {list(bounds)}")
    return bounds
