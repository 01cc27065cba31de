"""The dead letters of a crawl, oldest discovery first: a window at a time.

Known pages with their last visits, in order of discovery: as a stream, or a window at a time.

Both read a bounded number of rows in each statement: a slow reader keeps nothing from a running crawl, and what changes
meanwhile may show.
"""

import json
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from gossamer.backends.sqlite.database import host_row, last_url, named_queries, our_errors
from gossamer.model.formats import iso_timestamp, sha1_text
from gossamer.model.states import UrlState
from gossamer.model.units import Instant

WINDOW = 2_000
"""Ids that a stream looks at in one statement."""
SCANNED = 50_000
"""URLs that are looked at for one window: a search for what is rare gets an empty window and goes on from there."""
_STEP = 5_000

Json = dict[str, object]
Progress = Callable[[int, int], None]
"""Progress callback: the last id read, and the last id there is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFilter:
    """Which pages to show; None: any."""

    state: UrlState | None = None
    host: str | None = None
    limit: int | None = None


class Visited(NamedTuple):
    """The last visit of a page, as far as filters ask for it; None: there was none, or no answer."""

    at: Instant | None
    status: int | None
    mime: str | None


class PageRow(NamedTuple):
    """A known page and its last visit."""

    url_id: int
    url: str
    host: str
    state: UrlState
    depth: int
    priority: float
    found_at: float
    found_on: str | None
    next_visit: float | None
    reason: str | None
    links: int
    at: Instant | None
    status: int | None
    size: int | None
    mime: str | None
    digest: bytes | None
    title: str | None
    took: float | None
    etag: str | None
    last_modified: str | None
    duplicate_of: str | None
    redirect_to: str | None
    warc_file: str | None
    warc_offset: int | None
    warc_length: int | None
    near_duplicate_of: str | None
    distance: int | None
    language: str | None
    canonical: str | None
    truncated: str | None
    unverified: int
    replaced: int

    @property
    def visited(self) -> Visited:
        return Visited(self.at, self.status, self.mime)


class Window(NamedTuple):
    """Some of what was asked for, and where to go on; None: there is no more."""

    items: list[Json]
    next: int | None


def page_rows(
    db: sqlite3.Connection, wanted: PageFilter, progress: Progress = lambda at, last: None
) -> Iterator[PageRow]:
    """All pages that match the filter; its limit is ignored. Raises StoreFailed."""
    host_id = None if wanted.host is None else host_row(db, wanted.host)
    last = last_url(db)
    for after in range(0, last, WINDOW):
        values = {"after": after, "upto": after + WINDOW, "state": wanted.state, "host_id": host_id, "text": None}
        yield from _read(db, "ids", {**values, "most": WINDOW})
        progress(min(after + WINDOW, last), last)


def page_window(
    db: sqlite3.Connection, wanted: PageFilter, *, after: int, contains: str | None = None, most: int = 100
) -> Window:
    """Known pages after a row. Raises StoreFailed."""
    host_id = None if wanted.host is None else host_row(db, wanted.host)
    items: list[Json] = []
    last = last_url(db)
    end = min(last, after + SCANNED)
    while after < end or (host_id is not None and after < last):
        upto = min(end, after + _STEP) if host_id is None else last  # a host's URLs are found by index
        values = {"after": after, "upto": upto, "state": wanted.state, "host_id": host_id, "text": contains}
        rows = _read(db, "ids" if host_id is None else "ids_of_host", {**values, "most": most - len(items)})
        items += map(page_object, rows)
        if len(items) >= most:
            return Window(items, rows[-1].url_id)
        after = upto
    return Window(items, after if after < last else None)


def _read(db: sqlite3.Connection, ids: str, values: dict[str, object]) -> list[PageRow]:
    sql = named_queries("pages.sql")
    with our_errors(db):
        rows = db.execute(sql["pages"].replace("/*ids*/", sql[ids]), values).fetchall()
    return [PageRow._make((*row[:3], UrlState(row[3]), *row[4:])) for row in rows]


def page_object(row: PageRow) -> Json:
    """JSON form of a page."""
    file, offset, length = row.warc_file, row.warc_offset, row.warc_length
    return {
        "url": row.url,
        "status": row.status,
        "state": row.state.word,
        "depth": row.depth,
        "priority": row.priority,
        "size": row.size,
        "digest": None if row.digest is None else sha1_text(row.digest),
        "fetched_at": timestamp(row.at),
        "next_visit": timestamp(row.next_visit),
        "duplicate_of": row.duplicate_of,
        "redirect_to": row.redirect_to,
        "reason": row.reason,
        "near_duplicate_of": row.near_duplicate_of,
        "distance": row.distance,
        "host": row.host,
        "mime": row.mime,
        "title": row.title,
        "language": row.language,
        "canonical": row.canonical,
        "found_on": row.found_on,
        "truncated": row.truncated,
        "unverified": bool(row.unverified),
        "replaced_characters": row.replaced,
        "warc": None if file is None else {"file": file, "offset": offset, "length": length},
    }


def timestamp(at: float | None) -> str | None:
    """ISO 8601, UTC. None for no date, and for one beyond the calendar."""
    if at is None or not 0 <= at < 253_402_300_800:
        return None
    return iso_timestamp(at)


_WINDOW = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadFilter:
    """Which dead letters are meant; None: any."""

    host: str | None = None
    reason: str | None = None


class DeadLetter(NamedTuple):
    """A URL whose tries are used up, with its last failure."""

    url_id: int
    url: str
    host: str
    reason: str | None
    tries: int
    depth: int
    priority: float
    found_at: float
    failed_at: float | None
    status: int | None
    detail: str | None
    found_on: str | None


def dead_letters(db: sqlite3.Connection, wanted: DeadFilter) -> Iterator[DeadLetter]:
    """All that are wanted. Raises StoreFailed."""
    after = 0
    while letters := _window(db, wanted, after, _WINDOW):
        yield from letters
        after = letters[-1].url_id


def dead_window(db: sqlite3.Connection, wanted: DeadFilter, *, after: int, most: int = 100) -> Window:
    """Those after a row. Raises StoreFailed."""
    letters = _window(db, wanted, after, most)
    return Window([dead_object(letter) for letter in letters], letters[-1].url_id if len(letters) == most else None)


def dead_ids(db: sqlite3.Connection, wanted: DeadFilter, *, after: int, most: int) -> list[int]:
    """The rows of dead letters after a row."""
    with our_errors(db):
        return [
            row[0] for row in db.execute(named_queries("dead_letters.sql")["ids"], _values(db, wanted, after, most))
        ]


def ids_of(db: sqlite3.Connection, urls: list[str]) -> list[int]:
    """The rows of these URLs that are dead letters, by their canonical form."""
    with our_errors(db):
        return [row[0] for row in db.execute(named_queries("dead_letters.sql")["ids_of_urls"], (json.dumps(urls),))]


def _window(db: sqlite3.Connection, wanted: DeadFilter, after: int, most: int) -> list[DeadLetter]:
    sql = named_queries("dead_letters.sql")
    statement = sql["letters"].replace("/*ids*/", sql["ids"])
    with our_errors(db):
        return [DeadLetter._make(row) for row in db.execute(statement, _values(db, wanted, after, most)).fetchall()]


def _values(db: sqlite3.Connection, wanted: DeadFilter, after: int, most: int) -> dict[str, object]:
    host_id = None if wanted.host is None else host_row(db, wanted.host)
    return {"after": after, "host_id": host_id, "reason": wanted.reason, "most": most}


def dead_object(letter: DeadLetter) -> Json:
    """JSON form of a dead letter."""
    return {
        "url": letter.url,
        "host": letter.host,
        "reason": letter.reason,
        "tries": letter.tries,
        "depth": letter.depth,
        "priority": letter.priority,
        "failed_at": timestamp(letter.failed_at),
        "status": letter.status,
        "detail": letter.detail,
        "found_on": letter.found_on,
    }
