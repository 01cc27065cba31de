"""Databases with the tables of a new crawl, on one server that the tests of a process share."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

import psycopg

from gossamer.backends.postgres.schema import first_rows
from gossamer.backends.postgres.tables import PostgresTables
from gossamer.model.partition import DEFAULT_PARTITIONS
from tests.postgres_server import PostgresServer


class PostgresDatabases:
    """Emptied and used again: to make one takes longer than most tests."""

    def __init__(self, server: PostgresServer) -> None:
        self.server = server
        self._numbers = count(1)
        self._admin = psycopg.connect(server.url(), autocommit=True)
        self._free: list[str] = []
        self._tables: set[str] = set()

    @contextmanager
    def one(self) -> Iterator[str]:
        """The address of a database with empty tables, which is used again after the block."""
        name = self._free.pop() if self._free else self._make()
        yield self.server.url(name)
        self._end_sessions(name)
        if self._is_empty_again(name):
            self._free.append(name)

    @contextmanager
    def blank(self) -> Iterator[str]:
        """The address of a database without tables."""
        name = f"blank_{next(self._numbers)}"
        self._admin.execute(f"CREATE DATABASE {name}")
        yield self.server.url(name)
        self._admin.execute(f"DROP DATABASE {name} WITH (FORCE)")

    def close(self) -> None:
        self._admin.close()

    def _make(self) -> str:
        name = f"tables_{next(self._numbers)}"
        self._admin.execute(f"CREATE DATABASE {name}")
        PostgresTables(self.server.url(name), unsafe=True).open_writer().close()
        return name

    def _end_sessions(self, name: str) -> None:
        self._admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,))

    def _is_empty_again(self, name: str) -> bool:
        """Empty the tables. False if a test has dropped one, and the database was removed."""
        with psycopg.connect(self.server.url(name), autocommit=True) as db:
            found = {table for (table,) in db.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")}
            self._tables |= found
            if found == self._tables:
                asked = " UNION ALL ".join(f"(SELECT '{table}' FROM {table} LIMIT 1)" for table in found)
                used = [table for (table,) in db.execute(asked)]
                db.execute(f"TRUNCATE {', '.join(used)}")
                # Of empty tables too: a transaction that was rolled back has drawn numbers nevertheless.
                drawn = db.execute("SELECT sequencename FROM pg_sequences WHERE last_value IS NOT NULL").fetchall()
                for (sequence,) in drawn:
                    db.execute(f"ALTER SEQUENCE {sequence} RESTART")
                for statement in first_rows(DEFAULT_PARTITIONS):
                    db.execute(statement)
                return True
        self._admin.execute(f"DROP DATABASE {name} WITH (FORCE)")
        return False
