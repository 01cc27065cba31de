"""The link graph of a crawl, as numbers in arrays: which page links to which.

Pages are the URLs of the crawl that no rule excludes, numbered from 0 in order of discovery; with several workers,
those of the first, then those of the second, and so on. Only pages that were fetched have links, and duplicates have
none; a redirect is one link. Sites are hosts.
"""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from gossamer.errors import GossamerError
from gossamer.reports.ports import LinkReader
from gossamer.reports.records import FingerprintsOf

_NO_SUFFIX = "#0"


@dataclass(frozen=True, slots=True)
class StoredPages:
    """The pages of a crawl, without their links."""

    ids: "array[int]"  # by page; within a worker they increase
    site_of: "array[int]"  # by page
    suffix_of: "array[int]"  # by site: its public suffix
    urls: list[str]  # by page
    seeds: "array[int]"  # pages that are seeds


class StoredGraph:
    """Reads the pages at once, and the links page by page. Raises StoreFailed.

    Pages are looked up by fingerprint alone, though that is unique only within a domain: among 64 bits no collision is
    expected.
    """

    def __init__(self, readers: Sequence[LinkReader], fingerprints_of: FingerprintsOf | None = None) -> None:
        """`fingerprints_of` is needed for the links of several workers."""
        self._readers = readers
        self._fingerprints_of = fingerprints_of
        self._first: list[int] = []  # page of each worker
        self._page_of: list[dict[int, int]] = []  # of each worker: its pages by their fingerprints
        self.pages = self._read_pages()

    def _read_pages(self) -> StoredPages:
        ids, site_of, seeds = array("q"), array("q"), array("q")
        urls: list[str] = []
        suffixes: list[str] = []  # by site
        for reader in self._readers:
            suffix_of_domain = reader.domain_suffixes()
            sites: dict[str, int] = {}  # by host
            page_of: dict[int, int] = {}
            self._first.append(len(ids))
            self._page_of.append(page_of)
            for url in reader.graph_urls():
                if url.is_excluded:
                    continue
                host = url.url.split("/", 3)[2].partition(":")[0]
                site = sites.get(host)
                if site is None:
                    site = sites[host] = len(suffixes)
                    suffixes.append(suffix_of_domain.get(url.domain_id, _NO_SUFFIX))
                page = page_of[url.fingerprint] = len(ids)
                ids.append(url.url_id)
                site_of.append(site)
                urls.append(url.url)
                if url.is_seed:
                    seeds.append(page)
        return StoredPages(ids, site_of, _numbers_of(suffixes), urls, seeds)

    def links(self) -> Iterator[list[int]]:
        """The links of each page in turn, as pages. Links to URLs that are not pages are left out."""
        ends = [*self._first[1:], len(self.pages.ids)]
        for number, reader in enumerate(self._readers):
            known = self._pages_known_to(number)
            stored = reader.targets()
            row = next(stored, None)
            for url_id in self.pages.ids[self._first[number] : ends[number]]:
                while row is not None and row[0] < url_id:
                    row = next(stored, None)
                if row is None or row[0] > url_id:
                    yield []
                else:
                    yield [page for page in map(known.get, row[1]) if page is not None]

    def _pages_known_to(self, number: int) -> Mapping[int, int]:
        """All pages, by the fingerprints that they have under the key of one of the workers."""
        if len(self._readers) == 1:
            return self._page_of[0]
        if self._fingerprints_of is None:
            raise GossamerError("the links of several workers cannot be joined without their fingerprints")
        known = dict(self._page_of[number])
        key = self._readers[number].fingerprint_key()
        ends = [*self._first[1:], len(self.pages.ids)]
        for other, (first, end) in enumerate(zip(self._first, ends, strict=True)):
            if other != number:
                known.update(zip(self._fingerprints_of(self.pages.urls[first:end], key), count(first), strict=False))
        return known


def _numbers_of(values: Sequence[str]) -> "array[int]":
    """A number for each value, from 0 in order of appearance; equal values have the same."""
    numbers: dict[str, int] = {}
    return array("q", (numbers.setdefault(value, len(numbers)) for value in values))
