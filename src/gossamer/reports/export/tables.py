"""The tables: columns with their types, and rows as tuples in that order; and a filter for pages by time, status and
MIME type of their last visit."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import NamedTuple

from gossamer.errors import UsageError
from gossamer.model.formats import sha1_text
from gossamer.model.states import UrlState
from gossamer.model.task import Via
from gossamer.model.units import Instant
from gossamer.reports.records import PageRow, PartsOf, PriorityOf

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
    about: str = ""
    null: bool = True  # the value may be unknown
    values: tuple[str | int, ...] = ()  # empty: any


VERSION = 1
"""Of the forms of pages, links and texts."""
_V = Column("v", Kind.WHOLE, "version of this form", False, (VERSION,))
PAGES = (
    _V,
    Column("url", about="in canonical form", null=False),
    Column("host", null=False),
    Column("state", about="what became of the URL", null=False, values=tuple(state.word for state in UrlState)),
    Column("status", Kind.WHOLE, "HTTP status of the last response"),
    Column("reason", about="why it is not stored, or why its last attempt failed"),
    Column("depth", Kind.WHOLE, "links from a seed", False),
    Column("via", about="how it was found", null=False, values=tuple(via.name.lower() for via in Via)),
    Column("priority", Kind.REAL, "score that the ordering of the crawl gives it now", False),
    Column("size", Kind.WHOLE, "bytes of the document"),
    Column("mime", about="type of the document"),
    Column("title"),
    Column("language", about="as declared"),
    Column("canonical", about="canonical URL that the page declares, if it is another one"),
    Column("digest", about="of the document without its codings: sha1: and base 32"),
    Column("fetched_at", Kind.MOMENT, "time of the last response"),
    Column("took", Kind.REAL, "seconds of the last response"),
    Column("next_visit", Kind.MOMENT, "not visited before this time"),
    Column("found_at", Kind.MOMENT),
    Column("found_on", about="URL of the page on which it was found first"),
    Column("links", Kind.WHOLE, "pages that link to it", False),
    Column("duplicate_of", about="URL under which the same document is stored"),
    Column("near_duplicate_of", about="URL of the page that it resembles"),
    Column("distance", Kind.WHOLE, "differences to the page that it resembles, of 64"),
    Column("redirect_to", about="target of the redirect"),
    Column("truncated", about="why only the beginning is stored: length, time or disconnect"),
    Column("unverified", Kind.FLAG, "fetched without checking the certificate", False),
    Column("replaced_characters", Kind.WHOLE, "characters that are invalid in the encoding of the page", False),
    Column("etag", about="ETag of the last response"),
    Column("last_modified", about="Last-Modified of the last response"),
    Column("rendered", Kind.FLAG, "the document is that of a browser, not the one received", False),
    Column("warc_file", about="name of the WARC file that has the document"),
    Column("warc_offset", Kind.WHOLE, "of the record in the file"),
    Column("warc_length", Kind.WHOLE, "of the record in the file"),
)
"""`page/1`: the form of a page in every output. A new column keeps the version, any other change raises it."""
PAGES_WITH_PARTS = (*PAGES, Column("priority_parts", Kind.PARTS, "parts of the priority by name", False))


def schema_name(columns: Sequence[Column]) -> str | None:
    """The name of the JSON Schema of a table, if it has one."""
    tables = {"page": (PAGES, PAGES_WITH_PARTS), "link": (LINKS,), "text": (TEXT, TEXT_WITH_MARKDOWN)}
    return next((f"{name}/{VERSION}" for name, forms in tables.items() if tuple(columns) in forms), None)


class PageColumns:
    """The columns of a page, with the parts of its priority if they are wanted."""

    def __init__(self, priority_of: PriorityOf, parts_of: PartsOf | None = None) -> None:
        self._priority_of = priority_of
        self._parts_of = parts_of
        self.columns = PAGES if parts_of is None else PAGES_WITH_PARTS

    def row(self, page: PageRow) -> Row:
        row: Row = (
            VERSION,
            page.url,
            page.host,
            page.state.word,
            page.status,
            page.reason,
            page.depth,
            page.via.name.lower(),
            self._priority_of(page.facts),
            page.size,
            page.mime,
            page.title,
            page.language,
            page.canonical,
            digest_text(page.digest),
            page.at,
            page.took,
            page.next_visit,
            page.found_at,
            page.found_on,
            page.links,
            page.duplicate_of,
            page.near_duplicate_of,
            page.distance,
            page.redirect_to,
            page.truncated,
            bool(page.unverified),
            page.replaced,
            page.etag,
            page.last_modified,
            False,  # documents are stored as received
            page.warc_file,
            page.warc_offset,
            page.warc_length,
        )
        return row if self._parts_of is None else (*row, self._parts_of(page.facts))


def digest_text(digest: bytes | None) -> str | None:
    return None if digest is None else sha1_text(digest)


LINKS = (
    _V,
    Column("source", about="page with the link", null=False),
    Column("target", null=False),
    Column("text", about="anchor text"),
    Column("kind", about="the element, or what a <link> says it is: a, area, canonical, alternate …", null=False),
    Column("rel"),
    Column("nofollow", Kind.FLAG, "the link or its page says nofollow", False),
    Column("hreflang"),
)
TEXT = (
    _V,
    Column("url", about="in canonical form", null=False),
    Column("fetched_at", Kind.MOMENT, "time of the last response"),
    Column("status", Kind.WHOLE, "HTTP status of the last response"),
    Column("mime", about="type of the document"),
    Column("language"),
    Column("title"),
    Column("description"),
    Column("canonical", about="canonical URL that the page declares"),
    Column("digest", about="of the document without its codings: sha1: and base 32"),
    Column("text", about="main text", null=False),
    Column("text_source", about="main, guard, body, trafilatura, pdf or plain", null=False),
    Column("language_source", about="where the language comes from", values=("declared", "guessed")),
)
TEXT_WITH_MARKDOWN = (*TEXT, Column("markdown", about="main text as Markdown"))
EDGES_BY_URL = (Column("source", null=False), Column("target", null=False))
EDGES_BY_ID = (Column("source", Kind.WHOLE), Column("target", Kind.WHOLE))
