"""A robots.txt that redirects to a host of another worker: that host is contacted while its owner leaves it alone."""

import contextlib
import threading
from pathlib import Path

import psycopg
import pytest

from gossamer.filter.domains import partition_of, registrable_domain
from gossamer.model.units import HostKey
from tests.backends.postgres.postgres_databases import PostgresDatabases
from tests.integration.crawl_process import Command, gossamer, wait_until
from tests.integration.small_server import NOTHING, Answer, SmallServer, links, page

pytestmark = pytest.mark.service

DELAY = 0.1
CRAWL_DELAY = 0.5  # of the host that has the rules, so longer than what its address needs
PAGES = [f"/page-{n}" for n in range(8)]


def addresses() -> tuple[str, list[str]]:
    """A host, and two others that are in the other one of two partitions."""
    found: dict[int, list[str]] = {0: [], 1: []}
    for n in range(1, 40):
        host = f"127.0.9.{n}"
        found[partition_of(registrable_domain(HostKey(host)), 2)].append(host)
    return found[0][0], found[1][:2]


def owners(url: str) -> int:
    with psycopg.connect(url) as server:
        row = server.execute("SELECT count(DISTINCT epoch) FROM partitions WHERE epoch IS NOT NULL").fetchone()
    return 0 if row is None else int(row[0])


def held_for(url: str, host: str) -> float:
    """Seconds until the owner of a host may contact it."""
    with psycopg.connect(url) as server:
        ahead = "SELECT next_contact - extract(epoch FROM clock_timestamp())::float8 FROM hosts WHERE host = %s"
        row = server.execute(ahead, (host,)).fetchone()
    return 0.0 if row is None else float(row[0])


def test_the_owner_of_the_other_host_leaves_it_alone_meanwhile(
    tmp_path: Path, postgres_databases: PostgresDatabases
) -> None:
    asked, shared = threading.Event(), threading.Event()
    asking: list[SmallServer] = []
    holds: list[float] = []

    def site_with_rules(path: str, before: int) -> Answer:
        if path == "/robots.txt":
            if shared.is_set():
                holds.append(held_for(url, host))
            rules = f"User-agent: *\nCrawl-delay: {CRAWL_DELAY}\nDisallow: /closed\n"
            return Answer(rules, headers={"Content-Type": "text/plain"})
        if path == "/":  # it leads to the other hosts when there is a worker for them
            asked.set()
            shared.wait(60)
            return links(*(f"{server.base}/" for server in asking), *PAGES)
        return page(path) if path in PAGES else NOTHING

    host, others = addresses()
    with contextlib.ExitStack() as running, postgres_databases.blank() as url:
        held = running.enter_context(SmallServer(site_with_rules, host))
        away = Answer("", 301, {"Location": f"{held.base}/robots.txt"})
        for other in others:
            site = {"/robots.txt": away, "/": links("/open", "/closed", f"/{other}"), "/open": page(f"open {other}")}
            asking.append(running.enter_context(SmallServer({**site, "/closed": page("no")}, other)))
        where = ["--store", url, "--unsafe-store"]
        options = ["--allow-private", "--delay", DELAY, "--delay-factor", 0, "--json", "--quiet", "--scope", "any"]
        crawl = running.enter_context(
            Command("crawl", f"{held.base}/", *where, "--dir", tmp_path / "a", *options, "--partitions", 2)
        )
        wait_until(lambda: asked.is_set() or not crawl.runs, "the first page")
        assert crawl.runs, crawl.ended().err
        worker = running.enter_context(Command("worker", *where, "--dir", tmp_path / "b", "--name", "b", "--quiet"))
        wait_until(lambda: owners(url) == 2 or not worker.runs, "two owners")
        shared.set()
        ended = [crawl.ended(), worker.ended()]
        assert [each.status for each in ended] == [0, 0], [each.err for each in ended]
        pages = gossamer("pages", *where[:2], "--json").lines

    assert {str(each["state"]) for each in pages if "/closed" in str(each["url"])} == {"excluded"}
    assert {path for path in held.paths() if held.paths().count(path) > 1} == {"/robots.txt"}
    assert len(holds) == 2 and min(holds) > 60, holds
    assert [server.paths().count("/open") for server in asking] == [1, 1]
    gaps = [later.at - earlier.answered_at for earlier, later in zip(held.asked, held.asked[1:], strict=False)]
    assert min(gaps) >= CRAWL_DELAY - 0.01, gaps
