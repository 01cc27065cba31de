"""The share of a worker: how many partitions it should own, and which it gives up."""

from collections.abc import Mapping
from fractions import Fraction
from math import floor

from gossamer.model.units import Epoch


def shares(partitions: int, weights: Mapping[Epoch, float]) -> dict[Epoch, int]:
    """How many partitions each worker should own: in proportion to the weights, which are positive, rounded up or down
    so that the sum is `partitions` (the method of largest remainders).

    All workers that see the same members come to the same result. Rounding up for everybody would leave some without
    any partition: of 31 workers with 9 each out of 256, two have none (ADR 25).
    """
    total = sum(map(Fraction, weights.values()))  # exact: with floats, the order of additions would decide ties
    exact = {epoch: partitions * Fraction(weight) / total for epoch, weight in weights.items()}
    found = {epoch: floor(part) for epoch, part in exact.items()}
    by_remainder = sorted(exact, key=lambda epoch: (found[epoch] - exact[epoch], epoch))
    for epoch in by_remainder[: partitions - sum(found.values())]:
        found[epoch] += 1
    return found


def surplus(hosts_in_memory: Mapping[int, int], share: int) -> list[int]:
    """Which of the partitions that a worker owns it gives up: no more than exceed its share, and with them the same
    part of its hosts in memory. A single one is one with the fewest hosts.

    To give up those with the fewest hosts first would move less, but a worker that joins a crawl of a hundred hosts
    would get nothing but empty partitions (ADR 25).
    """
    ordered = sorted(hosts_in_memory, key=lambda part: (hosts_in_memory[part], part))
    owned, given = len(ordered), max(len(ordered) - share, 0)
    return [ordered[n * owned // given] for n in range(given)]


def shortfall(owned: int, share: int) -> int:
    """How many free partitions a worker takes at most."""
    return max(share - owned, 0)
