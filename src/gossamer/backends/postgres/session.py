"""`cluster.ports.Session` on one PostgreSQL connection: heartbeats, shared addresses, and whatever else is not the
store's."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from importlib.resources import files
from typing import Any

import psycopg

from gossamer.errors import StoreFailed
from gossamer.model.units import Seconds

Connection = psycopg.Connection[tuple[Any, ...]]

_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


@cache
def cluster_statements() -> Mapping[str, str]:
    """The statements of the protocol, by name."""
    parts = _NAME.split(_text("cluster.sql"))
    return {name: body.strip() for name, body in zip(parts[1::2], parts[2::2], strict=True)}


def cluster_schema() -> str:
    """Creates the tables of the protocol."""
    return _text("cluster_schema.sql")


def _text(file: str) -> str:
    return files("gossamer.backends.postgres").joinpath(file).read_text(encoding="utf-8")


class PostgresSession:
    """One connection and the statements of the protocol. It is opened when it is first needed, and again when it was
    lost; never in the middle of a transaction."""

    def __init__(
        self,
        connect: Callable[[], Connection],
        waiting: Seconds,
        statements: Mapping[str, str] | None = None,
        *,
        failure: Callable[[psycopg.Error, bool], StoreFailed] = lambda error, _: StoreFailed(str(error)),
    ) -> None:
        """`connect` opens a connection in autocommit mode whose cursors take numbered parameters (`RawCursor`).
        `waiting` is how long the server waits for this client in the middle of a transaction, and a statement for a
        lock. `failure`: a driver's error as one of ours, given whether the connection was lost."""
        self._connect = connect
        self._waiting = waiting
        self._failure = failure
        self._sql = cluster_statements() if statements is None else statements
        self.connection: Connection | None = None
        self._within = False  # a transaction: all of it is on one connection

    @contextmanager
    def transaction(self) -> Iterator[None]:
        connection = self._opened()
        self._run(connection, "BEGIN ISOLATION LEVEL READ COMMITTED")
        self._within = True
        try:
            yield
            self._run(connection, "COMMIT")
        except BaseException:
            with suppress(psycopg.Error):
                connection.execute("ROLLBACK")
            raise
        finally:
            self._within = False

    def execute(self, name: str, *values: object) -> int:
        return self._ask(name, values).rowcount

    def fetch_value(self, name: str, *values: object) -> Any:
        row = self._ask(name, values).fetchone()
        return None if row is None else row[0]

    def fetch_one(self, name: str, *values: object) -> tuple[Any, ...] | None:
        return self._ask(name, values).fetchone()

    def fetch_all(self, name: str, *values: object) -> list[tuple[Any, ...]]:
        return self._ask(name, values).fetchall()

    def close(self) -> None:
        if self.connection is not None:
            self.connection.close()

    def _ask(self, name: str, values: tuple[object, ...]) -> psycopg.Cursor[tuple[Any, ...]]:
        return self._run(self._opened(), self._sql[name], values)

    def _opened(self) -> Connection:
        known = self.connection
        if known is not None and (self._within or not known.closed):
            return known
        try:
            opened = self._connect()
            milliseconds = str(round(self._waiting * 1000))
            opened.execute(
                "SELECT set_config(name, $1, false) FROM unnest($2::text[]) name",
                (milliseconds, ["idle_in_transaction_session_timeout", "lock_timeout"]),
            )
        except psycopg.Error as error:
            raise self._failure(error, True) from error
        self.connection = opened
        return opened

    def _run(
        self, connection: Connection, statement: str, values: tuple[object, ...] = ()
    ) -> psycopg.Cursor[tuple[Any, ...]]:
        try:
            return connection.execute(statement, values)
        except psycopg.Error as error:
            raise self._failure(error, connection.closed) from error
