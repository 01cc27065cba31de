"""Contacts of hosts that other workers own: asks their owners to hold them (`cluster.host_holds`), and returns them."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol, TypeVar

from gossamer.clock import boot_time
from gossamer.cluster import host_holds
from gossamer.cluster.host_holds import HostHold, Returned
from gossamer.errors import StoreFailed
from gossamer.model.units import HostKey, Seconds
from gossamer.store.ports import Database

T = TypeVar("T")


class HostPartitions(Protocol):
    """The partitions of hosts (`ownership`)."""

    def partition_of(self, host: HostKey) -> int: ...

    def visits(self, partition: int) -> bool:
        """Whether this worker owns a partition, and is not about to give it up."""
        ...


class HoldMessages(Protocol):
    """The store, for messages to other workers (`shared_store`)."""

    async def write(self, work: Callable[[Database], T]) -> T:
        """Run statements behind the fence. Raises StoreFailed."""
        ...

    async def look(self, use: Callable[[Database], None]) -> None:
        """Read. Raises StoreFailed."""
        ...


class HostHolds:
    """`crawl.visit.robots.HostHolds`. At most one hold of each host. Owned by the event loop."""

    def __init__(self, partitions: HostPartitions, store: HoldMessages) -> None:
        self._partitions, self._store = partitions, store
        self._holds: dict[HostKey, HostHold] = {}
        self._asking: set[HostKey] = set()
        self._returning: set[asyncio.Task[None]] = set()

    def owns_host(self, host: HostKey) -> bool:
        return self._partitions.visits(self._partitions.partition_of(host))

    async def obtain(self, host: HostKey) -> bool:
        if self.owns_host(host):
            self._holds.pop(host, None)  # of the former owner; the host's date says how long it still rests
            return True
        if host in self._asking:
            return False
        self._asking.add(host)
        try:
            await self._ask(host)
        except StoreFailed:
            return False
        finally:
            self._asking.discard(host)
        return self.may_start(host)

    async def _ask(self, host: HostKey) -> None:
        """Send a message, or look whether it was answered."""
        hold, now = self._holds.get(host), boot_time()
        if hold is None or hold.is_over(now):
            part = self._partitions.partition_of(host)
            hold = self._holds[host] = await self._store.write(lambda db: host_holds.ask(db, part, host, boot_time()))
            now = boot_time()
        if not hold.is_answered:
            await self._store.look(lambda db: hold.look(db, now))

    def may_start(self, host: HostKey) -> bool:
        if self.owns_host(host):
            return True
        hold = self._holds.get(host)
        return hold is not None and hold.may_start(boot_time())

    def give_back(self, host: HostKey, rest: Seconds) -> None:
        hold = self._holds.pop(host, None)
        if hold is None or hold.held_until is None:
            return
        returned = Returned(host, hold.held_until, rest)
        task = asyncio.ensure_future(self._return(hold.part, returned))
        self._returning.add(task)
        task.add_done_callback(self._returning.discard)

    async def _return(self, part: int, returned: Returned) -> None:
        with suppress(StoreFailed):  # then the hold ends by itself
            await self._store.write(lambda db: host_holds.give_back(db, part, returned))
