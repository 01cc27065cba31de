"""Compares recrawl policies in the same worlds: how fresh were the copies, and how fresh could they have been? The
result as a text table, as JSON and as a plot.

`optimum` is the best possible schedule if all rates are known: impossible for a crawl, but the measure of policies. A
page of importance w and rate l that is visited every g days is fresh for the share phi(x) = (1 - e^-x) / x of the time,
x = l g. The sum over the pages is largest if one more visit is worth the same for all of them, the price; pages that
are worth less at any gap get no visits. With a limit for each host, hosts that would exceed it have a higher price of
their own.

The plot shows freshness over time: one panel weighted by importance and one by pages, each with a named line for each
policy, and the optimum as a level.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import floor, inf

import numpy as np

from gossamer.lab.simulate.plot import AXIS, COLOURS, DASHES, GRID, Drawing, Line, Point, Words, apart
from gossamer.lab.simulate.recrawl_world import World
from gossamer.lab.simulate.time_travel import Journey, Known, travel
from gossamer.recrawl.policies import Optimal, RecrawlPolicy

_STEPS = 60

Numbers = np.ndarray[tuple[int], np.dtype[np.float64]]


@dataclass(frozen=True, slots=True)
class Optimum:
    """Visits per day for each page, the price of each page's host, and the resulting freshness."""

    visits: Numbers
    prices: Numbers  # of each host, or of the crawl
    freshness: float  # weighted by importance, whose sum is 1


def optimum(
    importance: Sequence[float],
    rates: Sequence[float],
    budget: float,
    host_of: Sequence[int] | None = None,
    cap: float = inf,
) -> Optimum:
    """`budget` and `cap` (for each host) are visits per day."""
    w, rate = np.asarray(importance, float), np.maximum(np.asarray(rates, float), 1e-12)
    host = np.asarray(host_of if host_of is not None and cap < inf else np.zeros(len(w)), int)
    hosts = int(host.max()) + 1
    ceiling = np.full(hosts, cap)
    own = _prices(w, rate, host, ceiling) if cap < inf else np.zeros(hosts)
    low, high = 1e-18, float((w / rate).max())
    for _ in range(_STEPS):
        middle = (low * high) ** 0.5
        asked = float(_visits(w, rate, np.maximum(own, middle)[host]).sum())
        low, high = (middle, high) if asked > budget else (low, middle)
    prices = np.maximum(own, high)
    visits = _visits(w, rate, prices[host])
    if not visits.any():  # too small a budget to be divided by a price: one page gets it all
        visits[(w / rate).argmax()] = min(budget, cap)
    return Optimum(visits, prices, freshness(w, rate, visits))


def freshness(importance: Sequence[float] | Numbers, rates: Sequence[float] | Numbers, visits: Numbers) -> float:
    """The freshness that evenly spaced visits give: the share of importance that is fresh at any time."""
    w, rate = np.asarray(importance, float), np.asarray(rates, float)
    seen = visits > 0
    x = rate[seen] / visits[seen]
    return float((w[seen] * np.where(x > 1e-9, -np.expm1(-x) / np.maximum(x, 1e-9), 1.0)).sum() / w.sum())


def _prices(w: Numbers, rate: Numbers, host: Numbers, ceiling: Numbers) -> Numbers:
    """The price at which each host alone uses all that it allows; 0 if it never does."""
    hosts = len(ceiling)
    low, high = np.full(hosts, 1e-18), np.full(hosts, float((w / rate).max()))
    for _ in range(_STEPS):
        middle = np.sqrt(low * high)
        asked = np.bincount(host, _visits(w, rate, middle[host]), hosts)
        low, high = np.where(asked > ceiling, middle, low), np.where(asked > ceiling, high, middle)
    return np.where(low > 2e-18, high, 0.0)


def _visits(w: Numbers, rate: Numbers, price: Numbers) -> Numbers:
    """How often a page is visited at a price: h(x) = 1 - (1 + x) e^-x = price · rate / w, solved for x by Newton's
    method."""
    share = price * rate / w
    visited = share < 1
    target = -np.log1p(-np.minimum(share, 1 - 1e-12))  # of x - log(1 + x), which is convex and soon linear
    x = np.sqrt(2 * target) + target
    for _ in range(12):
        x = np.maximum(x - (x - np.log1p(x) - target) * (1 + x) / np.maximum(x, 1e-300), x * 0.1)
    return np.where(visited, rate / np.maximum(x, 1e-300), 0.0)


KNOWN = Known.name
POINTS = 73  # of a curve: every fifth day of a year

Maker = Callable[[], RecrawlPolicy]


@dataclass(frozen=True, slots=True)
class Freshness:
    """The result of a policy, averaged over the worlds. Shares of 1; for the second half of the time unless noted."""

    policy: str
    weighted: float  # fresh copies, weighted by importance
    plain: float  # fresh copies, unweighted
    of_optimum: float  # `weighted` as a share of the optimum
    whole: float  # weighted, from the start
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
    optimum_plain: float  # of the same schedule, unweighted
    policies: Sequence[Freshness]


def compare(
    name: str,
    worlds: Sequence[World],
    cycle: float,
    makers: Mapping[str, Maker],
    tell: Callable[[str], None] = lambda _: None,
) -> Comparison:
    """Run each policy in each world. The optimum is for the rates of the second half."""
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
            measured.append(_measure(policy, world, journey, cycle, best[i]))
        found.append(_mean(measured))
    first = worlds[0]
    means = sum(best) / len(best), sum(plain) / len(plain)
    return Comparison(name, first.pages, first.hosts, first.days, cycle, *means, found)


def _known() -> RecrawlPolicy:
    return Known(Optimal())


def _measure(policy: str, world: World, journey: Journey, cycle: float, best: float) -> Freshness:
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
    """The share of fresh copies from day `start` to day `end`. The weights add up to 1; a page without a copy is
    stale."""
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


_WIDTH, _HEIGHT, _LEFT, _TOP, _NAMES, _BELOW = 440, 400, 64, 72, 220, 56
_SAMPLE = 30
_TIMES = 5  # marks on the axis of days
_OPTIMUM = "#222222"

_Curve = Sequence[tuple[float, float]]


def plot(comparison: Comparison) -> Drawing:
    """Days on the x axis, freshness in percent on the y axis from the lowest multiple of ten needed; weighted on the
    left, unweighted on the right."""
    policies = comparison.policies
    weighted = {f.policy: f.curve for f in policies}
    plain = {f.policy: f.plain_curve for f in policies}
    across = _LEFT + _WIDTH + _NAMES
    marks = (
        Words((_LEFT, 26), comparison.name, size=15),
        *_panel(0, "by importance", comparison.days, comparison.optimum, weighted),
        *_panel(across, "each page alike", comparison.days, comparison.optimum_plain, plain),
    )
    return Drawing(2 * across, _TOP + _HEIGHT + _BELOW, marks)


def _panel(x0: float, title: str, days: float, best: float, curves: dict[str, _Curve]) -> Iterator[Line | Words]:
    left, right, bottom = x0 + _LEFT, x0 + _LEFT + _WIDTH, _TOP + _HEIGHT
    settled = [share for curve in curves.values() for day, share in curve if day > days / 5]
    least = min(max(10 * floor(10 * min(settled)), 0), 90)

    def place(day: float, share: float) -> Point:
        up = min(max((100 * share - least) / (100 - least), 0.0), 1.0)
        return left + _WIDTH * day / days, bottom - _HEIGHT * up

    yield Words((left, _TOP - 12), title, size=13)
    for level in range(least, 101, 10):
        y = place(0, level / 100)[1]
        yield Line(((left, y), (right, y)), GRID)
        yield Words((left - 8, y + 4), f"{level}", anchor="end")
    for k in range(_TIMES + 1):
        day = days * k / _TIMES
        x = place(day, 0)[0]
        yield Line(((x, _TOP), (x, bottom)), GRID)
        yield Words((x, bottom + 18), f"{day:.3g}" if days < _TIMES * 2 else f"{day:.0f}", anchor="middle")
    yield Line(((left, _TOP), (left, bottom), (right, bottom)), AXIS)
    yield Words((left + _WIDTH / 2, bottom + 40), "days", anchor="middle")
    yield Words((left - 40, _TOP + _HEIGHT / 2), "% fresh", anchor="middle", upright=True)
    styles: dict[str, tuple[_Curve, str, tuple[float, ...]]] = {
        "optimum": (((0.0, best), (days, best)), _OPTIMUM, (2.0, 4.0))
    }
    for i, (policy, curve) in enumerate(curves.items()):
        styles[policy] = (curve, COLOURS[i % len(COLOURS)], DASHES[i % len(DASHES)])
    for points, colour, dashes in styles.values():
        yield Line(tuple(place(day, share) for day, share in points), colour, 1.8, dashes)
    names = sorted(styles, key=lambda name: -styles[name][0][-1][1])
    ends = [place(*styles[name][0][-1])[1] for name in names]
    for name, end, level_at in zip(names, ends, apart(ends, bottom), strict=True):
        _, colour, dashes = styles[name]
        yield Line(((right + 2, end), (right + 14, level_at)), AXIS, 0.7)
        yield Line(((right + 16, level_at), (right + 16 + _SAMPLE, level_at)), colour, 1.8, dashes)
        yield Words((right + 22 + _SAMPLE, level_at + 4), name)


PARTS = 6  # of the time, for freshness over time

Json = dict[str, object]


def plain_table(comparison: Comparison) -> str:
    """Policies as rows, percentages as columns."""
    width = max(len("optimum"), *(len(found.policy) for found in comparison.policies))
    lines = [f"  {'policy':<{width}}  weighted  of optimum   plain  from start    used"]
    best, plain = comparison.optimum, comparison.optimum_plain
    lines.append(f"  {'optimum':<{width}}  {100 * best:8.1f}  {100:10.1f}  {100 * plain:6.1f}")
    lines += [
        f"  {f.policy:<{width}}  {100 * f.weighted:8.1f}  {100 * f.of_optimum:10.1f}  {100 * f.plain:6.1f}"
        f"  {100 * f.whole:10.1f}  {100 * f.used:6.1f}"
        for f in comparison.policies
    ]
    return "\n".join(lines) + "\n"


def time_tables(comparison: Comparison) -> str:
    """Policies as rows, time as columns: the freshness in the days up to each day, weighted and then unweighted."""
    width = max(len(found.policy) for found in comparison.policies)
    ends = [comparison.days * (k + 1) / PARTS for k in range(PARTS)]
    blocks = []
    for title, plain in (("weighted", False), ("plain", True)):
        lines = [f"  {title + ', to day':<{width}}" + "".join(f"{end:8.4g}" for end in ends)]
        lines += [
            f"  {f.policy:<{width}}"
            + "".join(f"{100 * share:8.1f}" for share in _parts(f.plain_curve if plain else f.curve, ends))
            for f in comparison.policies
        ]
        blocks.append("\n".join(lines) + "\n")
    return "\n".join(blocks)


def _parts(curve: Sequence[tuple[float, float]], ends: Sequence[float]) -> list[float]:
    """The mean of a curve in each part of the time."""
    starts = [0.0, *ends]
    found = []
    for start, end in zip(starts, ends, strict=False):
        shares = [share for day, share in curve if start < day <= end + 1e-9]
        found.append(sum(shares) / len(shares))
    return found


def as_json(comparison: Comparison) -> Json:
    """Shares of 1."""
    return {
        "world": comparison.name,
        "pages": comparison.pages,
        "hosts": comparison.hosts,
        "days": comparison.days,
        "cycle": comparison.cycle,
        "optimum": round(comparison.optimum, 5),
        "optimum_plain": round(comparison.optimum_plain, 5),
        "policies": [
            {
                "policy": f.policy,
                "weighted": round(f.weighted, 5),
                "of_optimum": round(f.of_optimum, 5),
                "of_optimum_each": [round(share, 5) for share in f.each],
                "plain": round(f.plain, 5),
                "whole": round(f.whole, 5),
                "used": round(f.used, 5),
                "curve": _round_curve(f.curve),
                "plain_curve": _round_curve(f.plain_curve),
            }
            for f in comparison.policies
        ],
    }


def _round_curve(curve: Sequence[tuple[float, float]]) -> list[list[float]]:
    return [[round(day, 2), round(share, 4)] for day, share in curve]
