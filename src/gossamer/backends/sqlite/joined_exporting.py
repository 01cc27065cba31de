"""Reads the databases of all workers for exports, as those of one crawl.

Ids are a worker's own, so here they are spread out: those of different workers never meet, and an id stays what it is
as the crawl grows. Fingerprints are a worker's own too, since each has its key: what a page links to at another
worker's hosts is found by fingerprints that are made anew from the URLs there, under the key of the page's worker.
"""

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import merge
from itertools import islice

from gossamer.backends.sqlite.exporting import ExportReader, PageEdges
from gossamer.backends.sqlite.pages import PageRow

PrintsOf = Callable[[Sequence[str], int], Sequence[int]]
"""The fingerprints that URLs have under a key."""
AT_ONCE = 2_000
"""URLs whose fingerprints are made anew at a time."""


class JoinedExport:
    """As `ExportReader`. With each reader comes what stands before the names of its WARC files."""

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
