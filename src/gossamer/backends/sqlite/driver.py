"""The `Database` port on one SQLite connection, and the `Tables` port on one SQLite file.

Many rows go into few statements. The driver releases the interpreter's lock at every step of a statement and then has
to win it back from a busy event loop. One statement of 256 rows is one step; `executemany` over 256 rows is 256 steps,
which next to a busy thread costs several times the CPU and more than ten times the time (benchmarks/bench_store.py
measures both). The same goes for reading, one step per row; so what a commit reads for many rows comes back as one row
that holds a list in JSON.
"""

import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache, wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from gossamer.backends.sqlite.database import (
    Place,
    named_queries,
    open_for_reading,
    open_for_writing,
    read_rows,
    translated,
    write_rows,
)
from gossamer.errors import StoreFailed

P = ParamSpec("P")
T = TypeVar("T")

STATEMENTS = (
    *("queries.sql", "bulk_changes.sql", "outbox.sql"),
    *("status.sql", "hosts.sql", "pages.sql", "explain.sql", "links.sql", "verify.sql"),
)
"""The files whose statements can be called by name: those of `store.table`, then those of `reports.table`."""
_SMALL_CACHE_KIB = 4_096

sqlite3.register_adapter(list, json.dumps)  # a list is one parameter: the statement takes it apart with json_each


@cache
def table_statements() -> dict[str, str]:
    """All statements by name. A name occurs once in all files."""
    found: dict[str, str] = {}
    for file in STATEMENTS:
        statements = named_queries(file)
        if twice := found.keys() & statements.keys():
            raise ValueError(f"{file} has statements of the same name as another file: {', '.join(sorted(twice))}")
        found |= statements
    return found


def _translating(
    method: Callable[Concatenate["SqliteDatabase", P], T],
) -> Callable[Concatenate["SqliteDatabase", P], T]:
    """Raises StoreFailed (DiskFull) where the driver raises one of its errors. Around every method of the port."""

    @wraps(method)
    def call(database: "SqliteDatabase", /, *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return method(database, *args, **kwargs)
        except sqlite3.Error as error:
            raise translated(error, database.path) from error

    return call


class SqliteDatabase:
    """One connection and the named statements."""

    def __init__(self, connection: sqlite3.Connection, path: Place | None = None) -> None:
        """`path` is for messages; by default the connection knows it."""
        self.connection = connection
        self.path = path or Path(connection.execute("PRAGMA database_list").fetchone()[2])
        self._sql = table_statements()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        self._run("BEGIN IMMEDIATE")
        try:
            yield
            self._run("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):  # a statement that fails may have ended the transaction already
                self.connection.execute("ROLLBACK")
            raise

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        self._run("BEGIN")
        try:
            yield
            self._run("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                self.connection.execute("ROLLBACK")
            raise

    @_translating
    def _run(self, statement: str) -> None:
        self.connection.execute(statement)

    @_translating
    def execute(self, name: str, *values: object) -> int:
        return self.connection.execute(self._sql[name], values).rowcount

    @_translating
    def insert(self, name: str, *values: object) -> int:
        return int(self.connection.execute(self._sql[name], values).lastrowid or 0)

    @_translating
    def fetch_value(self, name: str, *values: object) -> Any:
        row = self.connection.execute(self._sql[name], values).fetchone()
        return None if row is None else row[0]

    @_translating
    def fetch_one(self, name: str, *values: object) -> tuple[Any, ...] | None:
        row: tuple[Any, ...] | None = self.connection.execute(self._sql[name], values).fetchone()
        return row

    @_translating
    def fetch_all(self, name: str, *values: object) -> list[tuple[Any, ...]]:
        return self.connection.execute(self._sql[name], values).fetchall()

    @_translating
    def write_rows(self, name: str, rows: Sequence[tuple[object, ...]]) -> int:
        return write_rows(self.connection, self._sql[name], rows)

    @_translating
    def read_rows(self, name: str, rows: Sequence[tuple[object, ...]], *after: object) -> list[Any]:
        return read_rows(self.connection, self._sql[name], rows, *after)

    @_translating
    def close(self) -> None:
        self.connection.close()


def open_writer(path: Place) -> SqliteDatabase:
    """The connection that writes. Creates the database or migrates it. Raises NotThisCrawl, StoreFailed."""
    return SqliteDatabase(open_for_writing(path), path)


def open_reader(path: Place, *, small: bool = False) -> SqliteDatabase:
    """A connection that only reads, to a database that exists; a `small` one has a small cache. Raises NotThisCrawl,
    OldSchema, StoreFailed."""
    db = open_for_reading(path, cache_kib=_SMALL_CACHE_KIB) if small else open_for_reading(path)
    return SqliteDatabase(db, path)


class SqliteTables:
    """`store.ports.Tables` in one file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def exist(self) -> bool:
        try:
            return self.path.exists()
        except OSError as error:
            raise StoreFailed(f"{self.path}: {error.strerror or error}") from error

    def open_writer(self) -> SqliteDatabase:
        return open_writer(self.path)

    def open_reader(self, *, small: bool = False) -> SqliteDatabase:
        return open_reader(self.path, small=small)

    def close(self) -> None:
        """Nothing to give back: the tables are in their file."""
