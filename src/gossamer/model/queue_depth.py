"""How full a bounded queue is, as its owner tells whoever watches."""

from typing import NamedTuple


class QueueDepth(NamedTuple):
    """One moment of a queue. A bound of 0 is none: then the queue is bounded by the other one.

    A bound is where upstream must have stopped: it slows at 80 % (`crawl.engine`), and what is under way by then still
    comes in.
    """

    items: int
    most_items: int = 0
    bytes: int = 0
    most_bytes: int = 0

    @property
    def saturation(self) -> float:
        """How near it is to the bound that it is nearest to; 1.0 is the bound."""
        by_items = self.items / self.most_items if self.most_items else 0.0
        by_bytes = self.bytes / self.most_bytes if self.most_bytes else 0.0
        return max(by_items, by_bytes)
