"""What the crawl needs from a backend, beside the store's ports: a source of tasks, and a place to note contacts."""

from collections.abc import Iterator
from typing import NamedTuple, Protocol

from gossamer.frontier.front_queue import LoadOrder
from gossamer.model.task import HostRecord, Task
from gossamer.model.units import Fingerprint, HostId, HostKey, Instant
from gossamer.store.changes import RobotsRecord


class FrontLoaded(NamedTuple):
    """A window of a front queue; `next_due` as `Frontier.loaded_front` takes it."""

    front: int
    entries: list[tuple[float, HostId]]
    next_due: float | None


class HostLoaded(NamedTuple):
    """A host's next URLs by class, and its record and robots.txt files if they were asked for."""

    host_id: HostId
    record: HostRecord | None
    robots: list[RobotsRecord]
    classes: list[tuple[int, list[Task], float | None]]


class Loaded(NamedTuple):
    """The answer to a load order, all of it as of one commit."""

    number: int  # of that commit
    fronts: list[FrontLoaded]
    hosts: list[HostLoaded]


class SitemapFacts(NamedTuple):
    """What the store knows of a sitemap and of its host's."""

    named_by: tuple[HostKey, ...]  # hosts whose robots.txt leads to it
    listed: int  # URLs that the host's sitemaps have listed so far
    files: int  # sitemaps of the host that are known


class TaskSource(Protocol):
    """Reads the task table as of the last commit. Used from one thread at a time; raises StoreFailed."""

    def load(self, order: LoadOrder) -> Loaded: ...

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


class LastContact(NamedTuple):
    """What is known of a host's last contact after a crash."""

    started: Instant | None  # a request was sent then and we do not know what came of it
    next_contact: Instant  # of the last contact that was seen to its end; 0 if there was none
    took: float  # how long that one took; for an open one, how long the host took the time before
    address: str


class Contacts(Protocol):
    """Notes contacts so that no crash can make us forget them. Never waits."""

    def started(self, host_id: HostId, at: Instant, last_took: float, address: str) -> None:
        """About to contact the host."""
        ...

    def finished(self, host_id: HostId, next_contact: Instant, took: float, address: str) -> None:
        """The contact is over; the host may be contacted again at `next_contact`."""
        ...
