"""Policies side by side in the same worlds: how fresh were the copies, and how fresh could they have been?"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from gossamer.recrawl.optimum import freshness, optimum
from gossamer.recrawl.policies import RecrawlPolicy
from gossamer.recrawl.policies.optimal import Optimal
from gossamer.simulate.freshness.travel import Journey, Known, travel
from gossamer.simulate.freshness.world import World

KNOWN = Known.name
POINTS = 73  # of a curve: every fifth day of a year

Maker = Callable[[], RecrawlPolicy]
Numbers = np.ndarray[tuple[int], np.dtype[np.float64]]


@dataclass(frozen=True, slots=True)
class Freshness:
    """How a policy did, on the average over the worlds. Shares of 1; the second half of the time unless said."""

    policy: str
    weighted: float  # fresh copies, pages counting by their importance
    plain: float  # each page counting alike
    of_optimum: float  # `weighted` as a share of the optimum
    whole: float  # weighted, from the start on
    used: float  # of the budget
    curve: Sequence[tuple[float, float]] = field(repr=False)  # (day, weighted) over the whole time
    plain_curve: Sequence[tuple[float, float]] = field(repr=False)  # (day, plain)
    each: Sequence[float] = ()  # `of_optimum` in each world


@dataclass(frozen=True, slots=True)
class Comparison:
    """All policies in some worlds that differ only by chance."""

    name: str
    pages: int
    hosts: int
    days: float
    cycle: float  # days in which the budget could fetch every page once
    optimum: float  # importance-weighted freshness of the best schedule for known rates
    optimum_plain: float  # of the same schedule, each page counting alike
    policies: Sequence[Freshness]


def compare(
    name: str,
    worlds: Sequence[World],
    cycle: float,
    makers: Mapping[str, Maker],
    tell: Callable[[str], None] = lambda _: None,
) -> Comparison:
    """Send each policy through each world. The optimum is that for the rates that hold in the second half."""
    tell("the optimum")
    schedules = [
        optimum(world.importance, world.rates, world.pages / cycle, world.host_of, world.cap) for world in worlds
    ]
    best = [schedule.freshness for schedule in schedules]
    plain = [
        freshness([1.0] * world.pages, world.rates, schedule.visits)
        for world, schedule in zip(worlds, schedules, strict=True)
    ]
    found = []
    for policy, make in {**makers, KNOWN: _known}.items():
        measured = []
        for i, world in enumerate(worlds):
            tell(f"{policy}, world {i + 1} of {len(worlds)}")
            journey = travel(world, make(), world.pages / cycle)
            measured.append(_measured(policy, world, journey, cycle, best[i]))
        found.append(_mean(measured))
    first = worlds[0]
    means = sum(best) / len(best), sum(plain) / len(plain)
    return Comparison(name, first.pages, first.hosts, first.days, cycle, *means, found)


def _known() -> RecrawlPolicy:
    return Known(Optimal())


def _measured(policy: str, world: World, journey: Journey, cycle: float, best: float) -> Freshness:
    alike = [1 / world.pages] * world.pages
    half = world.days / 2
    weighted = share_fresh(journey, world.importance, half, world.days)
    return Freshness(
        policy=policy,
        weighted=weighted,
        plain=share_fresh(journey, alike, half, world.days),
        of_optimum=weighted / best,
        whole=share_fresh(journey, world.importance, 0.0, world.days),
        used=sum(start >= half for start in journey.starts) * cycle / (world.pages * half),
        curve=_curve(journey, world.importance, world.days),
        plain_curve=_curve(journey, alike, world.days),
    )


def _curve(journey: Journey, weights: Sequence[float], days: float) -> list[tuple[float, float]]:
    """A line through (day, freshness of the days before it)."""
    ends = [days * k / POINTS for k in range(POINTS + 1)]
    return [(end, share_fresh(journey, weights, start, end)) for start, end in pairwise(ends)]


def share_fresh(journey: Journey, weights: Sequence[float], start: float, end: float) -> float:
    """The share of fresh copies from day `start` to day `end`. Weights are 1 in all; what has no copy is stale."""
    weight: Numbers = np.asarray(weights, float)[np.asarray(journey.pages, int)]
    lengths = np.clip(journey.ends, start, end) - np.clip(journey.starts, start, end)
    return float((weight * lengths).sum() / (end - start))


def _mean(found: Sequence[Freshness]) -> Freshness:
    n = len(found)
    return Freshness(
        policy=found[0].policy,
        weighted=sum(f.weighted for f in found) / n,
        plain=sum(f.plain for f in found) / n,
        of_optimum=sum(f.of_optimum for f in found) / n,
        whole=sum(f.whole for f in found) / n,
        used=sum(f.used for f in found) / n,
        curve=_mean_curve([f.curve for f in found]),
        plain_curve=_mean_curve([f.plain_curve for f in found]),
        each=[f.of_optimum for f in found],
    )


def _mean_curve(curves: Sequence[Sequence[tuple[float, float]]]) -> list[tuple[float, float]]:
    return [(points[0][0], sum(y for _, y in points) / len(points)) for points in zip(*curves, strict=True)]
