"""The databases of all workers as that of one crawl: for reports, exports and the link graph.

Each worker has its part of the domains, so no URL and no host is in two of them; every one knows all seeds.
"""

import sqlite3
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import merge
from itertools import count, islice

from gossamer.backends.sqlite.database import named_queries, our_errors
from gossamer.backends.sqlite.export_reader import ExportReader, GraphReader, PageEdges, StoredPages, numbered
from gossamer.backends.sqlite.pages import (
    DeadFilter,
    Json,
    PageFilter,
    PageRow,
    dead_letters,
    dead_object,
    page_object,
    page_rows,
)

PrintsOf = Callable[[Sequence[str], int], Sequence[int]]
"""The fingerprints that URLs have under a key."""
AT_ONCE = 2_000
"""URLs whose fingerprints are computed at a time."""
_IN_ALL = ("seeds",)  # what every part knows of the whole crawl


def totals(found: Sequence[Json], under_way: int) -> Json:
    """What `reports.status` tells of each, as one. A URL that is on its way to its owner keeps the crawl from being
    finished."""
    if len(found) == 1:
        return found[0]
    whole: Json = {}
    for name, first in found[0].items():
        values = [one[name] for one in found]
        if isinstance(first, dict):
            whole[name] = _counted(values, ordered=name != "states")
        elif isinstance(first, bool):
            whole[name] = all(values)
        else:
            numbers = [value for value in values if isinstance(value, int)]
            whole[name] = max(numbers) if name in _IN_ALL else sum(numbers)
    whole["finished"] = bool(whole["finished"]) and not under_way
    return whole


def under_way(dbs: Iterable[sqlite3.Connection]) -> int:
    """URLs that one worker has found and their owner does not have on record yet."""
    sql, number = named_queries("reports.sql"), 0
    for db in dbs:
        with our_errors(db):
            number += db.execute(sql["under_way"]).fetchone()[0]
    return number


def pages(parts: Sequence[tuple[sqlite3.Connection, str]], wanted: PageFilter) -> Iterator[Json]:
    """All pages that match the filter, oldest discovery first. `parts` has the WARC file prefix of each database."""
    rows = merge(*(_pages(db, archive, wanted) for db, archive in parts), key=lambda row: row.found_at)
    return map(page_object, islice(rows, wanted.limit))


def dead(dbs: Sequence[sqlite3.Connection], wanted: DeadFilter) -> Iterator[Json]:
    """The dead letters, oldest discovery first, each with its last failure."""
    letters = merge(*(dead_letters(db, wanted) for db in dbs), key=lambda letter: letter.found_at)
    return map(dead_object, letters)


def _pages(db: sqlite3.Connection, archive: str, wanted: PageFilter) -> Iterator[PageRow]:
    for row in page_rows(db, wanted):
        yield row if row.warc_file is None else row._replace(warc_file=archive + row.warc_file)


def _counted(counts: Iterable[object], *, ordered: bool) -> dict[str, int]:
    total: Counter[str] = Counter()
    for one in counts:
        if isinstance(one, dict):
            total.update(one)
    return dict(total.most_common()) if ordered else dict(total)


class JoinedExport:
    """As `ExportReader`. With each reader comes what stands before the names of its WARC files.

    Ids are a worker's own, so here they are spread out: those of different workers never meet, and an id stays what it
    is as the crawl grows. Fingerprints are a worker's own too, since each has its key: links to pages of another worker
    are found by fingerprints computed from the URLs there, under the key of the linking page's worker.
    """

    def __init__(self, parts: Sequence[tuple[ExportReader, str]], prints_of: PrintsOf) -> None:
        self._readers = [reader for reader, _ in parts]
        self._archives = [archive for _, archive in parts]
        self._prints_of = prints_of

    def pages(self) -> Iterator[PageRow]:
        """In order of discovery."""
        streams = (self._pages(number) for number in range(len(self._readers)))
        return merge(*streams, key=lambda page: page.found_at)

    def graphs(self) -> "Iterator[_Graph]":
        """The links of each worker's pages in turn."""
        return (_Graph(self, number) for number in range(len(self._readers)))

    def names(self) -> Iterator[tuple[int, str]]:
        """Every URL by its id."""
        for number, reader in enumerate(self._readers):
            for url_id, url in reader.names():
                yield self._spread(number, url_id), url

    def names_of(self, ids: Iterable[int]) -> dict[int, str]:
        wanted: list[list[int]] = [[] for _ in self._readers]
        for url_id in ids:
            own, number = divmod(url_id - 1, len(self._readers))
            wanted[number].append(own + 1)
        return {
            self._spread(number, own): url
            for number, reader in enumerate(self._readers)
            for own, url in (reader.names_of(wanted[number]) if wanted[number] else {}).items()
        }

    def nodes_for(self, number: int) -> "tuple[array[int], array[int]]":
        """The ids of all URLs, and the fingerprints that they have for one of the workers."""
        reader, ids, prints = self._readers[number], array("q"), array("q")
        for own, fingerprint in zip(*reader.nodes(), strict=True):
            ids.append(self._spread(number, own))
            prints.append(fingerprint)
        key = reader.key
        for other, another in enumerate(self._readers):
            if other == number:
                continue
            names = another.names()
            while some := list(islice(names, AT_ONCE)):
                ids.extend(self._spread(other, own) for own, _ in some)
                prints.extend(self._prints_of([url for _, url in some], key))
        return ids, prints

    def edges_of(self, number: int) -> Iterator[PageEdges]:
        for page in self._readers[number].edges():
            yield page._replace(url_id=self._spread(number, page.url_id))

    def _pages(self, number: int) -> Iterator[PageRow]:
        archive = self._archives[number]
        for page in self._readers[number].pages():
            file = page.warc_file
            yield page._replace(
                url_id=self._spread(number, page.url_id), warc_file=None if file is None else archive + file
            )

    def _spread(self, number: int, own: int) -> int:
        return (own - 1) * len(self._readers) + number + 1


class _Graph:
    """The pages of one worker with their links, among the URLs of all."""

    def __init__(self, whole: JoinedExport, number: int) -> None:
        self._whole = whole
        self._number = number

    def nodes(self) -> "tuple[array[int], array[int]]":
        return self._whole.nodes_for(self._number)

    def edges(self) -> Iterator[PageEdges]:
        return self._whole.edges_of(self._number)


class JoinedGraph:
    """As `GraphReader`: the pages of the first worker, then those of the second, and so on."""

    def __init__(self, readers: Sequence[GraphReader], prints_of: PrintsOf) -> None:
        self._readers = readers
        self._prints_of = prints_of
        self._first: list[int] = []  # page of each worker
        self.pages = self._joined()

    def _joined(self) -> StoredPages:
        ids, site_of, seeds = array("q"), array("q"), array("q")
        urls: list[str] = []
        suffixes: list[str] = []
        for reader in self._readers:
            own, first, first_site = reader.pages, len(ids), len(suffixes)
            self._first.append(first)
            ids.extend(own.ids)
            site_of.extend(first_site + site for site in own.site_of)  # no domain is in two parts
            seeds.extend(first + page for page in own.seeds)
            urls += own.urls
            suffixes += reader.suffixes
        return StoredPages(ids, site_of, numbered(suffixes), urls, seeds)

    def links(self) -> Iterator[list[int]]:
        """The links of each page in turn, as pages. Links to URLs that are no page are left out."""
        for number, reader in enumerate(self._readers):
            yield from reader.links(self._known_to(number))

    def _known_to(self, number: int) -> dict[int, int]:
        """All pages, by the fingerprints that they have for one of the workers."""
        known = {mark: self._first[number] + page for mark, page in self._readers[number].page_of().items()}
        key = self._readers[number].key()
        for first, other in zip(self._first, self._readers, strict=True):
            if other is not self._readers[number]:
                known.update(zip(self._prints_of(other.pages.urls, key), count(first), strict=False))
        return known
