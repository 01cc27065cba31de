"""What is wrong stands first on the dashboard, and in its title: real trouble, seen in a real browser."""

import re
import socket
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from gossamer.lab.simweb.run import SimwebProcess
from tests.browser import findings, running_browser
from tests.failing_storage import FailingStorage
from tests.integration.crawl_process import wait_until
from tests.integration.small_server import Answer, SmallServer
from tests.redis_server import running_redis
from tests.s3_server import S3Server
from tests.service.dashboard_scene import LASTING_WEB, dashboard, watched

pytestmark = pytest.mark.service


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running_browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def web() -> Iterator[SimwebProcess]:
    with SimwebProcess(LASTING_WEB) as served:
        yield served


def test_a_blocked_store_is_reported_first_until_it_recovers(
    browser: Browser, web: SimwebProcess, tmp_path: Path
) -> None:
    with watched(tmp_path, web.dns_address) as service, dashboard(browser, service) as opened:
        service.post("/seed/urls", {"urls": web.seeds})
        expect(opened["doing"]).to_contain_text("No problems.")
        expect(opened["health"]).to_be_empty()
        holder = sqlite3.connect(service.directory / "crawl.db", isolation_level=None, timeout=60)
        holder.execute("BEGIN IMMEDIATE")
        trouble = opened["health"].locator("p", has_text="The store")

        expect(trouble).to_contain_text("nothing is fetched")
        expect(opened.page).to_have_title(re.compile("^⚠ store "))
        expect(opened["doing"]).not_to_contain_text("No problems.")
        assert findings(opened.page) == []
        trouble.get_by_role("link").click()
        assert opened.page.url.endswith("#engine-part")

        holder.rollback()
        holder.close()
        expect(opened["health"]).to_be_empty()
        expect(opened["doing"]).to_contain_text("No problems.")


def test_a_cache_that_fails_is_reported_with_what_is_wrong_until_it_is_used_again(
    browser: Browser, web: SimwebProcess, tmp_path: Path
) -> None:
    with (
        running_redis(tmp_path / "redis") as server,
        watched(tmp_path, web.dns_address, "--cache", server.url, delay=0.02) as service,
        dashboard(browser, service) as opened,
    ):
        service.post("/seed/urls", {"urls": web.seeds})
        wait_until(lambda: server.client().dbsize() > 5, "entries")
        expect(opened["health"]).to_be_empty()
        trouble = opened["health"].locator("p", has_text="The cache is not available")

        server.client().config_set("maxmemory", 1)
        expect(trouble).to_contain_text("(out of memory); the crawl goes on without it.")
        assert service.get("/status").json["cache_fault"] == "out_of_memory"
        metrics = service.get("/metrics", Accept="application/json").json
        assert metrics["gossamer_cache_open"]["out_of_memory"] == 1
        assert metrics["gossamer_cache_failures"]["out_of_memory"] >= 3
        trouble.get_by_role("link").click()
        assert opened.page.url.endswith("#engine-part") and findings(opened.page) == []

        server.kill()
        expect(trouble).to_contain_text("(away)")
        server.start()
        expect(trouble).to_have_count(0)


def test_object_storage_that_fails_is_reported_until_it_is_back(
    browser: Browser, web: SimwebProcess, tmp_path: Path, s3: S3Server
) -> None:
    with (
        FailingStorage(s3) as storage,
        watched(tmp_path, web.dns_address, "--blobs", storage.url("crawls/dashboard"), delay=0.02) as service,
        dashboard(browser, service) as opened,
    ):
        service.post("/seed/urls", {"urls": web.seeds})
        expect(opened["doing"]).to_contain_text("No problems.")
        trouble = opened["health"].locator("p", has_text="Object storage does not answer")

        storage.fail("503")
        expect(trouble).to_contain_text(re.compile("[0-9]+ objects? waits? in the spool"))
        assert findings(opened.page) == []

        storage.fail(None)
        expect(trouble).to_have_count(0)


def test_silent_name_servers_are_reported(browser: Browser, tmp_path: Path) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        dns = f"127.0.0.1:{silent.getsockname()[1]}"
        with watched(tmp_path, dns) as service, dashboard(browser, service) as opened:
            service.post("/seed/urls", {"urls": [f"http://host{n}.test/" for n in range(20)]})

            expect(opened["health"]).to_contain_text("The name servers do not answer")
            expect(opened.page).to_have_title(re.compile("^⚠ "))


def test_many_failures_are_reported_with_their_reason(browser: Browser, web: SimwebProcess, tmp_path: Path) -> None:
    with watched(tmp_path, web.dns_address) as service, dashboard(browser, service) as opened:
        service.post("/seed/urls", {"urls": [f"http://nobody{n}.test/" for n in range(15)]})

        expect(opened["health"]).to_contain_text(
            "of visits in the last minute failed. Most frequent reason: dns nxdomain."
        )
        expect(opened.page.locator("#throughput .line.bad")).to_have_attribute("d", re.compile("L"))


def test_missing_responses_are_reported(browser: Browser, web: SimwebProcess, tmp_path: Path) -> None:
    answers = threading.Event()

    def slow(path: str, before: int) -> Answer:
        if path != "/robots.txt":
            answers.wait()
        return Answer("nothing", 404)

    served = watched(tmp_path, web.dns_address)
    with SmallServer(slow) as site, served as service, dashboard(browser, service) as opened:
        service.post("/seed/urls", {"urls": [f"{site.base}/slow"]})

        expect(opened["health"]).to_contain_text(re.compile(r"No response for .+, with 1 visit in flight\."))
        answers.set()
        expect(opened["health"]).to_be_empty()


def test_the_title_says_how_it_goes(browser: Browser, web: SimwebProcess, tmp_path: Path) -> None:
    with watched(tmp_path, web.dns_address) as service, dashboard(browser, service) as opened:
        expect(opened.page).to_have_title("idle · Gossamer")
        service.post("/seed/urls", {"urls": web.seeds})
        expect(opened.page).to_have_title(re.compile(r"^\d[\d.]*/s · Gossamer$"))
        service.post("/crawl", {"action": "pause"})
        expect(opened.page).to_have_title("paused · Gossamer")
        expect(opened["doing"]).to_have_text("Paused: no visits are started until the crawl is resumed.")
        service.kill()
        expect(opened.page).to_have_title("⚠ not connected · Gossamer")
        expect(opened["banner"]).to_contain_text("The data shown is from ")
        expect(opened["doing"]).to_be_empty()
