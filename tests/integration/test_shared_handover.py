"""Partitions that pass from one worker to another: hosts are contacted again only after the delay that their last
contact requires, by the log of their servers."""

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import psycopg
import pytest

from gossamer.filter.domains import partition_of, registrable_domain
from gossamer.model.units import HostKey
from tests.backends.postgres.postgres_databases import PostgresDatabases
from tests.hostile.dns_stage import free_port, naming
from tests.integration.crawl_process import Command, Constants, wait_until
from tests.integration.small_server import NOTHING, Answer, Asked, SmallServer, links, page
from tests.name_server import A, Reply, a

pytestmark = pytest.mark.service

DELAY = 0.2
FACTOR = 10.0
LONGEST = 1.5
"""The longest adaptive delay."""
CRAWL_DELAY = 2.0
CUT_OFF_SOON = Constants({"gossamer.crawl.run.signals.GRACE_SECONDS": 0.5})
FOR_EVER = 600.0
PAGES = [f"/page-{n}" for n in range(400)]
PER_DOMAIN = 'per = "domain"\n'


def domains() -> list[str]:
    """A domain in each of two partitions."""
    found: dict[int, str] = {}
    for n in range(40):
        found.setdefault(partition_of(registrable_domain(HostKey(f"a.site-{n}.test")), 2), f"site-{n}.test")
    return [found[0], found[1]]


class Site:
    """Many pages, others than those of another site. `take_long` makes the next answer take some seconds."""

    def __init__(self, host: str, address: str, port: int) -> None:
        self.host = host
        self.is_slow = threading.Event()
        self.crawl_delay: float | None = None
        self.own_delay = DELAY  # as the operator has set it
        self.server = SmallServer(self._answer, address, port)
        self._long: list[float] = []

    def _answer(self, path: str, before: int) -> Answer:
        if path == "/robots.txt":
            if self.crawl_delay is None:
                return NOTHING
            return Answer(f"User-agent: *\nCrawl-delay: {self.crawl_delay}\n", headers={"Content-Type": "text/plain"})
        if self._long:
            self.is_slow.set()
            return Answer(f"slow {self.host}{path}", delay=self._long.pop())
        return links(f"/{self.host}", *PAGES) if path == "/" else page(f"{self.host}{path}")

    def take_long(self, seconds: float) -> None:
        self.is_slow.clear()
        self._long.append(seconds)

    def be_quick(self) -> None:
        self._long.clear()

    @property
    def has_answered_slowly(self) -> bool:
        return self.is_slow.is_set() and self.asked[-1].answered_at > self.asked[-1].at

    @property
    def asked(self) -> list[Asked]:
        return list(self.server.asked)


class Stage:
    """A crawl by several workers of two domains, each of which has two hosts and is in a partition of its own."""

    def __init__(self, folder: Path, url: str, running: contextlib.ExitStack, toml: str) -> None:
        self.url, self._folder, self._running = url, folder, running
        port = free_port()
        hosts = [f"{name}.{domain}" for domain in domains() for name in ("a", "b")]
        self.sites = [Site(host, f"127.0.9.{n}", port) for n, host in enumerate(hosts, 1)]
        for site in self.sites:
            running.enter_context(site.server)
        known = {site.host: f"127.0.9.{n}" for n, site in enumerate(self.sites, 1)}
        self._dns = running.enter_context(naming(lambda host, kind: a(known[host]) if kind == A else Reply())).address
        self._seeds = [f"http://{site.host}:{port}/" for site in self.sites]
        self._settings = folder / "gossamer.toml"
        self._settings.write_text(f"[cluster]\nttl = 2.0\n[politeness]\nmax_adaptive_delay = {LONGEST}\n{toml}")
        self._where = ["--store", url, "--unsafe-store"]

    def begin(self) -> Command:
        fixed = ["--config", self._settings, "--dns", self._dns, "--allow-private", "--scope", "host", "--json"]
        delays = ["--delay", DELAY, "--delay-factor", FACTOR, "--partitions", 2, "--quiet"]
        crawl = Command("crawl", *self._seeds, *self._where, "--dir", self._folder / "first", *fixed, *delays)
        self._running.enter_context(crawl)
        wait_until(lambda: all(len(site.asked) > 2 for site in self.sites) or not crawl.runs, "pages")
        assert crawl.runs, crawl.ended().err
        return crawl

    def join(self, name: str) -> tuple[Command, list[Site]]:
        """Another worker, and the sites of the domain that it has fetched pages of."""
        where = [*self._where, "--dir", self._folder / "others", "--name", name, "--quiet"]
        worker = self._running.enter_context(Command("worker", *where, CUT_OFF_SOON))
        wait_until(lambda: self._part_of(name) is not None or not worker.runs, "a partition of the other worker")
        assert worker.runs, worker.ended().err
        part = self._part_of(name)
        assert part is not None
        sites = self.sites[2 * part : 2 * part + 2]
        before = sum(len(site.asked) for site in sites)
        wait_until(lambda: sum(len(site.asked) for site in sites) > before + 2 or not worker.runs, "its pages")
        assert worker.runs, worker.ended().err
        return worker, sites

    def _part_of(self, name: str) -> int | None:
        owned = "SELECT p.part FROM partitions p JOIN fence f USING (epoch) JOIN workers w USING (epoch)"
        with psycopg.connect(self.url) as server:
            row = server.execute(f"{owned} WHERE f.alive AND w.name = %s", (name,)).fetchone()
        return None if row is None else int(row[0])


@contextlib.contextmanager
def stage(folder: Path, databases: PostgresDatabases, toml: str = "") -> Iterator[Stage]:
    with databases.blank() as url, contextlib.ExitStack() as running:
        yield Stage(folder, url, running, toml)


class Gap(NamedTuple):
    """Two requests with nothing in between, to one host or one domain."""

    host: str
    first: str
    second: str
    length: float
    required: float


def gap_after(one: Asked, delay: float) -> float:
    """What a request requires, counted from when its server was done with it. One that was never answered may have
    ended at any time since."""
    answered = one.answered_at > one.at
    took = one.answered_at - one.at if answered else FOR_EVER
    return max(delay, min(FACTOR * took, LONGEST))


def gaps(sites: list[Site]) -> list[Gap]:
    """All gaps between requests to any of these sites. A quick answer took no time as far as its server knows."""
    found = []
    asked = [(one.at, n, one) for n, site in enumerate(sites) for one in site.asked]
    for (_, n, one), (_, _, two) in pairwise(sorted(asked, key=lambda each: each[:2])):
        # The rules of a host are not known before they are read.
        site, rules = sites[n], None if one.path == "/robots.txt" else sites[n].crawl_delay
        required = gap_after(one, max(site.own_delay, rules or 0.0))
        found.append(Gap(site.host, one.path, two.path, two.at - one.answered_at, required))
    return found


def too_short(sites: list[Site], per_domain: bool) -> list[Gap]:
    groups = [sites[:2], sites[2:]] if per_domain else [[site] for site in sites]
    return [gap for group in groups for gap in gaps(group) if gap.length < gap.required - 0.002]


def wait_for_requests(crawl: Command, sites: list[Site], after: float) -> None:
    """Until each of these hosts was asked again."""
    for site in sites:
        wait_until(lambda: site.asked[-1].at > after or not crawl.runs, "a request by another worker")  # noqa: B023
        assert crawl.runs, crawl.ended().err


def cut_off(worker: Command) -> None:
    """A signal, and the end of the time that visits have then."""
    worker.strike(signal.SIGTERM)
    worker.ended()


def drop(worker: Command) -> None:
    """Two signals."""
    worker.strike(signal.SIGTERM)
    cut_off(worker)


def kill(worker: Command) -> None:
    worker.kill()


@pytest.mark.parametrize("end", [cut_off, drop, kill])
def test_a_host_whose_visit_was_cut_off_rests_as_after_a_death(
    tmp_path: Path, postgres_databases: PostgresDatabases, end: Callable[[Command], None]
) -> None:
    with stage(tmp_path, postgres_databases) as running:
        crawl = running.begin()
        worker, (site, _) = running.join("other")
        site.take_long(FOR_EVER)
        wait_until(lambda: site.is_slow.is_set() or not worker.runs, "a slow request")

        ended = time.time()
        end(worker)
        wait_for_requests(crawl, [site], ended)

        assert min(one.at for one in site.asked if one.at > ended) >= ended + LONGEST


def test_a_domain_rests_after_a_contact_of_any_of_its_hosts_by_the_last_owner(
    tmp_path: Path, postgres_databases: PostgresDatabases
) -> None:
    with stage(tmp_path, postgres_databases, PER_DOMAIN) as running:
        crawl = running.begin()
        worker, (site, sibling) = running.join("other")
        site.take_long(0.4)
        wait_until(lambda: site.is_slow.is_set() or not worker.runs, "a slow request")

        worker.strike(signal.SIGTERM)  # the answer comes before its end
        assert worker.ended().status == 143
        left = time.time()
        wait_for_requests(crawl, [sibling], left)

        assert too_short(running.sites, per_domain=True) == []


@pytest.mark.parametrize("per_domain", [False, True])
def test_adaptive_delays_and_those_of_hosts_hold_whatever_happens_to_their_workers(
    tmp_path: Path, postgres_databases: PostgresDatabases, per_domain: bool
) -> None:
    """One host has a delay by the operator and another one a Crawl-delay, both longer than the longest adaptive delay.
    Workers are killed, drained and stopped, by turns while a host takes long to answer and after that."""
    own = "".join(f'[host."a.{domain}"]\ndelay = {CRAWL_DELAY}\n' for domain in domains())
    with stage(tmp_path, postgres_databases, (PER_DOMAIN if per_domain else "") + own) as running:
        for site in running.sites:
            if site.host.startswith("b."):
                site.crawl_delay = CRAWL_DELAY
            else:
                site.own_delay = CRAWL_DELAY
        crawl = running.begin()
        for number, (end, seconds) in enumerate([(kill, 0.4), (cut_off, FOR_EVER), (cut_off, 0.4), (kill, FOR_EVER)]):
            worker, sites = running.join(f"worker-{number}")
            slow = sites if per_domain else sites[number % 2 :][:1]
            for site in slow:
                site.take_long(seconds)
            wait_until(lambda: any(site.is_slow.is_set() for site in slow) or not worker.runs, "slow")  # noqa: B023
            if end is kill and seconds < FOR_EVER:
                wait_until(lambda: any(site.has_answered_slowly for site in slow) or not worker.runs, "it")  # noqa: B023
            end(worker)
            left = time.time()
            for site in slow:
                site.be_quick()
            wait_for_requests(crawl, sites[:1] if per_domain else sites, left)

        assert too_short(running.sites, per_domain) == []
