"""Services of a crawl that workers share on PostgreSQL: each shows the whole crawl and every worker, without workers of
its own if that is wanted."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg
import pytest

from gossamer.lab.simweb.run import SimwebProcess
from gossamer.model.partition import DEFAULT_PARTITIONS
from gossamer.service.metrics import WORKER_METRICS
from tests.backends.postgres.postgres_databases import PostgresDatabases
from tests.browser import PATIENCE, findings, running_browser
from tests.integration.crawl_process import Command, gossamer, small_web, wait_until
from tests.service.dashboard_scene import dashboard
from tests.service.service_process import Service

pytestmark = pytest.mark.service

WEB = small_web(hosts=20, pages=200_000, fault_rate=0.0, duplicate_rate=0.0)
NAMES = ["one", "two"]
HALF = DEFAULT_PARTITIONS // 2


@contextmanager
def steering_only(folder: Path, url: str, *options: object) -> Iterator[Service]:
    with Service(folder, "--store", url, "--unsafe-store", "--workers", 0, *options) as service:
        yield service


@contextmanager
def workers(folder: Path, url: str) -> Iterator[list[Command]]:
    """Two, which own everything between them."""
    with ExitStack() as running:
        started = [
            running.enter_context(Command("worker", "--store", url, "--unsafe-store", "--dir", folder, "--name", name))
            for name in NAMES
        ]
        wait_until(lambda: owned(url) == dict.fromkeys(NAMES, HALF) or not all(each.runs for each in started), "shares")
        assert all(each.runs for each in started)
        yield started


def owned(url: str) -> dict[str, int]:
    listed = gossamer("workers", "--store", url, "--json").lines
    return {str(worker["name"]): int(str(worker["partitions"])) for worker in listed}


def shown_partitions(service: Service) -> dict[str, int]:
    return {worker["name"]: worker["partitions"] for worker in service.get("/status").json["workers"]}


def test_services_without_workers_show_the_whole_crawl_and_each_worker(
    tmp_path: Path, postgres_databases: PostgresDatabases
) -> None:
    with (
        SimwebProcess(WEB) as web,
        postgres_databases.one() as url,
        steering_only(tmp_path / "a", url, "--dns", web.dns_address, "--scope", "any", *web.seeds) as service,
        steering_only(tmp_path / "b", url) as other,
    ):
        assert [each.get("/status").json["state"] for each in (service, other)] == ["at rest", "at rest"]
        refused = service.post("/crawl", {"action": "pause"})
        assert (refused.status, "no worker is running" in refused.json["error"]) == (503, True)
        assert "nobody: waiting for a worker (partition" in gossamer("explain", web.seeds[0], "--store", url).out

        with workers(tmp_path / "w", url):
            for each in (service, other):
                wait_until(lambda: each.get("/status").json["pages"] > 50, "pages")  # noqa: B023
                wait_until(lambda: shown_partitions(each) == dict.fromkeys(NAMES, HALF), "the shares")  # noqa: B023
                assert each.get("/status").json["state"] == "running"
            said = gossamer("status", "--store", url)
            assert "running (2 workers)" in said.out and f"{HALF} partitions" in said.out, said.err
            report = gossamer("status", "--store", url, "--json").report
            assert report["running"] is True and isinstance(report["workers"], list) and len(report["workers"]) == 2
            listed = gossamer("workers", "list", "--store", url)
            assert sorted(line.split()[:3] for line in listed.out.splitlines()[1:]) == [
                [name, "active", str(HALF)] for name in NAMES
            ]

            metrics = service.get("/metrics", Accept="application/json").json
            known = {metric.name for metric in WORKER_METRICS} - {"gossamer_worker_cache_open"}
            assert {name for name in known if set(metrics.get(name, ())) != set(NAMES)} == set()
            assert 'gossamer_worker_lease_seconds{worker="two"}' in other.get("/metrics").body.decode()
            paused = service.post("/crawl", {"action": "pause"})
            assert (paused.status, paused.json) == (200, {"state": "paused"}), paused.body
            wait_until(lambda: other.get("/status").json["state"] == "paused", "the pause to be seen by the other")
            assert other.post("/crawl", {"action": "resume"}).json == {"state": "running"}
            added = other.post("/seed/urls", {"urls": ["http://portal.test/new", web.seeds[0]]})
            assert [each["status"] for each in added.json["results"]] == ["accepted", "known"], added.body
            visits = next(json.loads(data) for name, _, data in service.events() if name == "visits")
            assert visits and visits[0]["url"].startswith("http")

            owner = service.get(f"/explain?url={web.seeds[0]}").json["owner"]
            assert owner["worker"] in NAMES
            assert f"{owner['worker']} (partition {owner['partition']})" in (
                gossamer("explain", web.seeds[0], "--store", url).out
            )


def test_the_dashboard_lists_the_workers_and_says_when_there_is_none(
    tmp_path: Path, postgres_databases: PostgresDatabases
) -> None:
    with (
        SimwebProcess(WEB) as web,
        postgres_databases.one() as url,
        steering_only(tmp_path / "a", url, "--dns", web.dns_address, "--scope", "any", *web.seeds) as service,
        running_browser() as browser,
        dashboard(browser, service) as opened,
    ):
        opened.page.set_default_timeout(PATIENCE * 1000)
        opened["health"].get_by_text("No worker is running.").wait_for()
        with workers(tmp_path / "w", url):
            opened.page.locator("#workers tr[data-worker=two] .badge", has_text="active").wait_for()
            opened["workers-total"].get_by_text(f"2 workers, {DEFAULT_PARTITIONS} partitions owned").wait_for()
            assert findings(opened.page) == []
            for width in (1440, 390):
                opened.page.set_viewport_size({"width": width, "height": 900})
                assert not opened.is_too_wide()
        assert opened.complaints == []


def test_a_service_starts_and_ends_its_workers_and_keeps_the_crawl_open(
    tmp_path: Path, postgres_databases: PostgresDatabases
) -> None:
    with postgres_databases.one() as url:
        command = ["serve", "--store", url, "--unsafe-store", "--workers", 2, "--port", 0, "--dir", tmp_path, "--json"]
        with Command(*command) as service:
            wait_until(lambda: owned(url) == {"worker-1": HALF, "worker-2": HALF} or not service.runs, "shares")
            with psycopg.connect(url) as db:
                found = db.execute("SELECT state, kept_open_until > now() FROM crawl").fetchone()
            assert found == ("running", True)
            service.process.terminate()
            ended = service.ended()
        assert ended.status == 0, ended.err
        gone = gossamer("workers", "--store", url, "--all", "--json").lines
        assert {str(worker["name"]): worker["state"] for worker in gone} == {
            "worker-1": "left",
            "worker-2": "left",
        }
