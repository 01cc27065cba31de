"""Partitions that pass from one worker to another: hosts are contacted again only after the delay that their last
contact requires, by the log of their server."""

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import psycopg
import pytest

from gossamer.filter.domains import partition_of, registrable_domain
from gossamer.model.units import HostKey
from tests.backends.postgres.postgres_databases import PostgresDatabases
from tests.integration.crawl_process import Command, Constants, wait_until
from tests.integration.small_server import NOTHING, Answer, SmallServer, links, page

pytestmark = pytest.mark.service

LONGEST = 4.0
"""The longest adaptive delay."""
GRACE = 0.5
CUT_OFF_SOON = Constants({"gossamer.crawl.run.signals.GRACE_SECONDS": GRACE})
PAGES = [f"/page-{n}" for n in range(400)]


def hosts_of_partitions() -> tuple[str, str]:
    """A host in each of two partitions."""
    found: dict[int, str] = {}
    for n in range(1, 40):
        host = f"127.0.9.{n}"
        found.setdefault(partition_of(registrable_domain(HostKey(host)), 2), host)
    return found[0], found[1]


class Site:
    """Many pages, others than those of another site. The next one that is asked for once `slow` is set is never
    answered."""

    def __init__(self, host: str, rules: Answer = NOTHING) -> None:
        self.slow, self.waits = threading.Event(), threading.Event()
        self.host, self._rules = host, rules

    def __call__(self, path: str, before: int) -> Answer:
        if path == "/robots.txt":
            return self._rules
        if path == "/":
            return links(f"/{self.host}", *PAGES)
        if self.slow.is_set() and not self.waits.is_set():
            self.waits.set()
            return Answer("too late", delay=600)
        return page(f"{self.host}{path}")


class Pair(NamedTuple):
    """A crawl by two workers, each of which owns one of two partitions with one host."""

    url: str
    crawl: Command
    leaving: Command
    site: Site  # of the host that the second worker owns
    server: SmallServer


def ask(url: str, question: str) -> object:
    with psycopg.connect(url) as server:
        row = server.execute(question).fetchone()
    return None if row is None else row[0]


def owned_by(url: str, name: str) -> object:
    """A partition that a living worker owns."""
    owned = "SELECT p.part FROM partitions p JOIN fence f USING (epoch) JOIN workers w USING (epoch)"
    return ask(url, f"{owned} WHERE f.alive AND w.name = '{name}'")


@contextlib.contextmanager
def pair(
    folder: Path, databases: PostgresDatabases, *options: object, toml: str = "", rules: Answer = NOTHING
) -> Iterator[Pair]:
    settings = folder / "gossamer.toml"
    settings.write_text(f"[cluster]\nttl = 2.0\n[politeness]\nmax_adaptive_delay = {LONGEST}\n{toml}")
    with contextlib.ExitStack() as running, databases.blank() as url:
        sites = [Site(host, rules) for host in hosts_of_partitions()]
        servers = [running.enter_context(SmallServer(site, site.host)) for site in sites]
        where = ["--store", url, "--unsafe-store"]
        fixed = ["--config", settings, "--allow-private", "--delay", 0.2, "--scope", "host", "--json", "--quiet"]
        seeds = [f"{server.base}/" for server in servers]
        crawl = running.enter_context(
            Command("crawl", *seeds, *where, "--dir", folder / "a", "--partitions", 2, *fixed, *options)
        )
        wait_until(lambda: all(len(server.asked) > 3 for server in servers) or not crawl.runs, "pages")
        assert crawl.runs, crawl.ended().err
        leaving = running.enter_context(
            Command("worker", *where, "--dir", folder / "b", "--name", "leaving", "--quiet", CUT_OFF_SOON)
        )
        wait_until(lambda: owned_by(url, "leaving") is not None or not leaving.runs, "a partition of the second worker")
        assert leaving.runs, leaving.ended().err
        part = int(str(owned_by(url, "leaving")))
        before = len(servers[part].asked)
        wait_until(lambda: len(servers[part].asked) > before + 2 or not leaving.runs, "pages of the second worker")
        yield Pair(url, crawl, leaving, sites[part], servers[part])
        assert crawl.runs, crawl.ended().err


def next_request(running: Pair, after: float) -> float:
    """When the host was asked next."""

    def found() -> list[float]:
        return [asked.at for asked in running.server.asked if asked.at > after]

    wait_until(lambda: found() or not running.crawl.runs, "a request by the other worker")
    return found()[0]


def cut_off(running: Pair, end: Callable[[Command], None]) -> float:
    """Have the second worker wait for an answer, and end it. Returns the earliest moment at which it gave up waiting,
    by its own account."""
    running.site.slow.set()
    wait_until(lambda: running.site.waits.is_set() or not running.leaving.runs, "a slow request")
    began = time.time()
    end(running.leaving)
    running.leaving.ended()
    return began


def end_by_signal(worker: Command) -> None:
    worker.strike(signal.SIGTERM)


def end_by_two_signals(worker: Command) -> None:
    worker.strike(signal.SIGTERM)
    worker.strike(signal.SIGTERM)


@pytest.mark.parametrize("end", [end_by_signal, end_by_two_signals])
def test_a_host_whose_visit_was_cut_off_rests_as_after_a_death(
    tmp_path: Path, postgres_databases: PostgresDatabases, end: Callable[[Command], None]
) -> None:
    with pair(tmp_path, postgres_databases) as running:
        began = cut_off(running, end)

        assert next_request(running, began) >= began + LONGEST
