"""A private PostgreSQL server for benchmarks, set up as for `--workers N`, and what it has cost so far."""

import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import psycopg

from gossamer.backends.postgres.private_server import PrivateServer, private_server
from tests.postgres_server import binaries, open_folder


class Cost(NamedTuple):
    """What a server has spent, or the difference of two moments."""

    cpu: float  # seconds, of all its processes
    log: int  # bytes of write-ahead log

    def since(self, earlier: "Cost") -> "Cost":
        return Cost(self.cpu - earlier.cpu, self.log - earlier.log)


class MeasuredServer:
    """A server that runs."""

    def __init__(self, server: PrivateServer) -> None:
        self._server = server
        self._numbers = itertools.count(1)

    def create_database(self) -> str:
        """A new, empty database; returns its URL."""
        name = f"bench_{next(self._numbers)}"
        with psycopg.connect(self._server.url_of("postgres"), autocommit=True) as db:
            db.execute(f"CREATE DATABASE {name}".encode())
        return self._server.url_of(name)

    def cost(self) -> Cost:
        """Since the server was started."""
        with psycopg.connect(self._server.url_of("postgres"), autocommit=True) as db:
            row = db.execute("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn").fetchone()
        assert row is not None
        return Cost(_cpu_of_server(self._server.pid), int(row[0]))


@contextmanager
def postgres() -> Iterator[MeasuredServer]:
    """A server with the settings of a private one. Nothing is left behind."""
    with open_folder() as folder, private_server(folder, places=[binaries()]) as server:
        yield MeasuredServer(server)


def _cpu_of_server(main: int) -> float:
    """Seconds of CPU time of a server, with the processes that it has now and those that have ended."""
    children = Path(f"/proc/{main}/task/{main}/children").read_text().split()
    return sum(cpu_of(int(child)) for child in children) + cpu_of(main, with_ended=True)


def cpu_of(process: int, *, with_ended: bool = False) -> float:
    """Seconds of CPU time that a process has used; `with_ended`: and its children that have ended. 0 for a process that
    is gone."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    # Fields 14 to 17 of proc(5), counted from the state, which is the third.
    return sum(map(int, fields[11 : 15 if with_ended else 13])) / os.sysconf("SC_CLK_TCK")
