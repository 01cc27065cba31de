"""A driver that fails, below every method of the ports: what comes out is StoreFailed, never an error of the driver.
And what is said about a server that cannot be used."""

from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, cast

import psycopg
import pytest

from gossamer.backends.postgres.address import Address, Connection
from gossamer.backends.postgres.commit_marks import SessionMark
from gossamer.backends.postgres.driver import PostgresDatabase
from gossamer.backends.postgres.tables import PostgresTables
from gossamer.cluster.lease import LeaseTerms
from gossamer.cluster.membership import Membership
from gossamer.crawl.run import opener
from gossamer.crawl.run.location import CrawlLocation
from gossamer.errors import ConfigError, ConnectionLost, DirectoryInUse, DiskFull, NotThisCrawl, OldSchema, StoreFailed
from gossamer.model.batch import Batch
from gossamer.model.units import Epoch, Seconds
from gossamer.reports.ports import CrawlEditor
from gossamer.reports.table.reader import TableEditor
from gossamer.store.table.loader import TableLoader
from gossamer.store.table.writer import TableWriter
from tests.backends.postgres.postgres_databases import PostgresDatabases
from tests.backends.sqlite.test_driver_errors import DATABASE, TASK_SOURCE
from tests.backends.sqlite.test_reader_failures import READS
from tests.backends.table_store import CapturesInMemory, Rows, Store, candidate, domain_of
from tests.integration.crawl_process import wait_until
from tests.postgres_server import PostgresServer, running_postgres

ADDRESS = Address("postgresql://me:secret@db.test/crawl")


class FailingConnection:
    """Every statement fails."""

    closed = False

    def __init__(self, error: psycopg.Error) -> None:
        self._error = error

    def execute(self, statement: str, *_: object, **__: object) -> None:
        if statement != "ROLLBACK":
            raise self._error

    def close(self) -> None: ...


def failing(error: psycopg.Error) -> PostgresDatabase:
    def no_server() -> Connection:
        raise ConnectionLost("no server")

    return PostgresDatabase(cast(Connection, FailingConnection(error)), no_server, ADDRESS)


def test_every_method_of_the_ports_translates_what_the_driver_raises() -> None:
    methods: dict[str, Callable[[PostgresDatabase], object]] = {
        **{name: call for name, call in DATABASE.items() if name != "close"},  # a connection that is lost is closed
        **{name: lambda db, call=call: call(TableLoader(db)) for name, call in TASK_SOURCE.items()},  # type: ignore[misc]
        **{name: lambda db, call=call: _used(call(_editor(db))) for name, call in READS.items()},  # type: ignore[misc]
    }
    for name, call in methods.items():
        with pytest.raises(StoreFailed, match="I/O error") as raised:
            call(failing(psycopg.errors.IoError("I/O error")))
        assert type(raised.value) is StoreFailed, name
        with pytest.raises(DiskFull):
            call(failing(psycopg.errors.DiskFull("no space left on device")))
        with pytest.raises(ConnectionLost):
            call(failing(psycopg.errors.AdminShutdown("terminating connection due to administrator command")))


def _editor(db: PostgresDatabase) -> CrawlEditor:
    return TableEditor(db)


def _used(found: object) -> object:
    return list(found) if isinstance(found, Iterator) else found


def test_what_may_be_repeated_is_a_failure_of_the_store() -> None:
    for kind in (
        psycopg.errors.SerializationFailure,
        psycopg.errors.DeadlockDetected,
        psycopg.errors.LockNotAvailable,
        psycopg.errors.QueryCanceled,
    ):
        with pytest.raises(StoreFailed):
            failing(kind("try again")).execute("all_counted")


def test_no_message_shows_a_password() -> None:
    for url in (
        "postgresql://me:secret@db.test/crawl",
        "postgresql://me:secret@db.test:5433,other.test:5434/crawl",
        "postgresql://me@db.test/crawl?password=secret",
        "postgresql:///crawl?host=/run/postgresql&user=me&password=secret",
    ):
        address = Address(url)
        assert "secret" not in f"{address} {address.server} {address.database}"
        assert "me@" in str(address) and str(address).startswith("postgresql://")
        assert address.masked("FATAL: secret is wrong") == "FATAL: *** is wrong"
    with pytest.raises(StoreFailed) as raised:
        failing(psycopg.errors.IoError("the secret did not work")).fetch_all("seeds")
    assert "secret" not in str(raised.value)
    with pytest.raises(ConfigError) as refused:
        Address("postgresql://me:%secret@db.test/crawl")
    assert "secret" not in str(refused.value) and refused.value.__cause__ is None


def test_a_server_that_cannot_be_used_is_named_with_the_remedy(
    postgres_server: PostgresServer, postgres_databases: PostgresDatabases
) -> None:
    folder = postgres_server.folder
    for url, said in (
        ("postgresql://me:secret@127.0.0.1:9/crawl", "is PostgreSQL running on 127.0.0.1:9"),
        (f"postgresql://gossamer@/nowhere?host={folder}", "create it with `createdb nowhere`"),
        (f"postgresql://stranger@/postgres?host={folder}", "create it with `createuser`"),
    ):
        for opens in ("exist", "open_writer", "open_reader"):
            with pytest.raises(ConnectionLost) as raised:
                getattr(PostgresTables(url), opens)()
            assert said in str(raised.value) and "secret" not in str(raised.value)
    with pytest.raises(
        ConnectionLost, match=r"the user name is that of the operating system, because the URL has none"
    ):
        PostgresTables(f"postgres:///postgres?host={folder}").exist()
    with pytest.raises(ConnectionLost, match=r"^the server in /nowhere is not running$"):
        PostgresTables("postgresql://gossamer@/gossamer?host=/nowhere").exist()
    with postgres_databases.blank() as url:
        tables = PostgresTables(url)
        assert not tables.exist()
        with pytest.raises(NotThisCrawl, match="there is no crawl in postgresql://gossamer@/blank"):
            tables.open_reader()
        with pytest.raises(StoreFailed, match=r"fsync = off .* or give --unsafe-store"):
            tables.open_writer()
        assert not tables.exist()


def test_the_password_comes_from_the_url_the_environment_or_a_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with running_postgres() as server:
        with psycopg.connect(server.url(), autocommit=True) as admin:
            admin.execute("ALTER USER gossamer PASSWORD 'secret'")
            (server.folder / "data" / "pg_hba.conf").write_text("local all all scram-sha-256\n")
            admin.execute("SELECT pg_reload_conf()")
            wait_until(lambda: _is_refused(server.url()), "the server to ask for passwords")
        url = server.url()
        for passwords, said in (({}, "no password supplied"), ({"PGPASSWORD": "wrong1"}, "authentication failed")):
            with monkeypatch.context() as patched:
                patched.setenv("PGPASSFILE", str(tmp_path / "none"))
                for name, value in passwords.items():
                    patched.setenv(name, value)
                with pytest.raises(ConnectionLost, match="set PGPASSWORD") as raised:
                    PostgresTables(url).exist()
                assert said in str(raised.value) and "wrong1" not in str(raised.value)
        assert not PostgresTables(url.replace("gossamer@", "gossamer:secret@")).exist()
        with monkeypatch.context() as patched:
            patched.setenv("PGPASSWORD", "secret")
            assert not PostgresTables(url).exist()
        file = tmp_path / "pgpass"
        file.touch(0o600)
        file.write_text("*:*:*:gossamer:secret\n")
        monkeypatch.setenv("PGPASSFILE", str(file))
        assert not PostgresTables(url).exist()


def _is_refused(url: str) -> bool:
    try:
        psycopg.connect(url).close()
    except psycopg.OperationalError:
        return True
    return False


def test_errors_of_a_session_name_the_server_and_no_password(postgres_databases: PostgresDatabases) -> None:
    with postgres_databases.one() as url:
        tables = PostgresTables(f"{url}&password=secret", unsafe=True)
        with closing(tables.open_session(Seconds(5.0))) as session:
            session.fetch_value("server_time")
            with pytest.raises(StoreFailed, match=r"^postgresql://gossamer@/tables_\d+\?host=") as raised:
                session.fetch_all("wanted_gates", "secret")
            assert not isinstance(raised.value, ConnectionLost)
            end_sessions(url)
            with pytest.raises(ConnectionLost, match=r"^postgresql://gossamer@/.*; is PostgreSQL running on ") as lost:
                session.fetch_value("server_time")
    assert "secret" not in f"{raised.value} {lost.value}"


def test_statements_see_what_was_committed_before_them_whatever_the_database_is_set_to(
    postgres_databases: PostgresDatabases,
) -> None:
    """The end of a crawl asks under a lock for which it may have waited."""
    with postgres_databases.blank() as url, psycopg.connect(url, autocommit=True) as server:
        tables = PostgresTables(url, unsafe=True)
        server.execute("ALTER ROLE CURRENT_USER SET default_transaction_isolation = 'repeatable read'")
        try:
            writer = tables.open_writer()
        finally:
            server.execute("ALTER ROLE CURRENT_USER RESET default_transaction_isolation")
        with writer.transaction():
            before = writer.fetch_value("rules_version")
            server.execute("UPDATE crawl SET rules_version = rules_version + 1")
            after = writer.fetch_value("rules_version")
        writer.close()

    assert after == before + 1


def test_a_failure_that_the_block_ignores_is_a_failure_of_the_transaction(
    postgres_databases: PostgresDatabases,
) -> None:
    with postgres_databases.one() as url:
        db = PostgresTables(url, unsafe=True).open_writer()

        def ignore() -> None:
            with db.transaction():
                db.write_rows("set_fact", [("order", "bfs")])
                with suppress(StoreFailed):
                    db.write_rows("count", [("pages", None)])

        with pytest.raises(StoreFailed, match="not committed"):
            ignore()
        assert db.fetch_value("fact", "order") is None
        db.close()


def test_tables_of_another_version_or_of_something_else_are_refused(postgres_databases: PostgresDatabases) -> None:
    with postgres_databases.blank() as url:
        with psycopg.connect(url) as other:
            other.execute("CREATE TABLE urls (id integer)")
        with pytest.raises(NotThisCrawl, match="has other tables and no crawl"):
            PostgresTables(url, unsafe=True).open_writer()
    with postgres_databases.one() as url:
        tables = PostgresTables(url, unsafe=True)
        with psycopg.connect(url, autocommit=True) as other:
            for version, refusal, said in (
                (99, NotThisCrawl, "has schema 99, of a newer Gossamer, and this one uses schema 4: install"),
                (0, NotThisCrawl, "has schema 0, of an older Gossamer"),
            ):
                other.execute("UPDATE schema_version SET version = %s", (version,))
                for opens in (tables.open_reader, tables.open_writer):
                    with pytest.raises(refusal, match=said) as raised:
                        opens()
                    assert not isinstance(raised.value, OldSchema)


def test_one_process_at_a_time_writes(postgres_databases: PostgresDatabases, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gossamer.backends.postgres.tables._TRIES_TO_HOLD", 2)
    with postgres_databases.one() as url:
        tables = PostgresTables(url, unsafe=True)
        other = tables.address.connect("gossamer writer elsewhere:1", read_only=False)
        with pytest.raises(DirectoryInUse, match=r"in use by another crawl \(elsewhere:1\)"):
            tables.open_writer()
        tables.open_reader().close()
        other.close()
        monkeypatch.setattr("gossamer.backends.postgres.tables._TRIES_TO_HOLD", 600)
        tables.open_writer().close()


# --- connections that are lost ---------------------------------------------------------------------------


def end_sessions(url: str) -> None:
    """End all other sessions of a database, as a server does that is stopped."""
    with psycopg.connect(url, autocommit=True) as db:
        db.execute(
            "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


def test_a_reader_whose_connection_was_lost_asks_again(postgres_databases: PostgresDatabases) -> None:
    with postgres_databases.one() as url:
        store = Store(PostgresTables(url, unsafe=True))
        store.writer.commit(Batch(candidates=[candidate("a.test", 1)]), store.now)
        end_sessions(url)

        assert [list(chunk) for chunk in store.loader.fingerprints()] == [[1]]
        end_sessions(url)

        def read_twice() -> None:
            with store.reading.snapshot():
                assert store.reading.fetch_value("last_url") == 1
                end_sessions(url)
                store.reading.fetch_value("last_url")

        with pytest.raises(ConnectionLost):  # the second answer could be of another commit
            read_twice()
        assert store.reading.fetch_value("last_url") == 1
        store.close()


def test_a_commit_that_is_cut_off_at_any_statement_changes_nothing_and_can_be_repeated(
    postgres_databases: PostgresDatabases,
) -> None:
    """The session ends at the first statement of a commit, then at the second, and so on until it succeeds."""
    with postgres_databases.one() as url:
        tables = PostgresTables(url, unsafe=True)
        database = tables.open_writer()
        store = Store(tables)
        writer = TableWriter(database, CapturesInMemory(), domain_of, store.ordering, store.clock)
        cut = CutOff(database, url)
        batch = Batch(candidates=[candidate("a.test", 1), candidate("b.test", 2)])
        failed = first = 2  # a transaction that does not begin is begun again
        while True:
            cut.left = failed
            try:
                committed = writer.commit(batch, store.now)
            except ConnectionLost:
                failed += 1
                assert store.value("SELECT count(*) FROM urls") == 0
            else:
                break
        cut.left = -1
        assert failed - first > 8  # two hosts with their domains and suffixes, URLs, counters
        assert (committed.new_urls, committed.new_hosts) == (2, 2)
        writer.close()
        store.close()


class CutOff:
    """Ends the session before a statement of a database, after `left` others; never while that is negative. Before
    COMMIT it does not: whether that is on record is another question."""

    def __init__(self, database: PostgresDatabase, url: str) -> None:
        self.left = -1
        execute = psycopg.Connection.execute

        def cut(connection: Connection, statement: Any, *values: Any, **options: Any) -> Any:
            if statement not in ("ROLLBACK", "COMMIT", "DISCARD PLANS"):
                if self.left == 0:
                    with psycopg.connect(url, autocommit=True) as other:
                        other.execute("SELECT pg_terminate_backend(%s, 60000)", (connection.info.backend_pid,))
                self.left -= 1
            return execute(connection, statement, *values, **options)

        def watch(connection: Connection) -> Connection:
            connection.execute = cut.__get__(connection)  # type: ignore[method-assign]
            return connection

        watch(database.connection)
        reopen = database._open_connection
        database._open_connection = lambda: watch(reopen())


def test_the_answer_of_a_commit_that_was_lost_is_found_out(postgres_databases: PostgresDatabases) -> None:
    with postgres_databases.one() as url:
        tables = PostgresTables(url, unsafe=True)
        for landed in (True, False):
            db = tables.open_writer()
            rows = Rows(db)
            commit_and_lose(db, url, landed=landed)
            if landed:
                with db.transaction():
                    db.write_rows("set_fact", [("one", "1")])
            else:
                with pytest.raises(ConnectionLost), db.transaction():
                    db.write_rows("set_fact", [("two", "2")])
            with db.transaction():  # and it goes on
                db.write_rows("set_fact", [("three", "3")])
            assert (db.fetch_value("fact", "one"), db.fetch_value("fact", "two")) == ("1", None)
            assert db.fetch_value("fact", "three") == "3"
            assert rows.execute("SELECT count(*) FROM sessions") == [(1,)]
            db.close()


def commit_and_lose(db: PostgresDatabase, url: str, *, landed: bool) -> None:
    """Let the next COMMIT lose its answer, after or before the server has done it."""
    run, lost = db._run, False

    def lose(statement: str) -> str | None:
        nonlocal lost
        if statement != "COMMIT" or lost:
            return run(statement)
        lost = True
        if landed:
            run(statement)
        end_sessions(url)
        return run("SELECT 1")

    db._run = lose  # type: ignore[method-assign]


def test_a_session_whose_row_is_gone_may_not_write(postgres_databases: PostgresDatabases) -> None:
    with postgres_databases.one() as url:
        db = PostgresTables(url, unsafe=True).open_writer()
        assert isinstance(db.mark, SessionMark)
        db.connection.execute("DELETE FROM sessions")
        with pytest.raises(StoreFailed, match="the row of this session is gone"), db.transaction():
            pass
        db.close()


def test_of_several_servers_the_one_is_used_that_takes_writes(
    postgres_server: PostgresServer, postgres_databases: PostgresDatabases
) -> None:
    with postgres_databases.one() as url:
        several = url.replace("?host=", "?host=/nowhere,")
        db = PostgresTables(several, unsafe=True).open_writer()
        assert db.connection.info.host == str(postgres_server.folder)
        db.close()
        with psycopg.connect(url, autocommit=True) as admin:
            name = admin.info.dbname
            admin.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
        try:
            with pytest.raises(ConnectionLost, match="read-only"):
                PostgresTables(several, unsafe=True).open_writer()
            PostgresTables(url, unsafe=True).open_reader().close()  # named alone, a standby may be read
        finally:
            with psycopg.connect(url, autocommit=True) as admin:
                admin.execute("SET default_transaction_read_only = off")
                admin.execute(f"ALTER DATABASE {name} RESET default_transaction_read_only")


def test_a_commit_whose_fate_cannot_be_known_ends_the_writer(
    postgres_databases: PostgresDatabases, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gossamer.backends.postgres.driver.COMMIT_PATIENCE", 0.1)
    with postgres_databases.one() as url:
        db = PostgresTables(url, unsafe=True).open_writer()
        commit_and_lose(db, url, landed=True)

        def no_server() -> Connection:
            raise ConnectionLost("no server")

        db._open_connection = no_server
        with pytest.raises(ConnectionLost, match="no server"), db.transaction():
            db.write_rows("set_fact", [("one", "1")])
        with pytest.raises(StoreFailed, match="whether the last transaction is on record is unknown"), db.transaction():
            pass
        db.close()


def test_a_command_that_waits_for_killed_workers_names_them(
    postgres_databases: PostgresDatabases, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, told = 0.0, list[str]()

    def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds

    monkeypatch.setattr(opener, "sleep", sleep)
    monkeypatch.setattr(opener, "boot_time", lambda: now)
    with postgres_databases.one() as url:
        location = CrawlLocation(tmp_path, None, url)
        with closing(opener.open_session(location)) as session:
            Membership(session, Epoch(5), "killed", LeaseTerms(), weight=1.0, version="1").join()

        opener.end_killed_workers(location, told.append)

        assert opener.living_workers(location) == frozenset()
    assert told == ["waiting until it is certain that these workers have ended: killed (up to 13 seconds)"]


def test_connections_of_a_worker_show_its_name(postgres_databases: PostgresDatabases) -> None:
    with postgres_databases.one() as url:
        tables = PostgresTables(url)
        tables.name_worker("worker-2")
        with closing(tables.open_session(Seconds(5.0))) as session, psycopg.connect(url) as server:
            session.fetch_all("beats")
            found = server.execute("SELECT 1 FROM pg_stat_activity WHERE application_name = 'gossamer worker worker-2'")
            assert found.fetchone() == (1,)
