"""Hosts that fail for a while: asked rarely, waited for, and back at full rate; also over a killed process."""

import itertools
import socket
import threading
from pathlib import Path

import pytest
from running import Command, Json, gossamer, wait_until
from small_server import NOTHING, Answer, Site, SmallServer, links, page

pytestmark = pytest.mark.service

PAGES = [f"/{n}" for n in range(12)]


class Place:
    """A crawl directory with its configuration."""

    def __init__(self, folder: Path, retry: str) -> None:
        (folder / "gossamer.toml").write_text("[retry]\n" + retry)
        self.dir = folder / "crawl"
        self.options = ["--dir", self.dir, "--config", folder / "gossamer.toml", "--delay", 0.02, "--json", "--quiet"]

    def command(self, *seeds: str) -> list[object]:
        return ["crawl", *seeds, "--allow-private", *self.options]

    def crawl(self, *seeds: str) -> Json:
        ended = gossamer(*self.command(*seeds))
        assert ended.status == 0, ended.err
        assert ended.report["politeness_violations"] == 0
        return ended.report

    def why(self, url: str) -> str:
        return gossamer("explain", url, "--dir", self.dir).out


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

    place = Place(tmp_path, "delay = 0.1\nmax_delay = 0.3\n")
    with SmallServer(site_of(answers)) as server:
        report = place.crawl(server.base + "/")
        vain = [asked for asked in server.asked if asked.path in PAGES][:12]

    gaps = [later.at - earlier.answered_at for earlier, later in itertools.pairwise(vain)]
    assert (report["pages"], report["dead"], report["finished"]) == (13, 0, True)
    assert min(gaps[4:]) >= 0.08  # from the fifth on, one at a time after a rest


def test_rt_06_a_host_that_is_down_is_waited_for_and_its_urls_are_kept(tmp_path: Path) -> None:
    place = Place(tmp_path, "delay = 0.2\nmax_delay = 0.5\n")
    with socket.create_server(("127.0.0.33", 0)) as held:
        port = held.getsockname()[1]
    down = f"http://127.0.0.33:{port}/"
    with (
        SmallServer({"/": links("/a"), "/a": page("a")}) as up,
        Command(*place.command(down, up.base + "/")) as crawler,
    ):
        wait_until(lambda: "robots_unreachable, 6 in a row" in place.why(down) or not crawler.runs, "six failures")
        assert crawler.runs  # though every URL has three tries
        assert up.paths() == ["/robots.txt", "/", "/a"]
        with SmallServer(site_of(lambda path, _: page(path)), "127.0.0.33", port):
            report = crawler.ended().report

    assert (report["pages"], report["dead"], report["finished"]) == (15, 0, True)


def test_a_host_that_stays_down_takes_its_urls_to_the_dead_letters_in_the_end(tmp_path: Path) -> None:
    healthy = threading.Event()
    healthy.set()

    def answers(path: str, _: int) -> Answer:
        return page(path) if healthy.is_set() else Answer("", 503)

    def site(path: str, before: int) -> Answer:
        if path == "/3":
            healthy.clear()
        return site_of(answers)(path, before)

    place = Place(tmp_path, "delay = 0.05\nmax_delay = 0.1\nhost_patience = 0.5\n")
    with SmallServer(site) as server:
        report = place.crawl(server.base + "/")
        asked = len(server.asked)

    assert report["finished"] is True
    assert report["dead"] == 9
    assert asked < 2 + 12 * 3  # most of them died without a request of their own


def test_what_is_known_of_a_sick_host_survives_a_killed_process(tmp_path: Path) -> None:
    place = Place(tmp_path, "delay = 2.0\nmax_delay = 60.0\n")
    with socket.create_server(("127.0.0.34", 0)) as held:
        port = held.getsockname()[1]
    down = f"http://127.0.0.34:{port}/"
    with Command(*place.command(down)) as crawler:
        wait_until(lambda: "robots_unreachable, 2 in a row" in place.why(down) or not crawler.runs, "two failures")
        crawler.process.kill()
        crawler.process.wait()
    with SmallServer({"/": page("back")}, "127.0.0.34", port), Command(*place.command(down)) as crawler:
        wait_until(lambda: place.dir.joinpath("status.json").exists() or not crawler.runs, "the second start")
        told = place.why(down)
        report = crawler.ended().report

    assert "robots_unreachable, 2 in a row" in told  # not begun anew
    assert report["pages"] == 1
