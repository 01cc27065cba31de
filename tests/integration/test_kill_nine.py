"""One crawl, killed at random instants over and over: nothing lost, nothing twice, nobody hurried.

`GOSSAMER_KILLS` says how often (20 unless it is set); the web grows with it.
"""

import os
import random
import sqlite3
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from threading import Event

import pytest

from gossamer.lab.simweb.audit import Truth, Violation, audit, forbidden_requests, ground_truth
from gossamer.lab.simweb.server import Request
from gossamer.lab.simweb.web import SimWeb
from gossamer.model.units import Seconds
from tests.integration.crawl_checks import archived_urls, check_archive, check_outcomes
from tests.integration.crawl_process import (
    Command,
    Ended,
    Json,
    Scene,
    answered,
    gossamer,
    now,
    scene,
    small_web,
    wait_until,
)

pytestmark = pytest.mark.service

KILLS = int(os.environ.get("GOSSAMER_KILLS", "20"))
SEED = int(os.environ.get("GOSSAMER_SEED", "9"))
DELAY, FACTOR, MAX_ADAPTIVE = Seconds(0.2), 10.0, Seconds(30.0)

# A gap that spans two processes is kept by two clocks, each set by the wall clock when its process starts. Reading
# that takes two system calls, between which a busy machine may do something else for a moment.
TOLERANCE = 0.002


class Blow(Enum):
    """When the kill comes. Most instants are alike; two kinds of them are short, so they are aimed at."""

    STARTING = "any time from the start of the process, recovery included"
    FETCHING = "a while after its first fetch"
    COMMITTING = "the moment at which its WARC file grows, when the rows are not yet committed"


@dataclass(frozen=True, slots=True)
class Run:
    """One life of the crawler."""

    blow: Blow
    killed_at: float
    survived: bool  # it had ended by itself before the blow fell
    requests: int
    rests: dict[str, float]  # until when each host is left alone, as far as that was committed


@dataclass(frozen=True, slots=True)
class Aftermath:
    """What was left when a crawl had been killed for the last time and resumed to its end."""

    runs: list[Run]
    ended: Ended
    dir: Path
    web: SimWeb
    truth: Truth
    pages: list[Json]
    requests: list[Request]


@pytest.fixture(scope="module")
def aftermath(tmp_path_factory: pytest.TempPathFactory) -> Aftermath:
    # The gaps of slow hosts and of those with a Crawl-delay are longer than a restart takes: what is forgotten shows.
    web = small_web(
        seed=SEED,
        hosts=24,
        pages=max(26 * KILLS, 400),
        crawl_delay_hosts=0.09,
        crawl_delay_seconds=2.0,
        slow_hosts=0.09,
        slow_seconds=0.15,
        shared_address_hosts=0.25,
        fault_rate=0.03,
    )
    chance = random.Random(SEED)
    options = ["--delay", DELAY, "--delay-factor", FACTOR]
    with scene(tmp_path_factory.mktemp("killed"), web, options) as stage:
        runs = [one_life(stage, chance) for _ in range(KILLS)]
        ended = gossamer(*stage.command)
        pages = stage.pages()
        served = stage.web.web()
    return Aftermath(runs, ended, stage.dir, served, ground_truth(served), pages, stage.web.requests())


def one_life(stage: Scene, chance: random.Random) -> Run:
    """Start the crawl and kill it."""
    before = answered(stage.log)
    blow = chance.choices(tuple(Blow), (1, 3, 2))[0]
    # Counted in requests, so that a crawl on a busy machine is not over before its last kill.
    requests, moment = chance.randint(0, 12), chance.uniform(0.0, 0.1)
    with Command(*stage.command) as crawler:
        if blow is Blow.STARTING:
            Event().wait(8 * moment)
        else:
            wait_until(lambda: answered(stage.log) > before + requests or not crawler.runs, f"{requests} requests")
            Event().wait(moment)
        if blow is Blow.COMMITTING:
            archived = archived_bytes(stage.dir)
            # No pause: the moment is short. A crawl that is waiting for a slow host may have nothing to archive.
            for _ in range(5_000):
                if archived_bytes(stage.dir) > archived:
                    break
        survived = not crawler.runs
        crawler.process.kill()
        killed_at = now()
        crawler.process.wait()
    return Run(blow, killed_at, survived, answered(stage.log) - before, committed_rests(stage.dir))


def committed_rests(directory: Path) -> dict[str, float]:
    if not (directory / "crawl.db").exists():
        return {}
    with closing(sqlite3.connect(f"file:{directory / 'crawl.db'}?mode=ro", uri=True)) as db:
        if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'hosts'").fetchone():
            return {}
        return dict(db.execute("SELECT host, next_contact FROM hosts"))


def archived_bytes(directory: Path) -> int:
    return sum(entry.stat().st_size for entry in os.scandir(directory / "warc"))


def test_the_kills_landed_in_the_middle_of_the_crawl(aftermath: Aftermath) -> None:
    fetching = [run for run in aftermath.runs if run.blow is not Blow.STARTING]

    assert not any(run.survived for run in aftermath.runs)
    assert len(fetching) >= len(aftermath.runs) // 2
    assert all(run.requests > 0 for run in fetching)


def test_the_crawl_is_resumed_to_its_end(aftermath: Aftermath) -> None:
    assert aftermath.ended.status == 0, aftermath.ended.err
    assert aftermath.ended.report["finished"] is True


def test_the_pages_are_those_of_a_crawl_that_was_left_alone(aftermath: Aftermath) -> None:
    check_outcomes(aftermath.truth, aftermath.pages)


def test_every_page_is_in_the_archive_exactly_once(aftermath: Aftermath) -> None:
    check_archive(aftermath.dir, aftermath.web, aftermath.pages)
    assert archived_urls(aftermath.dir).total() == aftermath.truth.documents


def test_nothing_forbidden_was_requested(aftermath: Aftermath) -> None:
    assert forbidden_requests(aftermath.requests, aftermath.truth) == []


def test_no_gap_was_shortened_by_a_kill(aftermath: Aftermath) -> None:
    found = audit(
        aftermath.requests,
        min_delay=DELAY,
        delay_factor=FACTOR,
        max_adaptive_delay=MAX_ADAPTIVE,
        crawl_delays=aftermath.web.crawl_delays(),
        tolerance=TOLERANCE,
    )

    assert [str(violation) for violation in found if not could_not_be_known(violation, aftermath.runs)] == []


def could_not_be_known(violation: Violation, runs: Iterable[Run]) -> bool:
    """Whether the gap was asked for only in an answer that was cut off by a kill, or was not committed when it came.

    Retry-After is such a wish, and so is the Crawl-delay of a robots.txt; after the latter only robots.txt can follow.
    All that can be known without the answer is still owed: the delay, and the time that the host has spent on us.
    """
    earlier, later = violation.earlier, violation.later
    owed = earlier.written_at + violation.required - TOLERANCE
    between = [run for run in runs if earlier.read_at <= run.killed_at <= later.read_at]
    if not between or between[0].rests.get(earlier.host, 0.0) >= owed:
        return False
    if earlier.target == "/robots.txt" and later.target != "/robots.txt":
        return False
    if earlier.target != "/robots.txt" and not earlier.retry_after:
        return False
    spent = min(FACTOR * (earlier.written_at - earlier.read_at), MAX_ADAPTIVE)
    return violation.gap >= max(DELAY, spent) - TOLERANCE


def test_a_kill_costs_at_most_what_was_in_flight_or_not_yet_committed(aftermath: Aftermath) -> None:
    answers = Counter((r.host, r.target) for r in aftermath.requests if r.status == 200 and r.target != "/robots.txt")
    repeated = sum(n - 1 for n in answers.values())

    # A batch is committed every tenth of a second or so; in that time each host is visited once at most.
    assert repeated <= 2 * len(aftermath.web.hosts) * len(aftermath.runs)
