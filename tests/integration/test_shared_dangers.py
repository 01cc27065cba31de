"""What goes wrong with one page, domain or worker of a shared crawl leaves the rest of it alone."""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from gossamer.filter.domains import partition_of, registrable_domain
from gossamer.model.units import HostKey
from tests.backends.postgres.postgres_databases import PostgresDatabases
from tests.integration.crawl_process import Command, gossamer, wait_until
from tests.integration.small_server import NOTHING, Answer, SmallServer, links, page

pytestmark = pytest.mark.service

DELAY = 0.05
SETTINGS = "[cluster]\nttl = 1.0\n[fetch]\nhead_timeout = 100.0\n"
PAGES = [f"/page-{n}" for n in range(2000)]


def hosts_of(partition: int, partitions: int = 2) -> list[str]:
    """Addresses of this machine whose domain is in a partition."""
    found = (f"127.0.9.{n}" for n in range(1, 200))
    return [host for host in found if partition_of(registrable_domain(HostKey(host)), partitions) == partition]


def ask(url: str, question: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(url) as server:
        return server.execute(question).fetchall()


def owners(url: str) -> dict[int, str]:
    """The name of the owner of each partition."""
    return dict(ask(url, "SELECT p.part, w.name FROM partitions p JOIN workers w USING (epoch)"))


class Crawl:
    """A crawl of some small servers, and workers that join it."""

    def __init__(self, folder: Path, url: str, running: contextlib.ExitStack) -> None:
        self.folder, self.url = folder, url
        self._running = running
        self.where = ["--store", url, "--unsafe-store"]
        self.config = folder / "gossamer.toml"
        self.config.write_text(SETTINGS)

    def serve(self, site: Callable[[str, int], Answer], host: str) -> SmallServer:
        return self._running.enter_context(SmallServer(site, host))

    def start(self, *options: object) -> Command:
        fixed = ["--allow-private", "--delay", DELAY, "--delay-factor", 0, "--json", "--quiet", "--config", self.config]
        where = [*self.where, "--dir", self.folder / "first"]
        return self._running.enter_context(Command("crawl", *options, *where, *fixed))

    def join(self, name: str) -> Command:
        where = [*self.where, "--dir", self.folder / name]
        return self._running.enter_context(Command("worker", *where, "--name", name, "--quiet"))


@pytest.fixture
def crawl(tmp_path: Path, postgres_databases: PostgresDatabases) -> Iterator[Crawl]:
    with contextlib.ExitStack() as running, postgres_databases.blank() as url:
        yield Crawl(tmp_path, url, running)


def many_pages(path: str, before: int) -> Answer:
    if path == "/robots.txt":
        return NOTHING
    return links(*PAGES) if path == "/" else page(path)


def test_a_worker_that_waits_for_a_slow_visit_notices_the_death_of_another_one(crawl: Crawl) -> None:
    """It waits before it gives up the partition of the slow page."""
    asked, answer = threading.Event(), threading.Event()

    def slow(path: str, before: int) -> Answer:
        if path == "/":
            asked.set()
            answer.wait(120)
        return many_pages(path, before)

    sites = [crawl.serve(slow, hosts_of(0)[0]), crawl.serve(many_pages, hosts_of(1)[0])]
    try:
        first = crawl.start(*(f"{site.base}/" for site in sites), "--partitions", 2)
        wait_until(lambda: asked.is_set() or not first.runs, "the slow page")
        wait_until(lambda: len(sites[1].asked) > 5 or not first.runs, "pages")
        assert first.runs, first.ended().err
        other = crawl.join("other")
        joined = "SELECT 1 FROM workers w JOIN fence f USING (epoch) WHERE w.name = 'other' AND f.alive"
        wait_until(lambda: ask(crawl.url, joined) or not other.runs, "the other worker")
        other.process.kill()

        wait_until(lambda: not ask(crawl.url, joined), "its death to be declared", 30.0)

        assert not answer.is_set() and first.runs
    finally:
        answer.set()
    first.process.send_signal(signal.SIGTERM)
    assert first.ended().status == 130 or first.ended().status == 143


def test_one_command_has_several_workers_join_and_a_signal_drains_all(crawl: Crawl) -> None:
    site = crawl.serve(many_pages, hosts_of(1)[0])
    first = crawl.start(f"{site.base}/", "--partitions", 4)
    wait_until(lambda: site.asked or not first.runs, "the crawl to start")
    where = [*crawl.where, "--dir", crawl.folder / "others", "--name", "east", "--quiet"]
    with Command("worker", *where, "--workers", 2) as others:
        wait_until(lambda: set(owners(crawl.url).values()) >= {"east-1", "east-2"} or not others.runs, "both")
        assert others.runs, others.ended().err
        assert sorted(path.name for path in (crawl.folder / "others").iterdir()) == ["east", "east-1", "east-2", "warc"]

        others.process.send_signal(signal.SIGTERM)
        ended = others.ended()

    assert ended.status == 128 + signal.SIGTERM, ended.err
    left = "SELECT name, state FROM workers WHERE name LIKE 'east-%' ORDER BY 1"
    assert ask(crawl.url, left) == [("east-1", "left"), ("east-2", "left")]
    assert first.runs


def test_several_workers_with_one_port_for_metrics_are_refused() -> None:
    ended = gossamer("worker", "--store", "postgresql://nowhere/crawl", "--workers", 2, "--metrics", "127.0.0.1:0")

    assert ended.status == 2
    assert "--metrics is for one worker" in ended.err
