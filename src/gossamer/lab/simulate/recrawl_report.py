"""The comparison of recrawl policies as a plot, as a text table and as JSON.

The plot shows freshness over time: one panel weighted by importance and one by pages, each with a named line for each
policy, and the optimum as a level.
"""

from collections.abc import Iterator, Sequence
from math import floor

from gossamer.lab.simulate.plot import AXIS, COLOURS, DASHES, GRID, Drawing, Line, Point, Words, apart
from gossamer.lab.simulate.recrawl_compare import Comparison

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
