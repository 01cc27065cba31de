"""How full a bounded queue is."""

from typing import NamedTuple


class QueueDepth(NamedTuple):
    """A snapshot of a queue. A limit of 0 means none: the queue is then bounded by the other one.

    At a limit, upstream must have stopped: it slows down at 80 % (`crawl.engine`), and work in progress by then still
    arrives.
    """

    items: int
    most_items: int = 0
    bytes: int = 0
    most_bytes: int = 0

    @property
    def saturation(self) -> float:
        """Fill level relative to the nearer limit; 1.0 is full."""
        by_items = self.items / self.most_items if self.most_items else 0.0
        by_bytes = self.bytes / self.most_bytes if self.most_bytes else 0.0
        return max(by_items, by_bytes)
