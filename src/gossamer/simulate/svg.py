"""A drawing as an SVG document. Nothing but text is needed for it."""

from xml.sax.saxutils import escape

from gossamer.simulate.drawing import Drawing, Line, Words


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
