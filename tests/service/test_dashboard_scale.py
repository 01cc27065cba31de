"""The dashboard over many thousand hosts and a thousand pages a second: what it is sent and holds stays small.
`GOSSAMER_HOSTS` asks for more hosts."""

import json
import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser import running_browser
from tests.integration.crawl_process import wait_until
from tests.service.dashboard_scene import dashboard
from tests.service.service_process import Service

HOSTS = int(os.environ.get("GOSSAMER_HOSTS", "20000"))
LEAST_GAP, FRAME = 500, 50
"""Milliseconds between two drawings (`page/main.js`), and more than a frame takes."""
MOST_BYTES = 16_384
"""Of one snapshot, whatever the size of the crawl. Visits come on top, within their own bound (MOST_TEXT)."""
MOST_NODES = 1_500


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A crawl that knows many hosts. It is paused, so that none is asked for."""
    with Service(tmp_path_factory.mktemp("large") / "crawl", "--scope", "any") as served:
        served.post("/crawl", {"action": "pause"})
        lines = "\n".join(f"http://www.host{n}.test/page" for n in range(HOSTS)).encode()
        received = served.post("/seed/urls", lines, Content_Type="application/x-ndjson").json
        assert received["accepted"] == HOSTS
        yield served


def first_events(service: Service, number: int) -> dict[str, bytes]:
    """By name, as they come over the wire."""
    return {name: data for name, _, data in islice(service.events(), number)}


@pytest.mark.service
def test_a_snapshot_of_many_hosts_is_no_larger_than_one_of_a_few(service: Service, tmp_path: Path) -> None:
    wait_until(lambda: service.get("/status").json["hosts"] == HOSTS, "the hosts to be counted")
    large = first_events(service, 5)
    with Service(tmp_path / "small") as small:
        few = first_events(small, 5)

    assert json.loads(large["status"])["hosts"] == HOSTS
    for name in ("status", "moment"):
        assert len(large[name]) < MOST_BYTES and len(large[name]) < 1.5 * len(few[name])


@pytest.mark.service
def test_the_page_stays_small(service: Service) -> None:
    with running_browser() as browser, dashboard(browser, service) as opened:
        expect(opened["hosts-shown"]).to_contain_text(f"of {HOSTS:,} hosts")
        expect(opened.page.locator("#hosts tr th")).to_have_count(12)
        nodes = opened.page.evaluate("document.querySelectorAll('*').length")
        opened["hosts-on"].click()
        expect(opened["hosts-shown"]).to_contain_text("13 to 24 of")
        opened["hosts-q"].fill(f"host{HOSTS - 1}")
        expect(opened["hosts-shown"]).to_contain_text("1 to 1 of 1 host")
        assert nodes < MOST_NODES and opened.page.evaluate("document.querySelectorAll('*').length") < MOST_NODES
        assert opened.complaints == []


@pytest.mark.service
def test_it_draws_once_in_half_a_second_however_many_snapshots_come(service: Service) -> None:
    """The time of the page stands still but for what the test lets pass; pictures come as ever."""

    def prepare(page: Page) -> None:
        page.clock.install()
        page.add_init_script(
            """window.heard = window.drawn = 0;
            const Real = EventSource;
            window.EventSource = class extends Real {
                constructor(...given) { super(...given); this.addEventListener("moment", () => { heard += 1; }); }
            };"""
        )

    with running_browser() as browser, dashboard(browser, service, prepare=prepare) as opened:
        page = opened.page

        def wait_for_snapshots() -> None:
            before = page.evaluate("heard")
            wait_until(lambda: page.evaluate("heard") >= before + 2, "two pictures")

        page.evaluate(
            "new MutationObserver(() => { drawn += 1; }).observe(document.querySelector('#as-of'), {childList: true})"
        )
        page.clock.pause_at(page.evaluate("Date.now()") + 60_000)

        def drawn_within(milliseconds: int) -> int:
            before: int = page.evaluate("drawn")
            page.clock.run_for(milliseconds)
            return int(page.evaluate("drawn")) - before

        wait_for_snapshots()
        while not drawn_within(FRAME):
            pass
        wait_for_snapshots()
        assert drawn_within(LEAST_GAP - 2 * FRAME) == 0
        assert drawn_within(3 * FRAME) == 1
