"""Whole crawls with `--store postgresql://`: the same result as with SQLite, whatever is killed meanwhile.

`GOSSAMER_POSTGRES_KILLS` says how often the server is killed, and the crawler (5 each unless it is set).
"""

import asyncio
import os
import random
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from gossamer import Crawl
from gossamer import open as gossamer_open
from gossamer.errors import NotThisCrawl
from gossamer.lab.simweb.audit import audit, forbidden_requests, ground_truth
from gossamer.model.units import Seconds
from tests.backends.postgres.failing_proxy import FailingProxy
from tests.backends.postgres.postgres_databases import PostgresDatabases
from tests.integration.crawl_checks import archived_urls, check_archive, check_outcomes
from tests.integration.crawl_process import (
    Command,
    Constants,
    Json,
    Scene,
    answered,
    gossamer,
    scene,
    small_web,
    wait_until,
)
from tests.integration.small_server import SmallServer, links, page
from tests.postgres_server import PostgresServer, running_postgres

pytestmark = pytest.mark.service

KILLS = int(os.environ.get("GOSSAMER_POSTGRES_KILLS", "5"))


def test_a_crawl_on_postgresql_finds_what_one_on_sqlite_finds(
    tmp_path: Path, postgres_databases: PostgresDatabases
) -> None:
    """Pages, duplicates and in-links, and every reading command says the same about them."""
    steady = small_web(seed=15, hosts=12, pages=160, fault_rate=0.0, crawl_delay_seconds=0.0)
    options = ["--delay", 0.01, "--delay-factor", 0]
    with scene(tmp_path / "sqlite", steady, options) as stage, postgres_databases.one() as url:
        other = Scene(tmp_path / "postgres", stage.web, [*options, "--store", url, "--unsafe-store"])
        for each in (stage, other):
            ended = gossamer(*each.command)
            assert (ended.status, ended.report["finished"]) == (0, True), ended.err
            assert ended.report["politeness_violations"] == 0
        sqlite, postgres = ({str(page["url"]): page for page in each.pages()} for each in (stage, other))
        truth = ground_truth(stage.web.web())
        check_outcomes(truth, list(postgres.values()))
        check_archive(other.dir, stage.web.web(), list(postgres.values()))
        assert {u: facts(page) for u, page in postgres.items()} == {u: facts(page) for u, page in sqlite.items()}
        assert sum(page["state"] == "duplicate" for page in postgres.values()) > 0
        assert sum(int(str(page["links"])) for page in postgres.values()) > 500
        check_reading_commands(other, url, next(iter(truth.stored)))


def facts(page: Json) -> tuple[object, ...]:
    """What does not depend on the order of the visits: which of several equal documents is stored does."""
    state = "stored" if page["state"] == "duplicate" else page["state"]
    return state, page["status"], page["digest"], page["size"], page["links"]


def check_reading_commands(stage: Scene, url: str, page: str) -> None:
    where = ("--store", url, "--dir", stage.dir)
    assert "nothing left to do" in gossamer("status", *where).out
    assert len(gossamer("hosts", *where, "--json").lines) == 12
    assert gossamer("dead", *where, "--json").status == 0
    assert page in gossamer("explain", page, *where).out
    assert gossamer("verify", *where).out.startswith("no problems")
    assert gossamer("index", *where, "--output", stage.dir / "index.cdxj").status == 0
    exported = gossamer("export", *where)
    assert exported.status == 0 and page in exported.out


@pytest.fixture
def own_server() -> Iterator[PostgresServer]:
    """One that a test may kill."""
    with running_postgres() as server:
        yield server


def test_nothing_is_lost_or_stored_twice_when_the_server_and_the_crawler_are_killed(
    tmp_path: Path, own_server: PostgresServer
) -> None:
    """The server comes back, and the crawl goes on by itself; the crawler is started again with the same command."""
    chance = random.Random(7)
    url = own_server.create_database()
    web = small_web(seed=9, hosts=20, pages=100 * KILLS, shared_address_hosts=0.25, fault_rate=0.03)
    options = ["--delay", 0.1, "--store", url, "--unsafe-store"]
    with scene(tmp_path / "killed", web, options) as stage:
        for number in range(KILLS):
            with Command(*stage.command) as crawler:
                wait_until(lambda: starts(stage) > number or not crawler.runs, "the crawl to start")  # noqa: B023
                until_asked(stage, crawler, answered(stage.log) + chance.randint(3, 12))
                Event().wait(chance.uniform(0.0, 0.1))
                own_server.kill()
                Event().wait(chance.uniform(0.0, 0.5))
                own_server.start()
                until_asked(stage, crawler, answered(stage.log) + chance.randint(3, 12))
                assert crawler.runs, crawler.ended()  # it has gone on by itself
                if number < KILLS - 1:
                    Event().wait(chance.uniform(0.0, 0.1))
                    crawler.process.kill()
                    crawler.process.wait()
                else:
                    ended = crawler.ended()
        assert (ended.status, ended.report["finished"]) == (0, True), ended.err
        pages = stage.pages()
        truth = ground_truth(stage.web.web())
        check_outcomes(truth, pages)
        check_archive(stage.dir, stage.web.web(), pages)
        assert archived_urls(stage.dir).total() == truth.documents
        assert gossamer("verify", "--store", url, "--dir", stage.dir).out.startswith("no problems")
        crawl_delays = stage.web.web().crawl_delays()
    requests = stage.web.requests()
    assert forbidden_requests(requests, truth) == []
    found = audit(
        requests,
        min_delay=Seconds(0.1),
        delay_factor=0.0,
        max_adaptive_delay=Seconds(0),
        crawl_delays=crawl_delays,
        tolerance=0.002,
    )
    assert [str(violation) for violation in found if not violation.earlier.retry_after] == []


def test_a_network_that_cuts_delays_half_closes_or_swallows_costs_nothing(
    tmp_path: Path, postgres_server: PostgresServer
) -> None:
    """The crawler goes on by itself after each fault."""
    url = postgres_server.create_database()
    web = small_web(seed=11, hosts=16, pages=240, fault_rate=0.0)
    impatient = Constants({"gossamer.backends.postgres.address.ANSWER_SECONDS": 1.0})
    folder = Path(tempfile.mkdtemp(prefix="gossamer-proxy-"))  # short enough for the name of a socket
    try:
        with (
            FailingProxy(postgres_server, folder) as proxy,
            scene(tmp_path / "cut", web, ["--delay", 0.1, "--store", proxy.url(url), "--unsafe-store"]) as stage,
        ):
            with Command(*stage.command, impatient) as crawler:
                for fault in ("cut", "delay", "half-close", "swallow", "cut"):
                    until_asked(stage, crawler, answered(stage.log) + 15)
                    if fault == "cut":
                        proxy.cut()
                    elif fault == "half-close":
                        proxy.half_close()
                    else:
                        proxy.fault = fault
                        Event().wait(1.5)
                        proxy.fault = None
                    assert crawler.runs, crawler.ended()
                ended = crawler.ended()
            assert (ended.status, ended.report["finished"]) == (0, True), ended.err
            pages = stage.pages()
            truth = ground_truth(stage.web.web())
            check_outcomes(truth, pages)
            check_archive(stage.dir, stage.web.web(), pages)
            assert gossamer("verify", "--store", proxy.url(url), "--dir", stage.dir).out.startswith("no problems")
    finally:
        shutil.rmtree(folder)


def starts(stage: Scene) -> int:
    """How often the crawl was started. A request may come from a process that was killed."""
    log = stage.dir / "crawl.log"
    return log.read_text().count('"crawl.started"') if log.exists() else 0


def until_asked(stage: Scene, crawler: Command, number: int) -> None:
    wait_until(lambda: answered(stage.log) >= number or not crawler.runs, f"{number} requests")


def test_the_library_opens_the_crawl_by_its_store(tmp_path: Path, postgres_databases: PostgresDatabases) -> None:
    with SmallServer({"/": links("/a"), "/a": page("page a")}) as server, postgres_databases.one() as url:
        options: dict[str, Any] = {"store": url, "unsafe_store": True, "dir": str(tmp_path / "crawl")}
        options |= {"allow_private": True, "delay": 0.01, "delay_factor": 0.0}
        seen = asyncio.run(pages_of(Crawl(server.base + "/", **options)))
        with gossamer_open(url, dir=tmp_path / "crawl") as stored:
            assert {str(each.url) for each in stored.pages()} == seen == {server.base + "/", server.base + "/a"}
        with pytest.raises(NotThisCrawl, match="name an empty database"):
            asyncio.run(pages_of(Crawl(server.base + "/", fresh=True, **options)))


async def pages_of(crawl: Crawl) -> set[str]:
    async with crawl:
        return {str(page.url) async for page in crawl.pages()}
