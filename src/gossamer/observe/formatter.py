"""Readable text: counts, sizes, durations, dates, untrusted strings, and reports made of titled rows."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gossamer.model.formats import iso_timestamp

_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")


def count(number: int) -> str:
    """12345 -> '12,345'."""
    return f"{number:,}"


def number_of(number: int, noun: str, plural: str | None = None, *, counted_to: int | None = None) -> str:
    """1 -> '1 page', 12345 -> '12,345 pages'; a count that stopped at `counted_to`: '1,000 or more pages'."""
    return f"{or_more(number, counted_to)} {noun if number == 1 else plural or noun + 's'}"


def or_more(number: int, counted_to: int | None) -> str:
    """A count that stopped at `counted_to`: '1,000 or more'."""
    return count(number) + (" or more" if counted_to is not None and number >= counted_to else "")


def short_count(number: int) -> str:
    """At most six characters: 12345 -> '12,345', 1234567 -> '1.2 M'."""
    if number < 100_000:
        return f"{number:,}"
    for size, unit in ((1e9, "G"), (1e6, "M")):
        if number >= size:
            return f"{number / size:.1f} {unit}"
    return f"{number / 1e3:.0f} k"


def size(number: float) -> str:
    """Bytes in decimal units, three significant digits: 1234567 -> '1.23 MB'."""
    value, unit = float(number), _UNITS[0]
    for unit in _UNITS:
        if value < 999.5 or unit == _UNITS[-1]:
            break
        value /= 1000.0
    if unit == "B":
        return f"{value:.0f} B"
    return f"{value:.{2 if value < 9.995 else 1 if value < 99.95 else 0}f} {unit}"


def rate(per_second: float) -> str:
    """Events per second; one decimal below 100."""
    return f"{per_second:,.0f}" if per_second >= 99.95 else f"{per_second:.1f}"


def clock_time(seconds: float) -> str:
    """A duration as h:mm:ss, preceded by the number of days if there are any."""
    whole = int(seconds)
    days, rest = divmod(whole, 86_400)
    text = f"{rest // 3600:d}:{rest // 60 % 60:02d}:{rest % 60:02d}"
    return f"{days} d {text}" if days else text


def seconds(value: float) -> str:
    """A short duration: '0.8 ms', '120 ms', '3.4 s'."""
    if value < 0.00995:
        return f"{value * 1000:.1f} ms"
    return f"{value * 1000:.0f} ms" if value < 0.9995 else f"{value:.1f} s"


def span(value: float) -> str:
    """Any duration: '3.4 s' up to two minutes, then '1:02:03', from one day on '14 days'."""
    days = value / 86_400
    if days >= 99.5:
        return f"{days:,.0f} days"
    if days >= 0.995:
        text = f"{days:.2g}"
        return f"{text} day" if text == "1" else f"{text} days"
    return seconds(value) if value < 119.95 else clock_time(value)


def timestamp(at: float | None) -> str | None:
    """For programs: ISO 8601 in UTC, with milliseconds."""
    return None if at is None else iso_timestamp(at)


def date_time(at: float | None) -> str | None:
    """For people: ISO 8601 in UTC, to the second."""
    return None if at is None else f"{iso_timestamp(at)[:19]}Z"


def printable(text: str, width: int | None = None) -> str:
    """Untrusted text made safe for a terminal: unprintable characters are escaped; cut to `width` characters."""
    if not text.isprintable():
        text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    if width is not None and len(text) > width:
        text = text[: max(width - 1, 0)] + "…"
    return text


class Columns:
    """A list in columns, given as headings with formats that align and fill their values."""

    def __init__(self, *columns: tuple[str, str]) -> None:
        self._formats = [form for _, form in columns]
        self.heading = self.line(*(name for name, _ in columns))

    def line(self, *values: str) -> str:
        """One value for each column. Unprintable characters are escaped."""
        filled = [format(value, form) for value, form in zip(values, self._formats, strict=True)]
        return printable("  ".join(filled).rstrip())


PAGE_COLUMNS = Columns(
    ("FETCHED", "<20"), ("PRIORITY", ">8"), ("DEPTH", ">5"), ("BYTES", ">9"), ("STATUS", "<13"), ("URL", "")
)


def page_line(at: str | None, priority: float, depth: int, size_bytes: int | None, status: str, url: str) -> str:
    """A page in `PAGE_COLUMNS`; a hyphen for what is not known."""
    size_text = "-" if size_bytes is None else str(size_bytes)
    return PAGE_COLUMNS.line(at or "-", f"{priority:.4f}", str(depth), size_text, status, url)


def json_line(value: object) -> str:
    """A value as JSON on one line, in ASCII without control characters."""
    return json.dumps(value).replace("\x7f", "\\u007f")


def largest(counts: Mapping[str, int], most: int) -> list[tuple[str, int]]:
    """The largest counts first, at most `most` rows; the last row sums up the rest if they do not fit."""
    ordered = sorted(((name, n) for name, n in counts.items() if n), key=lambda pair: (-pair[1], pair[0]))
    if len(ordered) <= most or most < 1:
        return ordered[: max(most, 0)]
    kept, rest = ordered[: most - 1], ordered[most - 1 :]
    return [*kept, (f"{len(rest)} others", sum(n for _, n in rest))]


_NUMBER = re.compile(r"[0-9][0-9,.:]*( [a-zA-Z]+)?")


@dataclass(frozen=True, slots=True)
class Section:
    """Rows of (label, value, remark) under a title."""

    title: str
    rows: tuple[tuple[str, str, str], ...]


def plain_report(sections: Sequence[Section]) -> str:
    """Aligned columns without colour. ASCII, except for paths."""
    label = max((len(row[0]) for section in sections for row in section.rows), default=0)
    lines: list[str] = []
    for section in sections:
        width = max((len(row[1]) for row in section.rows), default=0)
        of_numbers = max((len(row[1]) for row in section.rows if not is_text(row[1])), default=0)
        lines.append(printable(section.title))
        for name, value, remark in section.rows:
            shown = value.ljust(width) if is_text(value) else value.rjust(of_numbers).ljust(width)
            lines.append(printable(f"  {name:<{label}}  {shown}  {remark}".rstrip()))
        lines.append("")
    return "\n".join(lines)


def is_text(value: str) -> bool:
    """Whether a value is not a number, so it is aligned to the left."""
    return _NUMBER.fullmatch(value) is None
