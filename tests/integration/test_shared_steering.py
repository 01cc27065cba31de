"""Workers that share a crawl on PostgreSQL follow what they are told: through the service, by SIGHUP, or by another
`gossamer crawl`."""

import json
import os
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg
import pytest

from gossamer.lab.simweb.audit import ground_truth
from tests.backends.postgres.postgres_databases import PostgresDatabases
from tests.integration.crawl_checks import check_outcomes
from tests.integration.crawl_process import (
    RETRY,
    Command,
    Json,
    Scene,
    answered,
    scene,
    small_web,
    wait_until,
)
from tests.integration.shared_crawls import join
from tests.integration.test_shared_crawl import OPTIONS, TTL, workers
from tests.service.service_process import Service

pytestmark = pytest.mark.service


@contextmanager
def served(stage: Scene, url: str, *options: object, others: int = 2) -> Iterator[tuple[Service, list[Command]]]:
    """A service with its worker, and others that have joined; all own partitions."""
    fixed = ["--config", stage.toml, "--dns", stage.web.dns_address, "--store", url, "--unsafe-store"]
    with ExitStack() as running:
        service = running.enter_context(Service(stage.dir, *fixed, *options))
        joined = [running.enter_context(join(stage, url, f"worker-{n}")) for n in range(1, others + 1)]
        wait_until(lambda: owners(url) == others + 1 or not all(each.runs for each in joined), "owners")
        assert all(each.runs for each in joined), [each.ended().err for each in joined if not each.runs]
        yield service, joined


def owners(url: str) -> int:
    return int(str(ask(url, "SELECT count(DISTINCT epoch) FROM partitions WHERE epoch IS NOT NULL")))


def ask(url: str, question: str) -> object:
    with psycopg.connect(url) as server:
        row = server.execute(question).fetchone()
    return None if row is None else row[0]


def statuses(url: str) -> list[Json]:
    """What each worker publishes."""
    with psycopg.connect(url) as server:
        return [json.loads(bytes(row[0]))["snapshot"] for row in server.execute("SELECT status FROM live")]


def beats(url: str) -> int:
    """The heartbeats of the worker that has sent the fewest."""
    return int(str(ask(url, "SELECT min(beat) FROM workers")))


def test_pause_resume_and_stop_reach_all_workers(tmp_path: Path, postgres_databases: PostgresDatabases) -> None:
    web = small_web(seed=31, duplicate_rate=0.0, hosts=24, pages=2000, fault_rate=0.0)
    with postgres_databases.one() as url, scene(tmp_path, web, toml=RETRY + TTL) as stage:
        with served(stage, url, "--scope", "tld:test", "--delay", 0.5) as (service, joined):
            service.post("/seed/urls", {"urls": [str(seed) for seed in stage.web.seeds]})
            wait_until(lambda: answered(stage.log) > 30, "visits")
            assert service.post("/crawl", {"action": "pause"}).status == 200
            wait_until(
                lambda: [(each["paused"], each["in_flight"]) for each in statuses(url)] == [(True, 0)] * 3,
                "a pause of all workers",
            )
            paused, since = time.time(), beats(url)
            wait_until(lambda: beats(url) > since + 2, "heartbeats")
            resumed = time.time()
            assert service.post("/crawl", {"action": "resume"}).status == 200
            wait_until(lambda: any(request.read_at > resumed for request in stage.web.requests()), "visits")
            assert service.stopped() == 0
            assert [each.ended().status for each in joined] == [0, 0]
        assert ask(url, "SELECT state FROM crawl") == "stopped"
    assert [request for request in stage.web.requests() if paused < request.read_at < resumed] == []


def host_of(url: object) -> str:
    return str(url).split("/")[2].partition(":")[0]


def one_of_each_host(stage: Scene) -> list[str]:
    """The seeds of the web, and a page of every host."""
    pages = {host_of(page): page for page in sorted(ground_truth(stage.web.web()).stored)}
    return sorted({*pages.values(), *map(str, stage.web.seeds)})


def wait_for_the_end(url: str) -> None:
    """Nothing is queued, and nothing is on its way."""
    left = "SELECT (SELECT count(*) FROM queue) + (SELECT count(*) FROM inbox)"
    wait_until(lambda: ask(url, left) == 0, "the end")


def test_seeds_extend_the_scope_of_all_workers(tmp_path: Path, postgres_databases: PostgresDatabases) -> None:
    web = small_web(seed=33, duplicate_rate=0.0, hosts=12, pages=120, fault_rate=0.0)
    with (
        postgres_databases.one() as url,
        scene(tmp_path, web, toml=RETRY + TTL) as stage,
        served(stage, url, "--scope", "host") as (service, _),
    ):
        seeds = one_of_each_host(stage)
        said = service.post("/seed/urls", {"urls": seeds}).json
        assert {each["status"] for each in said["results"]} == {"accepted"}
        wait_for_the_end(url)
        again = service.post("/seed/urls", {"urls": seeds}).json
        assert {each["status"] for each in again["results"]} == {"known"}
        check_outcomes(ground_truth(stage.web.web()), stage.pages("--store", url))


def test_a_dropped_host_comes_back_whoever_owns_it(tmp_path: Path, postgres_databases: PostgresDatabases) -> None:
    web = small_web(seed=35, duplicate_rate=0.0, hosts=12, pages=120, fault_rate=0.0)
    with (
        postgres_databases.one() as url,
        scene(tmp_path, web, toml=RETRY + TTL) as stage,
        served(stage, url, "--scope", "tld:test") as (service, _),
    ):
        seeds = one_of_each_host(stage)
        hosts = sorted(set(map(host_of, seeds)))
        assert service.post("/crawl", {"action": "pause"}).status == 200
        wait_until(lambda: [each["paused"] for each in statuses(url)] == [True] * 3, "a pause of all workers")
        assert service.post("/seed/urls", {"urls": seeds}).json["accepted"] == len(seeds)
        wait_until(lambda: ask(url, "SELECT count(*) FROM urls") == len(seeds), "the seeds to arrive")
        for host in hosts:
            assert service.post(f"/hosts/{host}", {"action": "drop"}).status == 200
        assert service.post("/crawl", {"action": "resume"}).status == 200
        wait_until(lambda: ask(url, "SELECT count(*) FROM urls WHERE state = 6") == len(seeds), "excluded seeds")

        for host in hosts:
            assert service.post(f"/hosts/{host}", {"action": "resume"}).status == 200
        wait_for_the_end(url)
        check_outcomes(ground_truth(stage.web.web()), stage.pages("--store", url))


def test_a_changed_configuration_and_limit_reach_all_workers(
    tmp_path: Path, postgres_databases: PostgresDatabases
) -> None:
    """Half of the hosts are excluded at first; pages with links to them are looked at again."""
    web = small_web(seed=37, duplicate_rate=0.0, hosts=16, pages=240, fault_rate=0.0)
    with postgres_databases.one() as url:
        options = [*OPTIONS, "--store", url, "--unsafe-store"]
        with scene(tmp_path, web, options, RETRY + TTL) as stage:
            hosts = sorted(set(map(host_of, ground_truth(stage.web.web()).all_urls())))
            seeds = set(map(host_of, stage.web.seeds))
            excluded = [host for host in hosts if host not in seeds][::2]
            narrow = RETRY + TTL + f"[filter]\nexclude_domains = {json.dumps(excluded)}\n"
            stage.toml.write_text("max_pages = 100000\n" + narrow)
            with workers(stage, url, 2) as running:
                wait_until(lambda: owners(url) == 3 or not running[0].runs, "owners")
                assert running[0].runs, running[0].ended().err
                stage.toml.write_text(RETRY + TTL)
                os.kill(running[0].process.pid, signal.SIGHUP)
                ended = [each.ended() for each in running]
            assert [each.err for each in ended if each.status] == []
            assert ended[0].report["finished"] is True
            check_outcomes(ground_truth(stage.web.web()), stage.pages())
            logs = [stage.dir / "crawl.log", *(stage.dir / f"worker-{n}" / "crawl.log" for n in (1, 2))]
            assert ["rules.changed" in log.read_text() for log in logs] == [True] * 3


def test_another_limit_holds_for_all_workers_together(tmp_path: Path, postgres_databases: PostgresDatabases) -> None:
    web = small_web(seed=39, duplicate_rate=0.0, hosts=24, pages=400, fault_rate=0.0)
    with postgres_databases.one() as url, scene(tmp_path, web) as stage:
        stage.toml.write_text("max_pages = 20\n" + RETRY + TTL)
        with served(stage, url, "--scope", "tld:test") as (service, _):
            service.post("/seed/urls", {"urls": one_of_each_host(stage)})
            stored = "SELECT sum(stored)::int FROM fence"
            wait_until(lambda: ask(url, stored) == 20, "20 pages")
            stage.toml.write_text("max_pages = 90\n" + RETRY + TTL)
            os.kill(service.pid, signal.SIGHUP)
            wait_until(lambda: ask(url, stored) == 90, "90 pages")
            since = beats(url)
            wait_until(lambda: beats(url) > since + 2, "heartbeats")
            assert ask(url, stored) == 90
