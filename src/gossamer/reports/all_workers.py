"""The stores of all workers as one crawl: for lists, totals and exports.

Every worker owns some of the domains, so no URL and no host is in two stores; all stores have all seeds. A crawl by one
worker is the simplest case.
"""

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from heapq import merge
from itertools import islice
from typing import NamedTuple

from gossamer.errors import GossamerError
from gossamer.reports.ports import CrawlReader
from gossamer.reports.records import (
    HOST_SORTS,
    DeadFilter,
    DeadLetter,
    FingerprintsOf,
    HostFilter,
    HostRow,
    Json,
    Nodes,
    PageEdges,
    PageFilter,
    PageRow,
    Progress,
)

AT_ONCE = 2_000
"""URLs whose fingerprints are computed at a time."""
_IN_ALL = ("seeds",)  # what every store has of the whole crawl


class WorkerStore(NamedTuple):
    """The store of one worker; in a crawl by one worker, the only one."""

    reader: CrawlReader
    prefix: str = ""  # comes before the names of its archive files

    def full_name(self, file: str | None) -> str | None:
        """The name of an archive file among those of all workers."""
        return None if file is None else self.prefix + file


def join_totals(found: Sequence[Json], outbox: int) -> Json:
    """The totals of all workers as one. URLs in an outbox keep the crawl from being finished."""
    if len(found) == 1:
        return found[0]
    whole: Json = {}
    for name, first in found[0].items():
        values = [one[name] for one in found]
        if isinstance(first, dict):
            whole[name] = _add_counts(values, ordered=name != "states")
        elif isinstance(first, bool):
            whole[name] = all(values)
        else:
            numbers = [value for value in values if isinstance(value, int)]
            whole[name] = max(numbers) if name in _IN_ALL else sum(numbers)
    whole["finished"] = bool(whole["finished"]) and not outbox
    return whole


def _add_counts(counts: Iterable[object], *, ordered: bool) -> dict[str, int]:
    total: Counter[str] = Counter()
    for one in counts:
        if isinstance(one, dict):
            total.update(one)
    return dict(total.most_common()) if ordered else dict(total)


def list_pages(stores: Sequence[WorkerStore], wanted: PageFilter) -> Iterator[PageRow]:
    """All pages that match the filter, oldest discovery first."""
    rows = merge(*(_pages(store, wanted) for store in stores), key=lambda row: row.found_at)
    return islice(rows, wanted.limit)


def _pages(store: WorkerStore, wanted: PageFilter, progress: Progress | None = None) -> Iterator[PageRow]:
    rows = store.reader.pages.stream(wanted, progress)
    if not store.prefix:
        return rows
    return (row._replace(warc_file=store.full_name(row.warc_file)) for row in rows)


def list_dead(stores: Sequence[WorkerStore], wanted: DeadFilter) -> Iterator[DeadLetter]:
    """The dead letters, oldest discovery first, each with its last failure."""
    return merge(*(store.reader.dead_letters.stream(wanted) for store in stores), key=lambda letter: letter.found_at)


def list_hosts(
    stores: Sequence[WorkerStore], wanted: HostFilter, sort: str, limit: int | None = None
) -> Iterator[HostRow]:
    """The hosts that match, sorted. `limit`: at most this many of each worker."""
    key = HOST_SORTS[sort]
    rows = (store.reader.hosts.rows(wanted, sort, limit=limit) for store in stores)
    return merge(*rows, key=lambda row: (key(row), row.host))


class ExportReader:
    """Rows for exports. With `host`, those of this host only.

    Ids are a worker's own. Here they are interleaved, so that ids of different workers never collide, and an id stays
    the same as the crawl grows. Fingerprints are a worker's own too, since each may have its own key: links to pages of
    another worker are found by computing the fingerprints of its URLs under the key of the linking page's worker.
    """

    def __init__(
        self,
        stores: Sequence[WorkerStore],
        fingerprints_of: FingerprintsOf | None = None,
        host: str | None = None,
        progress: Progress | None = None,
    ) -> None:
        """`fingerprints_of` is needed for the links of several workers."""
        self._stores = stores
        self._fingerprints_of = fingerprints_of
        self._host = host
        self._progress = progress
        self._total = sum(store.reader.pages.last_id() for store in stores) if progress is not None else 0
        self._done = [0] * len(stores)

    def pages(self) -> Iterator[PageRow]:
        """In order of discovery."""
        if len(self._stores) == 1:
            return _pages(self._stores[0], PageFilter(host=self._host), self._progress_of(0))
        return merge(*map(self._pages, range(len(self._stores))), key=lambda page: page.found_at)

    def graphs(self) -> "Iterator[WorkerGraph]":
        """The links of each worker's pages in turn."""
        return (WorkerGraph(self, number) for number in range(len(self._stores)))

    def names(self) -> Iterator[tuple[int, str]]:
        """Every URL with its id."""
        for number, store in enumerate(self._stores):
            for url_id, url in store.reader.links.names():
                yield self._joined_id(number, url_id), url

    def names_of(self, ids: Iterable[int]) -> dict[int, str]:
        wanted: list[list[int]] = [[] for _ in self._stores]
        for url_id in ids:
            own, number = divmod(url_id - 1, len(self._stores))
            wanted[number].append(own + 1)
        return {
            self._joined_id(number, own): url
            for number, store in enumerate(self._stores)
            for own, url in (store.reader.links.names_of(wanted[number]) if wanted[number] else {}).items()
        }

    def nodes_for(self, number: int) -> Nodes:
        """The ids of all URLs, and the fingerprints that they have under the key of one of the workers."""
        links = self._stores[number].reader.links
        if len(self._stores) == 1:
            return links.nodes()
        ids, prints = array("q"), array("q")
        for own, fingerprint in zip(*links.nodes(), strict=True):
            ids.append(self._joined_id(number, own))
            prints.append(fingerprint)
        if self._fingerprints_of is None:
            raise GossamerError("the links of several workers cannot be joined without their fingerprints")
        key = links.fingerprint_key()
        for other, store in enumerate(self._stores):
            if other == number:
                continue
            names = store.reader.links.names()
            while some := list(islice(names, AT_ONCE)):
                ids.extend(self._joined_id(other, own) for own, _ in some)
                prints.extend(self._fingerprints_of([url for _, url in some], key))
        return ids, prints

    def edges_of(self, number: int) -> Iterator[PageEdges]:
        for page in self._stores[number].reader.links.edges(self._host, self._progress_of(number)):
            yield page._replace(url_id=self._joined_id(number, page.url_id))

    def _pages(self, number: int) -> Iterator[PageRow]:
        for page in _pages(self._stores[number], PageFilter(host=self._host), self._progress_of(number)):
            yield page._replace(url_id=self._joined_id(number, page.url_id))

    def _joined_id(self, number: int, own: int) -> int:
        return (own - 1) * len(self._stores) + number + 1

    def _progress_of(self, number: int) -> Progress | None:
        report = self._progress
        if report is None:
            return None

        def on_progress(done: int, _: int) -> None:
            self._done[number] = done
            report(sum(self._done), self._total)

        return on_progress


class WorkerGraph:
    """The pages of one worker with their links, among the URLs of all."""

    def __init__(self, whole: ExportReader, number: int) -> None:
        self._whole = whole
        self._number = number

    def nodes(self) -> Nodes:
        return self._whole.nodes_for(self._number)

    def edges(self) -> Iterator[PageEdges]:
        return self._whole.edges_of(self._number)
