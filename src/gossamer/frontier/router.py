"""The router: which hosts have a back queue (Mercator's host-to-queue table), and which rows of the task table are in
memory.

The task table holds everything; the router decides what is loaded and when a host gives up its back queue. It knows
nothing about turns: the frontier places hosts for it (`HostPlacer`).
"""

import math
from collections.abc import Iterable
from operator import attrgetter
from typing import Protocol

from gossamer.frontier.back_queue import EMPTY, READY, Growth, HostQueue
from gossamer.frontier.decisions import FrontierLimits, Retired
from gossamer.frontier.domain_counts import DomainTable
from gossamer.frontier.front_queue import WINDOW, DueTimers, FrontQueue
from gossamer.frontier.orderings.ordering import Ordering
from gossamer.frontier.selector import Selector
from gossamer.model.loads import NO_LOAD, FrontRequest, HostRequest, LoadRequest
from gossamer.model.partition import ID_BITS
from gossamer.model.task import HostRecord, Task
from gossamer.model.units import HostId, Instant

HOSTS_PER_LOAD = 256
_HAS_MORE = attrgetter("more")


class HostPlacer(Protocol):
    """What the frontier does for the router."""

    def place(self, host: HostQueue) -> None:
        """Put a host that is in no structure where it belongs."""
        ...

    def on_urls_added(self, host: HostQueue, front: int) -> None:
        """A host has got URLs in a front queue that was empty, or better ones than it had."""
        ...

    def on_reordered(self, host: HostQueue) -> None:
        """The order of a host's URLs in memory has changed."""
        ...

    def make_room(self) -> bool:
        """Make a host with a long rest give up its back queue. False if there is none."""
        ...


class Router:
    """Front queues, the table of back queues, and their refill."""

    def __init__(
        self,
        placer: HostPlacer,
        ordering: Ordering,
        selector: Selector,
        limits: FrontierLimits,
        domains: DomainTable,
    ) -> None:
        self._placer = placer
        self._by_score = ordering.by_score
        self._moves = ordering.moved_by_links
        self._fronts = len(selector.drawn)
        self._selector = selector
        self._limits = limits
        self._hungry: dict[HostId, HostQueue] = {}  # hosts that need a load, in order of request
        self._retiring: dict[HostId, int] = {}  # retired, not committed yet -> domain
        self._passed_over: list[tuple[HostId, int]] = []  # (host, class) drawn while its host was retiring
        self._retired: list[Retired] = []
        self.front_queues = [FrontQueue() for _ in range(self._fronts)]
        self._windows = [queue.window for queue in self.front_queues]
        self.hosts: dict[HostId, HostQueue] = {}
        self.due_timers = DueTimers()
        self.domains = domains
        self.partitions: frozenset[int] | None = None  # those that hosts are visited of; None: all

    # --- loads -----------------------------------------------------------------------------

    def request_load(self, now: Instant) -> LoadRequest:
        """What to read from the task table next."""
        self._refill()
        if not self._hungry and not any(map(_HAS_MORE, self.front_queues)):
            return NO_LOAD
        fronts = []
        for number, queue in enumerate(self.front_queues):
            if queue.more and not queue.window and not queue.reading:
                queue.reading = True
                fronts.append(FrontRequest(number, queue.cursor, WINDOW, now))
        hosts: list[HostRequest] = []
        heard = []
        for host_id, host in self._hungry.items():
            if len(hosts) == HOSTS_PER_LOAD:
                break
            heard.append(host_id)
            wanted = host.fronts_to_load()
            if wanted or not host.known:
                host.loading = True
                classes = [(f, host.cursors[f], host.load_size) for f in wanted]
                hosts.append(HostRequest(host_id, not host.known, tuple(classes), now))
        for host_id in heard:
            del self._hungry[host_id]
        order = LoadRequest(tuple(fronts), tuple(hosts))
        if order:
            self.domains.begin_load()
        return order

    def add_front(self, front: int, entries: list[tuple[float, HostId]], next_due: float | None, commit: int) -> None:
        self.front_queues[front].add(entries, exhausted=next_due is not None, commit=commit)
        if next_due is not None:
            self.due_timers.set(next_due, None, front)

    def add_host(
        self,
        host_id: HostId,
        record: HostRecord | None,
        classes: Iterable[tuple[int, list[Task], float | None]],
        commit: int,
    ) -> None:
        host = self.hosts[host_id]
        if record is not None:
            host.learn(record, commit)
            self.domains.enter(record, commit)
        for front, tasks, next_due in classes:
            had_none = self._by_score or not host.fronts[front]
            taken = host.add(front, tasks, exhausted=next_due is not None, commit=commit)
            if next_due is not None:
                self.due_timers.set(next_due, host_id, front)
            if taken and had_none and host.state is READY:
                self._placer.on_urls_added(host, front)
        host.end_load(commit)
        if host.state is EMPTY:
            self._placer.place(host)
        elif self._by_score and host.state is READY and not host.has_next():
            self._placer.on_reordered(host)
        if host_id in self.hosts:
            self.feed(host)

    def end_load(self) -> None:
        """Everything in a load request has been delivered."""
        self.domains.end_load()

    # --- commits ---------------------------------------------------------------------------

    def on_urls_added(self, commit: int, host_id: HostId, front: int, place: float) -> None:
        """URLs or front-queue entries were added for a host, none before `place`."""
        if self._by_score and front == 0:
            place = math.nextafter(place, -math.inf)  # ties are broken by age, and the addition may be older
        host = self.hosts.get(host_id)
        if host is None:
            self.front_queues[front].grow(commit, place)
        else:
            host.grow(Growth(commit, front, place))
            self._feed_or_replace(host)

    def on_url_moved(
        self, commit: int, host_id: HostId, url_id: int, front: int, place: float, priority: float
    ) -> None:
        """A waiting URL changed its place."""
        if self._by_score and front == 0:
            place = math.nextafter(place, -math.inf)
        host = self.hosts.get(host_id)
        if host is None:
            self.front_queues[front].grow(commit, place)
        else:
            if host.move(Growth(commit, front, place, url_id, priority)):
                self._placer.on_reordered(host)
            self._feed_or_replace(host)

    def _feed_or_replace(self, host: HostQueue) -> None:
        """Load what is needed. By score, additions in the table may now come before the host's next URL."""
        if self._by_score and host.state is READY and not host.has_next():
            self._placer.on_reordered(host)
        self.feed(host)

    def on_retirement_committed(self, host_id: HostId) -> None:
        domain_id = self._retiring.pop(host_id, None)
        if domain_id is not None:
            self.domains.leave(domain_id)
        if self._passed_over:
            # These may be the entries that the retirement renewed, which are not read a second time.
            for passed, front in self._passed_over:
                if passed == host_id:
                    self.front_queues[front].window.append(passed)
            self._passed_over = [entry for entry in self._passed_over if entry[0] != host_id]

    def is_retiring(self, host_id: HostId) -> bool:
        return host_id in self._retiring

    def take_retired(self) -> list[Retired]:
        retired, self._retired = self._retired, []
        return retired

    # --- refill -------------------------------------------------------------------------------

    def _refill(self) -> None:
        """Mercator's refill. While a back queue is free: draw a front queue by the selector's bias and take the host at
        its head. If that host already has a back queue, draw again; otherwise it gets the free one."""
        windows, hosts = self._windows, self.hosts
        while any(windows):
            if len(hosts) >= self._limits.max_hosts and not self._placer.make_room():
                return
            front = self._selector.draw([f for f, window in enumerate(windows) if window])
            host_id = windows[front].popleft()
            if self.partitions is not None and host_id >> ID_BITS not in self.partitions:
                continue
            host = hosts.get(host_id)
            if host is not None:
                if not host.more[front]:
                    host.more[front] = True
                    self.feed(host)
                continue
            if host_id in self._retiring:
                self._passed_over.append((host_id, front))  # until its retirement is committed
                continue
            host = HostQueue(host_id, self._fronts, by_score=self._by_score, moves=self._moves)
            hosts[host_id] = self._hungry[host_id] = host

    def feed(self, host: HostQueue) -> None:
        """Request more URLs if the host runs low; retire it if there is nothing left."""
        if host.loading:
            return
        if self.is_closed(host.host_id):
            host.release_unread()
            self.retire_if_drained(host)
        elif not host.runs_low():
            self.retire_if_drained(host)
        elif self.hosts.get(host.host_id) is host:
            self._hungry[host.host_id] = host

    def retire_if_drained(self, host: HostQueue) -> None:
        if host.is_drained and self.hosts.get(host.host_id) is host:
            del self.hosts[host.host_id]
            self._hungry.pop(host.host_id, None)
            self.due_timers.forget(host.host_id, self._fronts)
            self._retiring[host.host_id] = host.domain_id
            self._retired.append(Retired(host.host_id, host.domain_id, host.not_before))

    def is_closed(self, host_id: HostId) -> bool:
        """Whether the partition of the host is given up."""
        return self.partitions is not None and host_id >> ID_BITS not in self.partitions

    def has_closed_hosts(self) -> bool:
        """Whether a host of such a partition still has a back queue, or gives it up in a commit to come."""
        return any(map(self.is_closed, self.hosts)) or any(map(self.is_closed, self._retiring))

    @property
    def is_full(self) -> bool:
        """Hosts wait for a back queue, and none is free."""
        if len(self.hosts) < self._limits.max_hosts:
            return False
        return any(queue.window or queue.more for queue in self.front_queues)

    # --- due dates -------------------------------------------------------------------------

    def wake(self, now: Instant) -> None:
        """Mark the queues whose next date has come for reading."""
        while (due := self.due_timers.pop_due(now)) is not None:
            host_id, front = due
            if host_id is None:
                self.front_queues[front].more = True
            else:
                waiting = self.hosts[host_id]
                waiting.more[front] = True
                self.feed(waiting)

    @property
    def is_quiet(self) -> bool:
        """Nothing in memory, nothing being loaded or retired."""
        return not (self.hosts or self._retired or self._retiring or any(q.reading for q in self.front_queues))
