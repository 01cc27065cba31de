"""Several workers share a crawl on PostgreSQL: the same result as one worker with SQLite, whatever happens to them.

`GOSSAMER_WORKER_KILLS` says how often workers are killed (20 unless it is set).
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from gossamer.lab.simweb.audit import audit, forbidden_requests, ground_truth
from gossamer.model.units import Seconds
from tests.backends.postgres.postgres_databases import PostgresDatabases
from tests.integration.crawl_checks import archived_urls, check_outcomes
from tests.integration.crawl_process import (
    RETRY,
    Command,
    Json,
    Scene,
    gossamer,
    scene,
    small_web,
    wait_until,
)

pytestmark = pytest.mark.service

KILLS = int(os.environ.get("GOSSAMER_WORKER_KILLS", "20"))
DELAY = Seconds(0.05)
TTL = "[cluster]\nttl = 2.0\n[politeness]\nmax_adaptive_delay = 0.0\n"
OPTIONS = ("--delay", DELAY, "--delay-factor", 0)


def join(stage: Scene, url: str, name: str) -> Command:
    return Command("worker", "--store", url, "--unsafe-store", "--dir", stage.dir, "--name", name)


@contextmanager
def workers(stage: Scene, url: str, others: int) -> Iterator[list[Command]]:
    """The crawl, and this many workers that join it."""
    with ExitStack() as running:
        first = running.enter_context(Command(*stage.command))
        wait_until(lambda: is_started(stage) or not first.runs, "the crawl to start")
        assert first.runs, first.ended()
        yield [first, *(running.enter_context(join(stage, url, f"worker-{n}")) for n in range(1, others + 1))]


def is_started(stage: Scene) -> bool:
    log = stage.dir / "crawl.log"
    return log.exists() and "crawl.started" in log.read_text()


def facts(page: Json) -> tuple[object, ...]:
    """What does not depend on the order of the visits: which of several equal documents is stored does."""
    state = "stored" if page["state"] == "duplicate" else page["state"]
    return state, page["status"], page["digest"], page["size"], page["links"]


def violations(stage: Scene) -> list[str]:
    found = audit(
        stage.web.requests(),
        min_delay=DELAY,
        delay_factor=0.0,
        max_adaptive_delay=Seconds(0.0),
        crawl_delays=stage.web.web().crawl_delays(),
        tolerance=0.002,
    )
    return [str(violation) for violation in found if not violation.earlier.retry_after]


def check_whole(stage: Scene) -> list[Json]:
    """Nothing is missing, nothing is stored twice, nothing was requested that robots.txt forbids."""
    truth = ground_truth(stage.web.web())
    pages = stage.pages()
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
        pages = check_whole(stage)
        one, many = ({str(page["url"]): facts(page) for page in found} for found in (alone.pages(), pages))
        assert many == one
    assert violations(stage) == []
