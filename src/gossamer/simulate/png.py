"""A drawing as a PNG image, through Pillow, which is imported only when one is wanted."""

import io
from collections.abc import Iterator
from itertools import cycle, pairwise
from math import hypot
from typing import TYPE_CHECKING

from gossamer.errors import UsageError
from gossamer.simulate.drawing import Drawing, Line, Point, Words

if TYPE_CHECKING:
    from PIL.Image import Image

_SCALE = 2  # pixels of the image for a unit of the drawing: sharp on dense screens
_FINE = 3  # lines are drawn so many times as large and made smaller, which smooths them


def check_pillow() -> None:
    """Raises UsageError where Pillow is not installed."""
    try:
        import PIL.ImageDraw  # noqa: F401
    except ImportError as error:
        raise UsageError("PNG needs Pillow: pip install gossamer[png], or choose a name that ends in .svg") from error


def png(drawing: Drawing) -> bytes:
    """A whole file. Raises UsageError where Pillow is not installed."""
    check_pillow()
    from PIL import Image, ImageDraw

    size = round(drawing.width * _SCALE), round(drawing.height * _SCALE)
    fine = Image.new("RGB", (size[0] * _FINE, size[1] * _FINE), "white")
    pen = ImageDraw.Draw(fine)
    for mark in drawing.marks:
        if isinstance(mark, Line):
            for piece in _inked(mark):
                points = [(x * _SCALE * _FINE, y * _SCALE * _FINE) for x, y in piece]
                pen.line(points, fill=mark.colour, width=round(mark.width * _SCALE * _FINE), joint="curve")
    image = fine.resize(size, Image.Resampling.LANCZOS)
    for mark in drawing.marks:
        if isinstance(mark, Words):
            _write(image, mark)
    file = io.BytesIO()
    image.quantize(128).save(file, "PNG", optimize=True)
    return file.getvalue()


def _inked(line: Line) -> Iterator[list[Point]]:
    """The pieces of a line that are drawn: all of it, or its dashes."""
    if not line.dashes:
        yield list(line.points)
        return
    lengths = cycle(line.dashes)
    left, ink = next(lengths), True
    piece = [line.points[0]]
    for (x0, y0), (x1, y1) in pairwise(line.points):
        whole = hypot(x1 - x0, y1 - y0)
        done = 0.0
        while whole - done > left:
            done += left
            corner = x0 + (x1 - x0) * done / whole, y0 + (y1 - y0) * done / whole
            if ink:
                yield [*piece, corner]
            left, ink, piece = next(lengths), not ink, [corner]
        left -= whole - done
        piece.append((x1, y1))
    if ink and len(piece) > 1:
        yield piece


def _write(image: "Image", words: Words) -> None:
    from PIL import Image, ImageDraw, ImageFont

    font = ImageFont.load_default(words.size * _SCALE)
    x, y = words.at[0] * _SCALE, words.at[1] * _SCALE
    anchor = {"start": "ls", "middle": "ms", "end": "rs"}[words.anchor]
    if not words.upright:
        ImageDraw.Draw(image).text((x, y), words.text, words.colour, font, anchor)
        return
    # A mask as wide as the words are on either side of their anchor, turned; then the colour is poured through it.
    half, high = int(font.getlength(words.text)) + 1, 2 * words.size * _SCALE
    mask = Image.new("L", (2 * half, 2 * high))
    ImageDraw.Draw(mask).text((half, high), words.text, 255, font, anchor)
    turned = mask.rotate(90, expand=True)
    image.paste(words.colour, (round(x) - high, round(y) - half), turned)
