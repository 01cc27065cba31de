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
from tests.integration.small_server import Answer, SmallServer
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
