"""Databases with the tables of a new crawl, on one server that the tests of a process share."""

from itertools import count

import psycopg

from gossamer.backends.postgres.driver import PostgresTables
from tests.postgres_server import PostgresServer


class PostgresDatabases:
    """Each is a copy of one that was made by the driver."""

    def __init__(self, server: PostgresServer) -> None:
        self.server = server
        self._numbers = count(1)
        self._admin = psycopg.connect(server.url(), autocommit=True)
        self._admin.execute("CREATE DATABASE new_crawl")
        PostgresTables(server.url("new_crawl"), unsafe=True).open_writer().close()

    def create(self) -> str:
        """A new database; returns its address."""
        name = f"copy_{next(self._numbers)}"
        self._admin.execute(f"CREATE DATABASE {name} TEMPLATE new_crawl STRATEGY file_copy")
        return self.server.url(name)

    def create_empty(self) -> str:
        """A new database without tables."""
        name = f"empty_{next(self._numbers)}"
        self._admin.execute(f"CREATE DATABASE {name}")
        return self.server.url(name)

    def close(self) -> None:
        self._admin.close()
