"""A frontier, its task table, and everything that can happen between them, one step at a time.

Reads and commits take their time, as in a crawl: an order is given, read and delivered in three steps, a batch is
dated, applied and reported in three steps, and anything may happen in between. Every promise of the frontier is checked
at every step, from records of the world's own.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeVar

from gossamer.frontier.back_queue import HostQueue, HostState
from gossamer.frontier.decisions import FrontierLimits, Idle, WaitUntil
from gossamer.frontier.frontier import Frontier
from gossamer.frontier.orderings.ordering import Ordering
from gossamer.frontier.politeness import Contact, PolitenessPolicy, next_contact, next_contact_of_address
from gossamer.frontier.politeness_heap import PolitenessHeap
from gossamer.model.facts import DomainFacts
from gossamer.model.loads import LoadRequest
from gossamer.model.task import HostRecord, Task, Visit
from gossamer.model.units import HostId, HostKey, Instant, Seconds
from tests.frontier.frontier_table import Changes, Outcome, Report, TaskTable, record_of

START = 1000.0
POLICY = PolitenessPolicy(min_delay=Seconds(1.0), load_factor=10.0, max_adaptive_delay=Seconds(8.0))


K = TypeVar("K", HostId, str)


class Answer(NamedTuple):
    """What a read brought, in the order it was asked, as of a commit."""

    commit: int
    fronts: list[tuple[int, list[tuple[float, HostId]], float | None]]
    hosts: list[tuple[HostId, HostRecord | None, list[tuple[int, list[Task], float | None]]]]


def noted_in(rests: PolitenessHeap) -> list[tuple[float, int, int, HostQueue]]:
    """All entries of a politeness heap: (minus until, minus its number, turn, host)."""
    return [entry for page in (rests._open, *rests._pages.values()) for entry in page]


class MovingClasses(Ordering):
    """The classes that the table says; a URL may move to a better one."""

    fronts = 3
    moved_by_links = True


class Points(Ordering):
    """By score. Domains that have had few visits first, a little."""

    by_score = True
    moved_by_links = True

    def domain_term(self, domain: DomainFacts) -> int:
        return -domain.visits


class World:
    def __init__(
        self,
        limits: FrontierLimits,
        policy: PolitenessPolicy = POLICY,
        ordering: Ordering | None = None,
        *,
        domain_of: Callable[[HostKey], str] | None = None,
    ) -> None:
        """`domain_of`: the hosts of a domain share its gap."""
        self.policy = policy
        self.domain_of = domain_of
        self.limits = limits
        self.ordering = ordering or MovingClasses()
        self.table = TaskTable(self.ordering.by_score)
        self.frontier = Frontier(policy, None, limits, self.ordering, domain_of=domain_of)
        self.now = START
        self.batch = Changes()
        self.dated: tuple[Changes, float] | None = None
        self.applied: Report | None = None
        self.order: LoadRequest | None = None
        self.answer: Answer | None = None
        self.out: list[Visit] = []
        self.at: dict[HostId, str] = {}  # the address that a visit is busy with
        self.unsettled: set[int] = set()
        self.host_rests: dict[HostId, float] = {}  # by contacts
        self.host_delays: dict[HostId, float] = {}  # by `delay`
        self.address_rests: dict[str, float] = {}
        self.domain_rests: dict[str, float] = {}
        self.errands: dict[HostId, HostId] = {}  # the host of a visit -> the host that it asks instead
        self.visits = 0

    @property
    def instant(self) -> Instant:
        return Instant(self.now)

    @staticmethod
    def key(host_id: HostId) -> HostKey:
        return record_of(host_id).host

    # --- what happens ----------------------------------------------------------------------------

    def discover(self, host_id: int, value: int) -> None:
        """A URL is found; `value` is its class, or its score."""
        self.batch.found.append((host_id, value))

    def lift(self, which: int, by: int) -> None:
        """A URL that is in the table gets a better score, or a better class."""
        if self.table.rows:
            self.batch.lifted.append((which % len(self.table.rows) + 1, by))

    def begin_load(self) -> None:
        if self.order is None and self.answer is None:
            order = self.frontier.request_load(self.instant)
            self.order = order if order else None
        self.check()

    def read(self) -> None:
        if self.order is not None:
            self.answer = Answer(
                self.table.number,
                [(front.front, *self.table.read_front(front)) for front in self.order.fronts],
                [(host.host_id, *self.table.read_host(host)) for host in self.order.hosts],
            )
            self.order = None

    def deliver(self) -> None:
        if self.answer is not None:
            commit = self.answer.commit
            for number, entries, due in self.answer.fronts:
                self.frontier.add_front(number, entries, due, commit)
            for host_id, record, classes in self.answer.hosts:
                self.frontier.add_host(host_id, record, classes, commit, self.instant)
            self.frontier.end_load()
            self.answer = None
        self.check()

    def begin_commit(self) -> None:
        self._collect_retired()
        if self.dated is None and self.applied is None and self.batch:
            self.dated, self.batch = (self.batch, self.now), Changes()

    def _collect_retired(self) -> None:
        self.batch.retired += [(host.host_id, host.not_before) for host in self.frontier.take_retired()]

    def apply(self) -> None:
        if self.dated is not None:
            self.applied = self.table.commit(*self.dated)
            self.dated = None

    def report(self) -> None:
        if self.applied is not None:
            self.unsettled -= {url_id for _, url_id in self.applied.settled}
            self.frontier.on_commit(self.applied)
            self.applied = None
        self.check()

    def pass_time(self, seconds: float) -> None:
        self.now += seconds

    def take_turn(self) -> Visit | WaitUntil | Idle:
        turn = self.frontier.next_turn(self.instant)
        if isinstance(turn, Visit):
            self._check_visit(turn)
            self.frontier.count_visit(turn)
            self.out.append(turn)
            self.visits += 1
            if turn.address is not None:
                self.at[turn.host_id] = turn.address
        elif isinstance(turn, WaitUntil):
            assert turn.when > self.now, f"asked to wait until {turn.when} at {self.now}"
        self.check()
        return turn

    def enter(self, which: int, address: str) -> bool:
        """Whether the visit may go to `address`; if not it has been taken back."""
        visit = self.out[which % len(self.out)]
        known = self.at.get(visit.host_id)
        busy = {at for host, at in self.at.items() if host != visit.host_id}
        if self.frontier.enter_address(visit, address, self.instant):
            assert address not in busy, f"two visits at {address}"
            if address != known:
                assert self.now >= self.address_rests.get(address, 0.0), f"{address} is resting"
            self.at[visit.host_id] = address
            return True
        self.out.remove(visit)
        self.at.pop(visit.host_id, None)
        self.check()
        return False

    def begin_errand(self, which: int, target: HostId, address: str) -> bool:
        """Whether a visit may ask another host, at `address`; if not, its URL waits in its queue again."""
        visit = self.out[which % len(self.out)]
        if target == visit.host_id or visit.host_id in self.errands:
            return False
        known = target in self.table.clocks or any(row.host_id == target for row in self.table.rows)
        rests_until = Instant(self.table.clocks.get(target, (0.0,))[0])
        turn = self.frontier.cross_host.begin(
            visit, self.key(target), target if known else None, rests_until, address, self.instant
        )
        if isinstance(turn, WaitUntil):
            assert turn.when > self.now
            self.delay(visit.host_id, turn.when - self.now)
            self.finish(self.out.index(visit), None, again=True)
            return False
        if not turn:
            self.out.remove(visit)
            self.at.pop(visit.host_id, None)
            self.check()
            return False
        busy = {other.host_id for other in self.out} | set(self.errands.values())
        assert target not in busy, f"host {target} is asked while it is visited"
        assert self.now >= self.host_rests.get(target, 0.0), f"host {target} is resting"
        assert address not in {at for host, at in self.at.items() if host != visit.host_id}, f"two at {address}"
        if address != self.at.get(visit.host_id):
            assert self.now >= self.address_rests.get(address, 0.0), f"{address} is resting"
        if self.domain(target) != self.domain(visit.host_id):
            assert self.domain(target) not in self._busy_domains(visit.host_id), "two requests to a domain"
        self._check_domain_rest(target)
        self.at[visit.host_id] = address
        self.errands[visit.host_id] = target
        self.check()
        return True

    def end_errand(self, asker: HostId, contact: Contact) -> None:
        """The other host has answered; the visit waits in its queue again."""
        target = self.errands.pop(asker)
        address = self.at.pop(asker)
        self._rest(self.host_rests, target, next_contact(self.policy, contact))
        self._rest(self.domain_rests, self.domain(target), next_contact(self.policy, contact))
        self._rest(self.address_rests, address, next_contact_of_address(self.policy, contact))
        which = next(place for place, visit in enumerate(self.out) if visit.host_id == asker)
        until = self.frontier.cross_host.end(self.out[which], self.key(target), contact, self.instant)
        assert until >= self.host_rests[target] or until >= next_contact(self.policy, contact)
        self.batch.clocks[target] = (max(until, self.host_rests[target]), contact.took, address)
        self.finish(which, None, again=True)

    def finish(
        self, which: int, contact: Contact | None, *, again: bool = False, again_at: float | None = None
    ) -> None:
        visit = self.out.pop(which % len(self.out))
        address = self.at.pop(visit.host_id, None)
        if contact is not None:
            self._rest(self.host_rests, visit.host_id, next_contact(self.policy, contact))
            self._rest(self.domain_rests, self.domain(visit.host_id), next_contact(self.policy, contact))
            if address is not None:
                self._rest(self.address_rests, address, next_contact_of_address(self.policy, contact))
        until = self.frontier.finish(visit, contact, self.instant, again=again)
        assert max(until, self.now) >= self._not_before(visit.host_id)
        if contact is not None:
            self.batch.clocks[visit.host_id] = (until, contact.took, address)
        if not again:
            self.unsettled.add(visit.task.url_id)
            outcome = Outcome(visit.host_id, visit.task.url_id, visit.task.front, again_at)
            self.batch.outcomes.append(outcome)
        self.check()

    def contact(self, took: float, crawl_delay: float | None = None, retry_after: float | None = None) -> Contact:
        return Contact(
            self.instant,
            Seconds(took),
            None if crawl_delay is None else Seconds(crawl_delay),
            None if retry_after is None else Seconds(retry_after),
        )

    def delay(self, host_id: HostId, seconds: float) -> None:
        """For a host that certainly has a back queue: one that is out, or whose outcome is not on record."""
        self._rest(self.host_delays, host_id, self.now + seconds)
        self.frontier.delay(host_id, Instant(self.now + seconds))
        self.check()

    @property
    def held_hosts(self) -> list[HostId]:
        busy = {visit.host_id for visit in self.out}
        return sorted(busy | {HostId(self.table.row(url_id).host_id) for url_id in self.unsettled})

    def crash(self) -> None:
        """Everything in memory is gone, a batch that was not applied too. The contact journal keeps the clocks."""
        self.batch, self.dated, self.applied = Changes(), None, None
        self.order = self.answer = None
        self.out.clear()
        self.at.clear()
        self.errands.clear()
        self.unsettled.clear()
        self.host_delays.clear()
        for host_id, until in self.host_rests.items():
            _, took, address = self.table.clocks.get(host_id, (0.0, 0.0, None))
            self.table.clocks[host_id] = (until, took, address)
        self.frontier = Frontier(self.policy, None, self.limits, self.ordering, domain_of=self.domain_of)
        for address, until in self.address_rests.items():
            self.frontier.rest_address(address, Instant(until))
        for host_id, until in self.host_rests.items():
            self.frontier.rest_domain(self.key(host_id), Instant(until))

    # --- what must hold --------------------------------------------------------------------------

    @staticmethod
    def _rest(rests: dict[K, float], key: K, until: float) -> None:
        rests[key] = max(until, rests.get(key, 0.0))

    def _not_before(self, host_id: HostId) -> float:
        return max(self.host_rests.get(host_id, 0.0), self.host_delays.get(host_id, 0.0))

    def domain(self, host_id: HostId) -> str:
        return f"only host {host_id}" if self.domain_of is None else self.domain_of(self.key(host_id))

    def _busy_domains(self, asker: HostId | None = None) -> set[str]:
        """Domains with a request in flight, other than by a visit of `asker`."""
        busy = {visit.host_id for visit in self.out} | set(self.errands.values())
        return {
            self.domain(host_id) for host_id in busy if host_id not in (asker, self.errands.get(asker or HostId(0)))
        }

    def _check_domain_rest(self, host_id: HostId) -> None:
        domain = self.domain(host_id)
        assert self.now >= self.domain_rests.get(domain, 0.0), f"domain {domain} is resting"

    def _check_visit(self, visit: Visit) -> None:
        assert self.domain(visit.host_id) not in self._busy_domains(), "two requests to a domain"
        self._check_domain_rest(visit.host_id)
        row = self.table.row(visit.task.url_id)
        assert row.host_id == visit.host_id, "a URL of another host in the back queue"
        assert row.queued, f"url {row.url_id} is handed out although it is done"
        assert row.url_id not in self.unsettled, f"url {row.url_id} is handed out before its outcome is settled"
        assert row.place <= self.now, f"url {row.url_id} is not due"
        assert visit.host_id not in {other.host_id for other in self.out}, f"two visits of host {visit.host_id}"
        assert visit.host_id not in self.errands.values(), f"host {visit.host_id} is visited while it is asked"
        assert self.now >= self._not_before(visit.host_id), f"host {visit.host_id} is resting"
        if visit.address is not None:
            assert visit.address not in self.at.values(), f"two visits at {visit.address}"
            assert self.now >= self.address_rests.get(visit.address, 0.0), f"{visit.address} is resting"

    def check(self) -> None:
        """The invariants of the frontier's structures."""
        hosts = self.frontier._hosts
        shown = self.frontier.statistics()
        assert shown.hosts <= self.limits.max_hosts
        assert shown.out == len(self.out)
        states = [host.state for host in hosts.values()]
        assert shown.ready == states.count(HostState.READY)
        assert shown.waiting == states.count(HostState.WAITING)
        lent = sum(1 for host in self.errands.values() if host in hosts and hosts[host].state is HostState.OUT)
        assert states.count(HostState.OUT) == len(self.out) + lent
        assert all(hosts[host].state is HostState.OUT for host in self.errands.values() if host in self._learnt)
        assert len(self.frontier.cross_host) == len(self.errands)
        for host in hosts.values():
            self._check_host(host)

    @property
    def _learnt(self) -> set[HostId]:
        return {host_id for host_id, host in self.frontier._hosts.items() if host.known}

    def _check_host(self, host: HostQueue) -> None:
        frontier = self.frontier
        ids = [task.url_id for tasks in host.fronts for task in tasks]
        if host.ranked is not None:
            ids = [task.url_id for task in host.ranked]
        assert len(ids) == len(set(ids)), "a URL twice in a back queue"
        assert not self.unsettled.intersection(ids), "a URL in a back queue and on its way into the store"
        assert host.out_id not in ids, "a URL in a back queue and out"
        assert all(self.table.row(url_id).host_id == host.host_id for url_id in ids)
        in_rests = [e for e in noted_in(frontier._politeness_heap) if e[3] is host and e[2] == host.turn]
        in_gates = [a for a, gate in frontier.gates._gates.items() for h in gate.parked if h == host.host_id]
        state = host.state
        assert len(in_rests) == (state is HostState.WAITING), f"{state} with {len(in_rests)} entries in the heap"
        if frontier._scores is not None:
            assert (host.host_id in frontier._scores._hosts) == (state is HostState.READY)
            if state is HostState.READY:
                assert host.has_next(), "ready, though the table may have something better"
        else:
            heaps = frontier._classes._heaps
            in_ready = [e for heap in heaps for e in heap if e[3] is host and e[2] == host.turn]
            classes = sum(1 for tasks in host.fronts if tasks)
            assert len(in_ready) == (classes if state is HostState.READY else 0), f"{state}: {len(in_ready)} entries"
        gates = ([host.address], [host.domain_gate]) if state is HostState.PARKED else ([],)
        assert in_gates in gates, f"{state} at gates {in_gates}"
        if state is HostState.EMPTY:
            assert not host.has_next(), "URLs in memory, but in no structure"

    # --- to the end ------------------------------------------------------------------------------

    def settle_everything(self) -> None:
        """Let every read and commit come to its end, until nothing more is asked for."""
        for _ in range(1000):
            self.read()
            self.deliver()
            self.apply()
            self.report()
            self.begin_commit()
            self.begin_load()
            if self.order is None and self.dated is None:
                return
        raise AssertionError("the frontier never stops loading")

    def take_turns(self) -> Visit | Idle:
        """The next visit, after as much time as it takes; Idle when nothing can come any more."""
        for _ in range(10_000):
            self.settle_everything()
            turn = self.take_turn()
            if isinstance(turn, Visit):
                return turn
            # As in a crawl, a turn may leave something to load or to commit, which comes before any waiting.
            self.begin_commit()
            self.begin_load()
            if self.dated is None and self.order is None:
                if isinstance(turn, Idle):
                    return turn
                self.now = turn.when
        raise AssertionError("the frontier never comes to its end")

    def run_dry(self, took: float = 0.1) -> None:
        """Visit until the frontier is idle; then nothing may be left in the table."""
        for _ in range(len(self.table.rows) + len(self.batch.found) + 1000):
            while self.errands:
                self.end_errand(next(iter(self.errands)), self.contact(took))
            while self.out:
                self.finish(0, self.contact(took))
            if isinstance(self.take_turns(), Idle):
                break
        else:
            raise AssertionError("the frontier never comes to its end")
        lost = [row.url_id for row in self.table.queued]
        assert not lost, f"urls {lost} are queued, but the frontier is idle"
        assert self.frontier.is_quiet
