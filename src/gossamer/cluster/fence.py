"""The fence: the row by which every transaction of a worker proves that the worker is alive, and is committed once."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Any, TypeVar

from gossamer.cluster.ports import Session
from gossamer.errors import HistoryLost, LeaseLost, WorkerEnded
from gossamer.model.units import Epoch

T = TypeVar("T")


class Passage(Enum):
    """What the fence says to a transaction that comes after `commits` commits."""

    OPEN = "open"  # it may go on
    COMMITTED = "committed"  # the last transaction is on record; its answer was lost
    DEAD = "dead"  # the worker was declared dead
    LOST = "lost"  # commits are gone that had been acknowledged


def judge(row: tuple[bool, int] | None, commits: int) -> Passage:
    """What the row (alive, commits) means. A commit counts even if the worker was declared dead after it."""
    if row is None or row[1] not in (commits, commits + 1):
        return Passage.LOST
    alive, known = row
    if known == commits + 1:
        return Passage.COMMITTED
    return Passage.OPEN if alive else Passage.DEAD


class _CommitFound(Exception):
    """Nothing was run: the last transaction is on record."""


class Fence:
    """The transactions of one worker, one after the other, in the store's thread.

    A transaction that raised StoreFailed is to be run again, with the same work, until it returns. Whether it had been
    committed is then known: the fence counts commits, and the row is locked by an earlier attempt until that has ended.
    """

    def __init__(self, session: Session, epoch: Epoch) -> None:
        self._session = session
        self.epoch: Epoch = epoch
        self.commits = 0
        """On record, as far as this worker knows."""
        self.stored = 0
        """Pages that this worker has stored, in all of these commits."""
        self._unanswered: list[Any] = []

    def run(self, work: Callable[[], T], *, stored: int = 0) -> T:
        """Run `work` in a transaction that stores `stored` pages, and return what it returns.

        Raises LeaseLost if the worker was declared dead: what it has not committed must be dropped. Raises HistoryLost.
        Raises StoreFailed: call it again with the same arguments.
        """
        result: T
        try:
            with self._transaction(self.stored + stored):
                result = work()
                self._unanswered = [result]  # all answers are here; what may be lost is that to the commit
        except _CommitFound:
            (result,) = self._unanswered
        self.commits += 1
        self.stored += stored
        self._unanswered = []
        return result

    @contextmanager
    def _transaction(self, stored: int) -> Iterator[None]:
        with self._session.transaction():
            if self._session.execute("pass_fence", self.epoch, self.commits, stored) == 0:
                self._refuse()
            yield

    def _refuse(self) -> None:
        row = self._session.fetch_one("fence_state", self.epoch)
        match judge(None if row is None else (row[0], row[1]), self.commits):
            case Passage.COMMITTED:
                raise _CommitFound
            case Passage.DEAD:
                raise LeaseLost(self.epoch)
            case Passage.LOST | Passage.OPEN:
                # Open: it was not when the transaction began. No commit of a living worker makes it so.
                raise HistoryLost(self.epoch, self.commits, None if row is None else row[1])


def reason_of_end(session: Session, epoch: Epoch) -> WorkerEnded:
    """Why a worker is not alive: it was declared dead, or its row is gone, which it never is unless commits were lost.
    Raises StoreFailed."""
    return HistoryLost(epoch) if session.fetch_one("fence_state", epoch) is None else LeaseLost(epoch)


def raise_generation(session: Session, generation: int) -> None:
    """After HistoryLost: end all workers, once, so that they start again with empty memories. Who owns what is no
    longer known, so everything is free and rests until the last of them has noticed. `generation` is the one that this
    worker has joined. Raises StoreFailed."""
    with session.transaction():
        if session.execute("raise_generation", generation):
            for statement in ("end_all_fences", "end_all_workers", "free_all_partitions", "free_all_gates"):
                session.execute(statement)
