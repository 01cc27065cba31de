"""What commands, reports, the service and the library need from a backend to read a crawl, and to repair it.

A `CrawlReader` reads one store, also while a crawl writes to it; its methods are grouped by what they are about. A
`CrawlEditor` changes a store that no crawl is using. An `Archive` reads captures by their location. All methods,
iterators included, raise StoreFailed where the store cannot be read, and ArchiveError where a capture cannot be.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from gossamer.model.archive_record import ArchivedRecord
from gossamer.model.units import Domain, Fingerprint, HostKey, Instant, Origin, Url
from gossamer.model.url_record import Facts, LearntFact, OwnerFact
from gossamer.observe.wait_reasons import Waits
from gossamer.reports.records import (
    CaptureRow,
    DeadFilter,
    DeadLetter,
    ExcludedUrl,
    GraphUrl,
    HostFilter,
    HostRow,
    Json,
    LimitedUrl,
    Nodes,
    OrphanRecord,
    PageEdges,
    PageFilter,
    PageRow,
    PositionOf,
    Progress,
    RecrawlReport,
    UrlOutcome,
    Window,
    WrongCounter,
)

"""Steps from a URL back to a seed, and the page of another worker with which they continue, if they do."""


class StatusReader(Protocol):
    """The crawl as a whole."""

    def totals(self) -> Json:
        """The totals as of the last commit, with the keys of `gossamer crawl --json` where they mean the same."""
        ...

    def waits(self, now: Instant) -> Waits:
        """What the crawl is waiting for. What is in flight is not stored and so not known here."""
        ...

    def recrawl_report(self, now: Instant) -> RecrawlReport:
        """How fresh the stored pages are. Takes the same time for every size of crawl."""
        ...

    def fact(self, name: str) -> str | None:
        """A fact about the crawl itself, as text."""
        ...

    def worker_facts(self, name: str) -> Sequence[str]:
        """A fact that each worker keeps for itself: what each of them has stored."""
        ...

    def options(self) -> Json:
        """The options that shaped the crawl when it last started, by key."""
        ...

    def queue_order(self) -> str | None:
        """The ordering by which the queue is sorted; None before the first start has sorted it."""
        ...

    def seeds(self) -> Iterator[Url]:
        """All seeds."""
        ...

    def outcome_of(self, domain: Domain, fingerprint: Fingerprint) -> UrlOutcome | None:
        """What the last visit of a URL found; None if the URL is not known."""
        ...

    def seed_sources(self) -> frozenset[str]:
        """Where the seeds came from: files and lines, arguments, queries."""
        ...


class PageReader(Protocol):
    """Known pages, in order of discovery."""

    def stream(self, wanted: PageFilter, progress: Progress | None = None) -> Iterator[PageRow]:
        """All pages that match; the filter's limit is ignored. Progress is reported in ids of URLs."""
        ...

    def window(
        self, wanted: PageFilter, *, after: int, contains: str | None = None, most: int = 100
    ) -> Window[PageRow]:
        """At most `most` pages after an id. A search for something rare may return an empty window to continue from."""
        ...

    def last_id(self) -> int:
        """The id of the newest URL; 0 if there is none."""
        ...


class HostReader(Protocol):
    def rows(self, wanted: HostFilter, sort: str, *, offset: int = 0, limit: int | None = None) -> list[HostRow]:
        """The hosts that match, sorted by one of `HOST_SORTS`: `limit` of them from `offset` on."""
        ...

    def count(self, wanted: HostFilter) -> int: ...


class DeadLetterReader(Protocol):
    """Dead letters, in order of discovery; and excluded URLs, which may be let in again."""

    def stream(self, wanted: DeadFilter) -> Iterator[DeadLetter]: ...

    def window(self, wanted: DeadFilter, *, after: int, most: int = 100) -> Window[DeadLetter]: ...

    def ids(self, wanted: DeadFilter, *, after: int, most: int) -> list[int]: ...

    def ids_of(self, urls: Sequence[str]) -> list[int]:
        """The ids of those of these URLs, in canonical form, that are dead letters."""
        ...

    def excluded(self, reasons: Sequence[str], host: str | None = None) -> Iterator[list[ExcludedUrl]]:
        """The URLs that are excluded for one of these reasons, a chunk at a time."""
        ...

    def limited(self, reasons: Sequence[str]) -> Iterator[tuple[list[LimitedUrl], int]]:
        """The queued URLs that are not recrawls, and the URLs that are excluded for one of these reasons, a window at a
        time, with the number of ids after the window."""
        ...


class SeedHosts(Protocol):
    """Which hosts have seeds."""

    def seed_host(self, host: HostKey) -> HostKey | None:
        """The host itself if it has a seed."""
        ...

    def seed_host_in(self, domain: Domain) -> HostKey | None:
        """The host of a seed in this domain, if there is one."""
        ...


class UrlReader(SeedHosts, Protocol):
    """The record of one URL, for `explain`."""

    def fingerprint_key(self) -> int:
        """The secret key of the crawl's fingerprints; 0 if it has none yet, and then it has no URLs either."""
        ...

    def owner_of(self, partition_of: Callable[[int], int]) -> OwnerFact | None:
        """Who owns a partition; None if there is one worker, who owns all. `partition_of` gets the number of
        partitions."""
        ...

    def learnt_parameters(self, host: HostKey) -> list[LearntFact]:
        """The query parameters of a host that were found not to matter."""
        ...

    def facts(
        self, host: HostKey, domain: Domain, suffix: str, origin: Origin, identities: Sequence[Fingerprint]
    ) -> Facts:
        """What is on record, as of one commit, of the URL with the first of these identities that is known; if none
        is, of its host, domain, suffix and origin."""
        ...


class LinkReader(Protocol):
    """Which page links to which. Links are stored as fingerprints of URLs."""

    def fingerprint_key(self) -> int: ...

    def edges(self, host: str | None = None, progress: Progress | None = None) -> Iterator[PageEdges]:
        """The pages that have links; with `host`, those of this host. A redirect is one link."""
        ...

    def nodes(self) -> Nodes:
        """All URLs: sixteen bytes of memory for each."""
        ...

    def names(self) -> Iterator[tuple[int, str]]:
        """Every URL with its id."""
        ...

    def names_of(self, ids: Iterable[int]) -> dict[int, str]: ...

    def graph_urls(self) -> Iterator[GraphUrl]:
        """Every URL in order of discovery."""
        ...

    def domain_suffixes(self) -> dict[int, str]:
        """The public suffix of every domain, by its id."""
        ...

    def targets(self) -> Iterator[tuple[int, list[int]]]:
        """The pages that have links, by id, with the fingerprints of what they link to."""
        ...


class AuditReader(Protocol):
    """What `verify` compares: the rows of captures, counters, and rows that contradict each other."""

    def integrity(self) -> list[str]:
        """What the backend itself finds wrong with the store."""
        ...

    def archive_lengths(self) -> dict[str, int]:
        """The committed length of every archive file."""
        ...

    def spooled_files(self) -> frozenset[str]:
        """The archive files that are in the spool of a worker, or were there at its last commit."""
        ...

    def captures_of(self, file: str) -> Iterator[CaptureRow]:
        """The rows of a file by offset."""
        ...

    def wrong_counters(self) -> list[WrongCounter]:
        """Counted in one transaction, so that a running crawl makes no difference."""
        ...

    def hosts_counted_wrong(self) -> int:
        """How many hosts have other numbers of URLs than their counters say."""
        ...

    def hosts_without_front(self) -> list[tuple[str, int]]:
        """Hosts with queued URLs that are in no front queue."""
        ...

    def unbacked(self, progress: Progress | None = None) -> Iterator[tuple[int, str, bool]]:
        """Pages that count as archived but have no row that says where: id, URL, whether their visit names a place."""
        ...

    def unknown_visits(self, progress: Progress | None = None) -> Iterator[int]:
        """Visits to URLs that are not known."""
        ...

    def unseen(self, progress: Progress | None = None) -> Iterator[tuple[int, str]]:
        """Stored pages whose document the content-seen test does not know."""
        ...

    def dangling_contents(self) -> Iterator[tuple[bytes, str | None]]:
        """Documents that the content-seen test takes for stored, and that are not."""
        ...

    def count_urls(self) -> int: ...


class CrawlReader(Protocol):
    """One store, for reading only. Used by one thread at a time."""

    @property
    def status(self) -> StatusReader: ...

    @property
    def pages(self) -> PageReader: ...

    @property
    def hosts(self) -> HostReader: ...

    @property
    def dead_letters(self) -> DeadLetterReader: ...

    @property
    def urls(self) -> UrlReader: ...

    @property
    def links(self) -> LinkReader: ...

    @property
    def audit(self) -> AuditReader: ...

    def close(self) -> None: ...


class Repair(Protocol):
    """One transaction of repairs. Sees its own changes."""

    def queue_again(self, url_ids: Iterable[int]) -> int:
        """Queue these URLs, and those that were duplicates of what is lost with them. Returns how many."""
        ...

    def set_aside(self, file: str, offset: int) -> None:
        """Ignore the record there from now on; `verify` does not report it again."""
        ...

    def forget_capture(self, file: str, offset: int) -> None: ...

    def note_stored(self, file: str) -> None:
        """The file is no longer in the spool of a worker."""
        ...

    def shorten(self, file: str, length: int) -> None:
        """Set the length of a file, and remove the rows of what was beyond it."""
        ...

    def add_rows(self, orphans: Sequence[OrphanRecord]) -> None: ...

    def forget_visit(self, url_id: int) -> None: ...

    def learn_content(self, url_id: int) -> None: ...

    def forget_content(self, digest: bytes) -> None: ...

    def enter_fronts(self, host_id: int) -> None: ...

    def count_again(self) -> None:
        """Set all counters to what there is to count: the last step of a repair."""
        ...


class CrawlEditor(CrawlReader, Protocol):
    """A store that no crawl is using, for changes by an operator. Every call is one transaction."""

    def requeue_dead(self, wanted: DeadFilter, now: Instant, position: PositionOf) -> int:
        """Queue dead letters again: due now, with all tries left. Returns how many."""
        ...

    def drop_dead(self, wanted: DeadFilter, now: Instant, position: PositionOf) -> int:
        """Exclude dead letters, with the reason `dropped`. Returns how many."""
        ...

    def repair(self, now: Instant, position: PositionOf) -> AbstractContextManager[Repair]:
        """A transaction that is committed at the end of the block, and rolled back if the block raises."""
        ...


class RecordReader(Protocol):
    """Reads single captures of a crawl."""

    def read(self, file: str, offset: int, length: int) -> ArchivedRecord:
        """The record at a location. Raises DamagedRecord unless exactly one whole record is there, ArchiveAway if the
        archive cannot be reached, ArchiveError where the file cannot be read."""
        ...


class Archive(RecordReader, Protocol):
    """The captures of a crawl, in files that only grow. Read by location."""

    def scan(self, file: str, end: int | None = None, start: int = 0) -> Iterator[tuple[int, int, ArchivedRecord]]:
        """Offset, length and record of all records of a file in order, from byte `start` to byte `end`. Raises
        DamagedRecord where one cannot be read; what came before is good."""
        ...

    def content(self, file: str, end: int) -> Iterator[bytes]:
        """The first `end` bytes of a file, in chunks; fewer if it is shorter."""
        ...

    def size(self, file: str) -> int | None:
        """The length of a file in bytes; None if it does not exist."""
        ...

    def files(self) -> list[str]:
        """The names of all files of the archive, sorted."""
        ...

    def cut(self, file: str, length: int) -> None:
        """Remove what is beyond `length`."""
        ...

    def put_aside(self, file: str) -> None:
        """Rename a file so that it no longer belongs to the archive, with `.unknown` at the end of its name. An object
        is deleted."""
        ...
