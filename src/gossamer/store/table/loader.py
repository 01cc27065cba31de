"""Reads what the frontier asks for. Every query follows an index and looks at no more rows than it returns."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from gossamer.errors import StoreFailed
from gossamer.model.batch import RobotsRecord
from gossamer.model.facts import DomainFacts, HostFacts
from gossamer.model.loads import FrontLoaded, FrontRequest, HostLoaded, HostRequest, Loaded, LoadRequest, SitemapFacts
from gossamer.model.states import UrlState
from gossamer.model.task import HostRecord, PreviousVisit, Task
from gossamer.model.units import Fingerprint, HostId, HostKey, Instant
from gossamer.store.ports import Database

T = TypeVar("T")

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
            return Loaded(number, [self._front(f) for f in order.fronts], self._hosts(order.hosts))

    def _front(self, wanted: FrontRequest) -> FrontLoaded:
        entries = self._db.fetch_all("front_window", wanted.front, *wanted.cursor, wanted.count)
        due = sum(1 for entry in entries if entry[0] <= wanted.due_by)
        return FrontLoaded(wanted.front, entries[:due], _next_due(entries, due, 0, wanted.count))

    def _hosts(self, wanted: Sequence[HostRequest]) -> list[HostLoaded]:
        """All of them with few queries."""
        records = self._records([host.host_id for host in wanted if host.with_record])
        windows = self._db.fetch_each(
            "host_queue",
            [(host.host_id, front, *cursor, count) for host in wanted for front, cursor, count in host.classes],
        )
        window = iter(windows)
        loaded: list[HostLoaded] = []
        again: list[int] = []  # URLs that were visited before
        for host in wanted:
            classes: list[tuple[int, list[Task], float | None]] = []
            for front, _, count in host.classes:
                rows = next(window)
                due = sum(1 for row in rows if row[_PLACE] <= host.due_by)
                tasks = [Task._make(row) for row in rows[:due]]
                again += [task.url_id for task in tasks if task.previous is not None]
                classes.append((front, tasks, _next_due(rows, due, _PLACE, count)))
            record, robots = records[host.host_id] if host.with_record else (None, [])
            loaded.append(HostLoaded(host.host_id, record, robots, classes))
        return self._with_their_past(loaded, again) if again else loaded

    def _records(self, host_ids: list[HostId]) -> dict[HostId, tuple[HostRecord, list[RobotsRecord]]]:
        """Raises StoreFailed for a host that has no row."""
        if not host_ids:
            return {}
        wanted = [(host_id,) for host_id in host_ids]
        rows = self._db.fetch_each("host_record", wanted)
        robots = self._db.fetch_each("host_robots", wanted)
        found = {}
        for host_id, row, files in zip(host_ids, rows, robots, strict=True):
            if not row:
                raise StoreFailed(f"there is no host {host_id} in the store")
            number, host, domain_id, visits, links, others, *rest = row[0]
            domain, facts = DomainFacts(visits, links, others), HostFacts(*rest[:3])
            record = HostRecord._make((number, host, domain_id, domain, *rest[3:], facts))
            found[host_id] = record, [RobotsRecord(*file) for file in files]
        return found

    def _with_their_past(self, hosts: list[HostLoaded], again: list[int]) -> list[HostLoaded]:
        """The hosts, with the results of the previous visits of these URLs."""
        past = {
            url_id: PreviousVisit(visits, changes, UrlState(state), *rest)
            for url_id, visits, changes, state, *rest in self._db.fetch_all("before", again)
        }

        def with_past(task: Task) -> Task:
            return task if task.previous is None else task._replace(previous=past.get(task.url_id))

        return [
            host._replace(classes=[(front, [*map(with_past, tasks)], due) for front, tasks, due in host.classes])
            for host in hosts
        ]

    def find_host(self, host: HostKey) -> HostLoaded | None:
        """A host's record and robots.txt files, if it has a row."""
        rows = self._db.fetch_each("host_by_name", [(host,)])[0]
        return self._hosts([HostRequest(rows[0][0], True, (), Instant(0.0))])[0] if rows else None

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
        found = self._db.fetch_each("content_owner", [(digest,) for digest in digests])
        return [rows[0][0] if rows else None for rows in found]

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

    def read(self, use: Callable[[Database], T]) -> T:
        """What `use` returns."""
        return use(self._db)

    def rules_version(self) -> int:
        """Of the rules that all workers are to apply."""
        return int(self._db.fetch_value("rules_version"))

    def free_and_deaths(self, worker: str) -> tuple[int, int]:
        """Partitions that no worker owns, and earlier lives of a worker that did not end by leaving."""
        free, deaths = self._db.fetch_one("free_and_deaths", worker) or (0, 0)
        return free, deaths

    def read_messages(self, parts: list[int], most: int) -> list[tuple[int, int, str, bytes, int]]:
        """Messages in the inboxes of some partitions: partition, id, kind, body, and the version of the rules."""
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
