"""How a crawl is steered from other processes, through its store: orders, settings, and the live status.

**Orders** are rows: an API process adds one and waits for its answer; the crawl applies new ones as they come and marks
each with its answer, in the transaction that has its effect (`Batch.answers`). So an order that was not applied when a
crawl was killed is applied at the next start, and one that was applied is not applied again. An order whose effect
takes several transactions is marked by the last of them, and its parts are such that repeating them does no harm.

**Settings** are facts about the crawl as a whole (what is paused, the limits, what is overridden for hosts: the text is
that of `config.overrides`), with a version number that every change increments. An API process changes them itself; the
crawl notices another version, reads them again and reports in its live status which version it has applied.

**With several workers** the owner of one partition (`crawl.member.ownership.ORDERS`) applies orders, or its next owner
if it dies first. What an order means for URLs of other partitions goes to their inboxes, in the transaction of its
answer. Settings concern no partition: a heartbeat tells every worker that there is another version, and it reads them.
Each worker has a live status under its own name.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from gossamer.errors import StoreFailed
from gossamer.model.units import Instant
from gossamer.store.ports import Database

if TYPE_CHECKING:
    from gossamer.store.threads import ConnectionThread  # loads asyncio, which readers do without

T = TypeVar("T")

SETTINGS_VERSION = "settings_version"
"""The fact that counts changes of the settings."""


class OrderState(IntEnum):
    NEW = 0
    APPLIED = 1
    REFUSED = 2


class Order(NamedTuple):
    id: int
    kind: str
    body: str  # JSON


class Answer(NamedTuple):
    state: OrderState
    text: str  # JSON


def answer_order(db: Database, order_id: int, answer: str, state: OrderState = OrderState.APPLIED) -> None:
    """Mark an order, which is new. Nothing happens if it was withdrawn."""
    db.execute("answer_order", int(state), answer, order_id)


class OrderTable:
    """The orders of a crawl, on a connection for steering or, to read, on any other."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def add(self, kind: str, body: str, now: Instant, *, part: int | None = None, read: Sequence[int] = ()) -> int:
        """Add an order, durably, and return its id. Orders of which the answers were `read` are removed."""
        with self._db.transaction():
            for order_id in read:
                self._db.execute("forget_order", order_id)
            return self._db.insert("add_order", part, kind, body, now)

    def new(self, most: int, parts: Sequence[int] | None = None) -> list[Order]:
        """The first new orders; with `parts`, those of these partitions."""
        rows = self._db.fetch_all("new_orders", None if parts is None else list(parts), most)
        return [Order(order_id, kind, body) for order_id, kind, body in rows]

    def answer(self, order_id: int) -> Answer | None:
        """None while it is new."""
        row = self._db.fetch_one("order_answer", order_id)
        return None if row is None or row[0] == OrderState.NEW else Answer(OrderState(row[0]), str(row[1]))

    def withdraw(self, order_id: int) -> bool:
        """Remove an order unless it has an answer. Its effect may still come, if the crawl is about to commit it."""
        with self._db.transaction():
            return self._db.execute("withdraw_order", order_id) > 0

    def clear(self, before: Instant) -> None:
        """Remove orders whose answers were never read, because an API process was killed."""
        with self._db.transaction():
            self._db.execute("forget_answered_orders", before)


class Settings:
    """The version of the settings, and how they are changed."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def version(self) -> int:
        return int(self._db.fetch_value("fact", SETTINGS_VERSION) or 0)

    def read(self, name: str) -> tuple[int, str | None]:
        """The version and one of the settings, as of the same commit."""
        with self._db.snapshot():
            value = self._db.fetch_value("fact", name)
            return self.version(), None if value is None else str(value)

    def change(
        self,
        name: str,
        change: Callable[[str | None], str],
        orders: Mapping[str, str],
        now: Instant,
        *,
        read: Sequence[int] = (),
    ) -> tuple[int, list[int]]:
        """Change one of the settings and add the orders that go with it, durably and in one transaction; `change` gets
        the old value and returns the new one. Returns the new version and the ids of the orders."""
        with self._db.transaction():
            self._db.execute("count_settings")  # first, so that another process that changes them waits here
            old = self._db.fetch_value("fact", name)
            self._db.write_rows("set_fact", [(name, change(None if old is None else str(old)))])
            for order_id in read:
                self._db.execute("forget_order", order_id)
            added = [self._db.insert("add_order", None, kind, body, now) for kind, body in orders.items()]
            return self.version(), added


class LiveRow:
    """`store.ports.LiveStatus` in a row for each worker."""

    def __init__(self, connection: "ConnectionThread", worker: str, *, is_shared: bool = False) -> None:
        """`connection`: for steering or, to read, any other. `is_shared`: it has other users, and stays open."""
        self._connection = connection
        self._worker = worker
        self._is_shared = is_shared

    def write(self, status: bytes) -> None:
        self._try(lambda db: db.execute("set_live", self._worker, status))

    def read(self) -> list[bytes]:
        found = self._try(lambda db: db.fetch_all("live"))
        return [bytes(status) for (status,) in found or ()]

    def clear(self) -> None:
        self._try(lambda db: db.execute("clear_live", self._worker))

    def close(self) -> None:
        if not self._is_shared:
            self._connection.close()

    def _try(self, use: Callable[[Database], T]) -> T | None:
        try:
            return self._connection.run_from_thread(use)
        except StoreFailed:
            return None
