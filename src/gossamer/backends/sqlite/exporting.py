"""Reads a crawl's database for exports, also while the crawl runs: rows as a stream, in order of discovery."""

import json
import sqlite3
from array import array
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from gossamer.backends.sqlite.link_pages import fingerprints_from
from gossamer.backends.sqlite.queries import named_queries
from gossamer.backends.sqlite.reading import our_errors
from gossamer.model.states import UrlState
from gossamer.model.units import Instant

WINDOW = 2_000
"""Ids at a time."""

Progress = Callable[[int, int], None]
"""Told how far a reader is: up to which id, of how many."""


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

    @property
    def visited(self) -> Visited:
        return Visited(self.at, self.status, self.mime)


class PageEdges(NamedTuple):
    """What a page links to, as fingerprints."""

    url_id: int
    targets: list[int]
    visited: Visited


class ExportReader:
    """Streams rows. `host`: of this host only. Raises StoreFailed where the database cannot be read."""

    def __init__(self, db: sqlite3.Connection, host: str | None = None, progress: Progress | None = None) -> None:
        self._db = db
        self._sql = named_queries("exporting.sql")
        self._progress = progress or (lambda at, last: None)
        self._host_id: int | None = None
        if host is not None:
            with our_errors(db):
                row = db.execute(self._sql["host_row"], (host.lower().rstrip("."),)).fetchone()
            self._host_id = -1 if row is None else int(row[0])

    @property
    def last(self) -> int:
        """The id of the newest URL."""
        with our_errors(self._db):
            (last,) = self._db.execute(self._sql["last_id"]).fetchone()
        return int(last)

    @property
    def key(self) -> int:
        """Of the fingerprints."""
        with our_errors(self._db):
            row = self._db.execute(self._sql["fingerprint_key"]).fetchone()
        return 0 if row is None else int(row[0])

    def graphs(self) -> "Iterator[ExportReader]":
        """What has nodes and edges whose fingerprints go together: all of it."""
        yield self

    def pages(self) -> Iterator[PageRow]:
        for row in self._rows("page_window"):
            yield PageRow._make((*row[:3], UrlState(row[3]), *row[4:]))

    def edges(self) -> Iterator[PageEdges]:
        """The pages that have links. A redirect is one link."""
        for url_id, targets, *visited in self._rows("link_window"):
            yield PageEdges(url_id, fingerprints_from(targets), Visited(*visited))

    def nodes(self) -> "tuple[array[int], array[int]]":
        """The ids of all URLs, and their fingerprints: sixteen bytes for each in memory."""
        ids, prints = array("q"), array("q")
        for url_id, fingerprint in self._rows("node_window", silent=True):
            ids.append(url_id)
            prints.append(fingerprint)
        return ids, prints

    def names(self) -> Iterator[tuple[int, str]]:
        """Every URL by its id."""
        yield from self._rows("name_window", silent=True)

    def names_of(self, ids: Iterable[int]) -> dict[int, str]:
        with our_errors(self._db):
            return dict(self._db.execute(self._sql["names_of"], (json.dumps(list(ids)),)).fetchall())

    def _rows(self, query: str, *, silent: bool = False) -> Iterator[Any]:
        after, last = 0, self.last
        while after < last:
            values = {"after": after, "last": after + WINDOW, "host_id": self._host_id}
            with our_errors(self._db):
                rows = self._db.execute(self._sql[query], values).fetchall()
            yield from rows
            after += WINDOW
            if not silent:
                self._progress(min(after, last), last)
