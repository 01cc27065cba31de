"""What a crawl owes to hosts does not end with its process, and going on costs no more than it must."""

import signal
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
import uvloop

from gossamer.backends.sqlite.driver import open_for_reading
from gossamer.config.load import make_config
from gossamer.crawl.run.assemble import assemble
from gossamer.lab.simweb.config import preset
from tests.integration.crawl_process import (
    Command,
    Ended,
    Scene,
    gossamer,
    now,
    scene,
    side_by_side,
    small_web,
    wait_until,
)
from tests.integration.small_server import Answer, Asked, Site, SmallServer, links, page

pytestmark = pytest.mark.service

ASKED_FOR = 3  # seconds: longer than it takes to restart
ROBOTS = Answer(f"User-agent: *\nCrawl-delay: {ASKED_FOR}\n", headers={"Content-Type": "text/plain"})


def busy_page(path: str, before: int) -> Answer:
    """A site that wants to be left alone after its home page."""
    if path == "/":
        return links("/a", "/b")
    if path == "/a" and before == 0:
        return Answer("later", 429, {"Retry-After": str(ASKED_FOR)})
    return page(path) if path in ("/a", "/b") else Answer("", 404)


def busy_robots(path: str, before: int) -> Answer:
    """A site whose rules cannot be had for a while."""
    if path == "/robots.txt" and before == 0:
        return Answer("later", 503, {"Retry-After": str(ASKED_FOR)})
    return page("home") if path == "/" else Answer("", 404)


def slow_and_strict(path: str, before: int) -> Answer:
    """A site with a Crawl-delay that takes its time over one page."""
    if path == "/robots.txt":
        return ROBOTS
    if path == "/":
        return links("/a")
    return Answer("a page", delay=3.0 if before == 0 else 0.0)


SITES: dict[str, tuple[Site, str]] = {
    "Retry-After of a page": (busy_page, "/a"),
    "Retry-After of robots.txt": (busy_robots, "/robots.txt"),
    "Crawl-delay after a request that was cut off": (slow_and_strict, "/a"),
}


@dataclass(frozen=True, slots=True)
class Resumed:
    """A crawl that was ended right after a certain request, and then resumed to its end."""

    stopped: Ended
    ended: Ended
    asked: list[Asked]
    blow_after: int  # index of that request
    cut_off: bool


def rests(directory: Path, until: float) -> bool:
    """Whether it has been committed that the site is left alone at least until then."""
    with closing(sqlite3.connect(f"file:{directory}/crawl.db?mode=ro", uri=True)) as db:
        return bool(db.execute("SELECT 1 FROM hosts WHERE next_contact >= ?", [until]).fetchall())


@pytest.fixture(scope="module")
def resumed(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Resumed]:
    found: dict[tuple[str, str], Resumed] = {}
    folder = tmp_path_factory.mktemp("resumed")
    toml = folder / "gossamer.toml"
    toml.write_text("[retry]\ndelay = 0.2\n[politeness]\nmax_adaptive_delay = 0.5\n")

    def interrupt(name: str, number: int, kind: str) -> None:
        site, path = SITES[name]
        with SmallServer(site, f"127.0.0.{number}") as server:
            directory = folder / str(number)
            options = ["--dir", directory, "--config", toml, "--delay", 0.1, "--allow-private", "--json", "--quiet"]
            with Command("crawl", server.base + "/", *options) as crawler:
                wait_until(lambda: path in server.paths() or not crawler.runs, path)
                place = server.paths().index(path)
                if site is not slow_and_strict:
                    wait_until(lambda: rests(directory, server.asked[place].answered_at + ASKED_FOR), "a commit")
                for _ in range(2 if kind == "SIGINT" and site is slow_and_strict else 1):
                    crawler.strike(getattr(signal, kind))
                stopped = crawler.ended()
            ended = gossamer("crawl", *options)
            found[name, kind] = Resumed(stopped, ended, list(server.asked), place, site is slow_and_strict)

    jobs = [(name, kind) for name in SITES for kind in ("SIGKILL", "SIGINT")]
    side_by_side(
        *(lambda n=n, name=name, kind=kind: interrupt(name, 11 + n, kind) for n, (name, kind) in enumerate(jobs))
    )
    return found


@pytest.mark.parametrize("kind", ["SIGKILL", "SIGINT"])
@pytest.mark.parametrize("name", SITES)
def test_a_site_is_left_alone_as_long_as_it_asked(
    resumed: dict[tuple[str, str], Resumed], name: str, kind: str
) -> None:
    crawl = resumed[name, kind]
    before = crawl.asked[crawl.blow_after]
    after = crawl.asked[crawl.blow_after + 1]

    assert crawl.stopped.status == (-9 if kind == "SIGKILL" else 130)
    assert crawl.ended.status == 0, crawl.ended.err
    # The server notes when it sends an answer, a moment before the crawler has it; one that was cut off ended at the
    # earliest when it was asked for.
    ended = before.at if crawl.cut_off else before.answered_at
    assert after.at - ended >= ASKED_FOR


@pytest.mark.parametrize("kind", ["SIGKILL", "SIGINT"])
@pytest.mark.parametrize("name", SITES)
def test_it_is_then_crawled_to_the_end(resumed: dict[tuple[str, str], Resumed], name: str, kind: str) -> None:
    report = resumed[name, kind].ended.report

    assert report["finished"] is True
    assert report["queued"] == report["dead"] == report["politeness_violations"] == 0
    assert report["pages"] == report["discovered"]


def test_a_finished_crawl_is_resumed_without_a_single_request(tmp_path: Path) -> None:
    with scene(tmp_path / "web", small_web(hosts=4, pages=20, fault_rate=0.0)) as stage:
        first = gossamer(*stage.command)
        finished = now()
        again = gossamer(*stage.command)
        bare = gossamer("crawl", *stage.resume)
    assert first.report["finished"] is True
    for ended in (again, bare):
        assert ended.status == 0, ended.err
        assert ended.report["finished"] is True
        assert ended.report["run_pages"] == 0
        assert ended.report["pages"] == first.report["pages"]
    assert [request for request in stage.web.requests() if request.read_at > finished] == []


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every statement that a loader sends to the database, from now on."""
    sent: list[str] = []

    def watched(path: Path) -> sqlite3.Connection:
        db = open_for_reading(path)
        db.set_trace_callback(sent.append)
        return db

    monkeypatch.setattr("gossamer.backends.sqlite.driver.open_for_reading", watched)
    return sent


def test_the_work_before_the_first_fetch_does_not_grow_with_the_queue(tmp_path: Path, statements: list[str]) -> None:
    """Counted, not timed: statements read before the first request of a resumed crawl, for a short and a long queue."""
    counts = {}
    for pages in (400, 8_000):
        web = preset("burst", hosts=20, pages=pages, hub_pages=4, mean_bytes=2_000)
        with scene(tmp_path / str(pages), web) as stage:
            fill(stage, 0.5 * pages)
            statements.clear()
            counts[pages] = uvloop.run(statements_before_the_first_fetch(stage.dir, stage.web.dns_address, statements))

    # A busy machine may load once more before the first request goes out; what grows with the queue is 20 times it.
    assert counts[8_000] <= 2 * counts[400]
    assert counts[8_000] < 400


def fill(stage: Scene, wanted: float) -> None:
    """Crawl until the pages that link to everything have been read; which come first is nobody's promise. Nearly all is
    known, in any order, when one page in ten has been read."""
    queued = 0
    for limit in (12, 24, 48, 96, 192, 384, 768):
        queued = int(str(gossamer(*stage.command, "--max-pages", limit).report["queued"]))
        if queued > wanted:
            return
    raise AssertionError(f"only {queued} are queued")


async def statements_before_the_first_fetch(directory: Path, dns: str, statements: list[str]) -> int:
    config = make_config({}, {"dir": str(directory), "scope": "tld:test", "allow_private": True, "dns": dns})
    crawl = assemble(config, [])
    counted: list[int] = []

    def stop_at_once(*_: object) -> None:
        counted.append(len(statements))
        crawl.engine.stop()

    crawl.journal.started = stop_at_once  # type: ignore[method-assign, assignment]
    await crawl.engine.run()
    await crawl.close()
    return counted[0]
