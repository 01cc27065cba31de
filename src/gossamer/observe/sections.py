"""A report as titled rows, and its form for a pipe."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

_FIGURE = re.compile(r"[0-9][0-9,.:]*( [a-zA-Z]+)?")


@dataclass(frozen=True, slots=True)
class Section:
    """Rows of (label, figure, remark) under a title."""

    title: str
    rows: tuple[tuple[str, str, str], ...]


def plain_report(sections: Sequence[Section]) -> str:
    """Aligned columns, no colour, ASCII unless a path is not."""
    label = max((len(row[0]) for section in sections for row in section.rows), default=0)
    lines: list[str] = []
    for section in sections:
        figure = max(len(row[1]) for row in section.rows)
        lines.append(section.title)
        for name, value, remark in section.rows:
            shown = value.ljust(figure) if is_text(value) else value.rjust(figure)
            lines.append(f"  {name:<{label}}  {shown}  {remark}".rstrip())
        lines.append("")
    return "\n".join(lines)


def is_text(value: str) -> bool:
    """Whether a figure is none, and reads better from the left."""
    return _FIGURE.fullmatch(value) is None
