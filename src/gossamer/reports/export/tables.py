"""The tables: columns with their types, and rows as tuples in that order; and a filter for pages by time, status and
MIME type of their last visit."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import NamedTuple

from gossamer.errors import UsageError
from gossamer.model.units import Instant

_STATUS = re.compile(r"[1-9](\d\d|xx)", re.IGNORECASE)
_MIME = re.compile(r"[a-z0-9!#$&^_.+-]+/([a-z0-9!#$&^_.+-]+|\*)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """None and empty: any. A page without a response has no time, status or type, so it passes no filter on these."""

    since: Instant | None = None
    until: Instant | None = None  # not itself among them
    statuses: frozenset[str] = frozenset()  # `404`, or `4xx`
    mimes: frozenset[str] = frozenset()  # `text/html`, or `text/*`
    language: str | None = None  # a tag, or the beginning of one: `pt` is also `pt-BR`

    def wants(self, at: Instant | None, status: int | None, mime: str | None) -> bool:
        if self.since is not None and (at is None or at < self.since):
            return False
        if self.until is not None and (at is None or at >= self.until):
            return False
        if self.statuses and (status is None or not {str(status), f"{status // 100}xx"} & self.statuses):
            return False
        if self.mimes:
            essence = (mime or "").partition(";")[0].strip().lower()
            return bool({essence, essence.partition("/")[0] + "/*"} & self.mimes)
        return True

    def wants_language(self, language: str | None) -> bool:
        if self.language is None:
            return True
        wanted, found = self.language.lower(), (language or "").lower()
        return found == wanted or found.startswith(wanted + "-")


def statuses_from(text: str | None) -> frozenset[str]:
    """`200,4xx` as a set. Raises UsageError."""
    words = _words(text)
    for word in words:
        if not _STATUS.fullmatch(word):
            raise UsageError(f"--status: {word!r} is neither a status like 404 nor a class like 4xx")
    return words


def mimes_from(text: str | None) -> frozenset[str]:
    """`text/html,image/*` as a set. Raises UsageError."""
    words = _words(text)
    for word in words:
        if not _MIME.fullmatch(word):
            raise UsageError(f"--mime: {word!r} is neither a type like text/html nor all of a kind like text/*")
    return words


def moment_from(text: str | None, flag: str) -> Instant | None:
    """A date or a date and time (ISO 8601); UTC unless it says otherwise. Raises UsageError."""
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise UsageError(f"{flag}: {text!r} is no date like 2024-05-31 or 2024-05-31T12:00Z") from None
    return Instant((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())


def _words(text: str | None) -> frozenset[str]:
    return frozenset(word.strip().lower() for word in (text or "").split(",") if word.strip())


Value = str | int | float | bool | Mapping[str, float] | None
Row = tuple[Value, ...]


class Kind(Enum):
    TEXT = "text"
    WHOLE = "whole number"
    REAL = "number"
    FLAG = "true or false"
    MOMENT = "moment"
    """Seconds since the epoch in a row; how it is written is a matter of the format."""
    PARTS = "numbers by name"
    """An object in JSON, and the text of that object in other formats."""


class Column(NamedTuple):
    name: str
    kind: Kind = Kind.TEXT


PAGES = (
    Column("url"),
    Column("host"),
    Column("state"),
    Column("status", Kind.WHOLE),
    Column("depth", Kind.WHOLE),
    Column("priority", Kind.REAL),
    Column("size", Kind.WHOLE),
    Column("mime"),
    Column("title"),
    Column("language"),
    Column("canonical"),
    Column("digest"),
    Column("fetched_at", Kind.MOMENT),
    Column("took", Kind.REAL),
    Column("next_visit", Kind.MOMENT),
    Column("found_at", Kind.MOMENT),
    Column("found_on"),
    Column("links", Kind.WHOLE),
    Column("duplicate_of"),
    Column("near_duplicate_of"),
    Column("distance", Kind.WHOLE),
    Column("redirect_to"),
    Column("reason"),
    Column("truncated"),
    Column("etag"),
    Column("last_modified"),
    Column("warc_file"),
    Column("warc_offset", Kind.WHOLE),
    Column("warc_length", Kind.WHOLE),
)
PAGES_WITH_PARTS = (*PAGES, Column("priority_parts", Kind.PARTS))
LINKS = (
    Column("source"),
    Column("target"),
    Column("text"),
    Column("kind"),
    Column("rel"),
    Column("nofollow", Kind.FLAG),
    Column("hreflang"),
)
TEXT = (
    Column("url"),
    Column("fetched_at", Kind.MOMENT),
    Column("status", Kind.WHOLE),
    Column("mime"),
    Column("language"),
    Column("title"),
    Column("description"),
    Column("canonical"),
    Column("digest"),
    Column("text"),
    Column("text_source"),
    Column("language_source"),
)
TEXT_WITH_MARKDOWN = (*TEXT, Column("markdown"))
EDGES_BY_URL = (Column("source"), Column("target"))
EDGES_BY_ID = (Column("source", Kind.WHOLE), Column("target", Kind.WHOLE))
