"""Reads what the frontier asks for. Every query follows an index and looks at no more rows than it returns."""

import math
from collections.abc import Iterator, Sequence

from gossamer.errors import StoreFailed
from gossamer.model.batch import RobotsRecord
from gossamer.model.facts import DomainFacts, HostFacts
from gossamer.model.loads import FrontLoaded, FrontRequest, HostLoaded, HostRequest, Loaded, LoadRequest, SitemapFacts
from gossamer.model.partition import OutboxUrl
from gossamer.model.states import UrlState
from gossamer.model.task import HostRecord, PreviousVisit, Task
from gossamer.model.units import Fingerprint, HostId, HostKey, Instant
from gossamer.store.ports import Database
from gossamer.store.table import outbox

_MOST_NAMES = 16  # hosts whose robots.txt names one sitemap; more are a crowd, not a site
_PLACE = Task._fields.index("place")


class TableLoader:
    """Reads the task table (`TaskSource`) through a connection of its own. Used from one thread at a time."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def close(self) -> None:
        self._db.close()

    def load(self, order: LoadRequest) -> Loaded:
        """Everything as of one commit, and its number."""
        with self._db.snapshot():
            number = self._db.fetch_value("counter", "commits")
            return Loaded(number, [self._front(f) for f in order.fronts], [self._host(h) for h in order.hosts])

    def _front(self, wanted: FrontRequest) -> FrontLoaded:
        entries = self._db.fetch_all("front_window", wanted.front, *wanted.cursor, wanted.count)
        due = sum(1 for entry in entries if entry[0] <= wanted.due_by)
        return FrontLoaded(wanted.front, entries[:due], _next_due(entries, due, 0, wanted.count))

    def _host(self, wanted: HostRequest) -> HostLoaded:
        record: HostRecord | None = None
        robots: list[RobotsRecord] = []
        if wanted.with_record:
            row = self._db.fetch_one("host_record", wanted.host_id)
            if row is None:
                raise StoreFailed(f"there is no host {wanted.host_id} in the store")
            number, host, domain_id, visits, links, others, *rest = row
            domain, facts = DomainFacts(visits, links, others), HostFacts(*rest[:3])
            record = HostRecord._make((number, host, domain_id, domain, *rest[3:], facts))
            robots = [RobotsRecord(*row) for row in self._db.fetch_all("host_robots", wanted.host_id)]
        classes: list[tuple[int, list[Task], float | None]] = []
        for front, cursor, count in wanted.classes:
            rows = self._db.fetch_all("host_queue", wanted.host_id, front, *cursor, count)
            due = sum(1 for row in rows if row[_PLACE] <= wanted.due_by)
            tasks = self._with_their_past([Task._make(row) for row in rows[:due]])
            classes.append((front, tasks, _next_due(rows, due, _PLACE, count)))
        return HostLoaded(wanted.host_id, record, robots, classes)

    def _with_their_past(self, tasks: list[Task]) -> list[Task]:
        """The tasks, with the result of the previous visit of those that have one. Costs nothing if none has."""
        again = [task.url_id for task in tasks if task.previous is not None]
        if not again:
            return tasks
        past = {
            url_id: PreviousVisit(visits, changes, UrlState(state), *rest)
            for url_id, visits, changes, state, *rest in self._db.fetch_all("before", again)
        }
        return [task if task.previous is None else task._replace(previous=past.get(task.url_id)) for task in tasks]

    def find_host(self, host: HostKey) -> HostLoaded | None:
        """A host's record and robots.txt files, if it has a row."""
        row = self._db.fetch_one("host_by_name", host)
        return None if row is None else self._host(HostRequest(row[0], True, (), Instant(0.0)))

    def redirects_to(self, url_id: int, most: int) -> list[Fingerprint]:
        """The URLs whose redirects led to this one, the nearest first."""
        return [row[0] for row in self._db.fetch_all("redirects_to", url_id, most)]

    def sitemap_facts(self, url_id: int, host_id: HostId) -> SitemapFacts:
        """Whose robots.txt names this sitemap, and what the other sitemaps of its host have come to so far."""
        names = self._db.fetch_all("sitemap_names", url_id, _MOST_NAMES)
        listed, files = self._db.fetch_one("sitemap_counts", host_id, url_id) or (0, 0)
        return SitemapFacts(tuple(HostKey(name) for (name,) in names), listed, files)

    def content_owners(self, digests: list[bytes]) -> list[int | None]:
        """The URL that owns each document, if any does."""
        return [self._db.fetch_value("content_owner", digest) for digest in digests]

    def latest_originals(self, count: int, chunk: int) -> Iterator[list[tuple[int, bytes]]]:
        """The latest documents that are no near-duplicates (URL, signature), the oldest first."""
        last = self._db.fetch_value("before_originals", count)
        while rows := self._db.fetch_all("originals_after", last, chunk):
            last = rows[-1][0]
            yield [(url_id, signature) for _, url_id, signature in rows]

    def resting_addresses(self, now: Instant) -> list[tuple[str, Instant]]:
        return self._db.fetch_all("resting_addresses", now)

    def resting_hosts(self, now: Instant) -> list[tuple[HostKey, Instant, str | None]]:
        """Hosts that may not be contacted yet, until when, and the reason."""
        return self._db.fetch_all("resting_hosts_with_reasons", now)

    def suffix_visits(self) -> dict[int, int]:
        return dict(self._db.fetch_all("suffix_visits"))

    def outbox_urls(self, part: int, after: int, most: int) -> list[OutboxUrl]:
        """The first URLs after a number that are for another worker."""
        return outbox.outbox_urls(self._db, part, after, most)

    def has_outbox_urls(self) -> bool:
        return outbox.has_outbox_urls(self._db)

    def read_messages(self, parts: list[int], most: int) -> list[tuple[int, int, str, bytes]]:
        """Messages in the inboxes of some partitions: partition, id, kind and body."""
        return self._db.fetch_all("read_inbox", parts, most)

    def counters_of_others(self) -> dict[str, int]:
        """The counters of all other workers, now and before."""
        return dict(self._db.fetch_all("counters_of_others"))

    def counters(self) -> dict[str, int]:
        return dict(self._db.fetch_all("counters"))

    def fingerprints(self, chunk: int = 50_000) -> Iterator[list[int]]:
        """Every known fingerprint, a chunk at a time."""
        last = 0
        while rows := self._db.fetch_all("fingerprints_after", last, chunk):
            last = rows[-1][0]
            yield [fingerprint for _, fingerprint in rows]

    def digests(self, chunk: int = 50_000) -> Iterator[list[bytes]]:
        """Every known document digest, a chunk at a time."""
        last = b""
        while rows := self._db.fetch_all("digests_after", last, chunk):
            last = rows[-1][0]
            yield [digest for (digest,) in rows]


def _next_due(rows: Sequence[tuple[float, ...]], due: int, column: int, count: int) -> float | None:
    """When the first row that is not due yet will be: infinity if there is none, None if more may be due."""
    if due < len(rows):
        return rows[due][column]
    return None if len(rows) == count else math.inf
