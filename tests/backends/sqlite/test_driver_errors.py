"""A driver that fails, below every method of the ports: what comes out is StoreFailed, never an error of the driver."""

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gossamer.backends.sqlite.driver import SqliteDatabase, open_writer
from gossamer.errors import DiskFull, StoreFailed
from gossamer.model.batch import Batch
from gossamer.model.loads import LoadRequest
from gossamer.model.units import HostId, HostKey
from gossamer.store.ports import BatchWriter, Database, TaskSource
from gossamer.store.table.loader import TableLoader
from gossamer.store.table.writer import TableWriter
from tests.backends.table_store import CapturesInMemory, Store, candidate, domain_of


class FailingConnection(sqlite3.Connection):
    """Fails with every statement, and when it is closed, once it has an `error`."""

    error: sqlite3.Error | None = None

    def execute(self, sql: str, values: object = (), /) -> sqlite3.Cursor:
        if self.error is not None:
            raise self.error
        return super().execute(sql, values)  # type: ignore[arg-type]

    def close(self) -> None:
        if self.error is not None:
            raise self.error
        super().close()


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[FailingConnection]:
    path = tmp_path / "crawl.db"
    open_writer(path).close()
    db = sqlite3.connect(path, factory=FailingConnection, isolation_level=None, check_same_thread=False)
    yield db
    db.error = None
    db.close()


def within(block: Any) -> None:
    with block:
        pass


DATABASE: dict[str, Callable[[Database], object]] = {
    "transaction": lambda db: within(db.transaction()),
    "snapshot": lambda db: within(db.snapshot()),
    "execute": lambda db: db.execute("all_counted"),
    "insert": lambda db: db.insert("add_suffix", "test"),
    "fetch_value": lambda db: db.fetch_value("last_url"),
    "fetch_one": lambda db: db.fetch_one("host_by_name", "a.test"),
    "fetch_all": lambda db: db.fetch_all("seeds"),
    "fetch_each": lambda db: db.fetch_each("host_robots", [(1,)]),
    "write_rows": lambda db: db.write_rows("count", [("pages", 1)]),
    "read_rows": lambda db: db.read_rows("fronts_of", [(1,)]),
    "close": lambda db: db.close(),
}
TASK_SOURCE: dict[str, Callable[[TaskSource], object]] = {
    "load": lambda source: source.load(LoadRequest((), ())),
    "find_host": lambda source: source.find_host(HostKey("a.test")),
    "redirects_to": lambda source: source.redirects_to(1, 10),
    "sitemap_facts": lambda source: source.sitemap_facts(1, HostId(1)),
    "suffix_visits": lambda source: source.suffix_visits(),
    "content_owners": lambda source: source.content_owners([b"digest"]),
    "latest_originals": lambda source: list(source.latest_originals(10, 10)),
    "fingerprints": lambda source: list(source.fingerprints(10)),
    "digests": lambda source: list(source.digests(10)),
}


def methods_of(port: type) -> set[str]:
    return {name for name in vars(port) if not name.startswith("_")}


def test_every_method_of_the_ports_is_tried() -> None:
    assert methods_of(Database) == set(DATABASE)
    assert methods_of(TaskSource) == set(TASK_SOURCE)
    assert methods_of(BatchWriter) == {"commit", "close"}


@pytest.mark.parametrize("method", DATABASE)
def test_the_database_translates_what_its_driver_raises(connection: FailingConnection, method: str) -> None:
    db = SqliteDatabase(connection, Path("crawl.db"))
    connection.error = sqlite3.OperationalError("disk I/O error")

    with pytest.raises(StoreFailed, match=r"crawl\.db: disk I/O error") as raised:
        DATABASE[method](db)

    assert raised.value.__cause__ is connection.error


@pytest.mark.parametrize("method", DATABASE)
def test_a_full_disk_is_told_apart(connection: FailingConnection, method: str) -> None:
    db = SqliteDatabase(connection, Path("crawl.db"))
    connection.error = sqlite3.OperationalError("database or disk is full")

    with pytest.raises(DiskFull):
        DATABASE[method](db)


@pytest.mark.parametrize("method", TASK_SOURCE)
def test_the_loader_raises_what_the_port_promises(connection: FailingConnection, method: str) -> None:
    loader = TableLoader(SqliteDatabase(connection, Path("crawl.db")))
    connection.error = sqlite3.DatabaseError("database disk image is malformed")

    with pytest.raises(StoreFailed):
        TASK_SOURCE[method](loader)


def test_a_commit_that_fails_at_any_statement_changes_nothing_and_can_be_repeated(tmp_path: Path) -> None:
    """The driver fails at the first statement of a commit, then at the second, and so on until it succeeds."""
    store = Store(tmp_path / "crawl.db")
    store.close()
    db = sqlite3.connect(store.path, factory=FailsOnce, isolation_level=None)
    writer = TableWriter(SqliteDatabase(db), CapturesInMemory(), domain_of, store.ordering, store.clock)
    batch = Batch(candidates=[candidate("a.test", 1), candidate("b.test", 2)])
    failed = 0
    while True:
        db.left = failed
        try:
            committed = writer.commit(batch, store.now)
        except StoreFailed:
            failed += 1
            store.open()
            assert store.value("SELECT count(*) FROM urls") == 0
            assert store.loader.counters() == {}
            store.close()
        else:
            break
    db.left = -1
    writer.close()

    assert failed > 8  # begin, two hosts, URLs, counters, commit
    assert (committed.new_urls, committed.new_hosts) == (2, 2)


class FailsOnce(sqlite3.Connection):
    """Fails at one statement, after `left` others; never while that is negative."""

    left = -1

    def execute(self, sql: str, values: object = (), /) -> sqlite3.Cursor:
        if sql != "ROLLBACK":
            self.left -= 1
            if self.left == -1:
                raise sqlite3.OperationalError("disk I/O error")
        return super().execute(sql, values)  # type: ignore[arg-type]
