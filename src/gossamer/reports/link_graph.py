"""The link graph of a crawl, as numbers in arrays: which page links to which.

Pages are the URLs of the crawl that no rule excludes, numbered from 0 in the order of their ids. Only pages that were
fetched have links, and duplicates have none; a redirect is one link. Sites are hosts.
"""

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gossamer.reports.ports import LinkReader

_NO_SUFFIX = "#0"


@dataclass(frozen=True, slots=True)
class StoredPages:
    """The pages of a crawl, without their links."""

    ids: "array[int]"  # by page; they increase
    site_of: "array[int]"  # by page
    suffix_of: "array[int]"  # by site: its public suffix
    urls: list[str]  # by page
    seeds: "array[int]"  # pages that are seeds


class StoredGraph:
    """Reads the pages at once, and the links page by page. Raises StoreFailed.

    Pages are looked up by fingerprint alone, though that is unique only within a domain: among 64 bits no collision is
    expected.
    """

    def __init__(self, reader: LinkReader) -> None:
        self._reader = reader
        self._page_of: dict[int, int] = {}  # by fingerprint
        self.pages = self._read_pages()

    def _read_pages(self) -> StoredPages:
        ids, site_of, seeds = array("q"), array("q"), array("q")
        urls: list[str] = []
        suffixes: list[str] = []  # by site
        suffix_of_domain = self._reader.domain_suffixes()
        sites: dict[str, int] = {}  # by host
        for url in self._reader.graph_urls():
            if url.is_excluded:
                continue
            host = url.url.split("/", 3)[2].partition(":")[0]
            site = sites.get(host)
            if site is None:
                site = sites[host] = len(suffixes)
                suffixes.append(suffix_of_domain.get(url.domain_id, _NO_SUFFIX))
            page = self._page_of[url.fingerprint] = len(ids)
            ids.append(url.url_id)
            site_of.append(site)
            urls.append(url.url)
            if url.is_seed:
                seeds.append(page)
        return StoredPages(ids, site_of, _numbers_of(suffixes), urls, seeds)

    def links(self) -> Iterator[list[int]]:
        """The links of each page in turn, as pages. Links to URLs that are not pages are left out."""
        stored = self._reader.targets()
        row = next(stored, None)
        for url_id in self.pages.ids:
            while row is not None and row[0] < url_id:
                row = next(stored, None)
            if row is None or row[0] > url_id:
                yield []
            else:
                yield [page for page in map(self._page_of.get, row[1]) if page is not None]


def _numbers_of(values: Sequence[str]) -> "array[int]":
    """A number for each value, from 0 in order of appearance; equal values have the same."""
    numbers: dict[str, int] = {}
    return array("q", (numbers.setdefault(value, len(numbers)) for value in values))
