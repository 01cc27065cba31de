"""The orderings, one small class each, by name.

An ordering is a formula (`ordering` says what it is asked); the frontier keeps what waits in its order, and
`gossamer simulate` replays link graphs with the very same classes.
"""

from collections.abc import Callable, Mapping

from gossamer.frontier.orderings.mercator import Mercator
from gossamer.frontier.orderings.ordering import Balance, DepthFirst, Importance, Novelty, Ordering

ORDERINGS: Mapping[str, Callable[[], Ordering]] = {
    maker.name: maker for maker in (Mercator, Ordering, DepthFirst, Novelty, Balance, Importance)
}

__all__ = ["ORDERINGS", "Ordering"]
