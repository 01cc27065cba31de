"""Holds of hosts, on the side of the worker that asks."""

import asyncio
from collections.abc import Callable
from typing import Any, cast

from gossamer.crawl.member.host_holds import HostHolds
from gossamer.model.units import HostKey
from gossamer.store.ports import Database

HOST = HostKey("other.test")


class Inbox:
    """The statements of a hold, on one message."""

    waiting = True

    def fetch_one(self, name: str, *_: object) -> tuple[object, ...]:
        return (5, 100.0) if name == "ask_for_hold" else (self.waiting, 100.0 if self.waiting else 220.0)


class Worker:
    """`HostPartitions` and `HoldMessages`."""

    def __init__(self) -> None:
        self.inbox = Inbox()
        self.is_owner = False

    def partition_of(self, host: HostKey) -> int:
        return 0

    def visits(self, partition: int) -> bool:
        return self.is_owner

    async def write(self, work: Callable[[Database], Any]) -> Any:
        return work(cast(Database, self.inbox))

    async def look(self, use: Callable[[Database], None]) -> None:
        use(cast(Database, self.inbox))


def test_an_answer_that_comes_before_the_first_look_counts() -> None:
    worker = Worker()
    worker.inbox.waiting = False

    assert asyncio.run(HostHolds(worker, worker).obtain(HOST))


def test_a_host_whose_partition_arrives_while_it_is_asked_for_is_not_waited_for() -> None:
    worker = Worker()
    holds = HostHolds(worker, worker)
    assert not asyncio.run(holds.obtain(HOST)) and not holds.may_start(HOST)

    worker.is_owner = True

    assert holds.may_start(HOST)
    assert asyncio.run(holds.obtain(HOST))
    worker.is_owner = False
    assert not holds.may_start(HOST)  # the old hold is forgotten
