"""A drawing as values: lines and words at places. `svg` and `png` turn it into files."""

from dataclasses import dataclass

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
