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

    def serve(self, site: Callable[[str, int], Answer] | dict[str, Answer], host: str) -> SmallServer:
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


def test_a_page_that_kills_its_worker_delays_its_partition_and_nothing_else(crawl: Crawl) -> None:
    """From the fourth death in a row on, the partition stays without an owner, longer each time."""
    kills, armed = 5, threading.Event()
    running: dict[str, Command] = {}
    killed: list[str] = []

    def deadly(path: str, before: int) -> Answer:
        if path == "/":
            return links("/deadly")
        if path == "/deadly" and len(killed) < kills:
            armed.wait(60)
            killed.append(owners(crawl.url)[0])
            running.get(killed[-1], first).process.kill()
        return page(path) if path == "/deadly" else NOTHING

    sites = [crawl.serve(deadly, hosts_of(0)[0]), crawl.serve(many_pages, hosts_of(1)[0])]
    first = crawl.start(*(f"{site.base}/" for site in sites), "--partitions", 2)
    wait_until(lambda: sites[0].asked or not first.runs, "the crawl to start")
    with psycopg.connect(crawl.url) as server:
        server.execute("CREATE TABLE noted (part smallint, deaths integer, wait float8)")
        server.execute(
            "CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO noted "
            "VALUES (new.part, new.deaths, extract(epoch FROM new.free_from - now())); RETURN new; END $$"
        )
        server.execute(
            "CREATE TRIGGER note AFTER UPDATE ON partitions FOR EACH ROW WHEN (new.deaths > old.deaths) "
            "EXECUTE FUNCTION note()"
        )
    running |= {name: crawl.join(name) for name in ("a", "b", "c", "d", "e")}
    wait_until(lambda: len(ask(crawl.url, "SELECT 1 FROM fence WHERE alive")) == 6, "all workers")
    armed.set()

    wait_until(lambda: sites[0].paths().count("/deadly") > kills, "the page to be visited", 120.0)

    assert len(set(killed)) == kills
    waits = ask(crawl.url, "SELECT deaths, round(wait::numeric, 3)::float8 FROM noted WHERE part = 0 ORDER BY deaths")
    assert waits == [(1, 0.0), (2, 0.0), (3, 0.0), (4, 0.2), (5, 0.4)]
    before = len(sites[1].asked)
    wait_until(lambda: len(sites[1].asked) > before + 3, "pages of the other domain")


def test_a_domain_that_fails_leaves_the_others_alone(crawl: Crawl) -> None:
    """Its robots.txt is answered with errors, and its worker crawls its other domain."""
    pages = [f"/page-{n}" for n in range(20)]
    good = [{"/": links(*pages, f"/{n}"), **{path: page(f"{path} of {n}") for path in pages}} for n in (0, 1)]
    failing = [crawl.serve(lambda path, before: Answer("", 503), hosts_of(part)[0]) for part in (0, 1)]
    well = [crawl.serve(good[part], hosts_of(part)[1]) for part in (0, 1)]
    first = crawl.start(*(f"{site.base}/" for site in (*failing, *well)), "--partitions", 2)
    wait_until(lambda: failing[0].asked or not first.runs, "the crawl to start")
    other = crawl.join("other")

    wait_until(lambda: all({*pages} <= {*site.paths()} for site in well) or not first.runs, "all pages")

    assert first.runs and other.runs
    assert {path for site in failing for path in site.paths()} == {"/robots.txt"}


def test_a_robots_txt_may_name_a_sitemap_of_another_workers_domain(crawl: Crawl) -> None:
    asked, shared = threading.Event(), threading.Event()

    def start(path: str, before: int) -> Answer:
        if path != "/":
            return NOTHING
        asked.set()
        shared.wait(60)
        return links(f"{naming.base}/")

    def named(path: str, before: int) -> Answer:
        if path == "/listed.xml":
            entry = f"<url><loc>{holding.base}/only-listed</loc></url>"
            return Answer(f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entry}</urlset>')
        return page(path) if path == "/only-listed" else NOTHING

    def names(path: str, before: int) -> Answer:
        return Answer(f"Sitemap: {holding.base}/listed.xml\n") if path == "/robots.txt" else page(path)

    starting, holding = (crawl.serve(site, host) for site, host in zip((start, named), hosts_of(0), strict=False))
    naming = crawl.serve(names, hosts_of(1)[0])
    first = crawl.start(f"{starting.base}/", "--partitions", 2, "--scope", "any")
    wait_until(lambda: asked.is_set() or not first.runs, "the first page")
    other = crawl.join("other")
    wait_until(lambda: owners(crawl.url).get(1) == "other" or not other.runs, "two owners")
    shared.set()
    ended = [first.ended(), other.ended()]

    assert [each.status for each in ended] == [0, 0], [each.err for each in ended]
    assert [path for path in holding.paths() if path != "/robots.txt"] == ["/listed.xml", "/only-listed"]
