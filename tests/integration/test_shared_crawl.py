"""Several workers share a crawl on PostgreSQL: the same result as one worker with SQLite, whatever happens to them.

`GOSSAMER_WORKER_KILLS` says how often workers are killed (20 unless it is set).
"""

import os
import random
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event

import psycopg
import pytest

from gossamer.backends.postgres.address import CONNECTIONS
from gossamer.lab.simweb.audit import forbidden_requests, ground_truth
from gossamer.model.units import Seconds
from tests.backends.postgres.postgres_databases import PostgresDatabases
from tests.integration.crawl_checks import archived_urls, check_outcomes
from tests.integration.crawl_process import (
    RETRY,
    Command,
    Json,
    Scene,
    answered,
    gossamer,
    now,
    scene,
    small_web,
    wait_until,
)
from tests.integration.shared_crawls import is_started, join, partitions, short_gaps
from tests.machine import Machine, why_no_machine

pytestmark = pytest.mark.service

KILLS = int(os.environ.get("GOSSAMER_WORKER_KILLS", "20"))
DELAY = Seconds(0.05)
LONG_DELAY = 2.0
TTL = "[cluster]\nttl = 2.0\n[politeness]\nmax_adaptive_delay = 0.0\n"
OPTIONS = ("--delay", DELAY, "--delay-factor", 0)


@contextmanager
def workers(stage: Scene, url: str, others: int) -> Iterator[list[Command]]:
    """The crawl, and this many workers that join it."""
    with ExitStack() as running:
        first = running.enter_context(Command(*stage.command))
        wait_until(lambda: is_started(stage) or not first.runs, "the crawl to start")
        assert first.runs, first.ended()
        yield [first, *(running.enter_context(join(stage, url, f"worker-{n}")) for n in range(1, others + 1))]


def wait_for_all(named: dict[str, Command], url: str, first: Command) -> None:
    """Until all of them are members, and take signals."""
    wait_until(lambda: named.keys() <= partitions(url).keys() or not first.runs, f"{len(named)} more workers")


def facts(page: Json) -> tuple[object, ...]:
    """What does not depend on the order of the visits: which of several equal documents is stored does."""
    state = "stored" if page["state"] == "duplicate" else page["state"]
    return state, page["status"], page["digest"], page["size"]


def links(page: Json) -> int:
    """In-links."""
    found = page["links"]
    assert isinstance(found, int)
    return found


def extra_copies(pages: list[Json]) -> int:
    """Documents that were stored again because two workers met them at the same moment."""
    stored = [page["digest"] for page in pages if page["state"] == "stored"]
    return len(stored) - len(set(stored))


def violations(stage: Scene) -> list[str]:
    return short_gaps(stage, min_delay=DELAY)


def check_whole(stage: Scene, *, with_duplicates: bool = False) -> list[Json]:
    """Nothing is missing, nothing is stored twice, nothing was requested that robots.txt forbids. Two workers that meet
    the same document at the same time both store it; so webs have no duplicates where states are checked."""
    truth = ground_truth(stage.web.web())
    pages = stage.pages()
    if not with_duplicates:
        check_outcomes(truth, pages)
    archived = archived_urls(stage.dir)
    assert {url: n for url, n in archived.items() if n > 1} == {}
    assert set(archived) >= {str(page["url"]) for page in pages if page["state"] == "stored"}
    assert forbidden_requests(stage.web.requests(), truth) == []
    return pages


@pytest.mark.parametrize("others", [0, 1, 3])
def test_workers_find_what_one_on_sqlite_finds(
    tmp_path: Path, postgres_databases: PostgresDatabases, others: int
) -> None:
    """Pages, duplicates and in-links; and no gap is too short, also at shared addresses."""
    web = small_web(seed=15, hosts=16, pages=240, fault_rate=0.0, shared_address_hosts=0.5)
    with scene(tmp_path / "sqlite", web, OPTIONS) as alone, postgres_databases.one() as url:
        assert gossamer(*alone.command).report["finished"] is True
        stage = Scene(tmp_path / "shared", alone.web, [*OPTIONS, "--store", url, "--unsafe-store"], RETRY + TTL)
        with workers(stage, url, others) as running:
            ended = [each.ended() for each in running]
        assert [each.status for each in ended] == [0] * len(running), [each.err for each in ended]
        assert ended[0].report["finished"] is True
        pages = check_whole(stage, with_duplicates=True)
        assert sum(page["state"] == "duplicate" for page in pages) > 0
        one, many = ({str(page["url"]): facts(page) for page in found} for found in (alone.pages(), pages))
        assert many == one
        # The links of a document that was stored again have been counted again.
        of_one, copies = {str(page["url"]): links(page) for page in alone.pages()}, extra_copies(pages)
        assert [page for page in pages if not 0 <= links(page) - of_one[str(page["url"])] <= copies] == []
    assert violations(stage) == []


def test_kills_pauses_joins_and_leaves_lose_nothing_and_shorten_no_gap(
    tmp_path: Path, postgres_databases: PostgresDatabases
) -> None:
    """Four workers; each is killed, paused for three lease times, drained by SIGTERM or started again, by turns. With
    the long delay the crawl lasts until all of that has happened; then it is finished with the short one."""
    chance = random.Random(11)
    web = small_web(
        seed=21,
        duplicate_rate=0.0,
        hosts=24,
        pages=200 * KILLS,
        host_exponent=0.32,
        fault_rate=0.0,
        shared_address_hosts=0.5,
    )
    with postgres_databases.one() as url, ExitStack() as running:
        options = [*OPTIONS, "--store", url, "--unsafe-store"]
        stage = running.enter_context(scene(tmp_path / "web", web, options, RETRY + TTL))
        first = running.enter_context(Command(*stage.command, "--delay", LONG_DELAY))
        wait_until(lambda: is_started(stage) or not first.runs, "the crawl to start")
        alive = {name: running.enter_context(join(stage, url, name)) for name in ("worker-1", "worker-2", "worker-3")}
        wait_for_all(alive, url, first)
        for number in range(KILLS):
            before = answered(stage.log)
            wait_until(lambda: answered(stage.log) > before + 8 or not first.runs, "pages")  # noqa: B023
            assert first.runs, f"the crawl has ended after {number} of {KILLS} faults: {first.ended().err[-2000:]}"
            name = chance.choice(sorted(alive))
            process = alive[name].process
            match number % 4:
                case 0 | 1:
                    process.kill()
                case 2:
                    os.kill(process.pid, signal.SIGSTOP)
                    Event().wait(3 * 2.0)
                    os.kill(process.pid, signal.SIGCONT)
                    continue
                case _:
                    os.kill(process.pid, signal.SIGTERM)
            alive[name].ended()
            alive[name] = running.enter_context(join(stage, url, name))
        wait_for_all(alive, url, first)
        stopped = {"first": first, **alive}
        for each in stopped.values():
            each.strike(signal.SIGTERM)
        left = {name: each.ended() for name, each in stopped.items()}
        stopped_early = -signal.SIGTERM  # before it took signals
        assert {n: (e.status, e.err[-2000:]) for n, e in left.items() if e.status not in (0, 143, stopped_early)} == {}
        changed = now()
        rest = gossamer(*stage.command, "--workers", 4)
        assert (rest.status, rest.report["finished"]) == (0, True), rest.err[-2000:]
        check_whole(stage)
        assert gossamer("verify", "--store", url, "--dir", stage.dir).out.startswith("no problems")
    assert violations(stage) == []
    assert short_gaps(stage, min_delay=LONG_DELAY, until=changed) == []


def test_one_command_runs_several_workers_to_an_exact_limit_and_then_to_the_end(
    tmp_path: Path, postgres_databases: PostgresDatabases
) -> None:
    web = small_web(seed=23, duplicate_rate=0.0, hosts=16, pages=200, fault_rate=0.0)
    with postgres_databases.one() as url:
        options = [*OPTIONS, "--store", url, "--unsafe-store", "--workers", 3]
        with scene(tmp_path, web, options, RETRY + TTL) as stage:
            first = gossamer(*stage.command, "--max-pages", 60)
            assert (first.status, first.report["pages"], first.report["stopped"]) == (0, 60, "page_limit"), first.err

            rest = gossamer("crawl", *stage.resume)
            assert (rest.status, rest.report["finished"], rest.report["stopped"]) == (0, True, "finished"), rest.err
            assert rest.report["pages"] == ground_truth(stage.web.web()).documents
            assert rest.report["run_pages"] == int(str(rest.report["pages"])) - 60
            check_whole(stage)
            gone = gossamer("workers", "--store", url, "--all", "--json").lines
            assert {str(worker["name"]) for worker in gone} == {"worker-1", "worker-2", "worker-3"}
            assert {str(worker["state"]) for worker in gone} == {"left"}
    assert violations(stage) == []


def test_a_worker_that_is_drained_leaves_and_the_others_go_on(
    tmp_path: Path, postgres_databases: PostgresDatabases
) -> None:
    web = small_web(seed=25, duplicate_rate=0.0, hosts=16, pages=200, fault_rate=0.0)
    with postgres_databases.one() as url:
        options = [*OPTIONS, "--store", url, "--unsafe-store"]
        with scene(tmp_path, web, options, RETRY + TTL) as stage, workers(stage, url, 1) as (first, second):
            wait_until(lambda: partitions(url).get("worker-1", 0) > 0 or not first.runs, "partitions of the second")
            said = gossamer("workers", "drain", "worker-1", "--store", url)
            assert "will leave" in said.out, said.err
            assert second.ended().status == 0
            assert first.ended().report["finished"] is True
            check_whole(stage)
    assert violations(stage) == []


def test_a_worker_has_as_many_connections_as_its_documentation_says(
    tmp_path: Path, postgres_databases: PostgresDatabases
) -> None:
    """The two that read are those of the frontier and of everything else; one more reads while limits are applied."""
    web = small_web(seed=9, hosts=12, pages=200, fault_rate=0.0)
    with postgres_databases.one() as url, ExitStack() as running:
        options = [*OPTIONS, "--store", url, "--unsafe-store"]
        stage = running.enter_context(scene(tmp_path / "web", web, options, RETRY + TTL))
        crawl = running.enter_context(Command(*stage.command))
        wait_until(lambda: answered(stage.log) > 30 or not crawl.runs, "pages")
        counted = open_connections(url)
        assert crawl.runs, crawl.ended()

    assert counted == {"gossamer worker": 4, "gossamer reader": 1, "gossamer steering": 1}
    assert sum(counted.values()) + 1 == CONNECTIONS


def open_connections(url: str) -> dict[str, int]:
    """How many of each kind there are."""
    with psycopg.connect(url) as db:
        return dict(
            db.execute(
                "SELECT substring(application_name FROM '^[a-z]+ [a-z]+'), count(*) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid() "
                "AND backend_type = 'client backend' GROUP BY 1"
            ).fetchall()
        )


def test_a_crawl_whose_only_worker_was_killed_can_be_changed_once_that_is_certain(
    tmp_path: Path, postgres_databases: PostgresDatabases
) -> None:
    with postgres_databases.one() as url:
        options = [*OPTIONS, "--store", url, "--unsafe-store"]
        with scene(tmp_path, small_web(seed=27, duplicate_rate=0.0), options, RETRY + TTL) as stage:
            with Command(*stage.command) as crawler:
                wait_until(lambda: answered(stage.log) > 5 or not crawler.runs, "pages")
                held = gossamer("dead", "requeue", "--store", url, "--dir", stage.dir)
                assert "is in use" in held.err
                crawler.process.kill()
            status = ("status", "--store", url, "--dir", stage.dir)
            wait_until(lambda: gossamer(*status, "--json").report["running"] is False, "the end of its lease")
            assert ": at rest (no heartbeat of 1 worker)" in gossamer(*status).out
            done = gossamer("dead", "requeue", "--store", url, "--dir", stage.dir)
            assert done.status == 0, done.err
            for refused in (("dead", "requeue"), ("verify", "--repair")):
                ended = gossamer(*refused, "--store", url, "--dir", tmp_path / "new" / "crawl")
                assert (ended.status, (tmp_path / "new").exists()) == (1, False), ended.err
            assert gossamer(*stage.command).report["finished"] is True
            check_whole(stage)


def test_after_lost_commits_all_workers_start_again_and_the_crawl_is_whole(
    tmp_path: Path, postgres_databases: PostgresDatabases
) -> None:
    """As after a fail-over to a standby that was behind: a worker finds fewer commits on record than it has made."""
    web = small_web(seed=29, duplicate_rate=0.0, hosts=16, pages=240, fault_rate=0.0)
    with postgres_databases.one() as url:
        options = [*OPTIONS, "--store", url, "--unsafe-store"]
        with scene(tmp_path, web, options, RETRY + TTL) as stage, workers(stage, url, 1) as running:
            wait_until(lambda: partitions(url).get("worker-1", 0) > 0 or not running[0].runs, "a second worker")
            with psycopg.connect(url, autocommit=True) as server:
                server.execute(
                    "UPDATE fence f SET commits = commits - 2 FROM workers w"
                    " WHERE w.epoch = f.epoch AND name = 'worker-1'"
                )
                wait_until(
                    lambda: server.execute("SELECT generation FROM crawl").fetchone() == (2,) or not running[0].runs,
                    "a new generation",
                )
            ended = [each.ended() for each in running]
            assert [each.err[-2000:] for each in ended if each.status] == []
            assert ended[0].report["finished"] is True
            check_whole(stage)
    assert violations(stage) == []


def test_a_worker_that_loses_its_network_loses_its_partitions_to_the_others(
    tmp_path: Path, postgres_databases: PostgresDatabases
) -> None:
    """As if the cable were pulled: nothing that it sends arrives, and nothing ends its connections. Later its machine
    starts again."""
    if (reason := why_no_machine()) is not None:
        pytest.skip(reason)
    web = small_web(seed=31, duplicate_rate=0.0, hosts=24, pages=1200, fault_rate=0.0, shared_address_hosts=0.25)
    with postgres_databases.one() as url, ExitStack() as running:
        options = [*OPTIONS, "--store", url, "--unsafe-store"]
        stage = running.enter_context(scene(tmp_path, web, options, RETRY + TTL))
        with Command(*stage.command) as starter:
            wait_until(lambda: is_started(stage) or not starter.runs, "the crawl to start")
            starter.strike(signal.SIGTERM)
            starter.ended()
        machine = running.enter_context(Machine())
        machine.pass_on(5432, postgres_databases.server.folder / ".s.PGSQL.5432")
        machine.pass_on(stage.web.http_port)
        machine.pass_on_datagrams(int(stage.web.dns_address.rpartition(":")[2]))
        inside = url.partition("?")[0].replace("@/", "@127.0.0.1/")
        far = running.enter_context(join(stage, inside, "far", machine.enter))
        wait_until(lambda: partitions(url).get("far", 0) > 0 or not far.runs, "a worker far away")
        near = running.enter_context(join(stage, url, "near"))
        wait_until(lambda: partitions(url).get("near", 0) > 0 or not near.runs, "a second worker")
        assert near.runs and partitions(url)["far"] > 0, near.ended()
        machine.cut()
        wait_until(lambda: "far" not in partitions(url) or not near.runs, "the death of the first")
        assert far.runs and near.runs
        far.kill()
        again = running.enter_context(join(stage, url, "far"))
        ended = [each.ended() for each in (near, again)]
        assert [each.err[-2000:] for each in ended if each.status] == []
        check_whole(stage)
        assert gossamer("verify", "--store", url, "--dir", stage.dir).out.startswith("no problems")
    assert violations(stage) == []
