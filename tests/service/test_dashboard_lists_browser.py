"""Hosts, pages and dead letters on the dashboard: looked into, sought and chosen, in a real browser over a crawl."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, expect

from gossamer.lab.simweb.run import SimwebProcess
from tests.browser import findings, running_browser
from tests.integration.crawl_process import wait_until
from tests.integration.small_server import Answer, SmallServer, page
from tests.service.dashboard_scene import LASTING_WEB, Dashboard, dashboard, extra_site, wait_for, watched
from tests.service.service_process import Service

pytestmark = pytest.mark.service


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running_browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def web() -> Iterator[SimwebProcess]:
    with SimwebProcess(LASTING_WEB) as served:
        yield served


@pytest.fixture
def site() -> Iterator[SmallServer]:
    """A host of the test's own: five failures in a row, of whatever tests, would make a host wait for minutes."""
    with SmallServer(extra_site) as served:
        yield served


@pytest.fixture(scope="module")
def service(web: SimwebProcess, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with watched(tmp_path_factory.mktemp("dashboard"), web.dns_address) as served:
        served.post("/seed/urls", {"urls": web.seeds})
        yield served


@pytest.fixture
def shown(browser: Browser, service: Service) -> Iterator[Dashboard]:
    with dashboard(browser, service) as opened:
        yield opened
        assert opened.complaints == []


# --- hosts -----------------------------------------------------------------------------------------------


def test_a_heading_sorts_the_hosts_and_says_so(shown: Dashboard) -> None:
    headings = shown.page.locator("#hosts-part thead th")
    expect(headings.nth(2)).to_have_attribute("aria-sort", "descending")  # most queued
    headings.get_by_role("button", name="host").click()

    expect(headings.nth(0)).to_have_attribute("aria-sort", "ascending")
    assert headings.nth(2).get_attribute("aria-sort") is None
    expect(shown["hosts-sort"]).to_have_value("host")
    names = shown.page.locator("#hosts tr th")
    expect(names).to_have_count(12)
    # By domain: names are read from their end.
    wait_until(
        lambda: (found := names.all_inner_texts()) == sorted(found, key=lambda name: name.split(".")[::-1]), "order"
    )
    shown["hosts-sort"].select_option("fetched")
    expect(headings.nth(3)).to_have_attribute("aria-sort", "descending")


def test_a_host_is_opened_paused_given_a_gap_and_left(shown: Dashboard, service: Service) -> None:
    shown.host_row("portal.test").get_by_role("button", name="portal.test", exact=True).click()
    expect(shown["h-host"]).to_have_text("portal.test")
    assert shown.page.evaluate(
        "document.querySelector('#host-dialog').closest('tr').previousElementSibling.dataset.host"
    ) == ("portal.test")
    expect(shown["host-facts"]).to_contain_text("127.")
    expect(shown["host-facts"]).to_contain_text("500 ms")
    assert findings(shown.page) == []

    shown["host-pause"].click()
    expect(shown["host-state"]).to_have_text("paused")
    expect(shown["host-drop"]).to_be_hidden()
    shown["host-pause"].click()
    expect(shown["host-drop"]).to_be_visible()
    assert service.get("/hosts/portal.test").json["paused"] is False

    gap = shown.page.get_by_label("Minimum delay after a response")
    gap.fill("0.1")
    shown.press("Set delay")
    expect(shown["host-delay"]).to_contain_text("seconds: 0.1 is less than the configured minimum of 0.5")
    gap.fill("7")
    shown.press("Set delay")
    expect(shown["host-facts"]).to_contain_text("7.0 s")
    assert service.get("/hosts/portal.test").json["ordered_delay"] == 7
    shown.press("Use configured delay")
    expect(shown["host-usual"]).to_be_hidden()
    assert service.get("/hosts/portal.test").json["ordered_delay"] is None

    gap.press("Escape")
    expect(shown["host-dialog"]).to_be_hidden()
    expect(shown.page.locator("tr.detail")).to_have_count(0)
    expect(shown.page.get_by_role("button", name="portal.test", exact=True)).to_be_focused()
    shown.complaints[:] = [text for text in shown.complaints if "422" not in text]


def test_from_a_story_one_goes_on_to_the_host_and_from_there_to_its_pages(
    shown: Dashboard, service: Service, web: SimwebProcess
) -> None:
    wait_for(service, web.seeds[0], "stored")
    shown.page.get_by_label("URL", exact=True).fill(web.seeds[0])
    shown["explain"].get_by_role("button").click()
    shown["story"].get_by_role("button", name="portal.test", exact=True).click()
    expect(shown["h-host"]).to_have_text("portal.test")
    shown.press("Pages")

    expect(shown["host-dialog"]).to_be_hidden()
    expect(shown["visits-host"]).to_contain_text("on portal.test")
    urls = shown.page.locator("#visits .url")
    expect(urls.first).to_contain_text("//portal.test")
    assert {url.split("/")[2].split(":")[0] for url in urls.all_inner_texts()} == {"portal.test"}
    shown["visits-host"].click()
    expect(shown["visits-host"]).to_be_hidden()


# --- pages -----------------------------------------------------------------------------------------------


def test_visits_are_sought_as_they_come(shown: Dashboard) -> None:
    expect(shown.page.locator("#visits .url").first).to_contain_text(".test")
    shown["visits-q"].fill("CLUSTER")
    urls = shown.page.locator("#visits .url")
    expect(urls.first).to_contain_text("cluster")

    assert [url for url in urls.all_inner_texts() if "cluster" not in url] == []
    shown["visits-q"].fill("no page is called this")
    expect(shown["visits"]).to_contain_text("No recent visit")


def test_pages_on_record_are_sought_by_state_and_turned_over(shown: Dashboard, service: Service) -> None:
    wait_until(lambda: len(service.get("/pages?state=stored&limit=40").json["pages"]) == 40, "forty stored pages")
    with paused(service):  # or older pages would be stored meanwhile
        turn_over_what_is_stored(shown, service)

    shown["visits-q"].fill("portal.test")
    urls = shown.page.locator("#visits .url")
    wait_until(lambda: all("portal.test" in url for url in urls.all_inner_texts()), "pages of the portal")
    shown["visits-q"].fill("no page is called this")
    expect(shown["visits"]).to_contain_text("No matching pages.")
    shown["visits-q"].fill("")
    shown["visits-kind"].select_option("all")
    expect(shown["visits-on"]).to_be_hidden()
    shown["doing"].hover()
    expect(shown["visits-note"]).to_contain_text("Most recent visits")


@contextmanager
def paused(service: Service) -> Iterator[None]:
    """Nothing is visited while the block runs."""
    assert service.post("/crawl", {"action": "pause"}).status == 200
    wait_until(lambda: service.get("/status").json["in_flight"] == 0, "the visits in flight to end")
    wait_until(lambda: service.get("/status").json["documents_waiting"] == 0, "their documents to be stored")
    yield
    assert service.post("/crawl", {"action": "resume"}).status == 200


def turn_over_what_is_stored(shown: Dashboard, service: Service) -> None:
    shown["visits-kind"].select_option("record stored")
    urls = shown.page.locator("#visits .url")
    expect(urls).to_have_count(12)
    expect(urls.first).to_have_text(service.get("/pages?state=stored&limit=1").json["pages"][0]["url"])
    first = set(urls.all_inner_texts())
    shown["visits-on"].click()
    expect(shown["visits-back"]).to_be_enabled()
    wait_until(lambda: not first & set(urls.all_inner_texts()), "other pages")
    shown["visits-back"].click()
    wait_until(lambda: first == set(urls.all_inner_texts()), "the first pages again")


def test_a_story_lets_its_address_be_copied_opened_and_followed_to_where_it_was_found(
    shown: Dashboard, service: Service, web: SimwebProcess
) -> None:
    shown.page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=shown.address)
    wait_until(lambda: service.get("/pages?state=stored&limit=40").json["next"] is not None, "more pages")
    found = next(page for page in service.get("/pages?limit=100").json["pages"] if page["depth"] == 1)
    shown.page.get_by_label("URL", exact=True).fill(found["url"])
    shown["explain"].get_by_role("button").click()
    shown.press("Copy URL")

    expect(shown["notices"]).to_contain_text("copied")
    assert shown.page.evaluate("navigator.clipboard.readText()") == found["url"]
    link = shown["story"].get_by_role("link", name="Open page")
    assert link.get_attribute("href") == found["url"]
    assert link.get_attribute("rel") == "noopener noreferrer"
    shown["story"].get_by_role("button", name=f"explain {found['found_on']}", exact=True).first.click()
    expect(shown["story"].locator(".verdict .url")).to_have_text(found["found_on"])


def test_what_robots_txt_denies_is_not_marked_as_a_failure(shown: Dashboard, service: Service) -> None:
    def site(path: str, before: int) -> Answer:
        return Answer("User-agent: *\nDisallow: /private") if path == "/robots.txt" else page(path)

    with SmallServer(site) as private:
        url = f"{private.base}/private"
        service.post("/seed/urls", {"urls": [url]})
        wait_for(service, url, "excluded")
    shown["visits-q"].fill(url)
    shown["visits-kind"].select_option("record excluded")

    expect(shown.page.locator("#visits tr", has_text=url).locator(".badge")).to_have_class("badge sx")
    expect(shown["visits"]).to_contain_text("robots denied")


# --- dead letters ----------------------------------------------------------------------------------------


def test_dead_letters_of_a_reason_are_requeued_and_the_others_stay(
    shown: Dashboard, service: Service, site: SmallServer
) -> None:
    nobody, broken = "http://nobody.test/", f"{site.base}/broken/chosen"
    service.post("/seed/urls", {"urls": [nobody, broken]})
    for url in (nobody, broken):
        wait_for(service, url, "dead")
        expect(shown.page.locator(f'#dead tr[data-url="{url}"]')).to_be_visible()
    shown["dead-class"].select_option("corrupted")
    expect(shown["dead"]).to_contain_text("No matching dead letters.")
    shown["dead-class"].select_option("failed")
    expect(shown.page.locator(f'#dead tr[data-url="{nobody}"]')).to_be_visible()
    shown["dead-reason"].select_option("server_error")
    expect(shown.page.locator(f'#dead tr[data-url="{nobody}"]')).to_have_count(0)
    shown.press("Requeue all")
    expect(shown["sure-text"]).to_contain_text('of class "failed" with reason "server error"')
    shown["sure-dialog"].get_by_role("button", name="Requeue all").click()

    wait_for(service, broken, "stored")
    expect(shown["dead"]).to_contain_text("No matching dead letters.")
    assert service.get(f"/explain?url={nobody}").json["state"] == "dead"
    shown["dead-reason"].select_option("")
    shown.page.locator(f'#dead tr[data-url="{nobody}"]').get_by_role("button", name="Drop").click()
    wait_for(service, nobody, "excluded")


def test_a_host_leads_to_its_dead_letters(shown: Dashboard, service: Service, site: SmallServer) -> None:
    lost, broken = "http://lost.test/", f"{site.base}/broken/of-a-host"
    service.post("/seed/urls", {"urls": [lost, broken]})
    for url in (lost, broken):
        wait_for(service, url, "dead")
    shown.host_row("lost.test").get_by_role("button", name="lost.test", exact=True).click()
    shown.press("Dead letters")

    expect(shown["dead-host"]).to_contain_text("on lost.test")
    expect(shown.page.locator("#dead tr[data-url]")).to_have_count(1)
    shown["dead-host"].click()
    expect(shown.page.locator(f'#dead tr[data-url="{broken}"]')).to_be_visible()
