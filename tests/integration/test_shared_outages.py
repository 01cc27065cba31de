"""Several workers whose PostgreSQL is killed, stopped for a while, or behind a network that fails: nothing is lost,
nothing is stored twice, and all of them go on by themselves.

`GOSSAMER_POSTGRES_KILLS` says how often the server is killed (5 unless it is set).
"""

import os
import random
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event

import pytest

from gossamer.lab.simweb.config import SimWebConfig
from tests.backends.postgres.failing_proxy import FailingProxy
from tests.integration.crawl_process import (
    RETRY,
    Command,
    Constants,
    Scene,
    answered,
    gossamer,
    scene,
    small_web,
    wait_until,
)
from tests.integration.shared_crawls import is_started
from tests.integration.test_shared_crawl import OPTIONS, TTL, check_whole, violations
from tests.integration.test_shared_steering import owners
from tests.postgres_server import PostgresServer, running_postgres

pytestmark = pytest.mark.service

KILLS = int(os.environ.get("GOSSAMER_POSTGRES_KILLS", "5"))
SLOW = ("--delay", 0.5)


@pytest.fixture
def own_server() -> Iterator[PostgresServer]:
    """One that a test may kill."""
    with running_postgres() as server:
        yield server


@contextmanager
def three_workers(
    folder: Path, web: SimWebConfig, url: str, *constants: Constants
) -> Iterator[tuple[Scene, list[Command]]]:
    options = [*OPTIONS, *SLOW, "--store", url, "--unsafe-store"]
    with scene(folder, web, options, RETRY + TTL) as stage, ExitStack() as running:
        first = running.enter_context(Command(*stage.command, *constants))
        wait_until(lambda: is_started(stage) or not first.runs, "the crawl to start")
        command = ["worker", "--store", url, "--unsafe-store", "--dir", stage.dir, "--name"]
        others = [running.enter_context(Command(*command, f"worker-{n}", *constants)) for n in (1, 2)]
        wait_until(lambda: owners(url) == 3 or not first.runs, "three owners of partitions")
        yield stage, [first, *others]


def until_visited(stage: Scene, running: list[Command], more: int) -> None:
    """Fails if a worker has ended."""
    before = answered(stage.log)
    wait_until(
        lambda: answered(stage.log) >= before + more or not all(each.runs for each in running), f"{more} requests"
    )
    gone = [each.ended() for each in running if not each.runs]
    assert [each.err[-2000:] for each in gone if each.status] == []


def check_end(stage: Scene, running: list[Command], url: str) -> None:
    ended = [each.ended() for each in running]
    assert [each.err[-2000:] for each in ended if each.status] == []
    assert ended[0].report["finished"] is True
    check_whole(stage)
    assert gossamer("verify", "--store", url, "--dir", stage.dir).out.startswith("no problems")


def test_a_server_that_is_killed_again_and_again_costs_workers_nothing(
    tmp_path: Path, own_server: PostgresServer
) -> None:
    chance = random.Random(13)
    url = own_server.create_database()
    size = {"max_host_pages": 25 + 2 * KILLS, "pages": 500 + 40 * KILLS}
    web = small_web(seed=43, duplicate_rate=0.0, hosts=24, fault_rate=0.0, **size)
    with three_workers(tmp_path, web, url) as (stage, running):
        for number in range(KILLS):
            until_visited(stage, running, chance.randint(5, 15))
            assert all(each.runs for each in running), f"the crawl has ended after {number} of {KILLS} kills"
            own_server.kill()
            Event().wait(chance.uniform(0.0, 1.0))
            own_server.start()
        check_end(stage, running, url)
    assert violations(stage) == []


def test_workers_wait_for_a_server_that_is_away_for_longer_than_their_leases(
    tmp_path: Path, own_server: PostgresServer
) -> None:
    """They contact no host meanwhile, and say what they wait for."""
    url = own_server.create_database()
    web = small_web(seed=45, duplicate_rate=0.0, hosts=24, max_host_pages=25, pages=500, fault_rate=0.0)
    with three_workers(tmp_path, web, url) as (stage, running):
        until_visited(stage, running, 20)
        own_server.kill()
        logs = [stage.dir / "crawl.log", *(stage.dir / f"worker-{n}" / "crawl.log" for n in (1, 2))]
        wait_until(lambda: any('"store.failing"' in log.read_text() for log in logs), "a worker to report it")
        Event().wait(2.0)  # of the lease
        before = answered(stage.log)
        Event().wait(2.0)
        assert answered(stage.log) == before
        own_server.start()
        check_end(stage, running, url)
    assert violations(stage) == []


def test_a_network_that_fails_between_workers_and_their_server_costs_nothing(
    tmp_path: Path, own_server: PostgresServer
) -> None:
    url = own_server.create_database()
    web = small_web(seed=47, duplicate_rate=0.0, hosts=24, max_host_pages=25, pages=500, fault_rate=0.0)
    impatient = Constants({"gossamer.backends.postgres.address.ANSWER_SECONDS": 1.0})
    folder = Path(tempfile.mkdtemp(prefix="gossamer-proxy-"))  # short enough for the name of a socket
    try:
        with FailingProxy(own_server, folder) as proxy:
            through = proxy.url(url)
            with three_workers(tmp_path, web, through, impatient) as (stage, running):
                for fault in ("cut", "delay", "half-close", "swallow", "cut"):
                    until_visited(stage, running, 12)
                    if fault == "cut":
                        proxy.cut()
                    elif fault == "half-close":
                        proxy.half_close()
                    else:
                        proxy.fault = fault
                        Event().wait(1.5)
                        proxy.fault = None
                check_end(stage, running, through)
    finally:
        shutil.rmtree(folder)
    assert violations(stage) == []
