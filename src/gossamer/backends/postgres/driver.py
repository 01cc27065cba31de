"""The `Database` port on one PostgreSQL connection, and the `Tables` port on one database.

A connection that is lost is opened again: by a reader at once, which waits for the server and repeats what it has
asked; by the writer with its next transaction, since only its caller can repeat the one that failed. What became of a
transaction whose commit was not answered is found out before it is reported (`CommitMark`).
"""

import os
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

import psycopg

from gossamer.backends.postgres import schema
from gossamer.backends.postgres.address import Address, Connection
from gossamer.backends.postgres.session import PostgresSession
from gossamer.backends.postgres.statements import pack_rows, statements
from gossamer.clock import sleep
from gossamer.cluster.fence import Passage, judge
from gossamer.errors import (
    ConnectionLost,
    DirectoryInUse,
    DiskFull,
    HistoryLost,
    LeaseLost,
    NotThisCrawl,
    StoreFailed,
)
from gossamer.model.partition import DEFAULT_PARTITIONS, PartitionList
from gossamer.model.units import Epoch, Seconds

P = ParamSpec("P")
T = TypeVar("T")

_FULL = "53100"
_GONE = ("08", "57P", "25P03")
"""Beginnings of the codes of errors after which a session is over."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 1.0
READER_PATIENCE = 30.0
"""Seconds for which a reader waits for a server that is gone, about."""
WORKER_PATIENCE = 2.0
"""The same for a worker, which asks again; it can end meanwhile."""
COMMIT_PATIENCE = 600.0
"""The same for the writer while it cannot know whether its last transaction is on record."""
_WRITER, _READER, _WORKER, _STEERING = "gossamer writer", "gossamer reader", "gossamer worker", "gossamer steering"
_TRIES_TO_HOLD = 60
"""How often the writer looks whether the session of another one ends: the server notices within seconds that a process
was killed."""


class CommitMark(Protocol):
    """Tells whether a transaction is on record of which the answer was lost."""

    def begin(self, connection: Connection) -> None:
        """The first statement of every transaction. Raises StoreFailed if this session may not write any more."""
        ...

    def has_landed(self, connection: Connection) -> bool:
        """Whether the last transaction is on record, asked on a new connection. Waits for its end if that is open."""
        ...

    def on_committed(self) -> None:
        """The transaction is on record."""
        ...

    def close(self, connection: Connection) -> None:
        """The session ends, and every transaction was answered."""
        ...


class SessionMark:
    """`CommitMark` of a session that writes while no worker is alive: a row for it counts its transactions."""

    def __init__(self, connection: Connection) -> None:
        self._id = int.from_bytes(os.urandom(8)) >> 1
        self._commits = 0
        connection.execute("INSERT INTO sessions (id, commits) VALUES ($1, 0)", (self._id,))

    def begin(self, connection: Connection) -> None:
        row = connection.execute(
            "UPDATE sessions SET commits = commits + 1 WHERE id = $1 RETURNING commits", (self._id,), prepare=True
        ).fetchone()
        if row is None:
            raise StoreFailed("the row of this session is gone: the crawl was removed, or restored from a backup")
        self._commits = int(row[0])

    def has_landed(self, connection: Connection) -> bool:
        row = connection.execute("SELECT commits FROM sessions WHERE id = $1 FOR UPDATE", (self._id,)).fetchone()
        return row is not None and int(row[0]) == self._commits

    def on_committed(self) -> None:
        """The row has counted it."""

    def close(self, connection: Connection) -> None:
        """Rows of sessions that did not end in order are removed with time."""
        connection.execute("DELETE FROM sessions WHERE id = $1 OR opened_at < now() - interval '7 days'", (self._id,))


class FenceMark:
    """`CommitMark` of a worker: its fence (`cluster.fence`)."""

    def __init__(self, epoch: Epoch) -> None:
        self._epoch = epoch
        self._commits = 0

    def begin(self, connection: Connection) -> None:
        """Raises LeaseLost if the worker was declared dead, HistoryLost if commits of it are gone."""
        passed = connection.execute(
            "UPDATE fence SET commits = $2::bigint + 1 WHERE epoch = $1 AND alive AND commits = $2",
            (self._epoch, self._commits),
            prepare=True,
        )
        if passed.rowcount == 0:
            if self._look(connection) is Passage.DEAD:
                raise LeaseLost(self._epoch)
            raise HistoryLost(self._epoch, self._commits, None)

    def has_landed(self, connection: Connection) -> bool:
        found = self._look(connection, "FOR UPDATE")
        if found is Passage.LOST:
            raise HistoryLost(self._epoch, self._commits, None)
        return found is Passage.COMMITTED

    def on_committed(self) -> None:
        self._commits += 1

    def close(self, connection: Connection) -> None:
        """The row stays: other workers read it."""

    def _look(self, connection: Connection, lock: str = "") -> Passage:
        row = connection.execute(f"SELECT alive, commits FROM fence WHERE epoch = $1 {lock}", (self._epoch,)).fetchone()
        return judge(None if row is None else (bool(row[0]), int(row[1])), self._commits)


def _pauses(patience: float) -> Iterator[bool]:
    """Waits each time it is asked, longer and longer, until patience is at its end."""
    pause, waited = _FIRST_PAUSE, 0.0
    while waited < patience:
        sleep(pause)
        waited += pause
        pause = min(2 * pause, _LONGEST_PAUSE)
        yield True


def _translating(
    method: Callable[Concatenate["PostgresDatabase", P], T],
) -> Callable[Concatenate["PostgresDatabase", P], T]:
    """Raises StoreFailed (DiskFull, ConnectionLost) where the driver raises one of its errors. Around every method of
    the port that runs a statement."""

    @wraps(method)
    def call(database: "PostgresDatabase", /, *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return method(database, *args, **kwargs)
        except psycopg.Error as error:
            raise database.translated(error) from error

    return call


def _repeating(
    method: Callable[Concatenate["PostgresDatabase", P], T],
) -> Callable[Concatenate["PostgresDatabase", P], T]:
    """Repeats a query outside a transaction when the connection was lost."""

    @wraps(method)
    def call(database: "PostgresDatabase", /, *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return method(database, *args, **kwargs)
        except ConnectionLost:
            if database.in_transaction:
                raise
            database.reconnect()
            return method(database, *args, **kwargs)

    return call


class PostgresDatabase:
    """One connection and the named statements."""

    def __init__(
        self,
        connection: Connection,
        open_connection: Callable[[], Connection],
        address: Address,
        *,
        mark: CommitMark | None = None,
        patience: float = 0.0,
        partitions: PartitionList | None = None,
        epoch: int = 0,
    ) -> None:
        """`open_connection` opens the next one when this is lost. `mark`: of a connection that writes. `patience`:
        seconds for which it waits for a server that is gone. `partitions`: those that windows over all hosts or URLs
        look at. `epoch`: of the worker, whose counters are its own."""
        self.address = address
        self.connection = connection
        self.mark = mark
        self.in_transaction = False
        self._open_connection = open_connection
        self._patience = patience
        self._partitions = partitions or PartitionList(range(DEFAULT_PARTITIONS))
        self._epoch = epoch
        self._sql = statements()
        self._closed = False
        self._undecided = False
        self._blocks = 0  # transactions and snapshots so far

    # --- transactions -----------------------------------------------------------------------------

    @contextmanager
    def transaction(self) -> Iterator[None]:
        self._begin("BEGIN")
        try:
            yield
            self._commit()
        except BaseException:
            self._roll_back()
            raise
        finally:
            self.in_transaction = False

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        self._begin("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        try:
            yield
            self._run("COMMIT")
        except BaseException:
            self._roll_back()
            raise
        finally:
            self.in_transaction = False

    def _begin(self, statement: str) -> None:
        if self._undecided:
            raise StoreFailed(
                f"{self.address}: whether the last transaction is on record is unknown, because the server did not "
                "come back; start the crawl again"
            )
        if self.connection.closed and not self._closed:
            self.reconnect()
        self._blocks += 1
        try:
            self._start(statement)
        except ConnectionLost:
            self.reconnect()
            self._start(statement)
        self.in_transaction = True

    @_translating
    def _start(self, statement: str) -> None:
        if self._blocks & (self._blocks - 1) == 0 or self._blocks % 4096 == 0:
            # A plan that was made for a small table may be a bad one by now.
            self.connection.execute("DISCARD PLANS")
        self.connection.execute(statement)
        if self.mark is not None and statement == "BEGIN":
            try:
                self.mark.begin(self.connection)
            except BaseException:
                self._roll_back()
                raise

    def _commit(self) -> None:
        try:
            done = self._run("COMMIT")
        except ConnectionLost:
            if self.mark is None or not self._has_landed(self.mark):
                raise
        else:
            if done != "COMMIT":  # a statement has failed, and the block went on nevertheless
                raise StoreFailed(f"{self.address}: the transaction was not committed ({done})")
        if self.mark is not None:
            self.mark.on_committed()

    def _has_landed(self, mark: CommitMark) -> bool:
        """Whether the transaction is on record whose commit was not answered."""
        self._undecided = True
        pauses = _pauses(COMMIT_PATIENCE)
        while True:
            try:
                self._connect()
                landed = self._ask(mark)
            except StoreFailed:
                if not next(pauses, False):
                    raise
            else:
                self._undecided = False
                return landed

    @_translating
    def _ask(self, mark: CommitMark) -> bool:
        return mark.has_landed(self.connection)

    def _roll_back(self) -> None:
        with suppress(psycopg.Error):  # a connection that is lost has rolled back
            self.connection.execute("ROLLBACK")

    @_translating
    def _run(self, statement: str) -> str | None:
        """Returns what the server says it has done."""
        return self.connection.execute(statement).statusmessage

    # --- the connection ---------------------------------------------------------------------------

    def reconnect(self) -> None:
        """Open the connection again. Waits for the server as long as patience lasts. Raises ConnectionLost."""
        pauses = _pauses(self._patience)
        while True:
            try:
                return self._connect()
            except ConnectionLost:
                if self._closed or not next(pauses, False):
                    raise

    def _connect(self) -> None:
        if self._closed:
            raise ConnectionLost(f"{self.address}: the connection is closed")
        with suppress(psycopg.Error):
            self.connection.close()
        self.connection = self._open_connection()

    def translated(self, error: psycopg.Error) -> StoreFailed:
        """A driver's error as one of ours."""
        said = f"{self.address}: {self.address.masked(str(error))}"
        code = error.sqlstate or ""
        if code == _FULL:
            return DiskFull(f"no space left for {said}")
        if self.connection.closed or code.startswith(_GONE):
            return ConnectionLost(said)
        return StoreFailed(said)

    # --- statements -------------------------------------------------------------------------------

    def _execute(self, name: str, values: Sequence[object]) -> "psycopg.Cursor[tuple[Any, ...]]":
        statement = self._sql[name]
        if statement.in_parts:
            values = (*values, self._partitions.numbers)
        if statement.by_epoch:
            values = (*values, self._epoch)
        return self.connection.execute(statement.sql, values, prepare=True, binary=True)

    def _execute_rows(
        self, name: str, rows: Sequence[tuple[object, ...]], after: Sequence[object] = ()
    ) -> "psycopg.Cursor[tuple[Any, ...]]":
        return self._execute(name, [*pack_rows(self._sql[name].columns, rows), *after])

    @_translating
    def execute(self, name: str, *values: object) -> int:
        return self._execute(name, values).rowcount

    @_translating
    def insert(self, name: str, *values: object) -> int:
        row = self._execute(name, values).fetchone()
        return 0 if row is None else int(row[0])

    @_repeating
    @_translating
    def fetch_value(self, name: str, *values: object) -> Any:
        row = self._execute(name, values).fetchone()
        return None if row is None else row[0]

    @_repeating
    @_translating
    def fetch_one(self, name: str, *values: object) -> tuple[Any, ...] | None:
        return self._execute(name, values).fetchone()

    @_repeating
    @_translating
    def fetch_all(self, name: str, *values: object) -> list[tuple[Any, ...]]:
        return self._execute(name, values).fetchall()

    @_repeating
    @_translating
    def fetch_each(self, name: str, rows: Sequence[tuple[object, ...]]) -> list[list[tuple[Any, ...]]]:
        found: list[list[tuple[Any, ...]]] = [[] for _ in rows]
        for row in self._execute_rows(name, rows).fetchall() if rows else ():
            found[row[0] - 1].append(row[1:])  # the first column is the number of the row of values
        return found

    @_translating
    def write_rows(self, name: str, rows: Sequence[tuple[object, ...]]) -> int:
        return self._execute_rows(name, rows).rowcount if rows else 0

    @_repeating
    @_translating
    def read_rows(self, name: str, rows: Sequence[tuple[object, ...]], *after: object) -> list[Any]:
        return self._execute_rows(name, rows, after).fetchall() if rows else []

    def close(self) -> None:
        self._closed = True
        with suppress(psycopg.Error):
            if self.mark is not None and not self.connection.closed:
                self.mark.close(self.connection)
            self.connection.close()


class PostgresTables:
    """`store.ports.Tables` in one database."""

    def __init__(self, url: str, *, unsafe: bool = False) -> None:
        """`unsafe`: also on a server that may lose commits. Raises ConfigError."""
        self.address = Address(url)
        self._unsafe = unsafe
        self._name = f"{_WRITER} {socket.gethostname()}:{os.getpid()}"[:63]

    def exist(self) -> bool:
        connection, version = self._open(_READER, schema.version_of, read_only=True)
        connection.close()
        return version is not None

    def open_writer(self) -> PostgresDatabase:
        """Raises DirectoryInUse while another process writes, NotThisCrawl, StoreFailed."""

        def set_up(connection: Connection) -> tuple[SessionMark, int]:
            self._check_durable(connection)
            self._wait_for_others(connection)
            partitions = schema.create(connection, self.address)
            self._refuse_workers(connection)
            return SessionMark(connection), partitions

        connection, (mark, partitions) = self._open(self._name, set_up, read_only=False)
        return PostgresDatabase(
            connection,
            lambda: self.address.connect(self._name, read_only=False),
            self.address,
            mark=mark,
            partitions=PartitionList(range(partitions)),
        )

    # --- migrations ---------------------------------------------------------------------------------

    def schema_versions(self) -> tuple[int | None, int]:
        """The version of the tables, None if there are none, and the one that this program uses."""
        connection, version = self._open(_READER, schema.version_of, read_only=True)
        connection.close()
        return version, schema.VERSION

    def pending_migrations(self) -> list[int]:
        """The migrations that would be run. Raises NotThisCrawl."""
        version = self.schema_versions()[0]
        if version is None:
            raise NotThisCrawl(f"there is no crawl in {self.address}; name another database with --store")
        return schema.steps(version, self.address)

    def migrate(self) -> list[int]:
        """Bring the tables up to date. Returns the migrations that were run. Raises DirectoryInUse while workers are
        alive, NotThisCrawl, StoreFailed."""
        connection, done = self._open(
            self._name, lambda opened: schema.migrate(opened, self.address, self._refuse_workers), read_only=False
        )
        connection.close()
        return done

    # --- workers ------------------------------------------------------------------------------------

    def prepare(self, partitions: int | None = None) -> int:
        """Create the tables before a worker joins, if there are none. Returns the number of partitions. Raises as
        `open_writer`, except for workers that are alive, and NotThisCrawl if there is a crawl with another number."""

        def set_up(connection: Connection) -> int:
            self._check_durable(connection)
            return schema.create(connection, self.address, partitions)

        connection, found = self._open(self._name, set_up, read_only=False)
        connection.close()
        return found

    def open_session(self, waiting: Seconds) -> PostgresSession:
        """A connection for the protocol of workers, opened when it is first used."""
        address = self.address
        return PostgresSession(lambda: address.connect(_WORKER, read_only=False), waiting, failure=address.failure)

    def open_worker(self, epoch: Epoch, partitions: PartitionList) -> PostgresDatabase:
        """The connection on which a worker commits, behind its fence."""
        return PostgresDatabase(
            self.address.connect(_WORKER, read_only=False),
            lambda: self.address.connect(_WORKER, read_only=False),
            self.address,
            mark=FenceMark(epoch),
            partitions=partitions,
            epoch=epoch,
        )

    def open_worker_reader(self, epoch: Epoch, partitions: PartitionList) -> PostgresDatabase:
        """A connection that reads the queue of the partitions that a worker owns."""
        return PostgresDatabase(
            self.address.connect(_READER, read_only=True),
            lambda: self.address.connect(_READER, read_only=True),
            self.address,
            patience=WORKER_PATIENCE,
            partitions=partitions,
            epoch=epoch,
        )

    def open_reader(self, *, small: bool = False) -> PostgresDatabase:
        """A `small` one does not wait for a server that is gone: its caller has others to answer."""
        connection, partitions = self._open(_READER, lambda opened: schema.check(opened, self.address), read_only=True)
        return PostgresDatabase(
            connection,
            lambda: self.address.connect(_READER, read_only=True),
            self.address,
            patience=0.0 if small else READER_PATIENCE,
            partitions=PartitionList(range(partitions)),
        )

    def open_steering(self) -> PostgresDatabase:
        connection, partitions = self._open(
            _STEERING, lambda opened: schema.check(opened, self.address), read_only=False
        )
        return PostgresDatabase(
            connection,
            lambda: self.address.connect(_STEERING, read_only=False),
            self.address,
            partitions=PartitionList(range(partitions)),
        )

    def close(self) -> None:
        """Nothing to give back: the tables are with their server."""

    def _open(self, application: str, set_up: Callable[[Connection], T], *, read_only: bool) -> tuple[Connection, T]:
        connection = self.address.connect(application, read_only=read_only)
        try:
            return connection, set_up(connection)
        except psycopg.Error as error:
            connection.close()
            raise StoreFailed(f"{self.address}: {self.address.masked(str(error))}") from error
        except BaseException:
            connection.close()
            raise

    def _check_durable(self, connection: Connection) -> None:
        row = connection.execute("SELECT current_setting('fsync')").fetchone()
        if row == ("off",) and not self._unsafe:
            raise StoreFailed(
                f"{self.address}: the server runs with fsync = off and may lose a crawl when its machine fails; set "
                "fsync = on in its configuration, or give --unsafe-store"
            )

    def _refuse_workers(self, connection: Connection) -> None:
        """Raises DirectoryInUse while workers are alive. One that was killed is until another one has noticed it."""
        row = connection.execute(
            "SELECT string_agg(w.name, ', ' ORDER BY w.name) FROM fence f JOIN workers w USING (epoch) WHERE f.alive"
        ).fetchone()
        if row is not None and row[0] is not None:
            raise DirectoryInUse(
                f"{self.address} is in use by workers ({row[0]}); stop them first. If one of them was killed, start it "
                "again or wait until another worker has taken over"
            )

    def _wait_for_others(self, connection: Connection) -> None:
        """The session of a process that was killed ends within seconds."""
        for _ in range(_TRIES_TO_HOLD):
            row = connection.execute(
                "SELECT application_name FROM pg_stat_activity WHERE datname = current_database() "
                "AND starts_with(application_name, $1) AND application_name <> $2 LIMIT 1",
                (_WRITER, self._name),
            ).fetchone()
            if row is None:
                return
            sleep(0.1)
        holder = str(row[0]).removeprefix(_WRITER).strip() if row else ""
        raise DirectoryInUse(
            f"{self.address} is in use by another crawl ({holder}); wait for it, or name another database"
        )
