"""The partitions that a worker owns, and those among them that it visits."""

from collections.abc import Iterable

from gossamer.clock import Clock
from gossamer.cluster.handover import Released
from gossamer.cluster.membership import Taken
from gossamer.cluster.partitions import Partitions
from gossamer.crawl.member.shared_store import SharedStore
from gossamer.filter.domains import partition_of, registrable_domain
from gossamer.model.partition import PartitionList
from gossamer.model.units import HostKey, Instant
from gossamer.store.ports import Database
from gossamer.store.table.writer import TableWriter

ORDERS = 0
"""The partition whose owner applies orders, and looks again at what former rules refused."""


class PartitionOwnership:
    """The partitions that this worker owns (`store.ports.Ownership`), and those that it visits: the owned ones, without
    those that it is about to give up.

    What it owns changes in the thread of the store, along with the transaction that says so; what it visits, on the
    event loop. Both may be read by either.
    """

    def __init__(self, partitions: int, owned: Partitions) -> None:
        """`partitions`: of the crawl."""
        self.partitions = partitions
        self.owned = PartitionList()
        """What the writer looks at."""
        self.visited = PartitionList()
        """What is read for the frontier."""
        self.is_retired = False
        """Takes no partitions any more."""
        self._owned = owned
        self._cut_off: frozenset[int] = frozenset()

    def __len__(self) -> int:
        """How many it owns."""
        return len(self._owned)

    def numbers(self) -> list[int]:
        """Those it owns."""
        return self._owned.numbers()

    def owns(self, partition: int) -> bool:
        return partition in self._owned

    def visits(self, partition: int) -> bool:
        """Whether this worker owns a partition, and is not about to give it up."""
        return partition in self.visited.numbers

    @property
    def takes_orders(self) -> bool:
        """Whether orders are left to this worker."""
        return self.visits(ORDERS)

    def partition_of(self, host: HostKey) -> int:
        return partition_of(registrable_domain(host), self.partitions)

    def taken(self, partition: int) -> tuple[Released, Instant]:
        """How its last owner left a partition that is owned now, and when it was taken over."""
        return self._owned.taken(partition)

    # --- before the crawl runs ---------------------------------------------------------------------

    def show_all(self) -> None:
        """The writer sees all partitions of the crawl, until `show_none`: no other worker takes part."""
        self.owned.numbers = list(range(self.partitions))

    def show_none(self) -> None:
        self.owned.numbers = []

    def adopt(self, taken: Iterable[Taken], now: Instant) -> None:
        """These passed to this worker when it joined, before `now`."""
        self._owned.on_taken(taken, now)
        self.owned.numbers = self.visited.numbers = self._owned.numbers()

    # --- what is visited ---------------------------------------------------------------------------

    def visit_owned(self) -> frozenset[int]:
        """Visit everything that is owned. Returns it."""
        return self._visit(self._owned.numbers())

    def visit_all_but(self, given: list[int]) -> frozenset[int]:
        """Visit what is owned, except for these partitions. Returns the others."""
        return self._visit([part for part in self._owned.numbers() if part not in given])

    def _visit(self, parts: list[int]) -> frozenset[int]:
        self.visited.numbers = parts
        return frozenset(parts)

    # --- in the thread of the store ----------------------------------------------------------------

    def take(self, writer: TableWriter, count: int, clock: Clock) -> list[Taken]:
        """Take free partitions, `count` at most. In the thread of the store: within a commit, all statements see the
        same partitions. Raises StoreFailed, WorkerEnded."""
        if self.is_retired:
            return []
        taken = writer.run(lambda db: self._owned.take(db, count))
        self._owned.on_taken(taken, clock.now())
        self.owned.numbers = self._owned.numbers()
        return taken

    def give(self, writer: TableWriter, given: list[int]) -> None:
        """Give up partitions that are not visited, and about which everything is committed. In the thread of the store.
        Raises StoreFailed, WorkerEnded."""
        if self.is_retired:
            return
        writer.run(lambda db: self._owned.give(db, given))
        self._owned.on_given(given)
        self.owned.numbers = self._owned.numbers()
        writer.forget_rows()

    def cut_off(self, parts: Iterable[int] | None) -> None:
        """No contact is open any more; those of hosts in these partitions (None: in any) are on no record."""
        self._cut_off = frozenset(self._owned.numbers() if parts is None else parts)

    def give_all(self, db: Database) -> None:
        """In the last transaction that concerns them: give up all partitions; `retire` follows once that is
        committed."""
        if parts := self._owned.numbers():
            self._owned.give(db, parts, self._cut_off)

    def retire(self) -> None:
        """Everything was given up; take no others."""
        self.is_retired = True
        self._owned.on_given(self._owned.numbers())
        self.owned.numbers = self.visited.numbers = []

    # --- rests -------------------------------------------------------------------------------------

    async def mark_rested(self, store: SharedStore, now: Instant) -> None:
        """Put on record which partitions have rested since the death of their last owner, and which deaths can be
        forgotten. Raises StoreFailed, WorkerEnded."""
        rested, outlived = self._owned.rested(now), self._owned.long_lived(now)
        if rested or outlived:
            await store.write(lambda db: self._owned.mark(db, rested=rested, outlived=outlived))
            self._owned.on_marked(rested=rested, outlived=outlived)
