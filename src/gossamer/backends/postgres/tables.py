"""The `Tables` port on one PostgreSQL database: opens its connections, for writers, readers, workers and orders, and
creates and migrates the tables.

One process writes at a time, or workers do, each behind its fence.
"""

import os
import socket
from collections.abc import Callable
from typing import TypeVar

import psycopg

from gossamer.backends.postgres import schema
from gossamer.backends.postgres.address import Address, Connection
from gossamer.backends.postgres.commit_marks import FenceMark, SessionMark
from gossamer.backends.postgres.driver import PostgresDatabase
from gossamer.backends.postgres.session import PostgresSession
from gossamer.clock import sleep
from gossamer.errors import DirectoryInUse, NotThisCrawl, StoreFailed
from gossamer.model.partition import PartitionList
from gossamer.model.units import Epoch, Seconds

T = TypeVar("T")

READER_PATIENCE = 30.0
"""Seconds for which a reader waits for a server that is gone, about."""
WORKER_PATIENCE = 2.0
"""The same for a worker, which asks again; it can end meanwhile."""
_WRITER, _READER, _WORKER, _STEERING = "gossamer writer", "gossamer reader", "gossamer worker", "gossamer steering"
_TRIES_TO_HOLD = 60
"""How often the writer looks whether the session of another one ends: the server notices within seconds that a process
was killed."""


class PostgresTables:
    """`store.ports.Tables` in one database."""

    def __init__(self, url: str, *, unsafe: bool = False) -> None:
        """`unsafe`: also on a server that may lose commits. Raises ConfigError."""
        self.address = Address(url)
        self._unsafe = unsafe
        self._name = f"{_WRITER} {socket.gethostname()}:{os.getpid()}"[:63]
        self._worker = _WORKER

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
            # A worker may have joined while the connection was lost.
            lambda: self._open(self._name, self._refuse_workers, read_only=False)[0],
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

        connection, found = self._open(_WORKER, set_up, read_only=False)
        connection.close()
        return found

    def name_worker(self, name: str) -> None:
        """Connections of a worker that are opened from now on show its name in `pg_stat_activity`."""
        self._worker = f"{_WORKER} {name}"[:63]

    def open_session(self, waiting: Seconds) -> PostgresSession:
        """A connection for the protocol of workers, opened when it is first used."""
        address = self.address
        return PostgresSession(lambda: address.connect(self._worker, read_only=False), waiting, failure=address.failure)

    def open_worker(self, epoch: Epoch, partitions: PartitionList) -> PostgresDatabase:
        """The connection on which a worker commits, behind its fence."""
        return PostgresDatabase(
            self.address.connect(self._worker, read_only=False),
            lambda: self.address.connect(self._worker, read_only=False),
            self.address,
            mark=FenceMark(epoch),
            partitions=partitions,
            epoch=epoch,
        )

    def open_worker_reader(self, epoch: Epoch, partitions: PartitionList) -> PostgresDatabase:
        """A connection that reads the queue of the partitions that a worker owns."""
        return PostgresDatabase(
            self.address.connect(self._worker, read_only=True),
            lambda: self.address.connect(self._worker, read_only=True),
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
        """Raises DirectoryInUse while workers are alive. One that was killed is until another one has noticed it. After
        that none joins as long as this connection is open (`Membership.join`)."""
        self._check_alone(connection)
        with connection.transaction():
            connection.execute("LOCK TABLE fence IN SHARE MODE")  # waits for workers that are joining
            self._check_alone(connection)

    def _check_alone(self, connection: Connection) -> None:
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
