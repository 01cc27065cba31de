"""The orderings, one small class each, by name.

An ordering is a formula (see `ordering`); the frontier keeps waiting URLs in its order, and `gossamer simulate` replays
link graphs with the same classes.
"""

from collections.abc import Callable, Mapping

from gossamer.frontier.orderings.best_first import BestFirst
from gossamer.frontier.orderings.mercator import Mercator
from gossamer.frontier.orderings.ordering import Balance, DepthFirst, Importance, Novelty, Ordering

ORDERINGS: Mapping[str, Callable[[], Ordering]] = {
    maker.name: maker for maker in (Mercator, BestFirst, Ordering, DepthFirst, Novelty, Balance, Importance)
}

__all__ = ["ORDERINGS", "Ordering"]
