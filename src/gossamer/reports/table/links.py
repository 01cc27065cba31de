"""The links between pages: which page links to which, as fingerprints. Also while a crawl is running."""

from array import array
from collections.abc import Iterable, Iterator
from typing import Any

from gossamer.reports.records import GraphUrl, Nodes, PageEdges, Progress, Visited
from gossamer.store.ports import Database
from gossamer.store.row_formats import unpack_numbers
from gossamer.store.table.hosts import row_of_host
from gossamer.store.table.metadata import Metadata
from gossamer.store.table.windows import url_windows

WINDOW = 2_000
"""URLs that one statement covers."""
_CHUNK = 1000


class LinkQueries:
    """`reports.ports.LinkReader`."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def fingerprint_key(self) -> int:
        return Metadata(self._db).fingerprint_key()

    def edges(self, host: str | None = None, progress: Progress | None = None) -> Iterator[PageEdges]:
        host_id = None if host is None else row_of_host(self._db, host)
        for url_id, targets, *visited in self._windows("link_window", host_id, progress=progress):
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
        return dict(self._db.fetch_all("names_of", list(ids)))

    def graph_urls(self) -> Iterator[GraphUrl]:
        return map(GraphUrl._make, self._chunks("graph_urls"))

    def domain_suffixes(self) -> dict[int, str]:
        return dict(self._chunks("graph_domains"))

    def targets(self) -> Iterator[tuple[int, list[int]]]:
        for url_id, targets in self._chunks("graph_links"):
            yield url_id, unpack_numbers(targets)

    def _windows(self, statement: str, *values: object, progress: Progress | None = None) -> Iterator[Any]:
        """The rows of all URLs, a window at a time."""
        for after, upto in url_windows(self._db, WINDOW, self._db.fetch_value("last_url"), progress):
            yield from self._db.fetch_all(statement, after, upto, *values)

    def _chunks(self, statement: str) -> Iterator[Any]:
        """All rows, by the number in their first column."""
        last = 0
        while rows := self._db.fetch_all(statement, last, _CHUNK):
            yield from rows
            last = rows[-1][0]
