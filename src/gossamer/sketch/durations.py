"""Histogram of durations, in classes that double. Hot: benchmarks/bench_crawl.py.

A plain list of counts: adding one costs a tenth of a microsecond, and single values are not kept. Quantiles are known
to a factor of two, and better by interpolation, as in Prometheus.
"""

from typing import Final, NamedTuple

_CLASSES: Final = 64


class Spread(NamedTuple):
    """A snapshot. Class n counts durations of more than 2**(n-1) and at most 2**n microseconds."""

    counts: tuple[int, ...] = (0,) * _CLASSES
    total: int = 0  # microseconds

    @property
    def number(self) -> int:
        return sum(self.counts)

    @property
    def seconds(self) -> float:
        return self.total / 1e6

    def up_to(self, first: int, last: int) -> list[tuple[float, int]]:
        """(seconds, number that took at most this long) for the bounds of these classes, cumulative like Prometheus
        buckets: earlier classes are included, later ones are not."""
        found = []
        number = sum(self.counts[:first])
        for which in range(first, last + 1):
            number += self.counts[which]
            found.append((2**which / 1e6, number))
        return found


class Durations:
    """Counts durations. Owned by one thread; others may read.

    Hot callers may update `counts` themselves, as `note` does; its last element is the sum.
    """

    __slots__ = ("counts",)

    def __init__(self) -> None:
        self.counts = [0] * (_CLASSES + 1)

    def note(self, microseconds: int) -> None:
        """Add one. A negative duration (the clock was set back) counts as 0."""
        if microseconds <= 0:
            microseconds = 0
        self.counts[(microseconds - 1).bit_length()] += 1
        self.counts[-1] += microseconds

    def note_seconds(self, seconds: float) -> None:
        self.note(int(seconds * 1e6))

    def spread(self) -> Spread:
        return Spread(tuple(self.counts[:-1]), self.counts[-1])
