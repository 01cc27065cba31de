"""Keeps the share of a worker: takes the partitions that it lacks, and gives up those that exceed it."""

import asyncio
from collections.abc import Callable

from gossamer.cluster.heartbeat import View
from gossamer.cluster.membership import Membership
from gossamer.cluster.ports import Session
from gossamer.cluster.share import shares, shortfall, surplus
from gossamer.cluster.watch import Silent
from gossamer.crawl.member.message_intake import MessageIntake
from gossamer.crawl.member.ownership import PartitionOwnership
from gossamer.crawl.member.shared_store import SharedStore
from gossamer.crawl.run.crawl import Crawl
from gossamer.crawl.run.recovery import domain_rests
from gossamer.frontier.politeness import PolitenessPolicy
from gossamer.model.partition import ID_BITS
from gossamer.model.units import Epoch
from gossamer.store.table.writer import TableWriter

_LOOK = 0.025
"""Seconds between two looks whether visits to partitions that are given up have ended."""


class Balance:
    """Follows what the heartbeats have read about the other workers. Owned by the event loop."""

    def __init__(
        self,
        crawl: Crawl,
        store: SharedStore,
        ownership: PartitionOwnership,
        intake: MessageIntake,
        epoch: Epoch,
        politeness: PolitenessPolicy,
        membership_on: Callable[[Session], Membership],
    ) -> None:
        """`membership_on`: this worker as a member, on a connection."""
        self._crawl, self._store = crawl, store
        self._ownership, self._intake = ownership, intake
        self._epoch, self._membership_on = epoch, membership_on
        self._politeness = politeness
        self._declared: set[Silent] = set()

    async def end_silent(self, view: View) -> None:
        """Declare silent workers dead. Raises StoreFailed, WorkerEnded."""
        for silent in view.silent:
            await self._declare_dead(silent)

    async def follow(self, view: View) -> None:
        """Take or give up partitions. That takes as long as the visits to those that are given up. Raises StoreFailed,
        WorkerEnded."""
        if not self._ownership.is_retired:
            await self._even_out(view)
            await self._ownership.mark_rested(self._store, self._crawl.clock.now())

    def visit_owned(self) -> None:
        """Visit all partitions that are owned now."""
        self._crawl.frontier.keep_partitions(self._ownership.visit_owned())
        self._share_budget()

    async def _declare_dead(self, silent: Silent) -> None:
        if silent not in self._declared:
            await self._store.write(lambda db: self._membership_on(db).declare_dead(silent))
            self._declared.add(silent)

    async def _even_out(self, view: View) -> None:
        """Give up what exceeds the share of this worker, or take what it lacks."""
        ownership = self._ownership
        share = shares(ownership.partitions, view.weights()).get(self._epoch, 0)
        hosts = dict.fromkeys(ownership.numbers(), 0)
        for host_id in self._crawl.frontier.hosts_in_memory():
            if (part := host_id >> ID_BITS) in hosts:
                hosts[part] += 1
        if given := surplus(hosts, share):
            await self._give(given)
        elif missing := shortfall(len(ownership), share):
            await self._take(missing)

    async def _take(self, count: int) -> None:
        clock = self._crawl.clock
        if not (taken := await self._store.call(lambda writer: self._ownership.take(writer, count, clock))):
            return
        await self._rest_domains({part for part, _ in taken})
        await self._store.call(TableWriter.on_partitions_taken)
        await self._store.call(lambda writer: writer.requeue_missing(clock.now()))
        self.visit_owned()
        self._crawl.engine.reread()

    async def _rest_domains(self, taken: set[int]) -> None:
        """Where domains have a gap, it also follows contacts by the last owner, to any of their hosts."""
        frontier, now = self._crawl.frontier, self._crawl.clock.now()
        if not frontier.has_domain_gaps:
            return
        resting = await self._store.read(lambda loader: loader.resting_hosts(now))
        found = [rest for rest in resting if self._ownership.partition_of(rest[0]) in taken]
        for host, until in domain_rests(found, self._politeness, now):
            frontier.rest_domain(host, until)

    async def _give(self, given: list[int]) -> None:
        """Start no visit there, let open ones end, commit everything about them; then give them up."""
        crawl = self._crawl
        crawl.frontier.keep_partitions(self._ownership.visit_all_but(given))
        async with self._intake.paused():
            crawl.engine.pump_soon()
            while crawl.frontier.has_closed_hosts() or self._contacts_host_in(given):
                crawl.store.hasten()
                await asyncio.sleep(_LOOK)
            await crawl.store.until_committed()
            await self._store.call(lambda writer: self._ownership.give(writer, given))
            self._share_budget()

    def _contacts_host_in(self, parts: list[int]) -> bool:
        """Whether a host in one of these partitions is being contacted by a visit to another host."""
        hosts = self._crawl.frontier.cross_host.reserved_hosts()
        return any(self._ownership.partition_of(host) in parts for host in hosts)

    def _share_budget(self) -> None:
        if len(self._ownership):
            share = len(self._ownership) / self._ownership.partitions
            self._crawl.engine.requeue.change_share(share, self._crawl.clock.now())
