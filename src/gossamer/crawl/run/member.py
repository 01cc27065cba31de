"""This process as one of the workers that share a crawl (`cluster`, ADR 25): it joins, owns partitions, and leaves.

`Member` is created before the crawl is assembled. `Member.run` runs alongside the crawl:

  * the lease is watched, and contacts are cut off at its end;
  * partitions are taken and given up, so that every worker has its share; silent workers are declared dead;
  * addresses are exchanged with other workers;
  * messages in the inboxes of the partitions are taken in;
  * pages are granted, and the end of the crawl is found.

Statements that change tables run in the thread of the store, behind the fence, between two commits.
"""

import asyncio
import json
import os
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

from gossamer.clock import Clock, ServerClock, boot_time
from gossamer.cluster import crawl_end, host_holds, inbox
from gossamer.cluster.fence import raise_generation
from gossamer.cluster.handover import RestPolicy, first_contact
from gossamer.cluster.heartbeat import Heartbeat, View
from gossamer.cluster.inbox import Message
from gossamer.cluster.lease import LeaseTerms
from gossamer.cluster.membership import Joined, Membership, Taken
from gossamer.cluster.page_grants import PageGrants
from gossamer.cluster.partitions import Partitions
from gossamer.cluster.ports import Session
from gossamer.cluster.share import shares, shortfall, surplus
from gossamer.cluster.shared_addresses import GatePlan, SharedAddresses, exchange
from gossamer.cluster.watch import Silent
from gossamer.config.load import CONFIG_KEY
from gossamer.crawl.document.announcer import POSITION_KEY
from gossamer.crawl.run.crawl import Crawl
from gossamer.crawl.run.directory import WORKER
from gossamer.crawl.run.host_holds import HostHolds
from gossamer.crawl.run.worker_figures import FigureTaker
from gossamer.errors import DirectoryError, LeaseLost, StoreFailed
from gossamer.fetch.robots import parse_robots
from gossamer.filter.domains import partition_of, registrable_domain
from gossamer.frontier.politeness import Contact, PolitenessPolicy, gap_after
from gossamer.model.batch import RobotsRecord
from gossamer.model.loads import HostLoaded
from gossamer.model.outcome import Failed, Failure, FetchOutcome
from gossamer.model.partition import ID_BITS, PartitionList
from gossamer.model.requeue import REFRESHING
from gossamer.model.states import UrlState
from gossamer.model.task import HostRecord
from gossamer.model.units import Epoch, HostKey, Instant, Seconds
from gossamer.observe.snapshot import SharingCounts
from gossamer.recrawl.budget import PACE, TOKENS
from gossamer.recrawl.price import PRICE
from gossamer.store.ports import Database, Tables
from gossamer.store.table.foreign import unpack
from gossamer.store.table.writer import TableWriter

T = TypeVar("T")

ORDERS = 0
"""The partition whose owner applies orders, and looks again at what former rules refused."""
TURN = 0.1
"""Seconds between two looks at the lease."""
LOOK = 0.25
"""Seconds between two looks at shares, states and limits."""
GATES = 0.02
"""Seconds between two exchanges of addresses, if there is anything to exchange."""
INBOX = 0.2
"""Seconds between two looks at empty inboxes ..."""
INBOX_IDLE = 1.0
"""... if this worker is the only one: seeds and orders come from outside."""
END = 0.5
"""Seconds between two attempts to end the crawl, at first ..."""
LONGEST_END = 5.0
"""... and at last."""
_STATS = 1.0
_COUNTS = 5.0
_OWN_FACTS = frozenset({PRICE, TOKENS, PACE, POSITION_KEY})


class SharedTables(Tables, Protocol):
    """The tables of a crawl that several workers share."""

    def prepare(self, partitions: int | None = None) -> int:
        """Create or migrate the tables. Returns the number of partitions; with another one than there is, raises
        NotThisCrawl. Raises StoreFailed."""
        ...

    def open_session(self, waiting: Seconds) -> Session:
        """A connection for the protocol, opened when it is first used."""
        ...

    def open_worker(self, epoch: Epoch, partitions: PartitionList) -> Database:
        """The connection on which a worker commits, behind its fence."""
        ...

    def open_worker_reader(self, epoch: Epoch, partitions: PartitionList) -> Database:
        """A connection that reads the queues of these partitions."""
        ...


class Worker(NamedTuple):
    """How a process takes part in a crawl that workers share."""

    name: str | None = None  # by default that of the last worker in the directory, or a new one
    weight: float = 1.0  # its share of the partitions, in relation to those of the others
    joins: bool = False  # a crawl that was started by another process


class WorkerFile:
    """DIR/worker.json: the name of the worker, and its epochs whose end is not on record yet."""

    def __init__(self, directory: Path) -> None:
        """Raises DirectoryError."""
        self._path = directory / WORKER
        try:
            found = json.loads(self._path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            found = {}
        except (OSError, ValueError) as error:
            raise DirectoryError(
                f"cannot read {self._path}: {error}; remove it if no worker uses {directory}"
            ) from error
        self.name: str | None = found.get("name")
        self.epochs = [Epoch(epoch) for epoch in found.get("epochs", ())]

    def save(self, name: str, epochs: Iterable[Epoch]) -> None:
        """Durable on return. Raises DirectoryError."""
        self.name, self.epochs = name, list(epochs)
        draft = self._path.with_suffix(".new")
        try:
            with draft.open("w", encoding="utf-8") as file:
                json.dump({"name": name, "epochs": self.epochs}, file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, self._path)
        except OSError as error:
            raise DirectoryError(f"cannot write {self._path}: {error.strerror}") from error


def rest_policy_for(politeness: PolitenessPolicy, terms: LeaseTerms) -> RestPolicy:
    """How long hosts rest whose last worker has died: the longest delay that a contact may require by itself."""
    adaptive = politeness.max_adaptive_delay if politeness.load_factor > 0 else Seconds(0.0)
    return RestPolicy(Seconds(max(politeness.min_delay, adaptive)), terms.ttl)


def _cut_off(began: float) -> Failed:
    """The outcome of a request that would be sent, or answered, after the end of the lease."""
    took = Seconds(boot_time() - began)
    return Failed(Failure.INCOMPLETE_BODY, "cut off: the lease of the worker has ended", took, contacted=True)


class Member:
    """One life of a worker. `owns` is for the thread of the store, everything else for the event loop."""

    def __init__(
        self,
        tables: SharedTables,
        file: WorkerFile,
        name: str,
        politeness: PolitenessPolicy,
        agent: str,
        terms: LeaseTerms,
        *,
        epoch: Epoch,
        version: str,
        weight: float = 1.0,
        joins: bool = False,
    ) -> None:
        """`epoch`: a random number of 63 bits. `joins`: a crawl that was started by another process, with the options
        of that one."""
        self.joins = joins
        self.epoch = epoch
        self.name = name
        self.owned = PartitionList()
        """What the writer looks at."""
        self.read = PartitionList()
        """What is read for the frontier: without those that are being given up."""
        self._tables, self._file, self._terms = tables, file, terms
        self._politeness, self._agent = politeness, agent
        self._session = tables.open_session(terms.waiting)
        self._gate_session = tables.open_session(terms.waiting)
        self._weight, self._version = weight, version
        self._policy = rest_policy_for(politeness, terms)
        self._partitions = Partitions(self.epoch, self._policy, terms.long_life)
        self.addresses = SharedAddresses(self._policy, politeness.min_delay, kept_for=terms.ttl)
        self._turned = boot_time()
        self._stats = "{}"
        self._free = self._deaths = 0
        self.heartbeat = Heartbeat(
            tables.open_session(terms.waiting),
            self.epoch,
            terms,
            now=boot_time,
            turned=lambda: self._turned,
            stats=lambda: self._stats,
            rules_version=self._followed_rules,
        )
        self.holds = HostHolds(self)
        self._sending: set[asyncio.Task[FetchOutcome]] = set()
        self._cut_off: set[asyncio.Task[FetchOutcome]] = set()
        self._wants_grant = asyncio.Event()
        self._limit_changed = False
        self._idle_since: float | None = None
        self._may_end = False  # as far as this worker knows, when it is idle
        self._taking_in = asyncio.Lock()
        self._buried: set[Silent] = set()
        self._beat_at_start = 0  # of this worker, when the run began
        self.is_alone = False
        """Whether there was no other worker when this one joined."""
        self._db: Database | None = None
        self._retired = False  # takes no partitions any more
        self.catch_up: Callable[[int], Awaitable[None]] | None = None
        self.applied_rules = 0
        self._joined: Joined | None = None
        self._crawl: Crawl | None = None
        self._writer: TableWriter | None = None
        self._grants: PageGrants | None = None

    # --- before the crawl runs ---------------------------------------------------------------------

    def join(self) -> None:
        """Become a member. What the last process in this directory owned passes to this one. Raises NameInUse,
        StoreFailed, DirectoryError."""
        previous = list(self._file.epochs)
        self._file.save(self.name, [*previous, self.epoch])
        self._joined = self._membership_on(self._session).join(previous)
        self._file.save(self.name, [self.epoch])

    def _membership_on(self, session: Session) -> Membership:
        """This worker as a member, on one of its connections."""
        return Membership(session, self.epoch, self.name, self._terms, weight=self._weight, version=self._version)

    def open_writer(self) -> Database:
        """The connection of the writer. It sees all partitions until `end_set_up`, if no other worker does."""
        assert self._joined is not None, "joined first"
        members = self._session.fetch_all("members")
        self.is_alone = all(epoch == self.epoch for epoch, *_ in members)
        if self.is_alone:
            self.owned.numbers = list(range(self._joined.partitions))
        self._db = self._tables.open_worker(self.epoch, self.owned)
        return self._db

    def end_set_up(self) -> None:
        """What concerns all partitions is done."""
        self.owned.numbers = []

    def open_reader(self) -> Database:
        """A connection that reads for the frontier."""
        return self._tables.open_worker_reader(self.epoch, self.read)

    def clock(self) -> Clock:
        """The time of the server. Raises StoreFailed."""
        return ServerClock(lambda: float(self._session.fetch_value("server_time")))

    def adopt(self, now: Instant) -> None:
        """Take over what the last process in this directory had. `now` is later than `join`."""
        assert self._joined is not None, "joined first"
        self._partitions.on_taken(self._joined.owned, now)
        self.addresses.adopt(tuple(self._joined.gates), now)
        self.owned.numbers = self.read.numbers = self._partitions.numbers()
        self.heartbeat.start()

    @property
    def partitions(self) -> int:
        """Of the crawl."""
        assert self._joined is not None, "joined first"
        return self._joined.partitions

    def fact_name(self, name: str) -> str:
        """What each worker keeps for itself has its name, so that commits do not wait for each other's rows."""
        return f"{name}@{self.name}" if name in _OWN_FACTS else name

    def owns(self, partition: int) -> bool:
        return partition in self._partitions

    def visits(self, partition: int) -> bool:
        """Whether this worker owns a partition, and is not about to give it up."""
        return partition in self.read.numbers

    def owns_host(self, host: HostKey) -> bool:
        """`CrawlMember`."""
        return self.owns(partition_of(registrable_domain(host), self.partitions))

    def start_run(self, max_pages: int | None, due_by: Instant) -> None:
        """A run of the crawl begins, for all workers. Raises StoreFailed."""
        self._session.execute("start_run", max_pages, due_by)
        self._beat_at_start = int(self._session.fetch_value("beat_of", self.epoch))

    def state_of_run(self, view: View) -> str:
        """The state of the crawl; one that was read before this run had begun is that of the last run."""
        # The next heartbeat may have been in progress then, and have read the state before.
        since = self._beat_at_start + 2
        read_since = any(member.epoch == self.epoch and member.beat >= since for member in view.members)
        return view.state if read_since else "running"

    @property
    def generation(self) -> int:
        """Of the crawl; what a cache has of others is void."""
        assert self._joined is not None, "joined first"
        return self._joined.generation

    @property
    def begins_run(self) -> bool:
        return self.is_alone and not self.joins

    @property
    def takes_orders(self) -> bool:
        return ORDERS in self.read.numbers

    @property
    def rules_version(self) -> int:
        assert self._joined is not None, "joined first"
        return self._joined.rules_version if self.view is None else self.view.rules_version

    @property
    def view(self) -> View | None:
        return self.heartbeat.view

    # --- what the crawl asks ------------------------------------------------------------------------

    async def wait_for_permit(self) -> None:
        """`ContactPermit`: until the lease allows a contact to start."""
        while not self.heartbeat.lease.may_start(boot_time()):  # noqa: ASYNC110 - a thread renews it
            await asyncio.sleep(TURN / 2)

    async def send(self, sending: Coroutine[Any, Any, FetchOutcome]) -> FetchOutcome:
        """`ContactPermit`: await a request, which is cut off at the end of the lease."""
        began = boot_time()
        task = asyncio.ensure_future(self._send_in_time(sending))
        self._sending.add(task)
        try:
            return await task
        except asyncio.CancelledError:
            if task not in self._cut_off:
                task.cancel()
                raise
            return _cut_off(began)
        finally:
            self._sending.discard(task)
            self._cut_off.discard(task)

    async def _send_in_time(self, sending: Coroutine[Any, Any, FetchOutcome]) -> FetchOutcome:
        """The task of a request begins a turn of the loop after its permit, and the process may have been stopped in
        between."""
        if not self._may_go_on():
            sending.close()
            return _cut_off(boot_time())
        return await sending

    def _may_go_on(self) -> bool:
        return boot_time() < self.heartbeat.lease.end()

    def page_room(self, unsettled: int) -> int | None:
        """`CrawlSharing`."""
        grants = self._grants
        assert grants is not None and self._crawl is not None, "attached first"
        if not grants.limited:
            return None
        room = grants.granted - self._run_pages() - unsettled
        if room <= 0:
            self._wants_grant.set()
        return max(room, 0)

    def _run_pages(self) -> int:
        """Pages stored by this worker, those in the open batch included."""
        assert self._crawl is not None
        run = self._crawl.counters.run
        return run["state:stored"] + run[REFRESHING]

    def loaded(self, host: HostLoaded) -> HostLoaded:
        """`CrawlSharing`: the first contact of a host whose partition was taken over."""
        record = host.record
        partition = host.host_id >> ID_BITS
        if record is None or partition not in self._partitions:
            return host
        released, taken = self._partitions.taken(partition)
        gap = self._gap_of(record, host.robots)
        first = first_contact(self._policy, released, next_contact=record.next_contact, taken=taken, gap=gap)
        return host if first == record.next_contact else host._replace(record=record._replace(next_contact=first))

    def _gap_of(self, record: HostRecord, robots: list[RobotsRecord]) -> Seconds:
        delays = [parse_robots(answer.body, self._agent).crawl_delay for answer in robots]
        crawl_delay = max((delay for delay in delays if delay is not None), default=None)
        return gap_after(self._politeness, Contact(Instant(0.0), Seconds(record.last_took), crawl_delay))[0]

    def on_idle(self, *, may_end: bool) -> None:
        """`CrawlSharing`."""
        self._may_end = may_end
        if self._idle_since is None:
            self._idle_since = boot_time()

    # --- alongside the crawl ------------------------------------------------------------------------

    def attach(self, crawl: Crawl, writer: TableWriter) -> None:
        """The crawl is assembled."""
        assert self._db is not None
        self._crawl, self._writer = crawl, writer
        self._grants = PageGrants(self._db, _WriterFence(writer, self.epoch, self._run_pages))
        crawl.engine.sharing = self
        crawl.frontier.gates.share_with(self.addresses, crawl.clock.now())
        self._read_partitions()

    async def run(self) -> None:
        """Until cancelled. Raises WorkerEnded when this life is over: what is not committed must be dropped."""
        jobs = (self._keep_lease(), self._balance(), self._exchange(), self._take_in(), self._grant(), self._find_end())
        async with asyncio.TaskGroup() as group:
            for job in (*jobs, self._publish(), self._count()):
                group.create_task(job)

    async def _keep_lease(self) -> None:
        while True:
            self._turned = boot_time()
            view, joined = self.heartbeat.view, self._joined
            assert joined is not None
            if self.heartbeat.ended or (view is not None and view.generation != joined.generation):
                raise LeaseLost(self.epoch)
            if not self._may_go_on():
                for task in self._sending - self._cut_off:
                    self._cut_off.add(task)
                    task.cancel()
            await asyncio.sleep(TURN)

    async def look(self, use: Callable[[Database], None]) -> None:
        """`HoldingMember`."""
        crawl, _ = self._opened()
        await crawl.reads.ask(crawl.loader.read, use)

    async def write(self, work: Callable[[Database], T]) -> T:
        """`HoldingMember`: run statements behind the fence."""
        crawl, writer = self._opened()
        return await crawl.store.call(lambda: writer.run(work))

    def _opened(self) -> tuple[Crawl, TableWriter]:
        assert self._crawl is not None and self._writer is not None, "attached first"
        return self._crawl, self._writer

    # --- partitions -----------------------------------------------------------------------------------

    async def _balance(self) -> None:
        while True:
            view = self.heartbeat.view
            if view is not None:
                self._follow(view)
                for silent in view.silent:
                    await self._bury(silent)
                if not self._retired:
                    await self._even_out(view)
                    await self._see_to_rest()
            await asyncio.sleep(LOOK if view is not None else TURN / 2)

    async def _even_out(self, view: View) -> None:
        """Give up what exceeds the share of this worker, or take what it lacks."""
        crawl, _ = self._opened()
        assert self._joined is not None
        share = shares(self._joined.partitions, view.weights()).get(self.epoch, 0)
        owned = dict.fromkeys(self._partitions.numbers(), 0)
        for host_id in crawl.frontier.hosts_in_memory():
            owned[host_id >> ID_BITS] = owned.get(host_id >> ID_BITS, 0) + 1
        if given := surplus({part: n for part, n in owned.items() if part in self._partitions}, share):
            await self._give(given)
        elif missing := shortfall(len(self._partitions), share):
            await self._take(missing)

    def _follow(self, view: View) -> None:
        """The state of the crawl is decided by all."""
        crawl, _ = self._opened()
        if any(member.draining and member.epoch == self.epoch for member in view.members) and not crawl.engine.stopping:
            crawl.engine.stop("requested")
        state = self.state_of_run(view)
        if state in crawl_end.ENDED and not crawl.engine.stopping:
            reason = {"finished": "finished", "page_limit": "page_limit"}.get(state, "requested")
            crawl.engine.end(reason)  # type: ignore[arg-type]

    async def _bury(self, silent: Silent) -> None:
        if silent in self._buried:
            return

        await self.write(lambda db: self._membership_on(db).declare_dead(silent))
        self._buried.add(silent)

    async def _take(self, count: int) -> None:
        crawl, writer = self._opened()

        def own(db: Database) -> list[Taken]:
            return self._partitions.take(db, count)

        def take() -> list[Taken]:
            # In the thread of the store: within a commit, all statements see the same partitions.
            if self._retired:
                return []
            taken = writer.run(own)
            self._partitions.on_taken(taken, crawl.clock.now())
            self.owned.numbers = self._partitions.numbers()
            return taken

        if not await crawl.store.call(take):
            return
        await crawl.store.call(writer.on_partitions_taken)
        await crawl.store.call(lambda: writer.requeue_missing(crawl.clock.now()))
        self._read_partitions()
        crawl.engine.reread()

    def _read_partitions(self) -> None:
        crawl, _ = self._opened()
        self.read.numbers = self._partitions.numbers()
        crawl.frontier.keep_partitions(frozenset(self.read.numbers))
        self._share_budget()

    def _share_budget(self) -> None:
        crawl, _ = self._opened()
        if len(self._partitions):
            crawl.engine.requeue.change_share(len(self._partitions) / self.partitions, crawl.clock.now())

    async def _give(self, given: list[int]) -> None:
        """Start no visit there, let open ones end, commit everything about them; then give them up."""
        crawl, writer = self._opened()
        self.read.numbers = [part for part in self._partitions.numbers() if part not in given]
        crawl.frontier.keep_partitions(frozenset(self.read.numbers))
        async with self._taking_in:  # their messages that were read are committed
            crawl.engine.pump_soon()
            while crawl.frontier.has_closed_hosts() or self._contacts_host_in(given):
                crawl.store.hasten()
                await asyncio.sleep(TURN / 4)
            await crawl.store.until_committed()

            def give() -> None:
                if self._retired:
                    return
                writer.run(lambda db: self._partitions.give(db, given))
                self._partitions.on_given(given)
                self.owned.numbers = self._partitions.numbers()
                writer.forget_rows()

            await crawl.store.call(give)
            self._share_budget()

    def _contacts_host_in(self, parts: list[int]) -> bool:
        """Whether a host in one of these partitions is being contacted by a visit to another host."""
        crawl, _ = self._opened()
        hosts = crawl.frontier.cross_host.reserved_hosts()
        return any(partition_of(registrable_domain(host), self.partitions) in parts for host in hosts)

    async def _see_to_rest(self) -> None:
        crawl, _ = self._opened()
        now = crawl.clock.now()
        rested, outlived = self._partitions.rested(now), self._partitions.long_lived(now)
        if rested or outlived:
            await self.write(lambda db: self._partitions.mark(db, rested=rested, outlived=outlived))
            self._partitions.on_marked(rested=rested, outlived=outlived)

    # --- addresses ------------------------------------------------------------------------------------

    async def _exchange(self) -> None:
        crawl, _ = self._opened()
        while True:
            plan = self.addresses.plan(crawl.clock.now())
            if plan is not None:
                with suppress(StoreFailed):  # what it was to give up stays closed, and the next plan repeats it
                    answer = await asyncio.to_thread(exchange, self._gate_session, self.epoch, plan)
                    self.addresses.apply(answer, crawl.clock.now())
            busy = plan is not None and (plan.take or plan.release)
            await asyncio.sleep(GATES if busy or self.addresses.has_requests else 5 * GATES)

    # --- messages -------------------------------------------------------------------------------------

    async def _take_in(self) -> None:
        crawl, _ = self._opened()
        while True:
            async with self._taking_in:
                parts = list(self.read.numbers)
                found = await crawl.reads.ask(crawl.loader.read_messages, parts, inbox.MOST) if parts else []
                messages = [Message(part, n, inbox.Kind(kind), body, rules) for part, n, kind, body, rules in found]
                is_done = await self._read(messages)
            if not is_done:
                alone = self.view is not None and len(self.view.members) == 1
                await asyncio.sleep(INBOX_IDLE if alone and not self._idle_since else INBOX)

    async def _read(self, messages: list[Message]) -> bool:
        """Take messages in. False if all of them have to wait."""
        done = 0
        for message in messages:
            if message.kind is inbox.Kind.HOLD:
                done += await self._lend(message)
            elif message.kind is inbox.Kind.RETURN:
                done += await self._take_back(message)
        others = [message for message in messages if message.kind not in (inbox.Kind.HOLD, inbox.Kind.RETURN)]
        return (bool(others) and await self._admit(others)) or done > 0

    async def _lend(self, message: Message) -> bool:
        """Leave a host alone for another worker that asks for it, once it is idle and has rested."""
        crawl, _ = self._opened()
        host = host_holds.host_of(message)
        found = await crawl.reads.ask(crawl.loader.find_host, host)
        record = None if found is None else self.loaded(found).record
        number, rests_until = (None, Instant(0.0)) if record is None else (record.host_id, record.next_contact)
        lending = crawl.frontier.cross_host
        if not lending.lend(host, number, rests_until, crawl.clock.now()):
            return False
        until = crawl.clock.now()
        try:
            await crawl.store.until_committed()  # its last contact is on record

            def grant(db: Database) -> Instant | None:
                if message.part not in self.owned.numbers:
                    return None
                now = crawl.clock.now()  # in each attempt: the store may have been away for longer than a hold
                host_holds.grant(db, message, now)
                return now

            granted: Instant | None = await self.write(grant)
            if granted is not None:
                until = Instant(granted + host_holds.HELD_FOR)
        finally:
            lending.end_lending(host, until, crawl.clock.now())
            crawl.engine.pump_soon()
        return granted is not None

    async def _take_back(self, message: Message) -> bool:
        crawl, _ = self._opened()
        returned = host_holds.returned_in(message)
        until = Instant(crawl.clock.now() + returned.rest)

        def take_back(db: Database) -> bool:
            if message.part in self.owned.numbers:
                host_holds.take_back(db, message, returned, until)
                return True
            return False

        if not await self.write(take_back):
            return False
        crawl.frontier.cross_host.take_back(returned.host, returned.held_until, until)
        crawl.engine.pump_soon()
        return True

    async def _admit(self, messages: list[Message]) -> bool:
        """Take messages in, under rules that are not older than those of their senders. False if they have to wait."""
        crawl, _ = self._opened()
        if self.catch_up is not None:
            try:
                await self.catch_up(max(message.rules_version for message in messages))
            except StoreFailed:
                return False
        contents = unpack((message.kind.value, message.body) for message in messages)
        excluded: Counter[str] = Counter()
        batch = crawl.store.batch
        batch.candidates += crawl.admission.admit_from_inbox(contents.urls, excluded)
        batch.gains += contents.gains
        batch.hints += contents.hints
        batch.sitemap_names += contents.names
        # A queued URL that its former owner excludes may be in flight here; its visit excludes it.
        batch.bulk_changes += [change for change in contents.changes if change.from_state is not UrlState.QUEUED]
        batch.received += [(message.part, message.id) for message in messages]
        for reason, n in excluded.items():
            crawl.counters.count(batch, "excluded:" + reason, n)
        self._idle_since = None
        crawl.store.hasten()
        await crawl.store.until_commit()
        return True

    # --- steering -------------------------------------------------------------------------------------

    async def announce_rules(self, config: str, max_pages: int | None) -> None:
        """`CrawlMember`."""

        def announce(db: Database) -> None:
            db.write_rows("set_fact", [(CONFIG_KEY, config)])
            db.execute("change_page_limit", max_pages)

        await self.write(announce)

    def _followed_rules(self) -> int:
        """The version of the rules that this worker reports. One that only delivers captures refuses no links."""
        return self.view.rules_version if self._retired and self.view is not None else self.applied_rules

    async def until_all_follow(self) -> None:
        """Wait until all workers have applied the rules that are on record now, and have committed everything that
        former rules refused. Raises StoreFailed."""
        crawl, _ = self._opened()
        version = await crawl.reads.ask(crawl.loader.rules_version)
        while self.view is None or any(  # noqa: ASYNC110 - a thread reads it
            member.rules_version < version for member in self.view.members
        ):
            await asyncio.sleep(LOOK)

    async def stop_crawl(self) -> None:
        """`CrawlMember`."""
        await self.write(lambda db: db.execute("stop_crawl"))

    def on_rules_changed(self) -> None:
        """`CrawlMember`."""
        self._limit_changed = True
        self._wants_grant.set()

    # --- limit and end --------------------------------------------------------------------------------

    async def _grant(self) -> None:
        crawl, _ = self._opened()
        grants = self._grants
        assert grants is not None
        await crawl.store.call(grants.ask)
        crawl.engine.pump_soon()
        while True:
            await self._wants_grant.wait()
            self._wants_grant.clear()
            if self._limit_changed:
                self._limit_changed = False
                grants.lower_to(self._run_pages() + crawl.engine.in_flight + len(crawl.engine.documents))
            if not await crawl.store.call(grants.ask):
                if crawl.engine.is_resting:
                    self.on_idle(may_end=True)
                await asyncio.sleep(LOOK)
            crawl.engine.pump_soon()

    async def _find_end(self) -> None:
        crawl, writer = self._opened()
        grants = self._grants
        assert grants is not None
        pause = END
        while True:
            await asyncio.sleep(pause if self._idle_since is not None else END)
            if self._idle_since is None or not crawl.engine.is_resting:
                self._idle_since, pause = None, END
                continue
            if writer.has_uncounted:
                crawl.store.batch.count_links = True
                await crawl.store.until_commit()
                continue
            await crawl.store.call(grants.give_back)  # also if the crawl goes on later: others may use them
            may_end = self._may_end and not crawl.engine.is_kept_open
            if may_end and (state := await self.write(_finish)) is not None:
                crawl.engine.end("page_limit" if state == "page_limit" else "finished")
                return
            self._idle_since = None  # until the engine says so again
            crawl.engine.pump_soon()
            pause = min(pause * 1.5, LONGEST_END)

    # --- what others see ------------------------------------------------------------------------------

    async def _publish(self) -> None:
        """Tell others about this worker, and learn what they have counted."""
        crawl, _ = self._opened()
        figures = FigureTaker(crawl, self.heartbeat)
        while True:
            self._stats = figures.take(self._run_pages(), self.heartbeat.lease.end() - boot_time()).encode()
            with suppress(StoreFailed):
                crawl.counters.rebase(await crawl.reads.ask(crawl.loader.counters_of_others))
            await asyncio.sleep(_STATS)

    async def _count(self) -> None:
        """Ask now and then what the metrics show of the whole crawl."""
        while True:
            with suppress(StoreFailed):
                found = await asyncio.to_thread(self._session.fetch_one, "free_and_deaths", self.name)
                self._free, self._deaths = found or (0, 0)
            await asyncio.sleep(_COUNTS)

    def counts(self) -> SharingCounts:
        """For the metrics."""
        return SharingCounts(
            lease=max(0.0, self.heartbeat.lease.end() - boot_time()),
            partitions=len(self._partitions),
            free=self._free,
            workers=0 if self.view is None else len(self.view.members),
            deaths=self._deaths,
        )

    # --- the end of this life -------------------------------------------------------------------------

    def retire(self) -> None:
        """Give up all partitions after the last commit, and take no others: for the time in which captures are still
        being delivered. Called in the thread of the store. Raises StoreFailed and WorkerEnded."""
        _, writer = self._opened()
        parts = self._partitions.numbers()

        def give_all(db: Database) -> None:
            self._membership_on(db).drain()
            if parts:
                self._partitions.give(db, parts)

        writer.conclude(give_all)
        self._retired = True
        self._partitions.on_given(parts)
        self.owned.numbers = self.read.numbers = []

    def leave(self) -> None:
        """Give everything up, after the last commit. Called in the thread of the store. Raises StoreFailed and
        WorkerEnded."""
        _, writer = self._opened()
        parts = self._partitions.numbers()

        def give_all(db: Database) -> None:
            if parts:
                self._partitions.give(db, parts)
            self._membership_on(db).leave()

        held = GatePlan((), self.addresses.rests(self._opened()[0].clock.now()))
        with suppress(StoreFailed):
            exchange(self._gate_session, self.epoch, held)
        writer.end(give_all)
        self._partitions.on_given(parts)
        self._file.save(self.name, [])

    def on_history_lost(self) -> None:
        """The store has lost commits: all workers start again with empty memories. Raises StoreFailed."""
        assert self._joined is not None, "joined first"
        raise_generation(self._session, self._joined.generation)

    def abandon(self) -> None:
        """The crawl cannot be opened: end this life, and let others have what it took over. Raises StoreFailed."""
        with self._session.transaction():
            self._session.execute("free_partitions_of_dead", self.epoch, [0.0])
            self._session.execute("end_fence", self.epoch)
            self._session.execute("end_worker", self.epoch, "left")

    def close(self) -> None:
        self.heartbeat.stop()
        self._session.close()
        self._gate_session.close()


def _finish(db: Database) -> str | None:
    """End the crawl if that is possible. Returns the state in which it has ended, if it has."""
    if not crawl_end.finish(db):
        return None
    found = db.fetch_one("crawl_now")
    return "finished" if found is None else str(found[0])


class _WriterFence:
    """The transactions of the writer for `PageGrants`."""

    def __init__(self, writer: TableWriter, epoch: Epoch, stored: Callable[[], int]) -> None:
        self._writer = writer
        self.epoch = epoch
        self._stored = stored

    @property
    def stored(self) -> int:
        return self._stored()

    def run(self, work: Callable[[], T]) -> T:
        return self._writer.run(lambda _: work())
