"""This process as one of the workers that share a crawl: it joins, runs alongside the crawl, and leaves."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import closing
from typing import NamedTuple

from gossamer.clock import Clock, ServerClock, boot_time
from gossamer.cluster import crawl_end
from gossamer.cluster.fence import raise_generation
from gossamer.cluster.heartbeat import Heartbeat, View
from gossamer.cluster.lease import LeaseTerms
from gossamer.cluster.membership import Joined, Membership, list_workers
from gossamer.cluster.partitions import Partitions
from gossamer.cluster.ports import Session
from gossamer.cluster.shared_addresses import SharedAddresses
from gossamer.config.hosts import HostSettingsTable
from gossamer.crawl.document.announcer import POSITION_KEY
from gossamer.crawl.member.address_exchange import AddressExchange
from gossamer.crawl.member.balance import Balance
from gossamer.crawl.member.contact_permit import LeasePermit
from gossamer.crawl.member.crawl_end import CrawlEnd, Idleness, SharedRun
from gossamer.crawl.member.first_contact import FirstContacts, rest_policy_for
from gossamer.crawl.member.host_holds import HostHolds
from gossamer.crawl.member.host_lending import HostLending
from gossamer.crawl.member.joining import Tell, describe, join
from gossamer.crawl.member.message_intake import MessageIntake
from gossamer.crawl.member.ownership import PartitionOwnership
from gossamer.crawl.member.page_limit import PageLimit, page_grants_for
from gossamer.crawl.member.shared_rules import SharedRules
from gossamer.crawl.member.shared_store import SharedStore, SharedTables, StoreAccess
from gossamer.crawl.member.worker import WorkerFile, WorkerLife
from gossamer.crawl.member.worker_figures import FigurePublisher, SharingMetrics
from gossamer.crawl.run.crawl import Crawl
from gossamer.errors import HistoryLost, LeaseLost
from gossamer.frontier.politeness import PolitenessPolicy
from gossamer.model.loads import HostLoaded
from gossamer.model.partition import ID_BITS
from gossamer.model.units import HostKey, Instant
from gossamer.observe.snapshot import SharingCounts
from gossamer.recrawl.budget import PACE, TOKENS
from gossamer.recrawl.price import PRICE
from gossamer.store.ports import Database
from gossamer.store.table.writer import TableWriter

TURN = 0.1
"""Seconds between two looks at the lease."""
LOOK = 0.25
"""Seconds between two looks at what the heartbeats have read ..."""
FIRST_LOOK = 0.05
"""... and before the first one was answered."""
_OWN_FACTS = frozenset({PRICE, TOKENS, PACE, POSITION_KEY})


class _Attached(NamedTuple):
    """What there is once the crawl is assembled."""

    crawl: Crawl
    writer: TableWriter
    balance: Balance
    intake: MessageIntake
    page_limit: PageLimit
    end: CrawlEnd
    figures: FigurePublisher


class Member:
    """One life of a worker (`CrawlMember`, `CrawlSharing`). For the event loop, except where a method says otherwise.

    In this order: `join`, `open_writer`, `end_set_up`, `adopt`, `attach`, `run`; then `leave` or, if the crawl could
    not be opened, `abandon`; then `close`.
    """

    def __init__(
        self,
        tables: SharedTables,
        file: WorkerFile,
        life: WorkerLife,
        terms: LeaseTerms,
        politeness: PolitenessPolicy,
        hosts: HostSettingsTable,
        agent: str,
        session: Session,
        joined: Joined,
    ) -> None:
        """A worker that has joined on `session`. `agent`: the name by which robots.txt files address it."""
        policy = rest_policy_for(politeness, terms)
        self.life = life
        self._tables, self._file, self._terms = tables, file, terms
        self._politeness = politeness
        self._session, self._joined = session, joined
        self._turned = boot_time()
        self._attached: _Attached | None = None
        self._db: Database | None = None
        self.is_alone = joined.alone
        """Whether there was no other worker when this one joined."""
        self.store = SharedStore()
        self.ownership = PartitionOwnership(joined.partitions, Partitions(life.epoch, policy, terms.long_life))
        self.heartbeat = Heartbeat(
            tables.open_session(terms.waiting),
            life.epoch,
            terms,
            now=boot_time,
            turned=lambda: self._turned,
            stats=lambda: "{}" if self._attached is None else self._attached.figures.text,
            rules_version=lambda: self.rules.followed(),
        )
        self.permit = LeasePermit(self.heartbeat.lease)
        self.rules = SharedRules(self.store, self.ownership, self.heartbeat, joined.rules_version)
        self.holds = HostHolds(self.ownership, self.store)
        self._first_contacts = FirstContacts(self.ownership, policy, politeness, hosts, agent)
        self._addresses = SharedAddresses(policy, politeness.min_delay, kept_for=terms.ttl)
        self._exchange = AddressExchange(session, life.epoch, self._addresses)
        self._run = SharedRun(session, life.epoch)
        self._idleness = Idleness()
        self._metrics = SharingMetrics(self.store, life.name, self.heartbeat, self.ownership)

    # --- before the crawl runs ---------------------------------------------------------------------

    @classmethod
    def join(
        cls,
        tables: SharedTables,
        file: WorkerFile,
        life: WorkerLife,
        terms: LeaseTerms,
        politeness: PolitenessPolicy,
        hosts: HostSettingsTable,
        agent: str,
        tell: Tell,
    ) -> "Member":
        """Become a member. What the last process in this directory owned passes to this one. Raises NameInUse,
        StoreFailed, DirectoryError."""
        session, previous = tables.open_session(terms.waiting), list(file.epochs)
        file.save(life.name, [*previous, life.epoch])
        membership = _membership(session, life, terms)
        joined = join(session, membership, previous, terms, begins_run=not life.joins, tell=tell)
        if joined.ttl != terms.ttl:
            if not life.joins:
                tell(f"cluster.ttl = {terms.ttl:g} is ignored: the workers of this crawl use {joined.ttl:g}")
            terms = LeaseTerms(joined.ttl)
            session.close()
            session = tables.open_session(terms.waiting)
        file.save(life.name, [life.epoch])
        return cls(tables, file, life, terms, politeness, hosts, agent, session, joined)

    def open_writer(self) -> Database:
        """The connection of the writer. It sees all partitions until `end_set_up`, if no other worker does."""
        if self.is_alone:
            self.ownership.show_all()
        self._db = self._tables.open_worker(self.life.epoch, self.ownership.owned)
        return self._db

    def end_set_up(self) -> None:
        """What concerns all partitions is done."""
        self.ownership.show_none()

    def open_reader(self) -> Database:
        """A connection that reads for the frontier."""
        return self._tables.open_worker_reader(self.life.epoch, self.ownership.visited)

    def clock(self) -> Clock:
        """The time of the server. Raises StoreFailed."""
        return ServerClock(lambda: float(self._session.fetch_value("server_time")))

    def adopt(self, now: Instant) -> None:
        """Take over what the last process in this directory had. `now` is later than `join`."""
        self.ownership.adopt(self._joined.owned, now)
        self._addresses.adopt(tuple(self._joined.gates), now)
        self.heartbeat.start()

    def start_run(self, max_pages: int | None, due_by: Instant) -> None:
        """A run of the crawl begins, for all workers. Raises StoreFailed."""
        self._run.start(max_pages, due_by)

    def describe_others(self) -> str:
        """The other workers that are alive, for messages. Raises StoreFailed."""
        others = [describe(worker) for worker in list_workers(self._session) if worker.epoch != self.life.epoch]
        return ", ".join(others)

    @property
    def name(self) -> str:
        return self.life.name

    @property
    def archive_name(self) -> str:
        """How the names of its WARC files begin, after that of the program."""
        return self._file.files_of(self.name)

    @property
    def generation(self) -> int:
        """Of the crawl; what a cache has of others is void."""
        return self._joined.generation

    @property
    def begins_run(self) -> bool:
        return self.is_alone and not self.life.joins

    @property
    def takes_orders(self) -> bool:
        return self.ownership.takes_orders

    def owns_host(self, host: HostKey) -> bool:
        return self.ownership.owns(self.ownership.partition_of(host))

    def fact_name(self, name: str) -> str:
        """What each worker keeps for itself has its name, so that commits do not wait for each other's rows."""
        return f"{name}@{self.name}" if name in _OWN_FACTS else name

    # --- what the engine asks ------------------------------------------------------------------------

    def page_room(self, unsettled: int) -> int | None:
        return self._parts().page_limit.room(unsettled)

    def loaded(self, host: HostLoaded) -> HostLoaded:
        found = self._first_contacts.loaded(host)
        if found is not host and found.record is not None:
            # What the host requires after a handover its domain does too, if domains have a gap.
            self._parts().crawl.frontier.rest_domain(found.record.host, found.record.next_contact)
        return found

    def on_idle(self, *, may_end: bool) -> None:
        self._idleness.begin(may_end=may_end)

    def on_ended(self) -> None:
        """What was in flight when the engine was stopped, by a signal or an error, is on no record."""
        crawl = self._parts().crawl
        self._addresses.end_contacts(crawl.clock.now())
        open_contacts = {host_id >> ID_BITS for host_id in crawl.requester.open_contacts}
        self.ownership.cut_off(open_contacts if crawl.store.is_idle else None)

    # --- alongside the crawl ------------------------------------------------------------------------

    def attach(self, crawl: Crawl, writer: TableWriter) -> None:
        """The crawl is assembled."""
        assert self._db is not None, "the writer is open"
        store, ownership, epoch = self.store, self.ownership, self.life.epoch
        store.attach(StoreAccess(crawl.store, writer, crawl.reads, crawl.loader))
        grants = page_grants_for(self._db, writer, epoch, crawl.counters)
        lending = HostLending(crawl, store, ownership, self._first_contacts)
        intake = MessageIntake(crawl, ownership, lending, self.rules, self._idleness, self.heartbeat)
        balance = Balance(crawl, store, ownership, intake, epoch, self._politeness, self._membership_on)
        self._attached = _Attached(
            crawl,
            writer,
            balance,
            intake,
            PageLimit(crawl, store, grants, self._idleness),
            CrawlEnd(
                crawl,
                store,
                self._run,
                grants,
                self._idleness,
                lambda db: crawl_end.finish(db, epoch, self.rules.applied),
            ),
            FigurePublisher(crawl, self.heartbeat),
        )
        crawl.engine.sharing = self
        crawl.frontier.gates.share_with(self._addresses, crawl.clock.now())
        balance.visit_owned()

    async def run(self) -> None:
        """Until cancelled. Raises WorkerEnded when this life is over: what is not committed must be dropped."""
        parts = self._parts()
        jobs = (self._keep_lease(), self._exchange.run(parts.crawl.clock), parts.intake.run())
        views = (self._follow(self._see_to_others), self._follow(parts.balance.follow))
        others = (parts.page_limit.run(), parts.end.run(), parts.figures.run(), self._metrics.run())
        async with asyncio.TaskGroup() as group:
            for job in (*jobs, *views, *others):
                group.create_task(job)

    async def _keep_lease(self) -> None:
        while True:
            self._turned = boot_time()
            view = self.heartbeat.view
            if self.heartbeat.end is not None:
                raise self.heartbeat.end
            if view is not None and view.generation != self._joined.generation:
                raise LeaseLost(self.life.epoch)
            self.permit.cut_off_at_end()
            await asyncio.sleep(TURN)

    async def _follow(self, see_to: Callable[[View], Awaitable[None]]) -> None:
        """See to what the heartbeats have read."""
        while True:
            view = self.heartbeat.view
            if view is not None:
                await see_to(view)
            await asyncio.sleep(LOOK if view is not None else FIRST_LOOK)

    async def _see_to_others(self, view: View) -> None:
        """The state of the crawl, and workers that are silent. Waits for no visit, as giving up partitions does."""
        parts = self._parts()
        parts.end.follow(view)
        await parts.balance.end_silent(view)

    async def stop_crawl(self) -> None:
        """Have all workers finish their visits and leave. Raises StoreFailed, WorkerEnded."""
        await self.store.write(lambda db: db.execute("stop_crawl"))

    def on_rules_changed(self) -> None:
        self._parts().page_limit.on_limit_changed()

    def counts(self) -> SharingCounts:
        return self._metrics.counts()

    def _parts(self) -> _Attached:
        assert self._attached is not None, "attached first"
        return self._attached

    # --- the end of this life -------------------------------------------------------------------------

    def retire(self) -> None:
        """Give up all partitions after the last commit, and take no others: for the time in which captures are still
        being delivered. Called in the thread of the store. Raises StoreFailed and WorkerEnded."""

        def give_all(db: Database) -> None:
            self._membership_on(db).drain()
            self.ownership.give_all(db)

        self._parts().writer.conclude(give_all)
        self.ownership.retire()

    def leave(self) -> None:
        """Give everything up, after the last commit. Called in the thread of the store. Raises StoreFailed and
        WorkerEnded."""

        def give_all(db: Database) -> None:
            self.ownership.give_all(db)
            self._membership_on(db).leave()

        parts = self._parts()
        try:
            self._exchange.give_all(parts.crawl.clock.now())
            parts.writer.end(give_all)
        except HistoryLost:
            self.on_history_lost()
            raise
        self.ownership.retire()
        self._file.save(self.name, [])

    def on_history_lost(self) -> None:
        """The store has lost commits: all workers start again with empty memories. For any thread. Raises
        StoreFailed."""
        with closing(self._tables.open_session(self._terms.waiting)) as session:
            raise_generation(session, self._joined.generation)

    def abandon(self) -> None:
        """The crawl cannot be opened: end this life, and let others have what it took over. Raises StoreFailed."""
        with self._session.transaction():
            self._session.execute("free_partitions_of_dead", self.life.epoch, [0.0])
            self._session.execute("end_fence", self.life.epoch)
            self._session.execute("end_worker", self.life.epoch, "left")

    def close(self) -> None:
        self.heartbeat.stop()
        self._session.close()

    def _membership_on(self, session: Session) -> Membership:
        return _membership(session, self.life, self._terms)


def _membership(session: Session, life: WorkerLife, terms: LeaseTerms) -> Membership:
    """A worker as a member, on one of its connections."""
    return Membership(session, life.epoch, life.name, terms, weight=life.weight, version=life.version)
