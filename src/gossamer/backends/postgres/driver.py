"""The `Database` port on one PostgreSQL connection.

A connection that is lost is opened again: by a reader at once, which waits for the server and repeats what it has
asked; by the writer with its next transaction, since only its caller can repeat the one that failed. What became of a
transaction whose commit was not answered is found out before it is reported (`CommitMark`).
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import psycopg

from gossamer.backends.postgres.address import Address, Connection
from gossamer.backends.postgres.commit_marks import CommitMark
from gossamer.backends.postgres.statements import pack_rows, statements
from gossamer.clock import sleep
from gossamer.errors import ConnectionLost, DiskFull, StoreFailed
from gossamer.model.partition import DEFAULT_PARTITIONS, PartitionList

P = ParamSpec("P")
T = TypeVar("T")

_FULL = "53100"
_GONE = ("08", "57P", "25P03")
"""Beginnings of the codes of errors after which a session is over."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 1.0
COMMIT_PATIENCE = 600.0
"""Seconds, about, for which the writer waits for a server that is gone while it cannot know whether its last
transaction is on record."""


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
