"""Which front queue does a URL belong to? A score of 0..1 and its class.

The signals so far are those a URL carries in itself: home pages first, then by nesting of the path, then by
distance from the seeds.
"""

from typing import Protocol


class Ordering(Protocol):
    """A named ordering: how many front queues there are, and where a URL goes."""

    name: str
    fronts: int

    def score(self, url: str, depth: int) -> float:
        """The priority of a URL found `depth` links from a seed; higher is earlier."""
        ...

    def front_of(self, score: float) -> int:
        """The front queue (0 is the highest) of a score."""
        ...


class Mercator:
    """Three classes by score, served by the biased selector."""

    name = "mercator"
    fronts = 3

    def score(self, url: str, depth: int) -> float:
        # "http://host/a/b?q" has three slashes before the path's first name, one more per level.
        nesting = url.count("/") - 3 + (1 if url[-1] != "/" else 0)
        if "?" in url:
            nesting += 1
        return round(0.7 / (1 + 0.5 * nesting) + 0.3 / (1 + depth), 4)

    def front_of(self, score: float) -> int:
        return 0 if score >= 0.7 else 1 if score >= 0.35 else 2


class BreadthFirst:
    """First in, first out: one class, and every score is 2 (document 000)."""

    name = "bfs"
    fronts = 1

    def score(self, url: str, depth: int) -> float:
        return 2.0

    def front_of(self, score: float) -> int:
        return 0


ORDERINGS: dict[str, Ordering] = {ordering.name: ordering for ordering in (Mercator(), BreadthFirst())}
