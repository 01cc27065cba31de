"""Hot: how long something took, counted in classes that double (benchmarks/bench_crawl.py).

A plain list of counts: to note one costs a tenth of a microsecond, and nothing is kept of the single ones. From the
counts quantiles are known to a factor of two, better in between by interpolation, as Prometheus does it.
"""

from typing import Final, NamedTuple

_CLASSES: Final = 64


class Spread(NamedTuple):
    """A snapshot. Class n counts what took more than 2**(n-1) and at most 2**n microseconds."""

    counts: tuple[int, ...] = (0,) * _CLASSES
    total: int = 0  # microseconds

    @property
    def number(self) -> int:
        return sum(self.counts)

    @property
    def seconds(self) -> float:
        return self.total / 1e6

    def up_to(self, first: int, last: int) -> list[tuple[float, int]]:
        """(seconds, how many took at most so long) for the bounds of these classes: what is in a class before the
        first is in it, what is in one behind the last is in none."""
        found = []
        number = sum(self.counts[:first])
        for which in range(first, last + 1):
            number += self.counts[which]
            found.append((2**which / 1e6, number))
        return found


class Durations:
    """Counts durations. Belongs to one thread; another may read.

    Whoever is in a hurry, and sure of its clock, does what `note` does to `counts` by itself: its last place holds the
    sum.
    """

    __slots__ = ("counts",)

    def __init__(self) -> None:
        self.counts = [0] * (_CLASSES + 1)

    def note(self, microseconds: int) -> None:
        """One more. Of what cannot be (a clock that was set back) it is only known that it happened."""
        if microseconds <= 0:
            microseconds = 0
        self.counts[(microseconds - 1).bit_length()] += 1
        self.counts[-1] += microseconds

    def note_seconds(self, seconds: float) -> None:
        self.note(int(seconds * 1e6))

    def spread(self) -> Spread:
        return Spread(tuple(self.counts[:-1]), self.counts[-1])
