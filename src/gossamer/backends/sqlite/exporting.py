"""Reads a crawl's database for exports, also while the crawl runs: rows as a stream, in order of discovery."""

import json
import sqlite3
from array import array
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from gossamer.backends.sqlite.link_pages import fingerprints_from
from gossamer.backends.sqlite.pages import WINDOW, PageFilter, PageRow, Progress, Visited, page_rows
from gossamer.backends.sqlite.queries import named_queries
from gossamer.backends.sqlite.reading import fact, host_row, last_url, our_errors


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
        self._wanted = PageFilter(host=host)
        self._host_id = None if host is None else host_row(db, host)

    @property
    def last(self) -> int:
        """The id of the newest URL."""
        return last_url(self._db)

    @property
    def key(self) -> int:
        """Of the fingerprints."""
        return int(fact(self._db, "fingerprint_key") or 0)

    def graphs(self) -> "Iterator[ExportReader]":
        """What has nodes and edges whose fingerprints go together: all of it."""
        yield self

    def pages(self) -> Iterator[PageRow]:
        return page_rows(self._db, self._wanted, self._progress)

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
