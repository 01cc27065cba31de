"""The dashboard of a service that is bound to all addresses, in a real browser: logging in, acting, logging out, and
what gets in without a session."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Request, expect

from gossamer.clock import SteadyClock
from gossamer.service.access import SESSION_SECONDS, session_value
from tests.browser import findings, running_browser
from tests.integration.small_server import SmallServer
from tests.service.dashboard_scene import extra_site
from tests.service.service_process import Service

pytestmark = pytest.mark.service


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running_browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with Service(tmp_path_factory.mktemp("login") / "crawl", "--host", "0.0.0.0") as served:
        yield served


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A browser without cookies."""
    opened = browser.new_context()
    yield opened
    opened.close()


def address(service: Service, path: str = "/") -> str:
    return f"http://localhost:{service.port}{path}"


def log_in(page: Page, token: str) -> None:
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Log in").click()


def put_session(context: BrowserContext, service: Service, value: str) -> None:
    context.add_cookies([{"name": "gossamer", "value": value, "url": address(service)}])


def status_of(page: Page, path: str, method: str = "GET") -> int:
    """The status of a request from a page of the browser, with its cookies; 0 if the browser may not see it."""
    script = """([path, method]) => fetch(path, {method, credentials: "include", headers: method === "GET" ? {} : {
        "Content-Type": "text/plain"}, body: method === "GET" ? undefined : '{"action": "pause"}'}
    ).then((response) => response.status, () => 0)"""
    return int(page.evaluate(script, [path, method]))


def test_one_logs_in_with_the_token_acts_and_logs_out(context: BrowserContext, service: Service) -> None:
    page = context.new_page()
    page.goto(address(service))
    expect(page).to_have_url(address(service, "/login"))
    assert findings(page) == []
    field = page.get_by_label("Token").bounding_box()
    assert field is not None and field["width"] > 200

    log_in(page, "wrong-wrong-wrong-wrong")
    expect(page.get_by_role("alert")).to_have_text("Wrong token.")
    assert context.cookies() == []
    log_in(page, service.token)
    expect(page).to_have_url(address(service))
    expect(page.locator("#as-of")).to_contain_text("As of")
    (cookie,) = context.cookies()
    assert cookie["httpOnly"] and cookie["sameSite"] == "Strict" and not cookie["secure"]
    assert 0 < cookie["expires"] - SteadyClock().now() <= SESSION_SECONDS
    assert page.evaluate("document.cookie + JSON.stringify({...sessionStorage, ...localStorage})") == "{}"
    expect(page.locator("#token-open")).to_be_hidden()
    page.goto(address(service, "/login"))
    expect(page).to_have_url(address(service))

    page.get_by_role("button", name="Pause crawl").click()
    expect(page.locator("#state")).to_have_text("paused")
    page.get_by_role("button", name="Resume crawl").click()
    expect(page.locator("#state")).to_have_text("idle")

    page.get_by_role("button", name="Log out").click()
    expect(page).to_have_url(address(service, "/login"))
    assert context.cookies() == []
    page.goto(address(service))
    expect(page).to_have_url(address(service, "/login"))


def reads(request: Request) -> bool:
    """Whether this is a request of the page's code that changes nothing."""
    return request.resource_type == "fetch" and request.method == "GET"


def test_a_session_that_ends_while_the_page_is_open_leads_back_to_the_login(
    context: BrowserContext, service: Service
) -> None:
    put_session(context, service, session_value(service.token, int(SteadyClock().now()) + 3600))
    page = context.new_page()
    page.goto(address(service))
    expect(page.locator("#as-of")).to_contain_text("As of")

    # Otherwise a list that the page reads from time to time may be the first to find that the session has ended.
    page.route(lambda url: True, lambda route: route.abort() if reads(route.request) else route.continue_())
    put_session(context, service, session_value(service.token, int(SteadyClock().now())))
    page.get_by_role("button", name="Pause crawl").click()

    expect(page).to_have_url(address(service, "/login"))
    page.unroute_all()
    log_in(page, service.token)
    expect(page.locator("#state")).to_have_text("idle")


def test_the_open_page_of_an_expired_session_leads_back_to_the_login(context: BrowserContext, service: Service) -> None:
    put_session(context, service, session_value(service.token, int(SteadyClock().now()) + 5))
    page = context.new_page()
    page.goto(address(service))
    expect(page).to_have_url(
        address(service, "/login")
    )  # at once on a very slow machine, otherwise when the stream ends


def test_expired_and_forged_sessions_open_nothing(context: BrowserContext, service: Service) -> None:
    now = int(SteadyClock().now())
    _, _, signature = session_value(service.token, now - 1).split(".")
    page = context.new_page()
    for value in (
        session_value(service.token, now - 1),
        f"v1.{now + 3600}.{signature}",
        session_value("x" * 43, now + 3600),
        f"v1.{now + 3600}.",
    ):
        put_session(context, service, value)
        page.goto(address(service))
        expect(page).to_have_url(address(service, "/login"))
        assert status_of(page, "/status") == 401 and status_of(page, "/crawl", "POST") == 401


def test_a_page_of_another_origin_cannot_use_the_session(context: BrowserContext, service: Service) -> None:
    put_session(context, service, session_value(service.token, int(SteadyClock().now()) + 3600))
    page = context.new_page()
    answers: list[int] = []
    page.on("response", lambda response: answers.append(response.status) if "/crawl" in response.url else None)
    with SmallServer(extra_site) as other:
        # The same site to the browser, so it sends the cookie; only the port differs.
        page.goto(other.base.replace("127.0.0.1", "localhost"))
        assert status_of(page, address(service, "/crawl"), "POST") == 0
        page.evaluate(
            """(action) => { const form = document.createElement("form"); Object.assign(form, {method: "post", action});
            document.body.append(form); form.submit(); }""",
            address(service, "/crawl"),
        )
        expect(page.locator("body")).to_contain_text("cross-origin request")

    assert answers and {*answers} == {403}
    assert service.get("/crawl", Authorization=f"Bearer {service.token}").json["state"] == "idle"
