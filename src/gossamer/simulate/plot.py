"""Curves as an SVG file: a panel for each rest, a line and a name for each order. Nothing but text is needed for it."""

from collections.abc import Sequence
from xml.sax.saxutils import escape

from gossamer.simulate.replay import Curve
from gossamer.simulate.tables import heading

_PANEL, _HEIGHT, _LEFT, _TOP, _NAMES = 460, 400, 56, 60, 110
_COLOURS = (
    "#888888",
    "#000000",
    "#c2185b",
    "#1565c0",
    "#2e7d32",
    "#ef6c00",
    "#6a1b9a",
    "#00838f",
    "#9e9d24",
    "#5d4037",
)
_LINE_HEIGHT = 14.0


def svg(title: str, curves: Sequence[Curve]) -> str:
    """A whole document. Both axes are in percent: pages fetched across, PageRank gathered up."""
    rests = list(dict.fromkeys(curve.rest for curve in curves))
    orders = list(dict.fromkeys(curve.order for curve in curves))
    colour = {order: _COLOURS[i % len(_COLOURS)] for i, order in enumerate(orders)}
    across = _LEFT + _PANEL + _NAMES
    width, height = across * len(rests), _TOP + _HEIGHT + 50
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        _text(_LEFT, 22, title, size=15),
    ]
    for i, rest in enumerate(rests):
        shown = [curve for curve in curves if curve.rest == rest]
        parts.append(f'<g transform="translate({i * across + _LEFT},{_TOP})">')
        parts += _panel(heading(rest), shown, colour)
        parts.append("</g>")
    return "\n".join([*parts, "</svg>\n"])


def _panel(title: str, curves: Sequence[Curve], colour: dict[str, str]) -> list[str]:
    last = max(curve.line[-1][0] for curve in curves)
    parts = [_text(0, -12, title)]
    for step in range(6):
        y = _HEIGHT - _HEIGHT * step / 5
        x = _PANEL * step / 5
        parts.append(f'<path d="M0 {y:.1f}H{_PANEL}M{x:.1f} 0V{_HEIGHT}" stroke="#dddddd" fill="none"/>')
        parts.append(_text(-6, y + 4, f"{20 * step}", anchor="end"))
        parts.append(_text(x, _HEIGHT + 16, f"{last * step / 5:g}", anchor="middle"))
    parts.append(_text(_PANEL / 2, _HEIGHT + 36, "% of the pages fetched", anchor="middle"))
    parts.append(f'<g transform="rotate(-90)">{_text(-_HEIGHT / 2, -36, "% of total PageRank", anchor="middle")}</g>')
    for curve in curves:
        points = " ".join(f"{_PANEL * x / last:.1f},{_HEIGHT - _HEIGHT * y / 100:.1f}" for x, y in curve.line)
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour[curve.order]}" stroke-width="1.6"/>')
    # Names stand at the ends of their lines, pushed apart where lines end close together.
    floor = float("-inf")
    for curve in sorted(curves, key=lambda curve: -curve.line[-1][1]):
        floor = max(floor + _LINE_HEIGHT, _HEIGHT - _HEIGHT * curve.line[-1][1] / 100)
        parts.append(_text(_PANEL + 6, floor + 4, curve.order, fill=colour[curve.order]))
    return parts


def _text(x: float, y: float, text: str, *, anchor: str = "start", fill: str = "#222222", size: int = 12) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{fill}" font-size="{size}">{escape(text)}</text>'
    )
