"""A drawing as values, lines and words at places, and as an SVG document."""

from dataclasses import dataclass
from xml.sax.saxutils import escape

Point = tuple[float, float]  # across from the left, down from the top


@dataclass(frozen=True, slots=True)
class Line:
    """A line through points. `dashes` are the lengths of ink and gap by turns; none is a line without gaps."""

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
    """On white ground; what stands later is drawn over what stands earlier."""

    width: float
    height: float
    marks: tuple[Line | Words, ...]


def svg(drawing: Drawing) -> str:
    """A whole document."""
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
