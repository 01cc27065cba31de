"""The ports between a crawl and its backends.

A backend implements `Database` (tables behind named statements), `CaptureFiles` (the archive) and `Contacts` (the
contact journal). `store.table` implements `TaskSource` and `BatchWriter` on any `Database`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

from gossamer.model.announcement import Announcement
from gossamer.model.batch import Batch, Committed
from gossamer.model.delivery import DeliveryEvent, DeliveryStatistics
from gossamer.model.facts import QueuePosition, UrlFacts
from gossamer.model.loads import HostLoaded, LastContact, Loaded, LoadRequest, SitemapFacts
from gossamer.model.requeue import DueUrl, Postponement, ReportedChange
from gossamer.model.settlement import Capture
from gossamer.model.units import Fingerprint, HostId, HostKey, Instant


class Database(Protocol):
    """One connection to the tables of a crawl. Every access is a statement with a name, which the backend keeps in its
    own dialect: its `.sql` files say what each of them does.

    Used from one thread at a time. Outside a transaction every call commits by itself. Values are None, bool, int,
    float, str and bytes; a list of them is one value. Every method raises StoreFailed (DiskFull) in place of the errors
    of its driver, and nothing else.
    """

    def transaction(self) -> AbstractContextManager[None]:
        """All of the block is committed, or none of it if the block or the commit raises an error."""
        ...

    def snapshot(self) -> AbstractContextManager[None]:
        """Everything that the block reads is of the same commit."""
        ...

    def execute(self, name: str, *values: object) -> int:
        """Run a statement. Returns the number of rows changed."""
        ...

    def insert(self, name: str, *values: object) -> int:
        """Insert a row. Returns its id."""
        ...

    def fetch_value(self, name: str, *values: object) -> Any:
        """The first column of the first row; None if there is no row."""
        ...

    def fetch_one(self, name: str, *values: object) -> tuple[Any, ...] | None:
        """The first row, if there is one."""
        ...

    def fetch_all(self, name: str, *values: object) -> list[tuple[Any, ...]]:
        """All rows."""
        ...

    def fetch_each(self, name: str, rows: Sequence[tuple[object, ...]]) -> list[list[tuple[Any, ...]]]:
        """What a query finds for each row of values, in their order, in as few round trips as possible."""
        ...

    def write_rows(self, name: str, rows: Sequence[tuple[object, ...]]) -> int:
        """Run a statement for all rows of values, in their order, in as few round trips as possible. Returns the number
        of rows changed."""
        ...

    def read_rows(self, name: str, rows: Sequence[tuple[object, ...]], *after: object) -> list[Any]:
        """The rows found for all rows of values, in as few round trips as possible. `after` are the values of the
        parameters behind the rows. Whole numbers and texts are exact, fractions to 15 digits."""
        ...

    def close(self) -> None: ...


class Tables(Protocol):
    """The tables of one crawl. Opens connections to them; all of them see what one has committed."""

    def exist(self) -> bool:
        """Whether the tables have been created. Raises StoreFailed."""
        ...

    def open_writer(self) -> Database:
        """The connection of the writer. Creates the tables, or migrates them. Raises NotThisCrawl, StoreFailed."""
        ...

    def open_reader(self, *, small: bool = False) -> Database:
        """A connection that only reads, to tables that exist. A `small` one uses little memory, for a reader of which
        there are several. Raises NotThisCrawl, OldSchema if `open_writer` has to migrate the tables first, and
        StoreFailed."""
        ...

    def open_steering(self) -> Database:
        """A connection for orders, settings and live status, also while another process has the writer's; it writes
        nothing else. A transaction waits some seconds at most for the writer's. Raises NotThisCrawl, OldSchema and
        StoreFailed, as for a reader."""
        ...

    def close(self) -> None:
        """After all connections have been closed."""
        ...


class LiveStatus(Protocol):
    """Where a running worker leaves its last status for other processes. Used from one thread at a time. It is no part
    of what the crawl depends on: a status that cannot be written or read is lost, without an error."""

    def write(self, status: bytes) -> None:
        """Replace it."""
        ...

    def read(self) -> list[bytes]:
        """The last one of every worker that leaves its status there; none if they cannot be read now."""
        ...

    def clear(self) -> None:
        """The worker has ended."""
        ...

    def close(self) -> None: ...


class Ownership(Protocol):
    """Which partitions this worker owns, where workers share a store.

    Changes only in the store's thread, between two transactions: a worker gives a partition up after it has committed
    everything about it. Never waits and never fails.
    """

    def owns(self, partition: int) -> bool: ...


class TaskSource(Protocol):
    """Reads the task table as of the last commit. Used from one thread at a time; raises StoreFailed."""

    def load(self, order: LoadRequest) -> Loaded: ...

    def find_host(self, host: HostKey) -> HostLoaded | None:
        """A host's record and robots.txt files (no URLs), if it has a row."""
        ...

    def redirects_to(self, url_id: int, most: int) -> list[Fingerprint]:
        """The URLs whose redirects led to this one, the nearest first, `most` at most."""
        ...

    def sitemap_facts(self, url_id: int, host_id: HostId) -> SitemapFacts:
        """Whose robots.txt names this sitemap, and what the sitemaps of its host have come to so far."""
        ...

    def suffix_visits(self) -> dict[int, int]:
        """The page requests of each public suffix so far, by its row."""
        ...

    def content_owners(self, digests: list[bytes]) -> list[int | None]:
        """The URL that owns each document, if any does."""
        ...

    def latest_originals(self, count: int, chunk: int) -> Iterator[list[tuple[int, bytes]]]:
        """The latest documents that are no near-duplicates (URL, signature), the oldest first, a chunk at a time."""
        ...

    def fingerprints(self, chunk: int) -> Iterator[list[int]]:
        """Every known fingerprint, a chunk at a time."""
        ...

    def digests(self, chunk: int) -> Iterator[list[bytes]]:
        """Every known document digest, a chunk at a time."""
        ...


class OwnerCache(Protocol):
    """Remembers which URLs own documents, between the memory of this worker and the store. Owned by the event loop.
    Answers within a fraction of a second and never fails: what it does not know is looked up in the store."""

    async def find(self, digests: Sequence[bytes]) -> list[int | None]:
        """The owner of each document; None where none is known here."""
        ...

    def add(self, owners: Sequence[tuple[bytes, int]]) -> None:
        """Remember these. Only after their commit: the cache never names a document that is not in the store."""
        ...


class SentLinks(Protocol):
    """Remembers links that were put into the inboxes of other partitions. Owned by the event loop. Answers within a
    fraction of a second and never fails: a link that it does not know is sent again, and its owner ignores it."""

    async def known(self, fingerprints: Sequence[int]) -> set[int]:
        """Those that were sent before. The others may have been sent, too."""
        ...

    def add(self, fingerprints: Sequence[int]) -> None:
        """Remember these. Only after their commit."""
        ...


class DocumentLog(Protocol):
    """Announces documents to other programs. Owned by the event loop. Never waits and never fails: announcements may be
    lost, and their readers see that by the numbers."""

    def position_after(self, documents: int) -> str:
        """What to store with a commit of this number of documents, for the next life of this worker."""
        ...

    def announce(self, commit: int, documents: Sequence[Announcement | None]) -> None:
        """These documents were stored by this commit; None: one that cannot be announced. Called after it, in the order
        of the commits."""
        ...

    def finish(self) -> None:
        """No more is announced; what was sent is answered. Readers can see what is missing at the end."""
        ...


class Contacts(Protocol):
    """Records contacts so that a crash cannot make us forget them. Never waits. Called on the event loop, twice for
    every request. Raises StoreFailed; then the host must not be contacted.

    Hosts are numbers. One that has no row in the store has a number that no row has.
    """

    def started(self, host_id: HostId, at: Instant, last_took: float, address: str) -> None:
        """About to contact the host. After this returns, a crash of the process cannot lose it."""
        ...

    def finished(self, host_id: HostId, next_contact: Instant, took: float, address: str) -> None:
        """The contact is over; the host may be contacted again at `next_contact`."""
        ...


class ContactJournal(Contacts, Protocol):
    """The contacts that no commit knows of yet. `last_contacts` before a crawl starts, then `begin`; `turn_over` before
    a batch is committed and `forget` after it.

    Belongs to one worker, on its own machine, also where the store is shared: it is for the next process in the same
    directory, which holds the lock of that directory. A worker elsewhere that takes over the hosts does not read it and
    waits instead, as long as the contact of which it cannot know may require. What was recorded survives the death of
    the process; it need not survive that of the machine, which takes longer than any delay. All methods raise
    StoreFailed.
    """

    def last_contacts(self) -> dict[HostId, LastContact]:
        """What the last process left: the last contact of each host that is not known to be committed."""
        ...

    def begin(self) -> None:
        """Start recording, with an empty journal. Raises StoreFailed."""
        ...

    def turn_over(self, still_open: list[tuple[HostId, Instant, float, str]]) -> None:
        """Begin another volume with the contacts that are still open: the batch about to be committed knows all
        finished ones. Raises StoreFailed; then nothing has changed."""
        ...

    def forget(self) -> None:
        """The batch is committed: the volumes before the last `turn_over` are void."""
        ...

    def close(self) -> None:
        """Stop recording. What no commit knows of stays, and can still be read."""
        ...

    def clear(self) -> None:
        """Everything is committed: leave nothing behind."""
        ...


DateOfReported = Callable[[ReportedChange], Instant | None]
"""When a page is due that a trusted sitemap reports as changed; None: as it was planned. Called in the store's
thread."""

Replan = Callable[[DueUrl], Postponement | None]
"""The date of a page at today's price, if it was planned when visits were more expensive; None: unchanged. Called in
the store's thread."""

Postpone = Callable[[DueUrl, int, Instant], Postponement | None]
"""Postpones a URL that is due, given the backlog of its host and the time; None: it is queued. Called in the store's
thread."""


class Location(NamedTuple):
    """Where a record is stored."""

    file: str
    offset: int
    length: int


class CaptureFiles(Protocol):
    """Files of captures that only grow: long ones, or a new one for each commit. Used from the store's thread only. All
    methods raise StoreFailed (DiskFull); what is not committed is then undone by `roll_back`, or when the crawl is
    opened the next time. `append` and `flush` are called before the transaction that names the records begins, and may
    take long."""

    def append(self, capture: Capture) -> Location:
        """Write one document (request and response)."""
        ...

    def flush(self) -> Mapping[str, int]:
        """Make everything appended durable; the length of each file that has grown since `committed`."""
        ...

    def moves(self) -> Mapping[str, bool]:
        """After `flush`: the files that since `committed` have come into the spool (True), or from there to where
        they belong (False). To be recorded in the transaction that names them."""
        ...

    def committed(self) -> None:
        """What `flush` and `moves` reported is on record."""
        ...

    def roll_back(self) -> None:
        """Forget everything appended since `committed`."""
        ...

    def close(self) -> None: ...


class Delivery(Protocol):
    """What takes captures to object storage, and keeps them in a spool while that is away. Used on the event loop;
    never waits."""

    @property
    def pace(self) -> float:
        """The share of the usual fetches that may be under way: 1.0, less when the spool is nearly full."""
        ...

    @property
    def is_done(self) -> bool:
        """Whether nothing is in the spool."""
        ...

    def statistics(self) -> DeliveryStatistics: ...

    def announce_wait(self) -> None:
        """The crawl is over but for what is in the spool: log it."""
        ...

    def take_events(self) -> list[DeliveryEvent]:
        """What the log should say since the last call."""
        ...


class Prioritiser(Protocol):
    """Says where a URL waits, by what is known of it."""

    @property
    def moved_by_links(self) -> bool:
        """Whether a link that is found later moves a URL that waits."""
        ...

    @property
    def by_score(self) -> bool:
        """Whether the place in a front queue is a score."""
        ...

    @property
    def defers_links(self) -> bool:
        """Whether links are counted some seconds later, many at a time, although the place is a score."""
        ...

    @property
    def has_host_term(self) -> bool:
        """Whether a commit reports the counts of the hosts that it changes."""
        ...

    def standing(self, url: UrlFacts) -> QueuePosition:
        """Where the URL waits when it is due."""
        ...

    def front_until_due(self, front: int) -> int:
        """The front queue in which a URL of queue `front` waits for a date."""
        ...


class BatchWriter(Protocol):
    """Commits batches. Used from the store's thread only."""

    def commit(self, batch: Batch, now: Instant) -> Committed:
        """All of the batch in one transaction. Raises StoreFailed; then nothing of it is on record."""
        ...

    def close(self) -> None: ...
