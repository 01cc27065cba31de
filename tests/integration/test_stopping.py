"""Ctrl-C, once and twice, and SIGTERM: the crawl stops within ten seconds, loses nothing and goes on politely."""

import json
import shutil
import signal
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest
from checking import check_archive, check_outcomes
from running import Command, Ended, Json, gossamer, now, scene, side_by_side, small_web, wait_for_requests, wait_until

from gossamer.model.units import Seconds
from gossamer.simweb.audit import audit
from gossamer.simweb.record import Request
from gossamer.simweb.truth import Truth, ground_truth
from gossamer.simweb.web import SimWeb

pytestmark = pytest.mark.service

EXIT_SECONDS = 10.0  # HOSTILE_WEB.md, ST-17
DELAY, MAX_ADAPTIVE = Seconds(0.05), Seconds(3.0)
TOML = f"[retry]\ndelay = 1.0\n[politeness]\nmax_adaptive_delay = {MAX_ADAPTIVE}\n"

# Most hosts take so long that something is nearly always in flight, and the gap that they are then owed is longer than
# a restart takes.
WEB = small_web(
    seed=31,
    hosts=20,
    pages=56,
    slow_hosts=0.8,
    slow_seconds=0.8,
    crawl_delay_hosts=0.0,
    shared_address_hosts=0.0,
    fault_rate=0.0,
    disallowed_rate=0.0,
    host_exponent=0.3,
)

BLOWS = {
    "SIGINT": (signal.SIGINT,),
    "SIGTERM": (signal.SIGTERM,),
    "SIGINT twice": (signal.SIGINT, signal.SIGINT),
    "SIGTERM twice": (signal.SIGTERM, signal.SIGTERM),
}


@dataclass(frozen=True, slots=True)
class Stopped:
    """A crawl that was told to stop, what the server had seen of it by then, and the same crawl resumed to its end."""

    stopped: Ended
    seen: list[Request]
    kept: list[Json]  # pages known to be done when it had stopped
    resumed: Ended
    dir: Path
    web: SimWeb
    truth: Truth
    pages: list[Json]
    requests: list[Request]


def in_flight(directory: Path) -> bool:
    """Whether more than one visit is under way, by what the crawl said a moment ago."""
    try:
        snapshot = json.loads((directory / "status.json").read_text())["snapshot"]
    except FileNotFoundError:
        return False
    return bool(snapshot["in_flight"] > 1 and now() - snapshot["at"] < 0.1)


@pytest.fixture(scope="module")
def stops(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Stopped]:
    found: dict[str, Stopped] = {}
    folder = tmp_path_factory.mktemp("stopped")

    def stop(name: str) -> None:
        with scene(folder / name, WEB, ["--delay", DELAY], TOML) as stage:
            with Command(*stage.command) as crawler:
                wait_for_requests(stage, crawler, 25)
                wait_until(lambda: in_flight(stage.dir) or not crawler.runs, "visits in flight")
                for number in BLOWS[name]:
                    crawler.strike(number)
                stopped = crawler.ended(EXIT_SECONDS)
            # Go on at once: the gaps owed to slow hosts have not passed yet.
            left = shutil.copytree(stage.dir, stage.dir.with_name("left"))
            went_on = now()
            resumed = gossamer(*stage.command)
            pages, web = stage.pages(), stage.web.web()
            kept = gossamer("pages", "--dir", left, "--json").lines
        requests = stage.web.requests()
        seen = [request for request in requests if request.read_at < went_on]
        found[name] = Stopped(stopped, seen, kept, resumed, stage.dir, web, ground_truth(web), pages, requests)

    side_by_side(*(lambda name=name: stop(name) for name in BLOWS))
    return found


@pytest.fixture(params=BLOWS)
def stop(request: pytest.FixtureRequest, stops: dict[str, Stopped]) -> Stopped:
    return stops[request.param]


def test_an_interrupted_crawl_says_so_and_is_not_finished(stop: Stopped) -> None:
    assert stop.stopped.status == 130, stop.stopped.err
    assert stop.stopped.report["finished"] is False
    assert stop.stopped.report["queued"] != 0


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_the_first_signal_finishes_every_visit_in_flight_and_keeps_it(stops: dict[str, Stopped], name: str) -> None:
    stop = stops[name]
    done = {str(page["url"]) for page in stop.kept if page["state"] != "queued"}
    fetched = {f"http://{r.host}:{stop.web.config.port}{r.target}" for r in stop.seen if r.target != "/robots.txt"}

    assert [request for request in stop.seen if request.status == 0] == []
    assert fetched == done


@pytest.mark.parametrize("name", ["SIGINT twice", "SIGTERM twice"])
def test_the_second_signal_does_not_wait_for_the_visits_in_flight(stops: dict[str, Stopped], name: str) -> None:
    assert [request for request in stops[name].seen if request.status == 0] != []


def test_the_same_command_completes_the_crawl(stop: Stopped) -> None:
    assert stop.resumed.status == 0, stop.resumed.err
    assert stop.resumed.report["finished"] is True
    check_outcomes(stop.truth, stop.pages)


def test_every_page_is_archived_exactly_once(stop: Stopped) -> None:
    check_archive(stop.dir, stop.web, stop.pages)


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_nothing_is_fetched_again_after_a_graceful_stop(stops: dict[str, Stopped], name: str) -> None:
    asked = Counter((request.host, request.target) for request in stops[name].requests)

    assert [request for request, n in asked.items() if n > 1] == []


def test_no_gap_is_shortened_by_stopping_and_going_on(stop: Stopped) -> None:
    found = audit(
        stop.requests,
        min_delay=DELAY,
        delay_factor=10.0,
        max_adaptive_delay=MAX_ADAPTIVE,
        crawl_delays={},
        tolerance=0.002,  # as for kills: two processes, two clocks
    )

    assert [str(violation) for violation in found] == []
