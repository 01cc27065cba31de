"""A store of the test's own, and short names for what goes into it."""

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from gossamer.backends.memory import MemoryTables
from gossamer.backends.postgres.driver import PostgresDatabase
from gossamer.backends.postgres.tables import PostgresTables
from gossamer.backends.sqlite.driver import SqliteDatabase, SqliteTables
from gossamer.clock import VirtualClock
from gossamer.errors import DiskFull
from gossamer.frontier.orderings import Ordering
from gossamer.model.facts import UrlFacts
from gossamer.model.outcome import Response
from gossamer.model.settlement import Capture, PageLinks, Settlement
from gossamer.model.states import UrlState
from gossamer.model.task import Candidate, Via
from gossamer.model.units import Domain, Fingerprint, HostId, HostKey, Instant, Seconds, Url
from gossamer.store.ports import Location
from gossamer.store.table.link_counts import TARGETS_AT_ONCE
from gossamer.store.table.loader import TableLoader
from gossamer.store.table.priorities import reorder
from gossamer.store.table.writer import TableWriter

START = 1_700_000_000.0
AnyTables = SqliteTables | MemoryTables | PostgresTables
AnyDatabase = SqliteDatabase | PostgresDatabase
sqlite_only = pytest.mark.parametrize("tables", ["sqlite"], indirect=True)
"""For a test of a contract suite that copies the file, or looks at SQLite's own tables."""
not_in_memory = pytest.mark.parametrize("tables", ["sqlite", "postgres"], indirect=True)
"""For a test of a contract suite that reads while it commits."""
FILE = "one.warc.gz"


def tables_and_seeds(seeds: Sequence[int]) -> pytest.MarkDecorator:
    """Runs a test of a contract suite with random numbers of these seeds; on a server with half of them, because it
    takes longer there."""
    cases = [(kind, seed) for kind in ("sqlite", "memory") for seed in seeds]
    cases += [("postgres", seed) for seed in seeds[: (len(seeds) + 1) // 2]]
    return pytest.mark.parametrize(("tables", "seed"), cases, indirect=["tables"])


class CapturesInMemory:
    """`CaptureFiles` on a list; fails at the n-th append, flush or roll-back from now when told to."""

    def __init__(self) -> None:
        self.records: list[bytes] = []
        self.safe = 0  # records that are committed
        self.full_after: int | None = None
        self.flush_fails = False
        self.roll_back_fails = False
        self.closed = False

    @property
    def length(self) -> int:
        return sum(len(record) for record in self.records)

    def append(self, capture: Capture) -> Location:
        if self.full_after is not None:
            if self.full_after == 0:
                raise DiskFull("no room for a record")
            self.full_after -= 1
        place = Location(FILE, self.length, len(capture.response.wire_body))
        self.records.append(capture.response.wire_body)
        return place

    def flush(self) -> Mapping[str, int]:
        if self.flush_fails:
            raise DiskFull("no room to flush")
        return {FILE: self.length} if len(self.records) > self.safe else {}

    def moves(self) -> Mapping[str, bool]:
        return {}

    def committed(self) -> None:
        self.safe = len(self.records)

    def roll_back(self) -> None:
        del self.records[self.safe :]
        if self.roll_back_fails:
            raise DiskFull("no room to roll back")

    def close(self) -> None:
        self.closed = True


class FrontInUrl(Ordering):
    """Three classes; the URL says which is its own, as those of `candidate` do."""

    name = "front-in-url"
    fronts = 3

    def score(self, url: UrlFacts) -> float:
        return float(url.url.split("/")[3])

    def front_of(self, score: float) -> int:
        return int(score)


class Rows:
    """Statements without names on the connection of a database, with `?` for their parameters."""

    def __init__(self, database: AnyDatabase) -> None:
        self._database = database

    def close(self) -> None:
        self._database.connection.close()

    def execute(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """The rows found, if it is a query."""
        if isinstance(self._database, SqliteDatabase):
            return self._database.connection.execute(sql, values).fetchall()
        numbers = itertools.count(1)
        found = self._database.connection.execute(re.sub(r"\?", lambda _: f"${next(numbers)}", sql), values)
        return found.fetchall() if found.description else []


class Store:
    """A writer, a loader and their clock."""

    def __init__(
        self,
        tables: Path | AnyTables,
        ordering: Ordering | None = None,
        targets_at_once: int = TARGETS_AT_ONCE,
    ) -> None:
        """In these tables, or in SQLite's of a path."""
        self.tables = SqliteTables(tables) if isinstance(tables, Path) else tables
        self.clock = VirtualClock(START)
        self.captures = CapturesInMemory()
        self.ordering = ordering or FrontInUrl()
        self.targets_at_once = targets_at_once
        self.open()

    def open(self) -> None:
        self.database = self.tables.open_writer()
        self.writer_db = Rows(self.database)  # for changing rows
        self.writer = TableWriter(
            self.database,
            self.captures,
            _domain_in_one_partition,
            self.ordering,
            self.clock,
            targets_at_once=self.targets_at_once,
        )
        self.reading = self.tables.open_reader()
        self.loader = TableLoader(self.reading)
        self.db = Rows(self.reading)  # for looking at rows

    @property
    def path(self) -> Path:
        """Of SQLite's file."""
        assert isinstance(self.tables, SqliteTables)
        return self.tables.path

    @property
    def now(self) -> Instant:
        return self.clock.now()

    def rows(self, sql: str, *values: object) -> list[tuple[object, ...]]:
        return self.db.execute(sql, values)

    def value(self, sql: str, *values: object) -> object:
        return self.db.execute(sql, values)[0][0]

    def table_names(self) -> list[str]:
        if isinstance(self.database, SqliteDatabase):
            found = self.rows("SELECT name FROM sqlite_master WHERE type = 'table'")
        else:
            found = self.rows("SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'sessions'")
        return [str(name) for (name,) in found]

    def close(self) -> None:
        self.loader.close()
        self.writer.close()


def reorder_tables(
    tables: AnyTables,
    order: str,
    ordering: Ordering,
    now: Instant,
    progress: Callable[[int, int], None] = lambda done, total: None,
    *,
    settings: str = "",
) -> bool:
    """`reorder` with a connection of its own."""
    with closing(tables.open_writer()) as db:
        return reorder(db, order, ordering, now, progress, settings=settings)


def domain_of(host: HostKey) -> tuple[Domain, int, str]:
    domain = ".".join(host.split(".")[-2:])
    return Domain(domain), len(domain) % 64, host.split(".")[-1]


def _domain_in_one_partition(host: HostKey) -> tuple[Domain, int, str]:
    """Ids are small numbers then, in every backend."""
    domain, _, suffix = domain_of(host)
    return domain, 0, suffix


def candidate(host: str, number: int, front: int = 0, found_on: int = 0) -> Candidate:
    url = Url(f"http://{host}/{front}/{number}")
    return Candidate(url, HostKey(host), Fingerprint(number), 1, 0, Via.LINK, found_on)


def links_of(url_id: int, domain_id: int, *targets: tuple[str, int]) -> PageLinks:
    """What a page links to, as (host, number of the candidate)."""
    hosts = [HostKey(host) for host, _ in targets]
    return PageLinks(url_id, domain_id, [Fingerprint(number) for _, number in targets], hosts)


def settlement(
    url_id: int, state: UrlState = UrlState.STORED, host_id: int = 1, front: int = 0, body: bytes | None = None
) -> Settlement:
    """What became of a visit; with a body there is a document to be archived."""
    plain = Settlement(HostId(host_id), url_id, front, state, Instant(START))
    return plain if body is None else plain._replace(status=200, size=len(body), digest=body, capture=capture_of(body))


def capture_of(body: bytes) -> Capture:
    response = Response(Url("http://a.test/"), 200, b"", b"", body, {}, "127.0.0.1", Instant(START), Seconds(0.1))
    return Capture(response, b"digest")
