"""The values that lists of URLs consist of, the limits for reading them, and their two date formats: W3C's profile of
ISO 8601 and RFC 822."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from email.utils import parsedate_to_datetime
from enum import Enum
from functools import lru_cache
from typing import Final, NamedTuple

from gossamer.model.units import DAY, Instant

LONGEST: Final = 64
"""Characters. No date is longer."""

# A zone is required after a time; sites that omit it mean their own, and UTC is the closest guess.
_W3C: Final = re.compile(
    r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9})\d*)?)?\s*([Zz]|[+-]\d\d:?\d\d)?)?)?)?",
    re.ASCII,
).fullmatch


@lru_cache(4096)
def w3c_date(text: str) -> Instant | None:
    """The time of `2014`, `2014-06`, `2014-06-03` or `2014-06-03T10:30[:45[.5]]+01:00`, in UTC; the beginning of a day,
    month or year. None for anything else."""
    if text[4:5] == text[7:8] == "-" and text[10:11] in "T ":  # most are in the format that Python parses
        try:
            date = datetime.fromisoformat(text)
        except ValueError:
            pass
        else:
            return Instant((date if date.tzinfo is not None else date.replace(tzinfo=UTC)).timestamp())
    found = _W3C(text)
    if found is None:
        return None
    year, month, day, hour, minute, second, fraction, zone = found.groups()
    try:
        date = datetime(
            int(year),
            int(month or 1),
            int(day or 1),
            int(hour or 0),
            int(minute or 0),
            min(int(second or 0), 59),  # a leap second
            tzinfo=_zone(zone),
        )
    except ValueError:
        return None
    return Instant(date.timestamp() + (float(f"0.{fraction}") if fraction else 0.0))


def _zone(text: str | None) -> timezone:
    if text is None or text in "Zz":
        return UTC
    hours, minutes = int(text[1:3]), int(text[-2:])
    away = timedelta(hours=hours, minutes=minutes)
    return timezone(-away if text[0] == "-" else away)  # more than a day: ValueError


@lru_cache(4096)
def rfc822_date(text: str) -> Instant | None:
    """The time of `Thu, 05 Jan 2017 13:34:51 +0100`, in UTC, or None."""
    try:
        date = parsedate_to_datetime(text)
        if date.tzinfo is None:  # `-0000`: UTC (RFC 5322)
            date = date.replace(tzinfo=UTC)
        return Instant(date.timestamp())
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


def any_date(text: str) -> Instant | None:
    """A date in either format: feeds mix them."""
    text = text.strip()
    if not text or len(text) > LONGEST:
        return None
    return w3c_date(text) if text[:4].isdigit() else rfc822_date(text)


MAX_HREF: Final = 16_384
"""Characters. Longer text is not a URL, and is dropped before it is copied anywhere."""

MAX_RELATED: Final = 100
"""Other links of one entry that are kept."""

CHANGE_FREQUENCIES: Final = ("always", "hourly", "daily", "weekly", "monthly", "yearly", "never")
"""The values of the protocol, shortest interval first."""

_EARLIEST: Final = 631_152_000.0  # 1990: a date before the web means that it is unknown
_AHEAD: Final = DAY  # clocks and time zones differ by a day at most

_PRIORITY: Final = re.compile(r"[01](?:\.[0-9]{0,8})?|\.[0-9]{1,8}").fullmatch


class ListKind(Enum):
    """What kind of list a document is."""

    URLSET = "urlset"
    INDEX = "sitemapindex"
    TEXT = "text"
    RSS = "rss"
    ATOM = "atom"
    UNKNOWN = "unknown"

    @property
    def is_sitemap(self) -> bool:
        return self in (ListKind.URLSET, ListKind.INDEX, ListKind.TEXT)


class Related(NamedTuple):
    """Another address in an entry: a page in another language, an image, an enclosure."""

    rel: str  # `alternate`, `image`, `enclosure`, or the rel of an Atom link
    href: str


class Entry(NamedTuple):
    """One entry of a list. None for values that are absent or invalid."""

    url: str | None  # as written, trimmed; None for an entry of a feed without a URL
    lastmod: Instant | None = None
    changefreq: str | None = None  # of CHANGE_FREQUENCIES
    priority: float | None = None  # 0..1, relative to other pages of the same site
    related: tuple[Related, ...] = ()


class Slice(NamedTuple):
    """The entries in a slice of a list, possibly none."""

    kind: ListKind
    entries: list[Entry]


class Fault(Enum):
    """What can be wrong with a list. The values are reasons."""

    BAD_XML = "bad_xml"  # or truncated
    BAD_PACKING = "bad_encoding"  # not gzip although it begins like it; or truncated
    NOT_A_LIST = "not_a_sitemap"
    LIMIT = "parse_limit"


class Outcome(NamedTuple):
    """The result of reading a list."""

    kind: ListKind
    entries: int  # that were returned
    dropped: int  # that were not returned: beyond the limit, or without a valid URL
    read_bytes: int  # decompressed
    home: str | None = None  # of a feed: its home page
    fault: Fault | None = None  # the first one
    detail: str | None = None  # for messages


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """The limits of the protocol (sitemaps.org: 50,000 entries and 50 MiB), and ours."""

    max_bytes: int = 50 * 1024 * 1024  # decompressed
    max_entries: int = 50_000
    max_depth: int = 512  # nesting of elements
    max_token: int = 256 * 1024  # bytes of one tag, comment or declaration


class Gathering:
    """State shared by the readers of all kinds of lists; the parser adds text and removes entries."""

    def __init__(self, kind: ListKind, limits: ReadLimits, now: Instant) -> None:
        self.kind = kind
        self.text: list[str] = []
        self.text_cut = False
        self.entries: list[Entry] = []
        self.found = 0
        self.dropped = 0
        self.home: str | None = None
        self._limits = limits
        self._now = now


class Stopped(Exception):
    """Raised in a handler to stop parsing; never leaves this package."""

    def __init__(self, fault: Fault, detail: str) -> None:
        super().__init__(detail)
        self.fault, self.detail = fault, detail


def plausible(date: Instant | None, now: Instant) -> Instant | None:
    """The date of a modification, or None if it is in the future or before the web."""
    return date if date is not None and _EARLIEST <= date <= now + _AHEAD else None


@lru_cache(256)
def change_frequency(text: str) -> str | None:
    return _FREQUENCY.get(text.strip()[:16].lower())


@lru_cache(256)
def priority_of(text: str) -> float | None:
    """0..1; None for everything else (`NaN`, `1e400`, `1.5`, `high`)."""
    text = text.strip()
    value = float(text) if len(text) <= 10 and _PRIORITY(text) else None
    return value if value is not None and value <= 1 else None


_FREQUENCY: Final[Mapping[str, str]] = {word: word for word in CHANGE_FREQUENCIES}
