"""The ready structures: hosts that may be contacted now. Hot: benchmarks/bench_frontier.py.

`ReadyClasses` is for orderings by class. A host is in every class it has URLs of, at the place of its oldest URL of
that class. When it is served through one class its other entries become stale; they are recognised by their turn number
and dropped when they reach the top. So each entry is pushed once and popped once.

`ReadyScores` is for orderings by score. It nests three levels of lazy heaps: the hosts of a domain by their best URL
with the host's term added, the domains of a suffix with the domain's term added, and all suffixes with the suffix's
term added. So a changed term moves one entry, however many hosts and URLs it affects: O(log n).
"""

from collections.abc import Callable
from heapq import heapify, heappop, heappush

from gossamer.frontier.back_queue import READY, HostQueue, Key
from gossamer.frontier.domain_counts import DomainTable
from gossamer.frontier.lazy_heap import LazyHeap
from gossamer.frontier.orderings.ordering import Ordering
from gossamer.frontier.selector import Selector
from gossamer.model.facts import without_rank

_Entry = tuple[float, int, int, HostQueue]  # (place, url_id, turn, host): oldest URL first
_SLACK = 1024  # stale entries that are not worth a sweep


class ReadyClasses:
    """Ready hosts by class, served by the biased selector, first in first out within a class."""

    def __init__(self, selector: Selector, fronts: int) -> None:
        self._selector = selector
        self._heaps: list[list[_Entry]] = [[] for _ in range(fronts)]
        self._numbered = list(enumerate(self._heaps))
        self._count = 0

    def __len__(self) -> int:
        """Ready hosts."""
        return self._count

    def push(self, host: HostQueue) -> None:
        host.turn = turn = host.turn + 1
        host.state = READY
        self._count = count = self._count + 1
        limit = 2 * count + _SLACK
        for tasks in host.fronts:
            if tasks:
                head = tasks[-1]
                heap = self._heaps[head.front]
                if len(heap) >= limit:
                    self._sweep(heap)
                heappush(heap, (head.place, head.url_id, turn, host))

    @staticmethod
    def _sweep(heap: list[_Entry]) -> None:
        """Remove stale entries once they prevail: a host served repeatedly through one class would otherwise leave an
        entry in the others each time. Amortised O(1)."""
        heap[:] = [entry for entry in heap if entry[2] == entry[3].turn]
        heapify(heap)

    def push_front(self, host: HostQueue, front: int) -> None:
        """A ready host has got its first URL of a class."""
        head = host.fronts[front][-1]
        heappush(self._heaps[front], (head.place, head.url_id, host.turn, host))

    def leave(self, host: HostQueue) -> None:
        """Remove a ready host; its entries are stale from now on."""
        host.turn += 1
        self._count -= 1

    def pop(self, closed: Callable[[HostQueue], bool]) -> tuple[HostQueue, int] | None:
        """The host to contact and the class to serve it from. Hosts for which `closed` returns True are skipped (it has
        then moved them elsewhere, with a new turn). None if no host is ready."""
        while True:
            waiting = []
            shut = False
            for front, heap in self._numbered:
                while heap:
                    _, _, turn, host = heap[0]
                    if turn == host.turn:
                        # A closed host must not cost its class a turn, so check before drawing.
                        if host.address is not None and closed(host):
                            self._count -= 1  # `closed` has moved it elsewhere, so its entries are stale
                            shut = True
                        else:
                            waiting.append(front)
                        break
                    heappop(heap)
            if shut:
                continue
            if not waiting:
                return None
            front = self._selector.draw(waiting)
            host = heappop(self._heaps[front])[3]
            host.turn += 1  # its entries in the other classes are stale
            self._count -= 1
            return host, front


class ReadyScores:
    """Hosts in state READY. Every change takes O(log n); decreases are corrected when the entry reaches the top."""

    def __init__(self, ordering: Ordering, domains: DomainTable) -> None:
        self._ordering = ordering
        self._domains = domains
        # Without a domain or suffix term, one heap for all of them is enough.
        kind = type(ordering)
        self._has_hosts = ordering.has_host_term
        self._has_domains = kind.domain_term is not Ordering.domain_term
        self._has_suffixes = kind.suffix_term is not Ordering.suffix_term
        self._hosts: dict[int, HostQueue] = {}
        self._domain_heaps: dict[int, LazyHeap[Key]] = {}  # of hosts, by domain
        self._suffix_heaps: dict[int, LazyHeap[Key]] = {}  # of domains, by suffix
        self._suffix_of: dict[int, int] = {}  # domain -> suffix
        self._heap = LazyHeap(self._suffix_key)
        self._stay_at = 0

    def __len__(self) -> int:
        """Ready hosts."""
        return len(self._hosts)

    def push(self, host: HostQueue) -> None:
        host.turn += 1
        host.state = READY
        self._hosts[host.host_id] = host
        self.raise_host(host)

    def raise_host(self, host: HostQueue) -> None:
        """A ready host may have a better URL than before."""
        key = self._host_key(host.host_id)
        if key is None:
            return
        domain = host.domain_id if self._has_domains else 0
        heap = self._domain_heaps.get(domain)
        if heap is None:
            heap = self._domain_heaps[domain] = LazyHeap(self._host_key)
            self._suffix_of[domain] = host.suffix_id if self._has_suffixes else 0
        heap.raise_to(host.host_id, key)
        self._raise_domain(domain, key)

    def raise_domain(self, domain_id: int) -> None:
        """The domain's term may have risen, and with it the score of all its URLs."""
        heap = self._domain_heaps.get(domain_id) if self._has_domains else None
        found = None if heap is None else heap.first()
        if found is not None:
            self._raise_domain(domain_id, found[0])

    def _raise_domain(self, domain: int, key: Key) -> None:
        suffix = self._suffix_of[domain]
        heap = self._suffix_heaps.get(suffix)
        if heap is None:
            heap = self._suffix_heaps[suffix] = LazyHeap(self._domain_key)
        key = self._with_domain(domain, key)
        heap.raise_to(domain, key)
        self._heap.raise_to(suffix, self._with_suffix(suffix, key))

    def leave(self, host: HostQueue) -> None:
        """Remove a ready host; its entries are stale from now on."""
        host.turn += 1
        del self._hosts[host.host_id]

    def pop(self, closed: Callable[[HostQueue], bool]) -> tuple[HostQueue, int] | None:
        """The host to contact; the queue to serve it from is always 0. Hosts for which `closed` returns True are
        skipped (it has then moved them elsewhere, with a new turn). None if no host is ready."""
        while True:
            host = self._next()
            if host is None:
                return None
            if closed(host):
                del self._hosts[host.host_id]
                continue
            self.leave(host)
            if self._ordering.stays:
                self._stay_at = host.host_id
            return host, 0

    def _next(self) -> HostQueue | None:
        if self._stay_at:
            host = self._hosts.get(self._stay_at)
            if host is not None:
                return host
        found = self._heap.first()
        if found is None:
            return None
        suffix = found[1]
        domain = self._suffix_heaps[suffix].first()
        assert domain is not None  # its suffix was first just now
        of_domain = self._domain_heaps[domain[1]].first()
        assert of_domain is not None
        return self._hosts[of_domain[1]]

    def total_score(self, host: HostQueue, priority: float) -> float:
        """The total score of a URL of this host, for display."""
        ordering = self._ordering
        terms = ordering.domain_term(self._domains[host.domain_id]) if self._has_domains else 0
        if self._has_hosts:
            terms += ordering.host_term(host.facts)
        if self._has_suffixes:
            terms += ordering.suffix_term(self._domains.suffix_visits[host.suffix_id])
        return (without_rank(priority) + terms) / ordering.unit

    # --- keys of hosts, domains and suffixes ---------------------------------------------------------------

    def _host_key(self, host_id: int) -> Key | None:
        host = self._hosts.get(host_id)
        if host is None or host.ranked is None:
            return None
        key = host.ranked.head()
        if key is None or not self._has_hosts:
            return key
        return key[0] - self._ordering.host_term(host.facts), key[1]

    def _domain_key(self, domain: int) -> Key | None:
        heap = self._domain_heaps.get(domain)
        if heap is None:
            return None
        found = heap.first()
        if found is not None:
            return self._with_domain(domain, found[0])
        # None of its hosts is ready. Drop its heap, so that a crawl over a million domains does not keep one for each.
        del self._domain_heaps[domain], self._suffix_of[domain]
        return None

    def _with_domain(self, domain: int, key: Key) -> Key:
        if not self._has_domains:
            return key
        return key[0] - self._ordering.domain_term(self._domains[domain]), key[1]

    def _suffix_key(self, suffix: int) -> Key | None:
        found = self._suffix_heaps[suffix].first()
        return None if found is None else self._with_suffix(suffix, found[0])

    def _with_suffix(self, suffix: int, key: Key) -> Key:
        if not self._has_suffixes:
            return key
        return key[0] - self._ordering.suffix_term(self._domains.suffix_visits[suffix]), key[1]
