"""The frontier: decides which host is contacted next, and with which URL. Does no IO and reads no clock.

Hot: benchmarks/bench_frontier.py.
"""

import math
from collections.abc import Iterable

from gossamer.frontier.address_gate import AddressGate, AddressGates
from gossamer.frontier.back_queue import HostQueue, HostState
from gossamer.frontier.front_queue import WINDOW, FrontQueue, FrontWanted, HostWanted, LoadOrder
from gossamer.frontier.later import Later
from gossamer.frontier.politeness import Contact, PolitenessPolicy, next_contact, next_contact_of_address
from gossamer.frontier.ready import ReadyHosts
from gossamer.frontier.rests import PolitenessHeap
from gossamer.frontier.selector import Load, Selector, SelectorRatios
from gossamer.frontier.turns import FrontierLimits, FrontierStatistics, Idle, Retired, Visit, WaitUntil, date_or_none
from gossamer.model.task import HostRecord, Task
from gossamer.model.units import HostId, Instant, Seconds

HOSTS_PER_LOAD = 256


class Frontier:
    """Front queues, router, back queues and the politeness heap.

    Always true between calls:
      * no URL is handed out twice before its outcome is settled;
      * no host and no address has two visits out;
      * nothing is handed out before the host's and the address's `not_before`;
      * every host with URLs in memory is in exactly one of: politeness heap, ready structure, a gate, out.
    """

    def __init__(
        self,
        politeness: PolitenessPolicy,
        ratios: SelectorRatios | None = None,
        limits: FrontierLimits | None = None,
    ) -> None:
        ratios = ratios or SelectorRatios()
        self._fronts = len(ratios.normal)
        self._politeness = politeness
        self._limits = limits or FrontierLimits()
        self._router: dict[HostId, HostQueue] = {}  # document 004's table T: host -> back queue
        self._front_queues = [FrontQueue() for _ in range(self._fronts)]
        self._refill_selector = Selector(ratios)
        self.selector = Selector(ratios)
        self._ready = ReadyHosts(self.selector, self._fronts)
        self._rests = PolitenessHeap(Seconds(self._limits.long_rest))
        self._later = Later()
        self._gates = AddressGates()
        self._out = 0
        self._hungry: dict[HostId, HostQueue] = {}  # hosts that want a load, in order of asking
        self._retired: list[Retired] = []
        self._retiring: set[HostId] = set()  # retired, but not yet so in the store
        self._now = Instant(0.0)  # the latest that we were told
        self._since = Instant(0.0)  # every commit that is not reported yet is dated after this

    # --- what the store is asked for -------------------------------------------------------

    def load_order(self, now: Instant) -> LoadOrder:
        """What to read from the task table next. Answer with `loaded_front` and `loaded_host`, once for each part."""
        self._since = self._since or now
        self._now = now
        self._refill(now)
        fronts = []
        for number, queue in enumerate(self._front_queues):
            if queue.more and not queue.window and not queue.reading:
                queue.reading = True
                fronts.append(FrontWanted(number, queue.cursor, WINDOW, now))
        hosts = []
        for host in list(self._hungry.values())[:HOSTS_PER_LOAD]:
            del self._hungry[host.host_id]
            wanted = host.wanted()
            if not wanted and host.known:
                continue
            host.loading = True
            classes = tuple((f, host.cursors[f], host.load_size) for f in wanted)
            hosts.append(HostWanted(host.host_id, not host.known, classes, now))
        return LoadOrder(tuple(fronts), tuple(hosts))

    def loaded_front(self, front: int, entries: list[tuple[float, HostId]], next_due: float | None) -> None:
        """Take in a window of a class. With `next_due` there is no more now; the next is due then (infinity: never)."""
        self._front_queues[front].add(entries, exhausted=next_due is not None)
        if next_due is not None:
            self._later.note(next_due, None, front)

    def loaded_host(
        self,
        host_id: HostId,
        record: HostRecord | None,
        classes: Iterable[tuple[int, list[Task], float | None]],
        now: Instant,
    ) -> None:
        """Take in what was read: (class, tasks, next_due as in `loaded_front`) for each class asked for."""
        host = self._router[host_id]
        self._now = now
        if record is not None:
            host.learn(record)
        for front, tasks, next_due in classes:
            had_some = bool(host.fronts[front])
            taken = host.add(front, tasks, exhausted=next_due is not None)
            if next_due is not None:
                self._later.note(next_due, host_id, front)
            if taken and not had_some and host.state is HostState.READY:
                self._ready.push_front(host, front)
        host.loaded()
        if host.state is HostState.EMPTY:
            self._place(host, now)
        if host_id in self._router:
            self._feed(host)

    def committed(
        self,
        touched: Iterable[tuple[HostId, int]],
        settled: Iterable[tuple[HostId, int]],
        retired: Iterable[HostId],
    ) -> None:
        """The store has committed: new URLs or front-queue entries for these (host, class), outcomes of these
        (host, url_id), and the retirement of these hosts. To be told before the next batch is given its date."""
        for host_id in retired:
            self._retiring.discard(host_id)
        for host_id, front in touched:
            host = self._router.get(host_id)
            if host is None:
                self._front_queues[front].touch(self._since)
            else:
                host.touch(front, self._since)
                self._feed(host)
        self._since = self._now
        for host_id, url_id in settled:
            host = self._router.get(host_id)
            if host is not None:
                host.settle(url_id)
                if host.state is HostState.WAITING and self._makes_room(host, self._now):
                    self._rests.leave(host)
                    self._put_down(host)
                else:
                    self._retire_if_drained(host)

    def look_again(self) -> None:
        """Read the front queues from their start: for when the table holds URLs that we do not know of."""
        for queue in self._front_queues:
            queue.rewind()

    def rest_address(self, address: str, until: Instant) -> None:
        """What a restart knows: this address was contacted, and rests until then."""
        self._gates.rest(address, until)

    def take_retired(self) -> list[Retired]:
        """Hosts that gave up their back queue since the last call. The store must be told, then `committed`."""
        retired, self._retired = self._retired, []
        return retired

    # --- refill: document 004's steps ---------------------------------------------------------

    def _refill(self, now: Instant) -> None:
        """While a back queue is free: draw a front queue by the bias, take the host at its head; if that host has a
        back queue already, go on drawing; otherwise the free one is its."""
        queues = self._front_queues
        while True:
            waiting = [f for f, queue in enumerate(queues) if queue.window]
            if not waiting:
                return
            if len(self._router) >= self._limits.max_hosts:
                resting = self._rests.long_resting(now)
                if resting is None:
                    return
                self._rests.leave(resting)
                self._put_down(resting)
            front = self._refill_selector.draw(waiting)
            host_id = queues[front].window.popleft()
            host = self._router.get(host_id)
            if host is not None:
                if not host.more[front]:
                    host.more[front] = True
                    self._feed(host)
                continue
            if host_id in self._retiring:
                continue  # its retirement renews its entry, beyond the cursor
            host = self._router[host_id] = HostQueue.of(host_id, self._fronts)
            self._hungry[host_id] = host

    def _feed(self, host: HostQueue) -> None:
        if host.loading:
            return
        for front, more in enumerate(host.more):
            if more and len(host.fronts[front]) <= 2:
                self._hungry[host.host_id] = host
                return
        self._retire_if_drained(host)

    def _put_down(self, host: HostQueue) -> None:
        """The host gives its back queue up, at the latest when all its outcomes are on record."""
        host.put_down()
        self._free_line(host)
        self._retire_if_drained(host)

    def _retire_if_drained(self, host: HostQueue) -> None:
        if host.is_drained:
            del self._router[host.host_id]
            self._hungry.pop(host.host_id, None)
            self._later.forget(host.host_id, self._fronts)
            self._retiring.add(host.host_id)
            self._retired.append(Retired(host.host_id, host.domain_id, host.not_before))

    def _free_line(self, host: HostQueue) -> None:
        """The host will not go soon; it may have been the one that the others on its address wait behind."""
        if host.address is not None:
            gate = self._gates.of(host.address, self._now)
            if gate.busy_with is None:
                self._release_parked(gate)

    def _makes_room(self, host: HostQueue, now: Instant) -> bool:
        """Whether the host should give up its back queue although it has URLs left, because others wait for one."""
        if len(self._router) < self._limits.max_hosts:
            return False
        if host.served < self._limits.quantum and host.not_before - now < self._limits.long_rest:
            return False
        return any(queue.window or queue.more for queue in self._front_queues)

    # --- turns ------------------------------------------------------------------------------------

    def _place(self, host: HostQueue, now: Instant) -> None:
        """Put a host that is in no structure where it belongs."""
        if not host.has_urls:
            host.state = HostState.EMPTY
            self._retire_if_drained(host)
        elif self._makes_room(host, now):
            self._put_down(host)
        elif host.not_before <= now:
            self._ready.push(host)
        else:
            self._rests.push(host, host.not_before, self._now)

    def _wake(self, now: Instant) -> None:
        """Move what is due: hosts whose rest is over, and classes whose later URLs have come of age."""
        while (host := self._rests.pop_due(now)) is not None:
            self._place(host, now)
        while (due := self._later.pop_due(now)) is not None:
            host_id, front = due
            if host_id is None:
                self._front_queues[front].more = True
            else:
                waiting = self._router[host_id]
                waiting.more[front] = True
                self._feed(waiting)

    def _closed(self, host: HostQueue) -> bool:
        """Park the host if its address is busy or resting."""
        if host.address is None:
            return False
        gate = self._gates.of(host.address, self._now)
        if gate.is_open(self._now):
            return False
        self._park(host, gate)
        return True

    def _park(self, host: HostQueue, gate: AddressGate) -> None:
        if gate.busy_with is None:
            self._rests.push(host, gate.not_before, self._now)
        else:
            host.turn += 1
            host.state = HostState.PARKED
            gate.parked.append(host.host_id)

    def next_turn(self, now: Instant) -> Visit | WaitUntil | Idle:
        """The next visit, or how long there is none. A visit must come back through `finish`."""
        self._now = now
        self._wake(now)
        popped = self._ready.pop(self._closed)
        if popped is None:
            nearest = min(self._rests.next, self._later.next)
            return Idle() if nearest == math.inf else WaitUntil(Instant(nearest))
        host, front = popped
        task = host.fronts[front].popleft()
        host.state = HostState.OUT
        host.out_id = task.url_id
        self._out += 1
        host.served += 1
        if host.address is not None:
            self._gates.of(host.address, now).busy_with = host.host_id
        if len(host.fronts[front]) <= 2 and host.more[front] and not host.loading:
            self._hungry[host.host_id] = host
        return Visit(host.host_id, host.host, host.domain_id, task, host.address, host.last_took)

    def enter_address(self, visit: Visit, address: str, now: Instant) -> bool:
        """Ask to contact `address` for a visit that is out. False: the address is busy or resting; the
        visit has been taken back and comes again when it is free."""
        host = self._router[visit.host_id]
        if host.address == address:
            return True
        self._leave_gate(host, None, now)
        host.address = address
        gate = self._gates.of(address, now)
        if gate.is_open(now):
            gate.busy_with = host.host_id
            return True
        host.fronts[visit.task.front].appendleft(visit.task)
        host.out_id = None
        host.served -= 1
        self._out -= 1
        self._park(host, gate)
        return False

    def _leave_gate(self, host: HostQueue, contact: Contact | None, now: Instant) -> None:
        if host.address is None:
            return
        gate = self._gates.of(host.address, now)
        if gate.busy_with != host.host_id:
            return
        gate.busy_with = None
        if contact is not None:
            gate.not_before = max(gate.not_before, next_contact_of_address(self._politeness, contact))
        self._release_parked(gate)

    def _release_parked(self, gate: AddressGate) -> None:
        """The next host in line may go when the address has rested. One at a time, so a crowd on one address costs
        each of them O(log n) per turn."""
        while gate.parked:
            host = self._router.get(gate.parked.popleft())
            if host is None or host.state is not HostState.PARKED:
                continue
            self._rests.push(host, max(gate.not_before, host.not_before), self._now)
            if host.not_before <= gate.not_before:
                return  # it goes first; otherwise it rests longer than the address, and must not hold up the line

    def finish(self, visit: Visit, contact: Contact | None, now: Instant, *, again: bool = False) -> Instant:
        """A visit is over. `contact` is None if the host saw nothing of us; `again` puts the URL back at the head
        (robots.txt had to be asked first, say). Otherwise the URL is unsettled until `committed`.
        Returns the earliest next contact."""
        host = self._router[visit.host_id]
        host.out_id = None
        self._out -= 1
        self._now = now
        if contact is not None:
            host.not_before = max(host.not_before, next_contact(self._politeness, contact))
            host.last_took = contact.took
        self._leave_gate(host, contact, now)
        if again:
            host.fronts[visit.task.front].appendleft(visit.task)
            host.served -= 1
        else:
            host.unsettled.add(visit.task.url_id)
        host.state = HostState.EMPTY
        self._place(host, now)
        return host.not_before

    def delay(self, host_id: HostId, until: Instant) -> None:
        """Do not contact the host before then, wherever it stands now."""
        host = self._router.get(host_id)
        if host is None or host.not_before >= until:
            return
        host.not_before = until
        if host.state is HostState.READY:
            self._ready.leave(host)
        elif host.state is HostState.WAITING:
            self._rests.leave(host)
        else:
            return
        self._rests.push(host, until, self._now)
        self._free_line(host)

    # --- what is seen from outside -------------------------------------------------------------------

    def under(self, load: Load) -> None:
        self.selector.under(load)
        self._refill_selector.under(load)

    @property
    def resting(self) -> int:
        """Hosts whose earliest contact lies ahead."""
        return len(self._rests)

    @property
    def is_quiet(self) -> bool:
        """No URL in memory, none out, none unsettled, nothing being loaded: only the task table can know more."""
        return not (self._router or self._retired or self._retiring or any(q.reading for q in self._front_queues))

    def statistics(self) -> FrontierStatistics:
        by_front = [0] * self._fronts
        for host in self._router.values():
            for front, tasks in enumerate(host.fronts):
                by_front[front] += len(tasks)
        parked = sum(1 for host in self._router.values() if host.state is HostState.PARKED)
        return FrontierStatistics(
            hosts=len(self._router),
            ready=len(self._ready),
            waiting=len(self._rests),
            parked=parked,
            out=self._out,
            urls=sum(by_front),
            urls_by_front=tuple(by_front),
            drawn=tuple(self.selector.drawn),
            load=self.selector.load,
            next_contact=date_or_none(self._rests.next),
            next_due=date_or_none(self._later.next),
        )
