"""Reads the links between pages: which page links to which, as fingerprints. Also while a crawl is running."""

import json
import sqlite3
from array import array
from collections.abc import Iterable, Iterator
from typing import Any

from gossamer.backends.sqlite.database import fact, host_row, last_url, named_queries, our_errors
from gossamer.backends.sqlite.pages import WINDOW
from gossamer.reports.records import GraphUrl, Nodes, PageEdges, Progress, Visited
from gossamer.store.row_formats import unpack_numbers

_CHUNK = 1000


class SqliteLinkReader:
    """`reports.ports.LinkReader`. Raises StoreFailed where the database cannot be read."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._sql = {**named_queries("exporting.sql"), **named_queries("graph.sql")}

    def fingerprint_key(self) -> int:
        return int(fact(self._db, "fingerprint_key") or 0)

    def edges(self, host: str | None = None, progress: Progress | None = None) -> Iterator[PageEdges]:
        for url_id, targets, *visited in self._windows("link_window", host, progress):
            yield PageEdges(url_id, unpack_numbers(targets), Visited(*visited))

    def nodes(self) -> Nodes:
        ids, prints = array("q"), array("q")
        for url_id, fingerprint in self._windows("node_window"):
            ids.append(url_id)
            prints.append(fingerprint)
        return ids, prints

    def names(self) -> Iterator[tuple[int, str]]:
        yield from self._windows("name_window")

    def names_of(self, ids: Iterable[int]) -> dict[int, str]:
        with our_errors(self._db):
            return dict(self._db.execute(self._sql["names_of"], (json.dumps(list(ids)),)).fetchall())

    def graph_urls(self) -> Iterator[GraphUrl]:
        return map(GraphUrl._make, self._chunks("graph_urls"))

    def domain_suffixes(self) -> dict[int, str]:
        return dict(self._chunks("graph_domains"))

    def targets(self) -> Iterator[tuple[int, list[int]]]:
        for url_id, targets in self._chunks("graph_links"):
            yield url_id, unpack_numbers(targets)

    def _windows(self, query: str, host: str | None = None, progress: Progress | None = None) -> Iterator[Any]:
        """The rows of all URLs, or of those of a host, `WINDOW` ids at a time."""
        host_id = None if host is None else host_row(self._db, host)
        after, last = 0, last_url(self._db)
        while after < last:
            values = {"after": after, "last": after + WINDOW, "host_id": host_id}
            with our_errors(self._db):
                rows = self._db.execute(self._sql[query], values).fetchall()
            yield from rows
            after += WINDOW
            if progress is not None:
                progress(min(after, last), last)

    def _chunks(self, query: str) -> Iterator[Any]:
        """All rows, by the number in their first column."""
        last = 0
        while True:
            with our_errors(self._db):
                rows = self._db.execute(self._sql[query], (last, _CHUNK)).fetchall()
            if not rows:
                return
            yield from rows
            last = rows[-1][0]
