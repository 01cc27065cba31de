"""Hosts that fail for a while: asked rarely, waited for, and back at full rate; also over a killed process."""

import contextlib
import re
import threading
from pathlib import Path

import pytest

from gossamer.backends.sqlite.driver import connect
from gossamer.frontier.breaker import HostFailures
from tests.hostile.dns_stage import free_port
from tests.integration.crawl_process import Command, Constants, Json, gossamer, wait_until
from tests.integration.small_server import NOTHING, Answer, Site, SmallServer, links, page

pytestmark = pytest.mark.service

PAGES = [f"/{n}" for n in range(12)]


class Place:
    """A crawl directory with its configuration."""

    def __init__(self, folder: Path, retry: str, **constants: float) -> None:
        (folder / "gossamer.toml").write_text("[retry]\n" + retry)
        self.dir = folder / "crawl"
        self.options = ["--dir", self.dir, "--config", folder / "gossamer.toml", "--delay", 0.02, "--json", "--quiet"]
        self.constants = Constants({f"gossamer.config.policies.{name}": value for name, value in constants.items()})

    def command(self, *seeds: str) -> list[object]:
        return ["crawl", *seeds, "--allow-private", *self.options, self.constants]

    def crawl(self, *seeds: str) -> Json:
        ended = gossamer(*self.command(*seeds))
        assert ended.status == 0, ended.err
        assert ended.report["politeness_violations"] == 0
        return ended.report

    def why(self, url: str) -> str:
        return gossamer("explain", url, "--dir", self.dir).out

    def failures(self, url: str) -> int:
        """How often in a row its host's rules could not be had."""
        found = re.search(r"robots_unreachable, (\d+) in a row", self.why(url))
        return int(found[1]) if found is not None else 0

    def trouble(self) -> HostFailures:
        """The same of the only host, as it is on record."""
        with contextlib.closing(connect(self.dir / "crawl.db", read_only=True)) as db:
            found = HostFailures.from_text(db.execute("SELECT trouble FROM hosts").fetchone()[0])
        assert found is not None
        return found


def site_of(answers: Site) -> Site:
    """A page with a dozen links, which answer as they are told."""

    def site(path: str, before: int) -> Answer:
        if path == "/":
            return links(*PAGES)
        return answers(path, before) if path in PAGES else NOTHING

    return site


def test_rt_05_a_host_that_is_sick_costs_no_url_its_tries_and_is_back_at_once(tmp_path: Path) -> None:
    failing = threading.Event()
    failing.set()
    asked_in_vain: list[str] = []

    def answers(path: str, _: int) -> Answer:
        if failing.is_set():
            asked_in_vain.append(path)
            if len(asked_in_vain) == 12:
                failing.clear()
            return Answer("", 503)
        return page(path)

    place = Place(tmp_path, "delay = 0.1\n", MAX_RETRY_DELAY=0.3)
    with SmallServer(site_of(answers)) as server:
        report = place.crawl(server.base + "/")

    assert (report["pages"], report["dead"], report["finished"]) == (13, 0, True)
    assert len(asked_in_vain) == 12


def test_rt_06_a_host_that_is_down_is_waited_for_and_its_urls_are_kept(tmp_path: Path) -> None:
    place = Place(tmp_path, "delay = 0.2\n[fetch]\nhead_timeout = 600.0\ntotal_timeout = 600.0\n", MAX_RETRY_DELAY=0.5)
    port = free_port()
    down = f"http://127.0.0.33:{port}/"
    enough = threading.Event()

    def busy(path: str, _: int) -> Answer:
        if path == "/a":
            enough.wait()  # there is something else to do as long as this lasts
        return NOTHING if path == "/robots.txt" else links("/a")

    with contextlib.ExitStack() as stack:
        up = stack.enter_context(SmallServer(busy))
        crawler = stack.enter_context(Command(*place.command(down, up.base + "/")))
        stack.callback(enough.set)
        wait_until(lambda: place.failures(down) >= 6 or not crawler.runs, "six failures")
        assert crawler.runs  # though every URL has three tries
        assert up.paths() == ["/robots.txt", "/", "/a"]
        with SmallServer(site_of(lambda path, _: page(path)), "127.0.0.33", port):
            enough.set()
            report = crawler.ended().report

    assert (report["pages"], report["duplicates"], report["dead"], report["finished"]) == (14, 1, 0, True)


def test_a_crawl_of_nothing_but_hosts_that_never_answer_ends_soon(tmp_path: Path) -> None:
    place = Place(tmp_path, "delay = 0.3\n")
    port = free_port()
    down = [f"http://127.0.0.36:{port}/{n}" for n in range(20)]
    with SmallServer({"/": page("fine")}) as up:
        report = place.crawl(up.base + "/", *down)

    assert (report["pages"], report["dead"], report["finished"]) == (1, 20, True)
    assert isinstance(report["errors"], dict)
    assert report["errors"].pop("conn_refused") <= 4  # most of the URLs died without a request of their own
    assert report["errors"] == {"robots_unreachable": 20}


def test_a_host_that_answers_however_badly_is_waited_for(tmp_path: Path) -> None:
    place = Place(tmp_path, "delay = 0.05\n", MAX_RETRY_DELAY=0.1)

    def site(path: str, before: int) -> Answer:
        if path == "/robots.txt":
            return Answer("", 503) if before < 8 else NOTHING
        return page(path)

    with SmallServer(site) as server:
        report = place.crawl(server.base + "/")

    assert (report["pages"], report["dead"]) == (1, 0)


def test_a_host_that_stays_down_takes_its_urls_to_the_dead_letters_in_the_end(tmp_path: Path) -> None:
    healthy = threading.Event()
    healthy.set()

    def answers(path: str, _: int) -> Answer:
        return page(path) if healthy.is_set() else Answer("", 503)

    def site(path: str, before: int) -> Answer:
        if path == "/3":
            healthy.clear()
        return site_of(answers)(path, before)

    place = Place(tmp_path, "delay = 0.05\n", MAX_RETRY_DELAY=0.1, HOST_PATIENCE=0.5)
    with SmallServer(site) as server:
        report = place.crawl(server.base + "/")
        asked = len(server.asked)

    assert report["finished"] is True
    assert report["dead"] == 9
    assert asked < 2 + 12 * 3  # most of them died without a request of their own


def test_what_is_known_of_a_sick_host_survives_a_killed_process(tmp_path: Path) -> None:
    place = Place(tmp_path, "delay = 1.0\n", MAX_RETRY_DELAY=60.0)
    down = f"http://127.0.0.34:{free_port()}/"
    with Command(*place.command(down)) as crawler:
        wait_until(lambda: place.failures(down) >= 2 or not crawler.runs, "two failures")
        crawler.process.kill()
        crawler.process.wait()
    before = place.trouble()
    with Command(*place.command(down)) as crawler:
        seen: list[HostFailures] = []

        def one_more() -> bool:
            seen.append(place.trouble())
            return seen[-1].failures > before.failures or not crawler.runs

        wait_until(one_more, "one more")
        after = seen[-1]

    assert (after.since, after.failures) == (before.since, before.failures + 1)  # not begun anew
