"""Tells a connection that writes whether its last transaction is on record, when the answer to its commit was lost.

The first statement of every transaction counts it in a row, and the count says afterwards whether it was committed. The
row is that of a session (`SessionMark`), or the fence of a worker (`FenceMark`), which also keeps a worker that was
declared dead from writing.
"""

import os
from typing import Protocol

from gossamer.backends.postgres.address import Connection
from gossamer.cluster.fence import Passage, judge
from gossamer.errors import HistoryLost, LeaseLost, StoreFailed
from gossamer.model.units import Epoch


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
