"""Lends hosts of this worker to others that have to contact them once: the owner's side of `cluster.host_holds`."""

from typing import NamedTuple

from gossamer.cluster import host_holds
from gossamer.cluster.inbox import Message
from gossamer.crawl.member.first_contact import FirstContacts
from gossamer.crawl.member.ownership import PartitionOwnership
from gossamer.crawl.member.shared_store import SharedStore
from gossamer.crawl.run.crawl import Crawl
from gossamer.model.units import Instant
from gossamer.store.ports import Database
from gossamer.store.table.writer import TableWriter


class _Granted(NamedTuple):
    at: Instant
    created: int  # rows of hosts


class HostLending:
    """Answers the messages by which other workers ask for a host and return it. Owned by the event loop."""

    def __init__(
        self, crawl: Crawl, store: SharedStore, ownership: PartitionOwnership, first_contacts: FirstContacts
    ) -> None:
        self._crawl, self._store = crawl, store
        self._ownership, self._first_contacts = ownership, first_contacts

    async def lend(self, message: Message) -> bool:
        """Leave a host alone for another worker that asks for it, once it is idle and has rested. False if the message
        has to wait. Raises StoreFailed, WorkerEnded."""
        crawl, host = self._crawl, host_holds.host_of(message)
        found = await self._store.read(lambda loader: loader.find_host(host))
        record = None if found is None else self._first_contacts.loaded(found).record
        number, rests_until = (None, Instant(0.0)) if record is None else (record.host_id, record.next_contact)
        lending = crawl.frontier.cross_host
        if not lending.lend(host, number, rests_until, crawl.clock.now()):
            return False
        until = crawl.clock.now()
        try:
            await crawl.store.until_committed()  # its last contact is on record

            granted = await self._store.call(lambda writer: self._grant(writer, message))
            if granted is not None:
                until = Instant(granted.at + host_holds.HELD_FOR)
                crawl.counters.count(crawl.store.batch, "hosts", granted.created)
        finally:
            lending.end_lending(host, until, crawl.clock.now())
            crawl.engine.pump_soon()
        return granted is not None

    def _grant(self, writer: TableWriter, message: Message) -> _Granted | None:
        """In the thread of the store. None: the partition is not ours any more."""

        def grant(db: Database) -> _Granted | None:
            if not self._ownership.owns(message.part):
                return None
            now = self._crawl.clock.now()  # in each attempt: the store may have been away for longer than a hold
            # What the next owner reads. It might meet the host while the asker contacts it.
            created = writer.create_host(host_holds.host_of(message))
            host_holds.grant(db, message, now)
            return _Granted(now, created)

        return writer.run(grant)

    async def take_back(self, message: Message) -> bool:
        """A host was contacted, and rests. False if the message has to wait. Raises StoreFailed, WorkerEnded."""
        crawl = self._crawl
        returned = host_holds.returned_in(message)
        until = Instant(crawl.clock.now() + returned.rest)

        def take_back(db: Database) -> bool:
            if self._ownership.owns(message.part):
                host_holds.take_back(db, message, returned, until)
                return True
            return False

        if not await self._store.write(take_back):
            return False
        crawl.frontier.cross_host.take_back(returned.host, returned.held_until, until)
        crawl.engine.pump_soon()
        return True
