"""The part of a crawl that sends requests. Only the web is scripted: frontier, resolver, contact journal and politeness
audit are the real ones, and batches are committed to a list. The clock is a virtual one."""

import asyncio
import math
import random
from pathlib import Path

from gossamer.backends.contact_journal import ContactLog
from gossamer.clock import VirtualClock
from gossamer.config.hosts import HostSettings, HostSettingsTable
from gossamer.crawl.observers import CrawlObserver, Observers
from gossamer.crawl.visit.host_context import HostContext, HostContexts, HostHealth
from gossamer.crawl.visit.request import Requester, Route
from gossamer.crawl.visit.robots import RobotsFetcher, RobotsSettings
from gossamer.crawl.visit.settle import Counters, CrawlState
from gossamer.fetch.dns.address_choice import AddressChoice
from gossamer.fetch.dns.cache import StoredAnswer
from gossamer.fetch.dns.resolver import Resolver
from gossamer.fetch.http.options import HostOptions
from gossamer.fetch.robots import RobotsPolicy
from gossamer.filter.canonical import Canonicaliser
from gossamer.filter.host_table import HostTable
from gossamer.frontier.breaker import BreakerPolicy
from gossamer.frontier.decisions import WaitUntil
from gossamer.frontier.frontier import Frontier
from gossamer.frontier.politeness import PolitenessPolicy
from gossamer.model.batch import Batch, Committed, RobotsRecord
from gossamer.model.facts import DomainFacts
from gossamer.model.loads import HostLoaded, LastContact
from gossamer.model.outcome import Failed
from gossamer.model.task import HostRecord, Task, Visit
from gossamer.model.units import Fingerprint, HostId, HostKey, Instant, Origin, Seconds, Url
from gossamer.observe.audit import PolitenessAudit
from gossamer.store.threads import WriterThread
from tests.crawl.scripted_fetcher import ScriptedFetcher

A, B = HostKey("a.test"), HostKey("b.test")
A_ID, B_ID = HostId(1), HostId(2)
A_ADDRESS, B_ADDRESS = "192.0.2.1", "192.0.2.2"
URLS_PER_HOST = 5
POLITENESS = PolitenessPolicy()
BREAKER = BreakerPolicy()
ROBOTS = RobotsPolicy()
MAX_CRAWL_DELAY = Seconds(600.0)
_HELD = 365 * 86_400.0


class _Writer:
    """Commits to a list."""

    def __init__(self) -> None:
        self.commits: list[Batch] = []

    def commit(self, batch: Batch, now: Instant) -> Committed:
        self.commits.append(batch)
        return Committed(len(self.commits), [], [], [], [], [], 0, 0, 0, 0.0)

    def close(self) -> None: ...


class _CommitFlag(CrawlObserver):
    def __init__(self, flag: asyncio.Event) -> None:
        self._flag = flag

    def committed(self, committed: Committed) -> None:
        self._flag.set()


class Rig:
    """A crawl that knows the hosts `a.test` and `b.test`. `load` gives them back queues."""

    def __init__(
        self,
        directory: Path,
        name_server: str = "127.0.0.1:1",
        a_addresses: tuple[str, ...] = (A_ADDRESS,),
        b_addresses: tuple[str, ...] = (B_ADDRESS,),
    ) -> None:
        self.directory = directory
        self.clock = clock = VirtualClock()
        self.fetcher = ScriptedFetcher(clock)
        self.frontier = Frontier(POLITENESS)
        self.resolver = Resolver([name_server], clock)
        self.forbidden: set[str] = set()  # addresses that must not be dialled
        self.address_choice = AddressChoice(lambda address: address not in self.forbidden)
        self.journal = ContactLog((directory / "contacts.0", directory / "contacts.1"))
        self.journal.begin()
        self.audit = PolitenessAudit(
            min_delay=POLITENESS.min_delay,
            factor=POLITENESS.load_factor,
            max_adaptive_delay=POLITENESS.max_adaptive_delay,
            max_retry_after=POLITENESS.max_retry_after,
        )
        writer = _Writer()
        self.commits = writer.commits
        self.committed = asyncio.Event()
        observers = Observers(clock)
        observers.subscribe(_CommitFlag(self.committed))
        self.store = WriterThread(writer, clock, observers)
        self.hosts = HostSettingsTable()
        self.counters = Counters({})
        self.state = CrawlState(self.frontier, self.store, self.counters, clock)
        self.requester = Requester(
            self.state,
            resolver=self.resolver,
            address_choice=self.address_choice,
            fetcher=self.fetcher,
            journal=self.journal,
            audit=self.audit,
            politeness=POLITENESS,
            hosts=self.hosts,
        )
        self.host_contexts = HostContexts("gossamer")
        self.nothing_else_left = False
        self.health = HostHealth(BREAKER, random.Random(1), lambda: self.nothing_else_left)
        self.sitemaps: list[tuple[Origin, tuple[str, ...]]] = []  # as robots.txt files name them
        self.stored: dict[HostKey, HostLoaded] = {}  # hosts that have a row in the store
        self.robots_fetcher = self.robots_fetcher_with(ROBOTS)
        self.locate(A, *a_addresses)
        self.locate(B, *b_addresses)

    def robots_fetcher_with(self, policy: RobotsPolicy) -> RobotsFetcher:
        return RobotsFetcher(
            self.state,
            self.host_contexts,
            self.health,
            self.requester,
            canonicaliser=Canonicaliser(),
            settings=RobotsSettings("gossamer", policy, MAX_CRAWL_DELAY),
            find_host=self._find_host,
            on_sitemaps=lambda visit, origin, lines: self.sitemaps.append((origin, tuple(lines))),
        )

    async def _find_host(self, host: HostKey) -> HostLoaded | None:
        return self.stored.get(host)

    def close(self) -> None:
        self.journal.close()

    # --- set-up ------------------------------------------------------------------------------------

    def locate(self, host: HostKey, *addresses: str) -> None:
        """The name server's answer for a host, in the resolver's cache."""
        self.resolver.restore(host, StoredAnswer(addresses, Instant(self.now + _HELD)))

    def ask_with(self, host: HostKey, options: HostOptions | None = None, min_delay: Seconds | None = None) -> None:
        """Settings of one host."""
        settings = HostSettings(options or HostOptions(), min_delay)
        self.hosts.replace_with(HostSettingsTable(single=HostTable(((str(host), settings),))))

    def load(self, *hosts: HostKey, robots: list[RobotsRecord] | None = None) -> None:
        """Give these hosts back queues, each with a few URLs."""
        records = {record.host_id: record for record in map(record_of, hosts)}
        for record in records.values():
            self.host_contexts.host_loaded(record, robots or [])
        self.frontier.rewind()
        while order := self.frontier.request_load(self.now):
            for front in order.fronts:
                entries = [(0.0, host_id) for host_id in records] if front.front == 0 else []
                self.frontier.add_front(front.front, entries, math.inf, 0)
            for wanted in order.hosts:
                record = records[wanted.host_id]
                classes = [(front, _tasks(record) if front == 0 else [], math.inf) for front, _, _ in wanted.classes]
                self.frontier.add_host(wanted.host_id, record, classes, 0, self.now)
            self.frontier.end_load()

    # --- steps -------------------------------------------------------------------------------------

    @property
    def now(self) -> Instant:
        return self.clock.now()

    @property
    def batch(self) -> Batch:
        return self.store.batch

    @property
    def journalled(self) -> dict[HostId, LastContact]:
        """What a process that starts now would find in the contact journal."""
        return ContactLog((self.directory / "contacts.0", self.directory / "contacts.1")).last_contacts()

    def host_context(self, host_id: HostId = A_ID) -> HostContext:
        return self.host_contexts[host_id]

    def wait_for_visit(self) -> Visit:
        """The next visit, after as much time as it takes."""
        for _ in range(100):
            turn = self.frontier.next_turn(self.now)
            if isinstance(turn, Visit):
                return turn
            assert isinstance(turn, WaitUntil), "the frontier is idle"
            self.clock.advance(Seconds(turn.when - self.now))
        raise AssertionError("the frontier only waits")

    async def route_to(self, visit: Visit) -> Route:
        """Choose the address of a visit, and pass its gate."""
        route = await self.requester.route_to(visit.host, visit.address)
        assert not isinstance(route, Failed), route
        assert self.frontier.enter_address(visit, route.address, self.now)
        return route


def record_of(host: HostKey, **more: object) -> HostRecord:
    host_id = {A: A_ID, B: B_ID}[host]
    usual = HostRecord(host_id, host, int(host_id), DomainFacts(), 1, Instant(0.0), 0.0, None)
    return usual._replace(**more)  # type: ignore[arg-type]


def _tasks(record: HostRecord) -> list[Task]:
    """URLs of a host. They differ in nothing but their path."""
    first = 100 * record.host_id
    return [
        Task(first + n, Fingerprint(first + n), Url(f"http://{record.host}/{n}"), 0, float(n), 0.5, 0, 0, 0)
        for n in range(URLS_PER_HOST)
    ]
