"""Reads a crawl's database for exports, also while the crawl runs: rows as a stream, in order of discovery.

Reads the link graph of a crawl, also while the crawl runs: which page links to which, as numbers in arrays.

Pages are the URLs of the crawl that no rule excludes, numbered from 0 in order of discovery. Only those that were
fetched have links, but duplicates do not; a redirect is one link.
"""

import json
import sqlite3
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from gossamer.backends.sqlite.database import fact, host_row, last_url, named_queries, our_errors
from gossamer.backends.sqlite.pages import WINDOW, PageFilter, PageRow, Progress, Visited, page_rows
from gossamer.store.row_formats import unpack_numbers


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
            yield PageEdges(url_id, unpack_numbers(targets), Visited(*visited))

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


_CHUNK = 1000

_Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class StoredPages:
    """The pages of a crawl, without their links. Sites are registrable domains."""

    ids: "array[int]"  # of the rows, by page; they increase
    site_of: "array[int]"  # by page
    suffix_of: "array[int]"  # by site: its public suffix
    urls: list[str]  # by page
    seeds: "array[int]"  # pages that were given, not found


class GraphReader:
    """Reads `pages` once, then `links` page by page. Raises StoreFailed where the database cannot be read."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._sql = named_queries("graph.sql")
        # By fingerprint alone, though that is unique only within a domain: among 64 bits others do not meet either.
        self._page_of: dict[int, int] = {}
        self.suffixes: list[str] = []  # by site
        self.pages = self._read_pages()

    def _read_pages(self) -> StoredPages:
        suffix_of_domain: dict[int, str] = dict(self._rows("graph_domains"))
        ids, site_of, seeds = array("q"), array("q"), array("q")
        urls: list[str] = []
        sites: dict[int, int] = {}  # by domain id
        for url_id, domain_id, fingerprint, url, is_seed, excluded in self._rows("graph_urls"):
            if excluded:
                continue
            page = len(ids)
            site = sites.setdefault(domain_id, len(sites))
            if site == len(self.suffixes):
                self.suffixes.append(suffix_of_domain.get(domain_id, "#0"))
            ids.append(url_id)
            site_of.append(site)
            urls.append(url)
            if is_seed:
                seeds.append(page)
            self._page_of[fingerprint] = page
        return StoredPages(ids, site_of, numbered(self.suffixes), urls, seeds)

    def key(self) -> int:
        """Of the fingerprints."""
        return int(fact(self._db, "fingerprint_key") or 0)

    def page_of(self) -> Mapping[int, int]:
        """The pages by their fingerprints."""
        return self._page_of

    def links(self, page_of: Mapping[int, int] | None = None) -> Iterator[list[int]]:
        """The links of each page in turn, as pages. Links to URLs that are no page are left out. `page_of`: what is a
        page by whose fingerprint, if those of others are pages too."""
        known = self._page_of if page_of is None else page_of
        stored = self._rows("graph_links")
        row = next(stored, None)
        for url_id in self.pages.ids:
            while row is not None and row[0] < url_id:
                row = next(stored, None)
            if row is None or row[0] > url_id:
                yield []
            else:
                found = map(known.get, unpack_numbers(row[1]))
                yield [page for page in found if page is not None]

    def _rows(self, query: str) -> Iterator[_Row]:
        """All rows, by the number in their first column."""
        last = 0
        while True:
            with our_errors(self._db):
                rows = self._db.execute(self._sql[query], (last, _CHUNK)).fetchall()
            if not rows:
                return
            yield from rows
            last = rows[-1][0]


def numbered(values: Sequence[str]) -> "array[int]":
    """A number for each, from 0 in order of appearance; the same for what is the same."""
    numbers: dict[str, int] = {}
    return array("q", (numbers.setdefault(value, len(numbers)) for value in values))
