"""Ctrl-C, once and twice, and SIGTERM: the crawl stops, loses nothing and goes on politely."""

import shutil
import signal
import threading
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise

import pytest

from gossamer.crawl.run.signals import GRACE_SECONDS
from tests.integration.crawl_checks import archived_urls
from tests.integration.crawl_process import Command, Ended, Json, gossamer, side_by_side, wait_until
from tests.integration.small_server import NOTHING, Answer, Asked, SmallServer, links, page

pytestmark = pytest.mark.service

EXIT_SECONDS = 10.0
DELAY, FACTOR, MAX_ADAPTIVE = 0.2, 10.0, 0.5
TOLERANCE = 0.002  # as for kills: two processes, two clocks
TOML = f'order = "bfs"\n[politeness]\nmax_adaptive_delay = {MAX_ADAPTIVE}\n'

HOSTS = 5
PATHS = ("/held", "/a", "/b", "/c")
"""What the home page of each host links to. The first is not answered before its test says so."""

BLOWS = {
    "SIGINT": (signal.SIGINT,),
    "SIGTERM": (signal.SIGTERM,),
    "SIGINT twice": (signal.SIGINT, signal.SIGINT),
    "SIGTERM twice": (signal.SIGTERM, signal.SIGTERM),
    "SIGINT without an answer": (signal.SIGINT,),
}
ANSWERED = ("SIGINT", "SIGTERM")
CUT_OFF = tuple(name for name in BLOWS if name not in ANSWERED)


@dataclass(frozen=True, slots=True)
class Stopped:
    """A crawl that was told to stop while every host had a visit in flight, and the same crawl resumed to its end."""

    stopped: Ended
    seen: set[str]  # what had been asked for when it had stopped
    kept: list[Json]
    resumed: Ended
    pages: list[Json]
    archived: Counter[str]
    asked: dict[str, list[Asked]]  # by host

    def urls(self) -> list[str]:
        return [base + asked.path for base, every in self.asked.items() for asked in every]


def held_server(number: int, host: int, go_on: threading.Event) -> SmallServer:
    """Pages that no other host has."""
    pages = {"/": links(*PATHS, f"#{host}"), **{path: page(f"{path} of {host}") for path in PATHS}}

    def answer(path: str, before: int) -> Answer:
        if path == "/held" and before == 0:
            go_on.wait()
        return pages.get(path, NOTHING)

    return SmallServer(answer, f"127.0.{20 + number}.{host + 1}")


@pytest.fixture(scope="module")
def stops(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Stopped]:
    found: dict[str, Stopped] = {}
    folder = tmp_path_factory.mktemp("stopped")
    (folder / "gossamer.toml").write_text(TOML)

    def stop(number: int, name: str) -> None:
        directory, go_on = folder / name, threading.Event()
        with ExitStack() as stack:
            servers = [stack.enter_context(held_server(number, host, go_on)) for host in range(HOSTS)]
            stack.callback(go_on.set)
            fixed = ["--dir", directory, "--config", folder / "gossamer.toml", "--allow-private", "--json", "--quiet"]
            options = [*fixed, "--delay", DELAY, "--delay-factor", FACTOR]
            command = ["crawl", *(f"{server.base}/" for server in servers), *options]
            with Command(*command) as crawler:
                wait_until(
                    lambda: all("/held" in server.paths() for server in servers) or not crawler.runs, "every host"
                )
                for blow in BLOWS[name]:
                    crawler.strike(blow)
                if name in ANSWERED:
                    go_on.set()
                stopped = crawler.ended()
            go_on.set()
            seen = {server.base + path for server in servers for path in server.paths()}
            left = shutil.copytree(directory, directory.with_suffix(".left"))
            resumed = gossamer(*command)
            pages = gossamer("pages", "--dir", directory, "--json").lines
            kept = gossamer("pages", "--dir", left, "--json").lines
        asked = {server.base: server.asked for server in servers}
        found[name] = Stopped(stopped, seen, kept, resumed, pages, archived_urls(directory), asked)

    side_by_side(*(lambda number=number, name=name: stop(number, name) for number, name in enumerate(BLOWS)))
    return found


@pytest.fixture(params=BLOWS)
def stop(request: pytest.FixtureRequest, stops: dict[str, Stopped]) -> Stopped:
    return stops[request.param]


@pytest.mark.parametrize("name", BLOWS)
def test_the_exit_status_says_which_signal_ended_the_crawl(stops: dict[str, Stopped], name: str) -> None:
    assert stops[name].stopped.status == 128 + BLOWS[name][0], stops[name].stopped.err


def test_an_interrupted_crawl_says_so_and_is_not_finished(stop: Stopped) -> None:
    assert stop.stopped.report["stopped"] == "interrupted"
    assert stop.stopped.report["finished"] is False
    assert stop.stopped.report["queued"] != 0


@pytest.mark.parametrize("name", ANSWERED)
def test_the_first_signal_finishes_every_visit_in_flight_and_keeps_it(stops: dict[str, Stopped], name: str) -> None:
    stop = stops[name]
    done = {str(row["url"]) for row in stop.kept if row["state"] != "queued"}

    assert {url for url in stop.seen if not url.endswith("/robots.txt")} == done


@pytest.mark.parametrize("name", CUT_OFF)
def test_the_second_signal_and_the_end_of_patience_leave_visits_in_flight_for_later(
    stops: dict[str, Stopped], name: str
) -> None:
    held = {base + "/held" for base in stops[name].asked}
    states = {str(row["url"]): row["state"] for row in stops[name].kept}

    assert {states[url] for url in held} == {"queued"}
    assert GRACE_SECONDS < EXIT_SECONDS


def test_the_same_command_completes_the_crawl(stop: Stopped) -> None:
    assert stop.resumed.status == 0, stop.resumed.err
    assert stop.resumed.report["finished"] is True
    assert {row["state"] for row in stop.pages} == {"stored"}
    assert stop.archived == Counter(base + path for base in stop.asked for path in ("/", *PATHS))
    assert {str(row["url"]) for row in stop.pages} == stop.archived.keys()


def test_nothing_is_fetched_again_but_what_was_cut_off(stops: dict[str, Stopped]) -> None:
    for name, stop in stops.items():
        again = [url for url, times in Counter(stop.urls()).items() if times > 1]

        assert sorted(again) == sorted(base + "/held" for base in stop.asked if name in CUT_OFF)


def test_no_gap_is_shortened_by_stopping_and_going_on(stops: dict[str, Stopped]) -> None:
    for name, stop in stops.items():
        for asked in stop.asked.values():
            for earlier, later in pairwise(asked):
                if earlier.path == "/held" and name in CUT_OFF:
                    # Of a visit that was cut off only the beginning is known to both sides.
                    gap, owed = later.at - earlier.at, DELAY
                else:
                    gap = later.at - earlier.answered_at
                    owed = max(DELAY, min(FACTOR * (earlier.answered_at - earlier.at), MAX_ADAPTIVE))
                assert gap >= owed - TOLERANCE, (name, earlier, later)
