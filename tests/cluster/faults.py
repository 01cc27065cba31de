"""Faults of a worker and of its connections: kills, pauses, answers that are lost, a server whose clock is stepped."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

import psycopg
from psycopg import RawCursor

from gossamer.backends.postgres.session import Connection
from tests.cluster.shared_time import now

_SERVER_CLOCK = re.compile(r"\b(clock_timestamp|now)\(\)")


class Killed(BaseException):
    """kill -9: no line of the worker runs after it."""


@dataclass
class ServerClockStep:
    """How far the clock of the server was stepped."""

    seconds: float = 0.0


@dataclass
class Faults:
    """What is to happen to one life of a worker, and at which points of it."""

    kill_at: str | None = None  # anywhere, transaction, contact
    pause_at: str | None = None
    pause: float = 0.0
    lose_answer: str | None = None  # of the next commit, which is: made, not made
    lose_pages: bool = False  # of the next one that stores pages
    cut: bool = False  # when killed, its sessions stay open, as after the loss of a machine
    killed: bool = False
    asleep_until: float = 0.0
    delay_heartbeats_until: float = 0.0
    left_open: list[Connection] = field(default_factory=list)
    turned: float = 0.0  # when the main thread last did anything

    def point(self, place: str) -> None:
        """The main thread of the worker is here: `anywhere`, or inside a `transaction` or a `contact`."""
        if self.killed or self.kill_at in (place, "anywhere"):
            self.killed = True
            raise Killed
        if self.pause_at in (place, "anywhere"):
            self.pause_at = None
            self.asleep_until = now() + self.pause
        self.sleep()
        if self.killed:
            raise Killed
        self.turned = now()

    def sleep(self) -> None:
        """All threads of a paused worker stop."""
        while now() < self.asleep_until and not self.killed:
            time.sleep(0.005)


class FaultyConnection:
    """What `PostgresSession` uses of a connection."""

    def __init__(self, real: Connection, faults: Faults, step: ServerClockStep, *, main: bool) -> None:
        self._real, self._faults, self._step, self._main = real, faults, step, main
        self._stores = False

    @property
    def closed(self) -> bool:
        return self._real.closed

    def close(self) -> None:
        if self._faults.killed and self._faults.cut:
            self._faults.left_open.append(self._real)
        else:
            self._real.close()

    def execute(self, statement: str, values: tuple[object, ...] = ()) -> psycopg.Cursor[tuple[Any, ...]]:
        if self._main:
            self._faults.point("transaction" if self._is_within() else "anywhere")
            self._stores = not statement.startswith("BEGIN") and (self._stores or "INTO captures" in statement)
            if statement == "COMMIT" and self._faults.lose_answer and (self._stores or not self._faults.lose_pages):
                return self._lose()
        else:
            while now() < self._faults.delay_heartbeats_until and not self._faults.killed:
                time.sleep(0.005)
            self._faults.sleep()
            if self._faults.killed:
                raise psycopg.OperationalError("the worker was killed")
        if self._step.seconds:
            statement = _SERVER_CLOCK.sub(rf"(\1() + interval '{self._step.seconds} seconds')", statement)
        return self._real.execute(statement, values)

    def _is_within(self) -> bool:
        return self._real.info.transaction_status == psycopg.pq.TransactionStatus.INTRANS

    def _lose(self) -> psycopg.Cursor[tuple[Any, ...]]:
        made, self._faults.lose_answer = self._faults.lose_answer == "made", None
        if made:
            self._real.execute("COMMIT")
        self._real.close()
        raise psycopg.OperationalError("the connection was lost while a commit waited for its answer")


def connector(url: str, faults: Faults, step: ServerClockStep, *, main: bool) -> Callable[[], Connection]:
    """Opens connections for one worker: of its main thread, or of its heartbeats."""

    def connect() -> Connection:
        if faults.killed:
            raise psycopg.OperationalError("the worker was killed")
        real = psycopg.connect(url, autocommit=True, cursor_factory=RawCursor[Any], connect_timeout=5)
        return cast(Connection, FaultyConnection(real, faults, step, main=main))

    return connect


def plain_connector(url: str) -> Callable[[], Connection]:
    return lambda: psycopg.connect(url, autocommit=True, cursor_factory=RawCursor[Any])
