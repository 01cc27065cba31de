"""The two ways in which lists write dates: W3C's profile of ISO 8601, and RFC 822's. Both as moments in UTC.

What a list of URLs gives, and within what bounds it is read.
"""

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

# A zone is demanded after a time; sites that leave it out mean their own, and UTC is the nearest guess.
_W3C: Final = re.compile(
    r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9})\d*)?)?\s*([Zz]|[+-]\d\d:?\d\d)?)?)?)?",
    re.ASCII,
).fullmatch


@lru_cache(4096)
def w3c_date(text: str) -> Instant | None:
    """The moment that `2014`, `2014-06`, `2014-06-03` or `2014-06-03T10:30[:45[.5]]+01:00` names; its first where it
    names a day, a month or a year. None for anything else."""
    if text[4:5] == text[7:8] == "-" and text[10:11] in "T ":  # most are as Python likes them
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            pass
        else:
            return Instant((moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp())
    found = _W3C(text)
    if found is None:
        return None
    year, month, day, hour, minute, second, fraction, zone = found.groups()
    try:
        moment = datetime(
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
    return Instant(moment.timestamp() + (float(f"0.{fraction}") if fraction else 0.0))


def _zone(text: str | None) -> timezone:
    if text is None or text in "Zz":
        return UTC
    hours, minutes = int(text[1:3]), int(text[-2:])
    away = timedelta(hours=hours, minutes=minutes)
    return timezone(-away if text[0] == "-" else away)  # beyond a day: ValueError


@lru_cache(4096)
def rfc822_date(text: str) -> Instant | None:
    """The moment that `Thu, 05 Jan 2017 13:34:51 +0100` names, or None."""
    try:
        moment = parsedate_to_datetime(text)
        if moment.tzinfo is None:  # `-0000`: UTC, says RFC 5322
            moment = moment.replace(tzinfo=UTC)
        return Instant(moment.timestamp())
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


def any_date(text: str) -> Instant | None:
    """A date in either manner: feeds mix them."""
    text = text.strip()
    if not text or len(text) > LONGEST:
        return None
    return w3c_date(text) if text[:4].isdigit() else rfc822_date(text)


MAX_HREF: Final = 16_384
"""Characters. What is longer is no URL, and is dropped before anybody copies it about."""

MAX_RELATED: Final = 100
"""Other links of one entry that are kept."""

CHANGE_FREQUENCIES: Final = ("always", "hourly", "daily", "weekly", "monthly", "yearly", "never")
"""The words of the protocol, most often first."""

_EARLIEST: Final = 631_152_000.0  # 1990: before there was a web, a date says that nobody knows
_AHEAD: Final = DAY  # clocks and time zones differ by a day at most

_PRIORITY: Final = re.compile(r"[01](?:\.[0-9]{0,8})?|\.[0-9]{1,8}").fullmatch


class ListKind(Enum):
    """What a document turned out to be."""

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

    rel: str  # `alternate`, `image`, `enclosure`, or what an Atom link says
    href: str


class Entry(NamedTuple):
    """One line of a list. None: it does not say, or says what cannot be."""

    url: str | None  # as written, trimmed; None in a feed for an entry that has none of its own
    lastmod: Instant | None = None
    changefreq: str | None = None  # of CHANGE_FREQUENCIES
    priority: float | None = None  # 0..1, as against other pages of the same site
    related: tuple[Related, ...] = ()


class Slice(NamedTuple):
    """What a slice of a list gave: perhaps nothing."""

    kind: ListKind
    entries: list[Entry]


class Fault(Enum):
    """What can be wrong with a list. The values are reason words."""

    BAD_XML = "bad_xml"  # or cut off
    BAD_PACKING = "bad_encoding"  # not gzip, though it begins so; or cut off
    NOT_A_LIST = "not_a_sitemap"
    LIMIT = "parse_limit"


class Outcome(NamedTuple):
    """What reading a list came to."""

    kind: ListKind
    entries: int  # that were given out
    dropped: int  # that were met but not given out: beyond the limit, or without a URL that could be one
    read_bytes: int  # unpacked
    home: str | None = None  # of a feed: the page that it belongs to
    fault: Fault | None = None  # the first one
    detail: str | None = None  # for people


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """The protocol's own bounds (sitemaps.org: 50,000 entries and 50 MiB), and ours."""

    max_bytes: int = 50 * 1024 * 1024  # unpacked
    max_entries: int = 50_000
    max_depth: int = 512  # elements within elements
    max_token: int = 256 * 1024  # bytes of one tag, comment or declaration


class Gathering:
    """What the readers of all kinds of lists have gathered so far; the parser puts text here and takes entries away."""

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
    """Raised in a handler to end the parse; never leaves this package."""

    def __init__(self, fault: Fault, detail: str) -> None:
        super().__init__(detail)
        self.fault, self.detail = fault, detail


def plausible(date: Instant | None, now: Instant) -> Instant | None:
    """The date of a modification, unless it cannot be one: ahead of us, or before there were pages."""
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
