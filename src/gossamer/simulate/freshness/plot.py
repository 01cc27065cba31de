"""Freshness over time as a drawing: a line and a name for each policy, and the optimum as a level."""

from collections.abc import Iterator
from math import floor

from gossamer.simulate.drawing import Drawing, Line, Point, Words
from gossamer.simulate.freshness.compare import Comparison
from gossamer.simulate.plot import AXIS, COLOURS, DASHES, GRID, apart

_WIDTH, _HEIGHT, _LEFT, _TOP, _NAMES, _BELOW = 620, 400, 64, 48, 230, 56
_SAMPLE = 30
_OPTIMUM = "#222222"


def plot(comparison: Comparison) -> Drawing:
    """Days across, importance-weighted freshness in percent up, from the lowest ten that is needed."""
    marks = (Words((_LEFT, 26), comparison.name, size=15), *_panel(comparison))
    return Drawing(_LEFT + _WIDTH + _NAMES, _TOP + _HEIGHT + _BELOW, marks)


def _panel(comparison: Comparison) -> Iterator[Line | Words]:
    bottom, right = _TOP + _HEIGHT, _LEFT + _WIDTH
    settled = [share for f in comparison.policies for day, share in f.curve if day > comparison.days / 5]
    least = max(10 * floor(10 * min(settled)), 0)

    def place(day: float, share: float) -> Point:
        up = min(max((100 * share - least) / (100 - least), 0.0), 1.0)
        return _LEFT + _WIDTH * day / comparison.days, bottom - _HEIGHT * up

    for level in range(least, 101, 10):
        y = place(0, level / 100)[1]
        yield Line(((_LEFT, y), (right, y)), GRID)
        yield Words((_LEFT - 8, y + 4), f"{level}", anchor="end")
    for k in range(7):
        day = comparison.days * k / 6
        x = place(day, 0)[0]
        yield Line(((x, _TOP), (x, bottom)), GRID)
        yield Words((x, bottom + 18), f"{day:.0f}", anchor="middle")
    yield Line(((_LEFT, _TOP), (_LEFT, bottom), (right, bottom)), AXIS)
    yield Words((_LEFT + _WIDTH / 2, bottom + 40), "days", anchor="middle")
    yield Words((_LEFT - 40, _TOP + _HEIGHT / 2), "% fresh, by importance", anchor="middle", upright=True)
    level_line = ((0.0, comparison.optimum), (comparison.days, comparison.optimum))
    lines: list[tuple[str, tuple[Point, ...], str, tuple[float, ...]]] = [("optimum", level_line, _OPTIMUM, (2.0, 4.0))]
    lines += [
        (f.policy, tuple(f.curve), COLOURS[i % len(COLOURS)], DASHES[i % len(DASHES)])
        for i, f in enumerate(comparison.policies)
    ]
    for _, points, colour, dashes in lines:
        yield Line(tuple(place(day, share) for day, share in points), colour, 1.8, dashes)
    styles = {name: (points, colour, dashes) for name, points, colour, dashes in lines}
    names = sorted(styles, key=lambda name: -styles[name][0][-1][1])
    ends = [place(*styles[name][0][-1])[1] for name in names]
    for name, end, level_at in zip(names, ends, apart(ends, bottom), strict=True):
        _, colour, dashes = styles[name]
        yield Line(((right + 2, end), (right + 14, level_at)), AXIS, 0.7)
        yield Line(((right + 16, level_at), (right + 16 + _SAMPLE, level_at)), colour, 1.8, dashes)
        yield Words((right + 22 + _SAMPLE, level_at + 4), name)
