"""A worker in miniature: it uses the protocol as a crawl does, on a web that takes no time."""

import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import TypeVar

from gossamer.backends.postgres.session import PostgresSession, cluster_statements
from gossamer.clock import ServerClock
from gossamer.cluster import crawl_end, inbox
from gossamer.cluster.fence import Fence, raise_generation
from gossamer.cluster.handover import RestPolicy, first_contact
from gossamer.cluster.heartbeat import Heartbeat, View
from gossamer.cluster.inbox import Kind, Message
from gossamer.cluster.lease import Lease
from gossamer.cluster.membership import Joined, Membership
from gossamer.cluster.page_grants import PageGrants
from gossamer.cluster.partitions import Partitions
from gossamer.cluster.share import shares, shortfall, surplus
from gossamer.cluster.shared_addresses import SharedAddresses, exchange
from gossamer.cluster.watch import Silent, Watch
from gossamer.errors import HistoryLost, LeaseLost, StoreFailed, WorkerEnded
from gossamer.model.units import Epoch, Instant, Seconds
from tests.cluster.faults import Faults, Killed, ServerClockStep, connector
from tests.cluster.mini_crawl import (
    ADDRESS_GAP,
    GAP,
    LONGEST_GAP,
    POLICY,
    STATEMENTS,
    TERMS,
    WAITING,
    Contact,
    Judge,
    Web,
)
from tests.cluster.shared_time import now

T = TypeVar("T")
PAUSE = 0.01
AT_ONCE = 4
"""Contacts between two commits."""


@dataclass(frozen=True)
class Mutant:
    """The protocol with one of its parts missing."""

    name: str = ""
    statements: Mapping[str, str] = field(default_factory=dict)
    policy: RestPolicy = POLICY
    lease: Callable[[], Lease] = lambda: Lease(TERMS)
    watch: Callable[[], Watch] = lambda: Watch(TERMS)


@dataclass
class Directory:
    """What stays on a machine when its worker is killed."""

    name: str
    epochs: list[Epoch] = field(default_factory=list)
    hosts: dict[int, Seconds] = field(default_factory=dict)  # the gap that the last contact requires
    addresses: dict[str, Seconds] = field(default_factory=dict)


@dataclass
class Surroundings:
    """What all workers of a run share."""

    url: str
    web: Web
    judge: Judge
    mutant: Mutant
    step: ServerClockStep


class Life:
    """One life of a worker, in a thread of its own. `ended` is None while it lives."""

    def __init__(self, surroundings: Surroundings, directory: Directory, seed: int) -> None:
        self.faults = Faults()
        self.ended: str | None = None
        self.draining = False
        self.error: BaseException | None = None
        self._web, self._judge, self._mutant = surroundings.web, surroundings.judge, surroundings.mutant
        self._directory = directory
        self._chance = Random(seed)
        self.epoch = Epoch(self._chance.getrandbits(63))
        sql = {**cluster_statements(), **STATEMENTS, **self._mutant.statements}

        def session(*, main: bool) -> PostgresSession:
            opened = connector(surroundings.url, self.faults, surroundings.step, main=main)
            return PostgresSession(opened, WAITING, sql)

        self._session, self._gate_session = session(main=True), session(main=True)
        self.faults.turned = now()
        self._heartbeat = Heartbeat(session(main=False), self.epoch, TERMS, now=now, turned=lambda: self.faults.turned)
        self._heartbeat.lease = self._judge.leases[self.epoch] = self._mutant.lease()
        self._heartbeat._watch = self._mutant.watch()
        self._fence = Fence(self._session, self.epoch)
        self._membership = Membership(
            self._session, self.epoch, directory.name, TERMS, weight=1.0 + seed % 2, version="test"
        )
        self._partitions = Partitions(self.epoch, self._mutant.policy, TERMS.long_life)
        self._gates = SharedAddresses(self._mutant.policy, ADDRESS_GAP, kept_for=TERMS.ttl)
        self._grants = PageGrants(self._session, self._fence)
        self._todo: dict[int, deque[int]] = defaultdict(deque)  # by host
        self._not_before: dict[int, Instant] = {}
        self._batch: list[tuple[int, Instant, Seconds]] = []  # page, next contact of its host, gap
        self._sent: set[int] = set()
        self._messages: list[Message] = []
        self._buried: set[Silent] = set()
        self._looked: dict[str, float] = {}
        self._thread = threading.Thread(target=self._run, name=directory.name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def join(self, patience: float) -> None:
        self._thread.join(patience)

    def _run(self) -> None:
        why = "left"
        try:
            joined = self._join()
            self._heartbeat.start()
            self._work(joined)
        except Killed:
            why = "killed"
        except HistoryLost:
            why = "ended"
            self._repeat(lambda: raise_generation(self._session, joined.generation))
        except WorkerEnded:
            why = "ended"
        except BaseException as error:  # the run fails with it
            why, self.error = "failed", error
        finally:
            if self._heartbeat._thread.ident is not None:
                self._heartbeat.stop()
            self._session.close()
            self._gate_session.close()
            self.ended = why

    # --- the life of a member ---------------------------------------------------------------------

    def _join(self) -> Joined:
        self._clock = ServerClock(lambda: self._repeat(lambda: float(self._session.fetch_value("server_time"))), now)
        previous = list(self._directory.epochs)
        self._directory.epochs.append(self.epoch)
        joined = self._repeat(lambda: self._membership.join(previous))
        joined_at = self._clock.now()
        for host, gap in self._directory.hosts.items():
            self._not_before[host] = Instant(joined_at + gap)
        for address, gap in self._directory.addresses.items():
            self._gates.close_until(address, Instant(joined_at + gap), joined_at)
        self._gates.adopt(tuple(joined.gates), joined_at)
        self._partitions.on_taken(joined.owned, joined_at)
        self._load([part for part, _ in joined.owned])
        return joined

    def _work(self, joined: Joined) -> None:
        while True:
            self._turn()
            view = self._heartbeat.view
            if self._heartbeat.end is not None:
                raise self._heartbeat.end
            if view is not None and view.generation != joined.generation:
                raise LeaseLost(self.epoch)
            if view is None:
                time.sleep(PAUSE)
                continue
            if view.state in crawl_end.ENDED or (self.draining and not len(self._partitions)):
                self._leave()
                return
            self._bury(view)
            self._balance(view)
            self._exchange_gates()
            self._read_inbox()
            self._visit()
            self._commit_batch()
            self._see_to_rest()

    def _turn(self) -> None:
        self.faults.point("anywhere")

    def _repeat(self, work: Callable[[], T]) -> T:
        while True:
            self._turn()
            try:
                return work()
            except StoreFailed:
                time.sleep(PAUSE)

    def _commit(self, work: Callable[[], T], stored: int = 0) -> T:
        return self._repeat(lambda: self._fence.run(work, stored=stored))

    def _every(self, what: str, seconds: float) -> bool:
        at = now()
        if at < self._looked.get(what, 0.0) + seconds:
            return False
        self._looked[what] = at
        return True

    def _bury(self, view: View) -> None:
        for silent in view.silent:
            if silent not in self._buried:
                if self._commit(lambda silent=silent: self._membership.declare_dead(silent)):  # type: ignore[misc]
                    self._judge.died(silent.epoch, now())
                self._buried.add(silent)

    def _balance(self, view: View) -> None:
        if self.draining and self._every("drain", 1e9):
            self._commit(self._membership.drain)
        share = 0 if self.draining else shares(self._web.partitions, view.weights()).get(self.epoch, 0)
        owned = dict.fromkeys(self._partitions.numbers(), 0)
        for host, pages in self._todo.items():
            owned[self._web.part(host)] += bool(pages)
        if given := surplus(owned, share):
            self._commit(lambda: self._partitions.give(self._session, given))
            self._partitions.on_given(given)
            for host in [host for host in self._todo if self._web.part(host) in given]:
                del self._todo[host]
            self._messages = [message for message in self._messages if message.part in self._partitions]
        elif (missing := shortfall(len(owned), share)) and self._every("take", 0.05):
            taken = self._commit(lambda: self._partitions.take(self._session, missing))
            self._partitions.on_taken(taken, self._clock.now())
            self._load([part for part, _ in taken])

    def _load(self, parts: list[int]) -> None:
        if not parts:
            return
        for (page,) in self._repeat(lambda: self._session.fetch_all("load", parts)):
            self._todo[self._web.host(page)].append(page)
        hosts = [host for host in range(self._web.hosts) if self._web.part(host) in parts]
        known = {
            host: (at, gap) for host, at, gap in self._repeat(lambda: self._session.fetch_all("load_hosts", hosts))
        }
        for host in hosts:
            released, taken = self._partitions.taken(self._web.part(host))
            at, gap = known.get(host, (Instant(0.0), GAP))
            first = first_contact(self._mutant.policy, released, next_contact=at, taken=taken, gap=gap)
            self._not_before[host] = max(first, self._not_before.get(host, first))

    def _exchange_gates(self) -> None:
        if self._every("gates", 0.02) and (plan := self._gates.plan(self._clock.now())) is not None:
            try:
                answer = exchange(self._gate_session, self.epoch, plan)
            except StoreFailed:
                return
            self._gates.apply(answer, self._clock.now())

    def _read_inbox(self) -> None:
        if not self._messages and self._every("inbox", 0.05):
            self._messages = self._repeat(lambda: inbox.read(self._session, self._partitions.numbers(), 5))

    def _see_to_rest(self) -> None:
        date = self._clock.now()
        rested, outlived = self._partitions.rested(date), self._partitions.long_lived(date)
        if rested or outlived:
            self._commit(lambda: self._partitions.mark(self._session, rested=rested, outlived=outlived))
            self._partitions.on_marked(rested=rested, outlived=outlived)

    # --- visits -----------------------------------------------------------------------------------

    def _visit(self) -> None:
        waiting = [host for host, pages in self._todo.items() if pages]
        self._chance.shuffle(waiting)
        for host in waiting:
            if len(self._batch) == AT_ONCE:
                return
            if not self._grants.left(len(self._batch)):
                break
            if self._clock.now() >= self._not_before.get(host, 0.0):
                self._try_contact(host)
        if not self._batch:
            if waiting and not self._grants.left(0) and self._every("grant", 0.05):
                self._repeat(self._grants.ask)
            if (not waiting or not self._grants.left(0)) and not self._messages:
                self._be_idle(bool(waiting))
            time.sleep(PAUSE)

    def _be_idle(self, waiting: bool) -> None:
        if not waiting and self._every("give back", 0.1):
            self._grants.keep(len(self._batch))
            self._repeat(self._grants.give_back)
        if self._every("end", 0.03):
            self._commit(lambda: crawl_end.finish(self._session, self.epoch, 0))

    def _try_contact(self, host: int) -> None:
        address = self._web.address(host)
        if self._gates.acquire(address, self._clock.now()) is not None:
            return
        # The clock is read once: the contact is made at the time for which it was allowed.
        lease, start = self._heartbeat.lease, now()
        page = self._todo[host][0]
        gap = LONGEST_GAP if page in self._web.slow else GAP
        address_gap = LONGEST_GAP if page in self._web.slow else ADDRESS_GAP
        if not lease.may_start(start):
            self._gates.release(address, self._clock.now())
            return
        self._todo[host].popleft()
        self._directory.hosts[host] = self._directory.addresses[address] = LONGEST_GAP
        try:
            time.sleep(0.001)
            self.faults.point("contact")
        finally:
            # At the end of the lease it is cut off.
            end = max(start, min(now(), lease.end()))
            self._judge.contact(Contact(start, end, gap, address_gap, host, address, self.epoch))
        self._directory.hosts[host], self._directory.addresses[address] = gap, address_gap
        date = self._clock.now()
        self._not_before[host] = Instant(date + gap)
        self._gates.release(address, Instant(date + address_gap))
        self._batch.append((page, self._not_before[host], gap))

    def _commit_batch(self) -> None:
        if not self._batch and not self._messages:
            return
        batch, messages = self._batch, self._messages
        pages = [page for page, _, _ in batch]
        targets = {target for page in pages for target in self._web.links[page]} - self._sent
        own = [page for page in targets if self._web.part(page) in self._partitions]
        own += [int.from_bytes(message.body, "big") for message in messages]
        others = sorted(page for page in targets if self._web.part(page) not in self._partitions)
        admitted = self._commit(lambda: self._write(batch, own, others, messages), stored=len(batch))
        self._judge.store(len(pages))
        self._sent.update(others)
        self._batch, self._messages = [], []
        for page in admitted:
            self._todo[self._web.host(page)].append(page)

    def _write(
        self, batch: list[tuple[int, Instant, Seconds]], own: list[int], others: list[int], messages: list[Message]
    ) -> list[int]:
        assert all(self._web.part(page) in self._partitions for page, _, _ in batch)
        session, web = self._session, self._web
        if batch:
            pages = [page for page, _, _ in batch]
            session.execute("settle", pages)
            session.execute("capture", pages, self.epoch)
            rows = {web.host(page): (at, gap) for page, at, gap in batch}
            session.execute(
                "touch_hosts", list(rows), [at for at, _ in rows.values()], [gap for _, gap in rows.values()]
            )
        self._dawdle()
        inbox.delete(session, messages)
        inbox.send(session, [(web.part(page), Kind.URLS, page.to_bytes(4, "big")) for page in others])
        self._dawdle()
        return [row[0] for row in session.fetch_all("admit", [web.part(page) for page in own], own)]

    def _dawdle(self) -> None:
        """Now and then a transaction takes its time, so that it overlaps with others."""
        if self._chance.random() < 0.15:
            time.sleep(0.03)

    def _leave(self) -> None:
        parts = self._partitions.numbers()
        self._commit(lambda: self._partitions.give(self._session, parts))
        self._partitions.on_given(parts)
        self._commit(self._membership.leave)
