"""The dashboard over a hundred thousand hosts and a thousand pages a second: what it is sent and holds stays small."""

import asyncio
import http.client
import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from dashboard_scene import dashboard
from playwright.sync_api import expect
from running import wait_until
from serving import PATIENCE, Service

from browser import running_browser
from gossamer.crawl.audience import Audience, Outcome
from gossamer.model.states import UrlState
from gossamer.model.units import Instant, Url
from gossamer.observe.snapshot import Snapshot
from gossamer.service.feed import MOST_TEXT, PAGES_KEPT, Feed

HOSTS = 100_000
MOST_BYTES = 16_384
"""Of one picture, whatever the size of the crawl. Visits come on top, within their own bound (MOST_TEXT)."""
MOST_NODES = 1_500


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A crawl that knows a hundred thousand hosts. It is paused, so that none is asked for."""
    with Service(tmp_path_factory.mktemp("large") / "crawl", "--scope", "any") as served:
        served.post("/crawl", {"action": "pause"})
        lines = "\n".join(f"http://www.host{n}.test/page" for n in range(HOSTS)).encode()
        told = served.post("/seed/urls", lines, Content_Type="application/x-ndjson").json
        assert told["accepted"] == HOSTS
        yield served


def events(service: Service, most: int) -> Iterator[tuple[str, bytes]]:
    """The first events, each by name, as they come over the wire."""
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=PATIENCE)
    try:
        connection.request("GET", "/events")
        stream = connection.getresponse()
        while most:
            line = stream.readline()
            if line.startswith(b"event: "):
                yield line[7:].decode().strip(), stream.readline()
                most -= 1
    finally:
        connection.close()


@pytest.mark.service
def test_a_picture_of_a_hundred_thousand_hosts_is_no_larger_than_one_of_a_few(service: Service, tmp_path: Path) -> None:
    wait_until(lambda: service.get("/status").json["hosts"] == HOSTS, "the hosts to be counted")
    large = {name: len(data) for name, data in events(service, 5)}
    with Service(tmp_path / "small") as small:
        few = {name: len(data) for name, data in events(small, 5)}

    assert large["status"] < MOST_BYTES and large["moment"] < MOST_BYTES
    assert large["status"] < 1.5 * few["status"] and large["moment"] < 1.5 * few["moment"]
    assert json.loads(next(data for name, data in events(service, 3) if name == "status")[6:])["hosts"] == HOSTS


@pytest.mark.service
def test_the_page_stays_small_and_draws_at_most_twice_a_second(service: Service) -> None:
    with running_browser() as browser, dashboard(browser, service) as opened:
        expect(opened["hosts-shown"]).to_contain_text("of 100,000 hosts")
        expect(opened.page.locator("#hosts tr th")).to_have_count(12)
        opened.page.evaluate(
            """() => {
                window.drawn = []; window.told = [];
                const note = (id, list, what) => new MutationObserver(() => list.push(performance.now()))
                    .observe(document.querySelector(id), what);
                note('#throughput .line', drawn, {attributes: true});
                note('#as-of', told, {childList: true});
            }"""
        )
        wait_until(lambda: opened.page.evaluate("told.length") >= 6, "six pictures")
        drawn, told = opened.page.evaluate("[drawn, told]")

        # A slow machine only makes the gaps longer.
        assert min(after - before for before, after in pairwise(drawn)) > 400
        assert len(drawn) <= 2 * (told[-1] - drawn[0]) / 1000 + 2
        nodes = opened.page.evaluate("document.querySelectorAll('*').length")
        opened["hosts-on"].click()
        expect(opened["hosts-shown"]).to_contain_text("13 to 24 of")
        opened["hosts-q"].fill("host99999")
        expect(opened["hosts-shown"]).to_contain_text("1 to 1 of 1 host")
        assert nodes < MOST_NODES and opened.page.evaluate("document.querySelectorAll('*').length") < MOST_NODES
        assert opened.complaints == []


def test_of_a_thousand_visits_a_second_a_watcher_is_told_the_last_within_bounds() -> None:
    async def watched() -> list[list[Outcome]]:
        feed, audience = Feed(), Audience()
        feed.open(audience, lambda: Snapshot(at=Instant(0.0)), lambda: 0)
        feed.update(Snapshot(at=Instant(0.0)))
        told = []
        pictures = feed.pictures(every=1)
        await anext(pictures)
        for second in range(5):
            waiting = asyncio.ensure_future(anext(pictures))
            await asyncio.sleep(0)  # it waits now: what is told comes after that
            for n in range(1_000):
                url = Url(f"http://a.test/{second}/{n}/" + "x" * (50_000 if second == 3 and n % 2 else 10))
                feed.tell(Outcome(url, UrlState.STORED, Instant(second), 1, 200, None, "title", None, None))
            feed.update(Snapshot(at=Instant(second + 1.0)))
            told.append((await waiting)[1])
        await pictures.aclose()  # type: ignore[attr-defined]
        assert feed.watchers == 0
        return told

    told = asyncio.run(watched())

    assert [len(some) for some in told] == [PAGES_KEPT, PAGES_KEPT, PAGES_KEPT, 0, PAGES_KEPT]
    assert all(sum(len(outcome.url) for outcome in some) <= MOST_TEXT for some in told)
    assert told[1][-1].url.startswith("http://a.test/1/999/")
