"""The frontier: decides which host is contacted next, and with which URL. Does no IO and reads no clock.

Hot: benchmarks/bench_frontier.py.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

from gossamer.frontier.address_gate import AddressGate, AddressGates
from gossamer.frontier.back_queue import EMPTY, LOW_MARK, OUT, PARKED, READY, WAITING, HostQueue
from gossamer.frontier.cross_host import ASK_AGAIN, CrossHostRequests
from gossamer.frontier.decisions import (
    FrontierLimits,
    FrontierStatistics,
    Idle,
    Report,
    Retired,
    WaitUntil,
    date_or_none,
)
from gossamer.frontier.domain_counts import DomainTable
from gossamer.frontier.orderings.ordering import BY_SCORE_FRONTS, Ordering
from gossamer.frontier.politeness import Contact, PolitenessPolicy, next_contact, next_contact_of_address
from gossamer.frontier.politeness_heap import PolitenessHeap
from gossamer.frontier.ready import ReadyClasses, ReadyScores
from gossamer.frontier.router import Router
from gossamer.frontier.selector import Load, Selector, SelectorRatios
from gossamer.model.loads import LoadRequest
from gossamer.model.task import HostRecord, Task, Visit
from gossamer.model.units import HostId, HostKey, Instant, Seconds


class Frontier:
    """Front queues, router, back queues and the politeness heap.

    The registry of visits in flight: a host whose state is OUT has one, from `next_turn` until its contact is over
    (`finish`), or is reserved for a visit of another host (`cross_host`).

    Always true between calls:
      * no URL is handed out twice before its outcome is settled;
      * no host and no address has two visits in flight, cross-host requests included;
      * nothing is handed out before the host's and the address's `not_before`;
      * with `domain_of`, all of this holds for the domains of hosts too;
      * every host with a next URL is in exactly one of: politeness heap, ready structure, a gate, in flight.
    """

    def __init__(
        self,
        politeness: PolitenessPolicy,
        ratios: SelectorRatios | None = None,
        limits: FrontierLimits | None = None,
        ordering: Ordering | None = None,
        suffix_visits: Mapping[int, int] | None = None,
        domain_of: Callable[[HostKey], str] | None = None,
    ) -> None:
        """Without an ordering, URLs keep the classes that the task table has for them. With `domain_of`, the hosts of a
        domain share its delay, and one of them is visited at a time."""
        ratios = ratios or SelectorRatios()
        fronts = ratios.groups if ordering is None else ordering.fronts
        ordering = ordering or Ordering()
        self._politeness = politeness
        self._unit = ordering.unit
        self._domain_of = domain_of
        limits = limits or FrontierLimits()
        self._quantum, self._long_rest = limits.quantum, limits.long_rest
        self.domains = DomainTable(suffix_visits)
        if ordering.by_score:
            # Due URLs are few and are read as soon as the others.
            ratios = SelectorRatios((1,) * BY_SCORE_FRONTS, (1,) * BY_SCORE_FRONTS)
            self._groups = BY_SCORE_FRONTS
            self._scores: ReadyScores | None = ReadyScores(ordering, self.domains)
        else:
            self._scores = None
            self._groups = min(ratios.groups, fronts)
            ratios = ratios.for_classes(fronts)
        self.selector = Selector(ratios)
        self._classes = ReadyClasses(self.selector, len(ratios.normal))
        self._ready: ReadyClasses | ReadyScores = self._classes if self._scores is None else self._scores
        self._refill_selector = Selector(ratios)
        self._router = Router(self, ordering, self._refill_selector, limits, self.domains)
        self._hosts = self._router.hosts
        self._due_timers = self._router.due_timers
        self.politeness_heap = self._politeness_heap = PolitenessHeap(
            Seconds(limits.long_rest)
        )  # public for its `histogram`
        self.gates = AddressGates()
        self.cross_host = CrossHostRequests(politeness, self._hosts, self)
        self._now = Instant(0.0)  # the latest `now` passed in

    # --- loads and commits -------------------------------------------------------------------------

    def request_load(self, now: Instant) -> LoadRequest:
        """What to read from the task table next. Answer with `add_front` and `add_host`, once for each part, then
        `end_load`; there is no other request before that."""
        self._now = now
        return self._router.request_load(now)

    def add_front(self, front: int, entries: list[tuple[float, HostId]], next_due: float | None, commit: int) -> None:
        """Add a window of a class, as of a commit. `next_due`: no more now, the next is due then (inf: never)."""
        self._router.add_front(front, entries, next_due, commit)

    def add_host(
        self,
        host_id: HostId,
        record: HostRecord | None,
        classes: Iterable[tuple[int, list[Task], float | None]],
        commit: int,
        now: Instant,
    ) -> None:
        """Add what was loaded for a host: (class, tasks, next_due as in `add_front`) for each class requested."""
        self._now = now
        if record is not None:
            self.cross_host.on_host_loaded(self._hosts[host_id], record.host)
            self._hosts[host_id].domain_gate = self._domain_gate(record.host)
        self._router.add_host(host_id, record, classes, commit)

    def end_load(self) -> None:
        """Everything in the load request has been delivered."""
        self._router.end_load()

    def on_commit(self, report: Report) -> None:
        """The store has committed: new URLs or front-queue entries, outcomes, moved URLs, links to domains, and retired
        hosts. Commits are reported in order."""
        router, hosts, number = self._router, self._hosts, report.number
        for host_id in report.retired:
            router.on_retirement_committed(host_id)
        for domain_id, links, from_others in report.linked:
            if router.domains.count_links(number, domain_id, links, from_others) and self._scores is not None:
                self._scores.raise_domain(domain_id)
        for host_id, front, place in report.touched:
            router.on_urls_added(number, host_id, front, place)
        for host_id, url_id, front, place, priority in report.moved:
            router.on_url_moved(number, host_id, url_id, front, place, priority)
        if self._scores is not None:
            for host_id, known, fetched in report.host_counts:
                counted = hosts.get(host_id)
                if counted is not None and counted.count(number, known, fetched) and counted.state is READY:
                    self._scores.raise_host(counted)
        for host_id, url_id in report.withdrawn:
            if host_id in hosts:
                hosts[host_id].on_withdrawn(url_id, number)
        for host_id, url_id in report.settled:
            if (host := hosts.get(host_id)) is None:
                continue
            host.settle(url_id, number)
            if host.state is EMPTY:
                router.retire_if_drained(host)
            elif host.state is WAITING and self._should_yield(host):
                self._politeness_heap.leave(host)
                self._release(host)

    def withdraw(self, is_refused: Callable[[Task, HostKey], bool], host_id: HostId | None = None) -> list[Task]:
        """Remove and return the URLs in memory, of one host or of all, that are refused. URLs in flight and unsettled
        ones are not affected. The table must take the removed URLs out of its queues too."""
        withdrawn: list[Task] = []
        for host in list(self._hosts.values()) if host_id is None else [self._hosts.get(host_id)]:
            if host is not None and (found := host.withdraw(is_refused)):
                withdrawn += found
                self._replace(host)
        return withdrawn

    def _replace(self, host: HostQueue) -> None:
        """Put a host that has lost URLs where it belongs now."""
        if host.state is READY:
            self._ready.leave(host)
        elif host.state is WAITING and not host.has_next():
            self._politeness_heap.leave(host)
            self._unblock_gates(host)
        elif host.state is not EMPTY:
            return
        self.place(host)

    def unfinished(self) -> set[int]:
        """The URLs that are in flight, or whose outcome is not committed."""
        return {url_id for host in self._hosts.values() for url_id in (host.out_id, *host.unsettled)} - {0}

    def rewind(self) -> None:
        """Read the front queues from the start: for when the table holds URLs that the frontier does not know."""
        for queue in self._router.front_queues:
            queue.rewind()

    def keep_partitions(self, partitions: frozenset[int]) -> None:
        """Visit hosts of these partitions only. The others give up their back queues, at the latest when their visits
        in flight are committed (`has_closed_hosts`). For new partitions, the front queues are read from the start."""
        known, self._router.partitions = self._router.partitions, partitions
        for host in [host for host_id, host in self._hosts.items() if self._router.is_closed(host_id)]:
            if host.state is READY:
                self._ready.leave(host)
            elif host.state is WAITING:
                self._politeness_heap.leave(host)
            elif host.state is OUT:
                continue
            self._release(host)
        if known is None or partitions - known:
            self.rewind()

    def hosts_in_memory(self) -> Iterable[HostId]:
        """The hosts that have a back queue."""
        return self._hosts

    def has_closed_hosts(self) -> bool:
        """Whether hosts of partitions that were given up are still in memory, or in a commit to come."""
        return self._router.has_closed_hosts()

    def rest_address(self, address: str, until: Instant) -> None:
        """After a restart: this address was contacted and rests until then."""
        self.gates.close_until(address, until)

    @property
    def has_domain_gaps(self) -> bool:
        """Whether the hosts of a domain share a gap."""
        return self._domain_of is not None

    def rest_domain(self, host: HostKey, until: Instant) -> None:
        """This host was contacted before a restart or by another worker: its domain rests until then, if domains do."""
        if (key := self._domain_gate(host)) is not None:
            self.gates.close_until(key, until)

    def _domain_gate(self, host: HostKey) -> str | None:
        """The key of the gate that the hosts of a domain share; None if they share none."""
        return None if self._domain_of is None else f"domain:{self._domain_of(host)}"

    def take_retired(self) -> list[Retired]:
        """Hosts that gave up their back queue since the last call. They have to be committed, then reported by
        `on_commit`."""
        return self._router.take_retired()

    def count_visit(self, visit: Visit, n: int = 1) -> None:
        """Count a page request for the host's domain and suffix. -1 takes back one that did not reach the host."""
        self.domains.count_visit(visit.domain_id, self._hosts[visit.host_id].suffix_id, n)
        if n < 0 and self._scores is not None:
            self._scores.raise_domain(visit.domain_id)

    # --- where a host belongs --------------------------------------------------------------------

    def place(self, host: HostQueue) -> None:
        """Put a host that is in no structure where it belongs."""
        if self._router.partitions is not None and self._router.is_closed(host.host_id):
            self._release(host)
            return
        if not host.has_next():
            host.state = EMPTY
            self._router.feed(host)
            return
        until = host.not_before if host.not_before > host.yields_until else host.yields_until
        if self._should_yield(host):
            self._release(host)
        elif until <= self._now:
            self._ready.push(host)
        else:
            self._politeness_heap.push(host, until, self._now)

    def on_urls_added(self, host: HostQueue, front: int) -> None:
        """A ready host has got URLs in a front queue that was empty; by score: possibly better ones."""
        if self._scores is not None:
            self._scores.raise_host(host)
        else:
            self._classes.push_front(host, front)

    def on_reordered(self, host: HostQueue) -> None:
        """The order of the host's URLs in memory has changed, or the table has something that comes before them."""
        if host.state is READY:
            if self._scores is not None and host.has_next():
                self._scores.raise_host(host)
            else:
                self._ready.leave(host)
                self.place(host)
        elif host.state is EMPTY and host.has_next():
            self.place(host)

    def make_room(self) -> bool:
        """Make a host with a long rest give up its back queue. False if there is none."""
        resting = self._politeness_heap.long_resting(self._now)
        if resting is None:
            return False
        self._politeness_heap.leave(resting)
        self._release(resting)
        return True

    def _release(self, host: HostQueue) -> None:
        """The host gives up its back queue, at the latest when all its outcomes are committed."""
        host.release()
        self._unblock_gates(host)
        self._router.retire_if_drained(host)

    def _should_yield(self, host: HostQueue) -> bool:
        """Whether the host should give up its back queue although it has URLs left, because others wait for one."""
        had_its_share = host.served >= self._quantum or host.not_before - self._now >= self._long_rest
        return had_its_share and self._router.is_full

    def _unblock_gates(self, host: HostQueue) -> None:
        """The host will not be visited soon; it may be the one that other hosts at its gates wait behind."""
        for key in (host.address, host.domain_gate):
            self._unblock(key)

    def _unblock(self, key: str | None) -> None:
        if key is not None:
            gate = self.gates.for_address(key, self._now)
            if gate.busy_with is None:
                self._release_parked(gate)

    # --- turns ------------------------------------------------------------------------------------

    def _park_if_closed(self, host: HostQueue) -> bool:
        """Park the host if its address or its domain is busy or resting."""
        if host.address is not None:
            gate = self.gates.for_address(host.address, self._now)
            if not gate.is_open(self._now):
                self._park(host, gate)
                self._unblock(host.domain_gate)
                return True
        if host.domain_gate is not None:
            gate = self.gates.for_address(host.domain_gate, self._now)
            if not gate.is_open(self._now):
                self._park(host, gate)
                self._unblock(host.address)
                return True
        return False

    def _enter_gates(self, host: HostQueue, now: Instant) -> bool:
        """Enter the gates of a host, or park it where another worker got there first."""
        domain, address = host.domain_gate, host.address
        if domain is not None and not self.gates.enter(domain, host.host_id, now):
            self._park(host, self.gates.for_address(domain, now))
            return False
        if address is None or self.gates.enter(address, host.host_id, now):
            return True
        self._park(host, self.gates.for_address(address, now))
        self._leave(domain, host.host_id, None, now)
        return False

    def _park(self, host: HostQueue, gate: AddressGate) -> None:
        if gate.busy_with is None:
            self._politeness_heap.push(host, gate.not_before, self._now)
        else:
            host.turn += 1
            host.state = PARKED
            gate.parked.append(host.host_id)

    def next_turn(self, now: Instant) -> Visit | WaitUntil | Idle:
        """The next visit, or how long there is none. A visit must come back through `finish`."""
        self._now = now
        if self._politeness_heap.first <= now:
            while (rested := self._politeness_heap.pop_due(now)) is not None:
                self.place(rested)
        if self._due_timers.first <= now:
            self._router.wake(now)
        while (popped := self._ready.pop(self._park_if_closed)) is not None:
            host, front = popped
            if self._enter_gates(host, now):
                break
        else:
            nearest = min(self._politeness_heap.next, self._due_timers.next)
            return Idle() if nearest == math.inf else WaitUntil(Instant(nearest))
        task = host.take(front)
        host.state = OUT
        host.served += 1
        if self._scores is None:
            priority = task.priority / self._unit
            if host.more[front] and len(host.fronts[front]) <= LOW_MARK:
                self._router.feed(host)
        else:
            priority = self._scores.total_score(host, task.priority)
            self._router.feed(host)
        return Visit(host.host_id, host.host, host.domain_id, task, host.address, host.last_took, priority)

    def enter_address(self, visit: Visit, address: str, now: Instant) -> bool:
        """Ask to contact `address` for a visit in flight. False: the address is busy or resting; the visit has been
        taken back and is handed out again when the address is free."""
        host = self._hosts[visit.host_id]
        if host.address == address:
            return True
        self._leave(host.address, host.host_id, None, now)
        host.address = address
        if self.gates.enter(address, host.host_id, now):
            return True
        host.put_back(visit.task)
        host.served -= 1
        self._park(host, self.gates.for_address(address, now))
        self._leave(host.domain_gate, host.host_id, None, now)
        return False

    def _leave(self, key: str | None, host_id: HostId, until: Instant | None, now: Instant) -> None:
        """A host leaves a gate, if it is the one in it. `until`: it was contacted, and the gate stays closed until
        then."""
        if key is None:
            return
        gate = self.gates.for_address(key, now)
        if gate.busy_with != host_id:
            return
        if until is not None:
            gate.not_before = max(gate.not_before, until)
        self.gates.leave(gate, key)
        self._release_parked(gate)

    def _rest_of_address(self, contact: Contact | None) -> Instant | None:
        return None if contact is None else next_contact_of_address(self._politeness, contact)

    def _release_parked(self, gate: AddressGate) -> None:
        """The next parked host may be visited when the gate has rested. One at a time: many hosts at one gate cost each
        of them O(log n) per turn."""
        while gate.parked:
            host = self._hosts.get(gate.parked.popleft())
            if host is None or host.state is not PARKED:
                continue
            self._politeness_heap.push(host, max(gate.not_before, host.not_before), self._now)
            if host.not_before <= gate.not_before:
                return  # it is next; otherwise it rests longer than the gate and must not block the others

    def finish(self, visit: Visit, contact: Contact | None, now: Instant, *, again: bool = False) -> Instant:
        """A visit has ended. `contact` is None if nothing was sent to the host; `again` puts the URL back at the head
        of the queue (for example after fetching robots.txt). Otherwise the URL is unsettled until `on_commit`. Returns
        the earliest next contact."""
        host = self._hosts[visit.host_id]
        self._now = now
        until = None
        if contact is not None:
            until = next_contact(self._politeness, contact)
            if until > host.not_before:
                host.not_before = until
            host.last_took = contact.took
        if host.address is not None:
            self._leave(host.address, host.host_id, self._rest_of_address(contact), now)
        if host.domain_gate is not None:
            self._leave(host.domain_gate, host.host_id, until, now)
        self.cross_host.on_visit_finished(host.host_id)
        if again:
            host.put_back(visit.task)
            host.served -= 1
        else:
            host.unsettled.append(host.out_id)
            host.out_id = 0
        self.place(host)
        return host.not_before

    def delay(self, host_id: HostId, until: Instant) -> None:
        """Do not contact the host before then, whatever its state."""
        host = self._hosts.get(host_id)
        if host is None or host.not_before >= until:
            return
        host.not_before = until
        if host.state is READY:
            self._ready.leave(host)
        elif host.state is WAITING:
            self._politeness_heap.leave(host)
        else:
            return
        self._politeness_heap.push(host, until, self._now)
        self._unblock_gates(host)

    # --- cross-host requests: see `frontier.cross_host` -----------------------------------------------

    def leave_address(self, visit: Visit, contact: Contact, now: Instant, home: str | None) -> None:
        host = self._hosts[visit.host_id]
        self._leave(host.address, host.host_id, self._rest_of_address(contact), now)
        host.address = home

    def enter_domain(self, visit: Visit, other: HostKey, now: Instant) -> Instant | None:
        """A visit in flight asks to contact another host. None: its domain is free, and busy until `leave_domain`.
        Otherwise when to ask again."""
        key = self._domain_gate(other)
        if key is None:
            return None
        gate = self.gates.for_address(key, now)
        if key == self._hosts[visit.host_id].domain_gate:  # its own domain: the visit is in the gate
            return gate.not_before if gate.not_before > now else None
        if self.gates.enter(key, visit.host_id, now):
            return None
        return Instant(max(gate.not_before, now + ASK_AGAIN))

    def leave_domain(self, visit: Visit, other: HostKey, until: Instant | None, now: Instant) -> None:
        """`until`: the other host was contacted, and its domain rests until then."""
        key = self._domain_gate(other)
        if key is None or key != self._hosts[visit.host_id].domain_gate:
            self._leave(key, visit.host_id, until, now)
        elif until is not None:
            self.gates.close_until(key, until)

    def domain_wait(self, host: HostKey, now: Instant) -> Instant | None:
        key = self._domain_gate(host)
        if key is None or (gate := self.gates.for_address(key, now)).is_open(now):
            return None
        return Instant(max(gate.not_before, now + ASK_AGAIN))

    def reserve(self, host: HostQueue) -> None:
        if host.state is READY:
            self._ready.leave(host)
        elif host.state is WAITING:
            self._politeness_heap.leave(host)
        elif host.state is PARKED:
            for key in (host.address, host.domain_gate):
                if key is not None and host.host_id in (parked := self.gates.for_address(key, self._now).parked):
                    parked.remove(host.host_id)
        host.state = OUT
        self._unblock_gates(host)

    def end_reservation(self, host: HostQueue) -> None:
        host.state = EMPTY
        self.place(host)

    def yield_until(self, host: HostQueue, until: Instant) -> None:
        host.yields_until = until
        if host.state is WAITING:
            self._politeness_heap.leave(host)
            self._politeness_heap.push(host, until, self._now)
            self._unblock_gates(host)

    def is_retiring(self, host_id: HostId) -> bool:
        return self._router.is_retiring(host_id)

    # --- statistics ----------------------------------------------------------------------------------

    def set_load(self, load: Load) -> None:
        self.selector.set_load(load)
        self._refill_selector.set_load(load)

    @property
    def resting(self) -> int:
        """Hosts whose earliest contact is in the future."""
        return len(self._politeness_heap)

    @property
    def is_quiet(self) -> bool:
        """Nothing in memory, in flight, unsettled or being loaded: only the task table can have more."""
        return self._router.is_quiet

    def statistics(self) -> FrontierStatistics:
        hosts = self._hosts.values()
        if self._scores is None:
            fronts = range(len(self.selector.drawn))
            by_front = self._grouped([sum([len(host.fronts[front]) for host in hosts]) for front in fronts])
        else:
            by_front = [sum([host.held for host in hosts]), 0]
        states = [host.state for host in hosts]
        return FrontierStatistics(
            hosts=len(self._hosts),
            ready=len(self._ready),
            waiting=len(self._politeness_heap),
            parked=states.count(PARKED),
            out=states.count(OUT) - self.cross_host.reserved,
            urls=sum(by_front),
            urls_by_front=tuple(by_front),
            drawn=tuple(self._grouped(self.selector.drawn)),
            load=self.selector.load,
            next_contact=date_or_none(self._politeness_heap.next),
            next_due=date_or_none(self._due_timers.next),
        )

    def _grouped(self, by_class: Sequence[int]) -> list[int]:
        """Counts by group: each class alone, and in the last group all that are left."""
        last = self._groups - 1
        return [*by_class[:last], sum(by_class[last:])]
