"""Workers and their supervisor are killed: the others go on, nothing is lost or repeated, every gap is kept."""

import random
from pathlib import Path
from threading import Event

import pytest

from gossamer.lab.simweb.audit import audit
from gossamer.model.units import Seconds
from tests.integration.crawl_process import (
    Command,
    Scene,
    answered,
    gossamer,
    scene,
    small_web,
    wait_for_requests,
    wait_until,
)
from tests.workers.worker_crawls import WORKERS, check_crawl, events, is_gone, kill_worker, processes, wait_for_workers

pytestmark = pytest.mark.service

DELAY, FACTOR, MAX_ADAPTIVE = Seconds(0.2), 10.0, Seconds(30.0)
TOLERANCE = 0.002
KILLS = 4

# Nothing here asks for more than the delay, so whatever a kill makes us forget shows.
WEB = small_web(
    seed=11,
    hosts=40,
    pages=450,
    duplicate_rate=0.0,
    shared_address_hosts=0.3,
    crawl_delay_hosts=0.0,
    slow_hosts=0.0,
    fault_rate=0.0,
)
OPTIONS = ("--delay", DELAY, "--delay-factor", FACTOR, "--workers", WORKERS)


def check_politeness(stage: Scene) -> None:
    found = audit(
        stage.web.requests(),
        min_delay=DELAY,
        delay_factor=FACTOR,
        max_adaptive_delay=MAX_ADAPTIVE,
        crawl_delays=stage.web.web().crawl_delays(),
        tolerance=TOLERANCE,
    )
    assert [str(violation) for violation in found] == []


def lost(stage: Scene) -> int:
    return sum(1 for event in events(stage) if event["event"] == "worker.lost")


def replaced(stage: Scene, crawler: Command, worker: int) -> bool:
    """Kill a worker and wait for the next one in its place. False if the crawl ended instead."""
    before = lost(stage)
    try:
        victim = kill_worker(stage, worker)
    except ProcessLookupError:
        return False
    wait_until(lambda: lost(stage) > before or not crawler.runs, "the loss to be noted")
    if lost(stage) == before:
        return False
    wait_until(lambda: processes(stage)[worker] != victim or not crawler.runs, "a new process")
    return True


def test_workers_that_are_killed_are_replaced_and_the_crawl_is_whole(tmp_path: Path) -> None:
    chance = random.Random(3)
    with scene(tmp_path, WEB, OPTIONS) as stage:
        with Command(*stage.command) as crawler:
            wait_for_workers(stage, crawler)
            wait_for_requests(stage, crawler, 30)
            kills = 0
            for _ in range(KILLS):
                Event().wait(chance.uniform(0.0, 0.6))
                if not replaced(stage, crawler, chance.randint(1, WORKERS)):
                    break  # the machine is so slow that the crawl was over before
                kills += 1
            ended = crawler.ended()
        assert ended.status == 0, ended.err
        assert ended.report["finished"] is True
        assert ended.report["politeness_violations"] == 0
        assert lost(stage) == kills >= 1
        check_crawl(stage)
        check_politeness(stage)


def test_the_others_crawl_on_while_a_worker_is_dead(tmp_path: Path) -> None:
    # So slowly that there is enough left for the others, however long it takes to replace a worker.
    with scene(tmp_path, WEB, [*OPTIONS, "--delay", 1.0]) as stage, Command(*stage.command) as crawler:
        wait_for_workers(stage, crawler)
        wait_for_requests(stage, crawler, 20)
        before = processes(stage)
        # Again and again: from the third time on it is left alone for seconds.
        for number in range(1, 4):
            victim = kill_worker(stage, 2)
            wait_until(lambda: lost(stage) >= number, "the loss to be noted")  # noqa: B023
            if number < 3:
                wait_until(lambda: processes(stage)[2] != victim, "a new process")  # noqa: B023
        wait_for_requests(stage, crawler, answered(stage.log) + 20)
        after = processes(stage)
        assert (after[1], after[3]) == (before[1], before[3])
        assert lost(stage) == 3


def test_without_their_supervisor_workers_end_and_the_crawl_goes_on_later(tmp_path: Path) -> None:
    with scene(tmp_path, WEB, OPTIONS) as stage:
        with Command(*stage.command) as crawler:
            wait_for_requests(stage, crawler, 60)
            wait_for_workers(stage, crawler)
            crawler.process.kill()
            crawler.process.wait()
            running = processes(stage)
            wait_until(lambda: all(map(is_gone, running.values())), "the end of the workers")
        ended = gossamer(*stage.command)
        assert ended.status == 0, ended.err
        assert ended.report["finished"] is True
        check_crawl(stage)
        check_politeness(stage)


def test_a_part_that_cannot_be_opened_is_named_and_ends_the_crawl(tmp_path: Path) -> None:
    with scene(tmp_path, WEB, [*OPTIONS, "--max-pages", 20]) as stage:
        assert gossamer(*stage.command).status == 0
        (stage.dir / "worker-2" / "crawl.db").write_bytes(b"something else entirely" * 100)

        ended = gossamer(*stage.command)

        assert ended.status == 1
        assert "worker-2/crawl.db" in ended.err
        assert all(map(is_gone, processes(stage).values()))
