"""What people do with the dashboard, done in a real browser over a crawl of a simulated web."""

import json
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, expect

from gossamer.lab.simweb.run import SimwebProcess
from tests.browser import findings, running_browser
from tests.integration.crawl_process import wait_until
from tests.integration.small_server import SmallServer
from tests.service.dashboard_scene import (
    ALL_PARTS,
    EVIL,
    LASTING_WEB,
    Dashboard,
    Scheme,
    dashboard,
    extra_site,
    wait_for,
    watched,
)
from tests.service.service_process import Service, lasting_port

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
    """The dashboard with the token, of a crawl that runs. Nothing may go wrong in it unnoticed."""
    with dashboard(browser, service) as opened:
        yield opened
        assert opened.complaints == []


def test_seeds_are_entered_once_the_token_is_and_the_counters_move(
    browser: Browser, web: SimwebProcess, tmp_path: Path
) -> None:
    with watched(tmp_path, web.dns_address) as service, dashboard(browser, service, token=False) as opened:
        expect(opened["doing"]).to_have_text("Nothing to crawl yet:")
        opened["begin"].click()
        expect(opened.page.get_by_label("URLs, one per line")).to_be_focused()
        # A line is a URL, whatever characters it has.
        odd = f"{web.seeds[0]}0,36-1, a.html"
        opened.page.get_by_label("URLs, one per line").fill("\n".join([*web.seeds, " mailto:nobody", odd]))
        opened.press("Add seeds")
        opened.unlock("wrong")
        expect(opened["token-told"]).to_contain_text("Wrong token")
        opened.unlock(service.token)

        expect(opened["seeds"]).to_contain_text(f"{len(web.seeds) + 1} accepted, 0 already known, 1 refused.")
        assert service.get(f"/explain?{urlencode({'url': odd})}").json["state"] is not None
        expect(opened["seeds"]).to_contain_text("mailto:nobody: not http or https")
        expect(opened["token-open"]).to_have_text("Changes unlocked")
        wait_until(lambda: opened.figure("pages") > 0, "a page")
        first = opened.figure("pages")
        wait_until(lambda: opened.figure("pages") > first + 20, "more pages")
        expect(opened["state"]).to_have_text("running")
        expect(opened.page.locator("#visits tr .url").first).to_contain_text(".test")
        expect(opened.page.locator("#answers li").first).to_contain_text("2xx")
        expect(opened["rate"]).not_to_have_text("0.0")
        expect(opened["begin"]).to_be_hidden()
        expect(opened["crawl-seed"]).to_have_text(web.seeds[0])
        expect(opened["crawl-directory"]).to_have_text(str(service.directory))
        expect(opened["progress-text"]).to_have_text(re.compile(r"[\d,]+ of [\d,]+ known URLs done \([\d.]+ %\)"))
        # Each refusal of a wrong token is an error to the browser as well; nothing else went wrong.
        assert {"401" in text or "422" in text for text in opened.complaints} == {True}


def test_the_token_is_kept_for_the_tab_alone_and_can_be_forgotten(browser: Browser, service: Service) -> None:
    with dashboard(browser, service, token=False) as opened:
        opened["token-open"].click()
        opened.unlock(service.token)
        expect(opened["token-dialog"]).to_be_hidden()
        opened.page.reload()
        expect(opened["token-open"]).to_have_text("Changes unlocked")
        other = opened.page.context.new_page()
        other.goto(opened.address)
        expect(other.locator("#token-open")).to_have_text("Unlock changes")
        assert service.token not in opened.page.url
        assert service.token not in opened.page.evaluate("JSON.stringify(localStorage) + document.cookie")
        assert service.token not in opened.page.content()

        opened["token-open"].click()
        opened.press("Forget token")
        expect(opened["token-open"]).to_have_text("Unlock changes")
        assert opened.page.evaluate("sessionStorage.token ?? null") is None
        opened["crawl"].click()
        expect(opened["token-dialog"]).to_be_visible()
        opened.press("Cancel")
        expect(opened["notices"]).to_contain_text("Nothing was changed")
        assert service.get("/crawl").json["state"] != "paused"


def test_limits_are_shown_changed_and_refused_where_they_cannot_be(shown: Dashboard, service: Service) -> None:
    expect(shown.page.get_by_label("URL length")).to_have_value("2083")
    shown.page.get_by_label("Depth").fill("17")
    shown.page.get_by_label("Excluded domains").fill("ads.test\nspam.test")
    shown.press("Set limits")

    expect(shown["limits"]).to_contain_text("Limits set")
    kept = service.get("/url/limit").json
    assert (kept["depthLimit"], kept["excludedDomains"]) == (17, ["ads.test", "spam.test"])
    shown.page.reload()
    expect(shown.page.get_by_label("Depth")).to_have_value("17")

    shown.page.get_by_label("Excluded domains").fill("no/domain")
    shown.press("Set limits")
    expect(shown["limits"]).to_contain_text("excludedDomains")
    assert service.get("/url/limit").json["excludedDomains"] == ["ads.test", "spam.test"]
    shown.page.get_by_label("Excluded domains").fill("")
    shown.press("Set limits")
    expect(shown["limits"]).to_contain_text("Limits set")
    assert service.get("/url/limit").json["excludedDomains"] == []
    shown.complaints[:] = [text for text in shown.complaints if "422" not in text]


def test_a_host_is_paused_dropped_and_resumed(shown: Dashboard, service: Service) -> None:
    row = shown.host_row("portal.test")
    row.get_by_role("button", name="Pause portal.test").click()

    expect(row.locator(".badge")).to_have_text("paused")
    expect(shown["notices"]).to_contain_text("portal.test paused")
    assert service.get("/hosts/portal.test").json["paused"] is True
    row.get_by_role("button", name="Resume portal.test").click()
    expect(row.get_by_role("button", name="Pause portal.test")).to_be_visible()
    expect(shown["notices"]).to_contain_text("portal.test resumed")
    assert service.get("/hosts/portal.test").json["paused"] is False

    row.get_by_role("button", name="Drop portal.test").click()
    shown["sure-dialog"].get_by_role("button", name="Cancel").click()
    assert service.get("/hosts/portal.test").json["dropped"] is False
    row.get_by_role("button", name="Drop portal.test").click()
    shown["sure-dialog"].get_by_role("button", name="Drop host").click()
    expect(row.locator(".badge")).to_have_text("dropped")
    row.get_by_role("button", name="Resume portal.test").click()
    expect(row.get_by_role("button", name="Pause portal.test")).to_be_visible()


def test_hosts_are_sought_sorted_and_paged(shown: Dashboard) -> None:
    names = shown.page.locator("#hosts tr th")
    expect(names).to_have_count(12)
    expect(shown["hosts-shown"]).to_contain_text("1 to 12 of")
    shown["hosts-sort"].select_option("host")
    first = names.first.inner_text()
    shown["hosts-on"].click()
    expect(shown["hosts-shown"]).to_contain_text("13 to")
    expect(names.first).not_to_have_text(first)
    shown["hosts-back"].click()
    expect(shown["hosts-shown"]).to_contain_text("1 to 12 of")

    shown["hosts-q"].fill("no such host")
    expect(shown["hosts"]).to_contain_text("No host name contains this text.")


def test_a_dead_letter_is_requeued_and_another_dropped(shown: Dashboard, service: Service, site: SmallServer) -> None:
    broken = [f"{site.base}/broken/{n}" for n in (1, 2)]
    service.post("/seed/urls", {"urls": broken})
    for url in broken:
        wait_for(service, url, "dead")
    first, second = (shown.page.locator(f'#dead tr[data-url="{url}"]') for url in broken)
    expect(first.locator(".badge")).to_have_text("server error")
    first.get_by_role("button", name="Requeue").click()

    expect(shown["notices"]).to_contain_text("1 dead letter requeued")
    wait_for(service, broken[0], "stored")
    expect(first).to_have_count(0)
    second.get_by_role("button", name="Drop").click()
    expect(second).to_have_count(0)
    wait_for(service, broken[1], "excluded")


def test_all_dead_letters_are_requeued_after_a_question(shown: Dashboard, service: Service, site: SmallServer) -> None:
    broken = [f"{site.base}/broken/all{n}" for n in (1, 2)]
    service.post("/seed/urls", {"urls": broken})
    for url in broken:
        wait_for(service, url, "dead")
        expect(shown.page.locator(f'#dead tr[data-url="{url}"]')).to_be_visible()
    shown.press("Requeue all")
    expect(shown["sure-text"]).to_contain_text("requeued")
    shown["sure-dialog"].get_by_role("button", name="Requeue all").click()

    for url in broken:
        wait_for(service, url, "stored")
        expect(shown.page.locator(f'#dead tr[data-url="{url}"]')).to_have_count(0)


def test_the_crawl_is_paused_and_resumed(shown: Dashboard, service: Service) -> None:
    shown.press("Pause crawl")
    expect(shown["state"]).to_have_text("paused")
    assert service.get("/crawl").json["state"] == "paused"

    shown.press("Resume crawl")
    expect(shown["state"]).not_to_have_text("paused")
    assert service.get("/crawl").json["state"] != "paused"


def test_a_url_is_explained_and_so_is_a_page_that_is_pressed(shown: Dashboard, web: SimwebProcess) -> None:
    shown.page.get_by_label("URL", exact=True).fill(web.seeds[0])
    shown["explain"].get_by_role("button").click()
    expect(shown["story"]).to_contain_text(web.seeds[0])
    expect(shown["story"]).to_contain_text("POST /seed/urls")

    shown["visits-kind"].select_option("stored")
    settle_layout(shown)
    pressed = shown.page.locator("#visits .address").first
    pressed.hover()  # from now on it stays where it is
    expect(shown["visits-note"]).to_have_text("Not updated while you point at the table.")
    url = pressed.get_attribute("title") or ""
    pressed.click()
    expect(shown["story"].locator(".verdict")).to_contain_text(url)
    expect(shown["story"].locator(".verdict")).to_contain_text("stored")
    assert pressed.evaluate("(e) => e.closest('tr').nextElementSibling.contains(document.querySelector('#story'))")
    shown["doing"].hover()
    expect(shown["visits-note"]).to_have_text("Not updated while details are open.")

    shown.page.keyboard.press("Escape")
    expect(shown.page.locator("tr.detail")).to_have_count(0)
    expect(shown["story"]).to_be_empty()
    shown.page.get_by_label("URL", exact=True).fill(web.seeds[0])
    shown["explain"].get_by_role("button").click()
    expect(shown["explain-part"].locator("#story")).to_contain_text(web.seeds[0])


def test_what_a_page_calls_itself_is_shown_as_text_and_never_run(
    shown: Dashboard, service: Service, site: SmallServer
) -> None:
    service.post("/seed/urls", {"urls": [f"{site.base}/evil"]})
    wait_for(service, f"{site.base}/evil", "stored")
    shown.page.get_by_label("URL", exact=True).fill(f"{site.base}/evil")
    shown["explain"].get_by_role("button").click()
    expect(shown["story"]).to_contain_text(EVIL)
    assert shown.page.title().endswith("· Gossamer") and shown.page.locator("main img").count() == 0


def test_the_charts_queues_and_politeness_are_drawn(shown: Dashboard) -> None:
    expect(shown["phases"]).to_be_hidden()
    shown.page.get_by_role("link", name="Internals").click()
    for chart in ("throughput", "latency"):
        expect(shown.page.locator(f"#{chart} .line").first).to_have_attribute("d", re.compile("M.*L.*L.*L"))
    expect(shown.page.locator("#fronts li")).to_have_count(3)
    expect(shown.page.locator("#fronts li").first).to_contain_text("target 60 %")
    columns = shown.page.locator("#rests li")
    expect(columns).to_have_count(13)
    wait_until(lambda: any(text.split()[0] != "0" for text in columns.all_inner_texts()), "hosts that rest")
    expect(shown.page.locator("#phases tr").first).to_be_visible()
    expect(shown.page.locator("#queues li").first).to_contain_text("%")
    expect(shown["polite"]).to_have_text("0")


def test_the_end_of_the_crawl_is_estimated_where_that_is_possible(shown: Dashboard) -> None:
    running = {"state": "running", "queued": 1000, "pages": 400, "max_pages": None}
    slow = {"host": "slow.test", "queued": 720, "delay": 4.5, "last_took": 0.5}
    alone = "The queue of slow.test alone takes 60 min."
    cases: list[tuple[dict[str, object], object, object, str]] = [
        (running, None, None, ""),
        (running, None, slow, alone),
        (running, {"queued": 2.5, "pages": 9}, None, "The queue is growing by 2.5 URLs/s. "),
        (running, {"queued": 2.5, "pages": 9}, slow, f"The queue is growing by 2.5 URLs/s. {alone}"),
        (running, {"queued": -10, "pages": 9}, None, "May end in about 2 min."),
        ({**running, "queued": 4000}, {"queued": -1, "pages": 9}, slow, "May end in about 67 min ("),
        (running, {"queued": -10, "pages": 9}, slow, "May end in about 60 min ("),
        (
            {**running, "max_pages": 490},
            {"queued": 5, "pages": 1},
            slow,
            "The page limit may be reached in about 90 s.",
        ),
        ({**running, "state": "paused"}, {"queued": -10, "pages": 9}, slow, ""),
        ({**running, "queued": 0}, {"queued": -10, "pages": 9}, None, ""),
    ]
    script = """(cases) => import("/page/progress.js").then(({ describeEnd }) => cases.map(
        ([status, change, longest]) => describeEnd(status, change, longest)))"""
    texts = shown.page.evaluate(script, [case[:3] for case in cases])

    for text, (*_, wanted) in zip(texts, cases, strict=True):
        assert text.startswith(wanted) if wanted.endswith("(") else text == wanted


def test_a_later_client_sees_the_last_minutes_at_once(browser: Browser, service: Service) -> None:
    """What is drawn first comes from the service, which has kept it."""
    with closing(service.events()) as events:
        enough = any(name == "moment" and samples_kept(service) > 8 for name, _, _ in events)
        assert enough, "the service ended"
    with dashboard(browser, service) as opened:
        path = opened.page.locator("#throughput .line").first.get_attribute("d") or ""

        assert path.count("L") > 5


def samples_kept(service: Service) -> int:
    with closing(service.events()) as events:
        name, _, data = next(events)
    assert name == "history"
    return len(json.loads(data))


def test_light_and_dark_follow_the_system_until_one_is_chosen(browser: Browser, service: Service) -> None:
    def ground(opened: Dashboard) -> int:
        text = opened.page.evaluate("getComputedStyle(document.body).backgroundColor")
        return sum(int(part) for part in text[4:-1].split(","))

    with dashboard(browser, service, scheme="dark") as dark, dashboard(browser, service) as light:
        assert ground(dark) < 200 < 600 < ground(light)
        light.press("Theme: auto")
        light.press("Theme: light")
        expect(light["theme"]).to_have_text("Theme: dark")
        assert ground(light) == ground(dark)
        light.page.reload()
        assert ground(light) == ground(dark)
        light.press("Theme: dark")
        assert ground(light) > 600


def test_nothing_has_to_be_scrolled_sideways_or_sticks_out_of_its_card(
    browser: Browser, service: Service, site: SmallServer
) -> None:
    dead = f"{site.base}/broken/narrow"
    service.post("/seed/urls", {"urls": [dead]})
    wait_for(service, dead, "dead")
    cut = "[...document.querySelectorAll('button, input, select, textarea')].filter((e) => e.offsetParent &&"
    cut += " (e.getBoundingClientRect().right > innerWidth + 0.5 || e.getBoundingClientRect().height < 20))"
    out = "[...document.querySelectorAll('.card :is(button, input, select, textarea, .badge)')].filter((e) =>"
    out += " e.offsetParent && e.getBoundingClientRect().right > e.closest('.card').getBoundingClientRect().right)"
    with dashboard(browser, service, width=320, height=800) as opened:
        expect(opened.page.locator("#hosts tr th")).to_have_count(12)
        expect(opened.page.locator("#dead tr[data-url]").first).to_be_visible()
        for width in (320, 390, 768, 1280):
            opened.page.set_viewport_size({"width": width, "height": 800})

            assert not opened.is_too_wide(), width
            for part in ALL_PARTS:
                box = opened.page.locator(part).bounding_box()
                assert box is not None and box["x"] >= 0 and box["x"] + box["width"] <= width, (width, part)
            assert opened.page.evaluate(f"{cut}.map((e) => e.outerHTML.slice(0, 80))") == [], width
            assert opened.page.evaluate(f"{out}.map((e) => e.outerHTML.slice(0, 80))") == [], width


def test_everything_can_be_reached_and_done_with_the_keyboard(shown: Dashboard, service: Service) -> None:
    keyboard, active = shown.page.keyboard, "document.activeElement"
    keyboard.press("Tab")
    assert shown.page.evaluate(f"{active}.textContent") == "Skip to content"
    keyboard.press("Enter")
    assert shown.page.evaluate(f"{active}.id") == "main"

    # From the first to the last stop nothing is left out, and each shows that it has the focus.
    shown["hosts-q"].fill("portal.test")
    expect(shown.page.locator("#hosts tr th")).to_have_count(1)
    wanted = "main :is(button, input, select, textarea, summary):not(:disabled)"
    seen = f"[...document.querySelectorAll('{wanted}')].filter((e) => e.checkVisibility())"
    shown.page.evaluate(f"{seen}.forEach((e) => (e.dataset.stop = 'unseen'))")
    shown["main"].focus()
    for _ in range(150):
        keyboard.press("Tab")
        plain = shown.page.evaluate(
            f"(() => {{ const e = {active}; const was = e.dataset.stop; e.dataset.stop = 'seen';"
            " return was === 'unseen' && getComputedStyle(e).outlineStyle === 'none' ? e.outerHTML : null; })()"
        )
        assert plain is None
        if shown.page.evaluate(f"{active}.matches('.foot a[href=\"/metrics\"]')"):
            break
    passed_over = f"[...document.querySelectorAll('{wanted}')].filter((e) => e.dataset.stop === 'unseen')"
    assert shown.page.evaluate(f"{passed_over}.map((e) => e.outerHTML.slice(0, 80))") == []

    pause = shown.page.get_by_role("button", name="Pause portal.test")
    pause.focus()
    keyboard.press("Enter")
    resume = shown.page.get_by_role("button", name="Resume portal.test")
    expect(resume).to_be_focused()
    wait_until(lambda: service.get("/hosts/portal.test").json["paused"] is True, "the host to be paused")
    keyboard.press("Space")
    expect(pause).to_be_focused()

    shown["token-open"].focus()
    keyboard.press("Enter")
    expect(shown["token"]).to_be_focused()
    keyboard.press("Escape")
    expect(shown["token-dialog"]).to_be_hidden()
    expect(shown["token-open"]).to_be_focused()


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_axe_finds_nothing_serious(
    browser: Browser, service: Service, site: SmallServer, scheme: Scheme, width: int
) -> None:
    url = f"{site.base}/broken/axe-{scheme}-{width}"
    service.post("/seed/urls", {"urls": [url]})
    wait_for(service, url, "dead")
    with dashboard(browser, service, scheme=scheme, width=width, token=False) as opened:
        expect(opened.page.locator("#hosts tr th")).to_have_count(12)
        expect(opened.page.locator("#dead tr .address").first).to_be_visible()
        opened.page.get_by_label("URL", exact=True).fill(url)
        opened["explain"].get_by_role("button").click()
        expect(opened["story"]).to_contain_text("server_error")
        assert findings(opened.page) == []

        opened.press("Add seeds")  # an empty field: the browser says so, and nothing is sent
        opened["token-open"].click()
        opened.unlock("wrong")
        expect(opened["token-told"]).to_be_visible()
        assert findings(opened.page) == []


def settle_layout(shown: Dashboard) -> None:
    """Wait until the table of hosts is full: while it grows, what is below it moves away from the pointer."""
    expect(shown.page.locator("#hosts tr[data-host]")).to_have_count(12)


def test_rows_hold_still_under_the_pointer_and_are_current_again_when_it_leaves(shown: Dashboard) -> None:
    settle_layout(shown)
    first = shown.page.locator("#visits tr:has(.url)").first
    first.hover()
    expect(shown["visits-note"]).to_have_text("Not updated while you point at the table.")
    before, pages = first.inner_text(), shown.figure("pages")
    wait_until(lambda: shown.figure("pages") > pages + 20, "more pages")
    assert first.inner_text() == before

    shown["doing"].hover()
    expect(first).not_to_have_text(before)


def test_the_page_stays_where_it_is_when_rows_change_places(shown: Dashboard) -> None:
    expect(shown.page.locator("#hosts tr[data-host]")).to_have_count(12)
    # By the place of the table, not by the scroll position: an update may change the height of what is above it.
    before, after, scrolled = shown.page.evaluate(
        """async () => {
            const hosts = document.querySelector("#hosts"), frame = () => new Promise(requestAnimationFrame);
            const top = () => hosts.getBoundingClientRect().top;
            scrollTo(0, scrollY + hosts.rows[3].getBoundingClientRect().top);
            await frame(); await frame();
            const before = top();
            hosts.prepend(hosts.rows[10], hosts.rows[11]);
            await frame(); await frame();
            return [before, top(), scrollY];
        }"""
    )
    assert scrolled > 0
    assert abs(before - after) < 10  # a row is more than twice as high


def test_a_lost_connection_is_shown_and_recovers_when_the_service_is_back(
    browser: Browser, site: SmallServer, tmp_path: Path
) -> None:
    port = lasting_port()
    with Service(tmp_path / "crawl", "--port", port) as service:
        service.post("/seed/urls", {"urls": [f"{site.base}/before"]})
        wait_for(service, f"{site.base}/before", "stored")
        with dashboard(browser, service) as opened:
            expect(opened["pages"]).to_have_text("1")
            expect(opened["banner"]).to_be_hidden()
            assert service.stopped() == 0
            expect(opened["banner"]).to_contain_text("Connection to the service lost")
            expect(opened["state"]).to_have_text("not connected")
            assert findings(opened.page) == []

            with Service(tmp_path / "crawl", "--port", port) as again:
                expect(opened["banner"]).to_be_hidden()
                expect(opened["notices"]).to_contain_text("Reconnected.")
                again.post("/seed/urls", {"urls": [f"{site.base}/after"]})
                expect(opened["pages"]).to_have_text("2")
                expect(opened["state"]).to_have_text("idle")
                opened.press("Pause crawl")
                expect(opened["state"]).to_have_text("paused")
