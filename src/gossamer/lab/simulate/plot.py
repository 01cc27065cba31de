"""Plots the curves of orderings as an SVG document: one panel per rest, one named line per ordering.

Lines differ in colour and in dashes, so that they can be distinguished without colour vision and in print.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from gossamer.lab.simulate.replay import Curve, heading

Point = tuple[float, float]  # across from the left, down from the top


@dataclass(frozen=True, slots=True)
class Line:
    """A line through points. `dashes` are the lengths of dashes and gaps in turn; empty for a solid line."""

    points: tuple[Point, ...]
    colour: str  # "#rrggbb"
    width: float = 1.0
    dashes: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Words:
    """A line of text on the base line `at`, which is its start, middle or end. `upright` text runs upwards."""

    at: Point
    text: str
    colour: str = "#222222"
    size: int = 12
    anchor: str = "start"  # or "middle" or "end"
    upright: bool = False


@dataclass(frozen=True, slots=True)
class Drawing:
    """A drawing on a white background; later marks are drawn over earlier ones."""

    width: float
    height: float
    marks: tuple[Line | Words, ...]


def svg(drawing: Drawing) -> str:
    """The whole SVG document."""
    size = f"{drawing.width:g} {drawing.height:g}"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" font-family="sans-serif">'
    ground = f'<rect width="{drawing.width:g}" height="{drawing.height:g}" fill="white"/>'
    marks = (_line(mark) if isinstance(mark, Line) else _words(mark) for mark in drawing.marks)
    return "\n".join([head, ground, *marks, "</svg>\n"])


def _line(line: Line) -> str:
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in line.points)
    dashes = f' stroke-dasharray="{" ".join(f"{length:g}" for length in line.dashes)}"' if line.dashes else ""
    return f'<polyline points="{points}" fill="none" stroke="{line.colour}" stroke-width="{line.width:g}"{dashes}/>'


def _words(words: Words) -> str:
    x, y = words.at
    turned = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if words.upright else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{words.anchor}" fill="{words.colour}" '
        f'font-size="{words.size}"{turned}>{escape(words.text)}</text>'
    )


_PANEL, _HEIGHT, _LEFT, _TOP, _NAMES, _BELOW = 440, 420, 64, 64, 150, 56
_NAME_HEIGHT = 17.0
_SAMPLE = 30  # length of the line next to its name

# The colours of Okabe and Ito, which differ for all kinds of colour vision; without yellow, as the background is white.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#777777")
DASHES: tuple[tuple[float, ...], ...] = ((), (9, 4), (2, 3), (9, 3, 2, 3), (15, 4), (5, 2))
GRID = "#dddddd"
AXIS = "#666666"


def plot(title: str, curves: Sequence[Curve]) -> Drawing:
    """Both axes are in percent: pages fetched on the x axis, PageRank collected on the y axis."""
    rests = list(dict.fromkeys(curve.rest for curve in curves))
    orders = list(dict.fromkeys(curve.order for curve in curves))
    styles = {order: (COLOURS[i % len(COLOURS)], DASHES[i % len(DASHES)]) for i, order in enumerate(orders)}
    across = _LEFT + _PANEL + _NAMES
    marks: list[Line | Words] = [Words((_LEFT, 26), title, size=16)]
    for i, rest in enumerate(rests):
        shown = [curve for curve in curves if curve.rest == rest]
        marks += _panel(i * across + _LEFT, heading(rest), shown, styles)
    return Drawing(across * len(rests), _TOP + _HEIGHT + _BELOW, tuple(marks))


_Styles = dict[str, tuple[str, tuple[float, ...]]]


def _panel(left: float, title: str, curves: Sequence[Curve], styles: _Styles) -> Iterator[Line | Words]:
    last = max(curve.line[-1][0] for curve in curves)
    bottom = _TOP + _HEIGHT

    def place(point: Point) -> Point:
        return left + _PANEL * point[0] / last, bottom - _HEIGHT * point[1] / 100

    yield Words((left, _TOP - 12), title, size=13)
    for step in range(1, 6):
        x, y = left + _PANEL * step / 5, bottom - _HEIGHT * step / 5
        yield Line(((left, y), (left + _PANEL, y)), GRID)
        yield Line(((x, _TOP), (x, bottom)), GRID)
    yield Line(((left, _TOP), (left, bottom), (left + _PANEL, bottom)), AXIS)
    for step in range(6):
        yield Words((left - 8, bottom - _HEIGHT * step / 5 + 4), f"{20 * step}", anchor="end")
        yield Words((left + _PANEL * step / 5, bottom + 18), f"{last * step / 5:g}", anchor="middle")
    yield Words((left + _PANEL / 2, bottom + 40), "% of the pages fetched", anchor="middle")
    yield Words((left - 40, _TOP + _HEIGHT / 2), "% of the total PageRank", anchor="middle", upright=True)
    for curve in curves:
        colour, dashes = styles[curve.order]
        yield Line(tuple(map(place, curve.line)), colour, 1.8, dashes)
    ranked = sorted(curves, key=lambda curve: -curve.line[-1][1])
    ends = [place(curve.line[-1])[1] for curve in ranked]
    for curve, end, level in zip(ranked, ends, apart(ends, bottom), strict=True):
        colour, dashes = styles[curve.order]
        right = left + _PANEL
        yield Line(((right + 2, end), (right + 14, level)), AXIS, 0.7)
        yield Line(((right + 16, level), (right + 16 + _SAMPLE, level)), colour, 1.8, dashes)
        yield Words((right + 22 + _SAMPLE, level + 4), curve.order)


def apart(levels: Sequence[float], lowest: float) -> list[float]:
    """Heights for labels at these increasing heights: pushed down where too close, then up from the lowest."""
    found: list[float] = []
    for level in levels:
        found.append(max(level, found[-1] + _NAME_HEIGHT) if found else level)
    for i in reversed(range(len(found))):
        found[i] = min(found[i], lowest)
        lowest = found[i] - _NAME_HEIGHT
    return found
