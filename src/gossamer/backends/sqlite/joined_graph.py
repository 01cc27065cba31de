"""The link graphs of all workers as that of one crawl: the pages of the first, then those of the second, and so on.

Each worker's fingerprints have a key of their own, so what is not its own is known to it by fingerprints that are made
anew (as in `joined_exporting`).
"""

from array import array
from collections.abc import Iterator, Sequence
from itertools import count

from gossamer.backends.sqlite.graph import GraphReader, StoredPages, numbered
from gossamer.backends.sqlite.joined_exporting import PrintsOf


class JoinedGraph:
    """As `GraphReader`."""

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
