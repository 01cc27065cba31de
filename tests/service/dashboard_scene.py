"""The dashboard as people meet it: a real service that crawls a simulated web, and a page of a real browser."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser import PATIENCE
from tests.integration.crawl_process import small_web, wait_until
from tests.integration.small_server import Answer, page
from tests.service.service_process import Service

Scheme = Literal["light", "dark"]
ALL_PARTS = ("#overview", "#hosts-part", "#visits-part", "#dead-part", "#seeds-part", "#limits-part", "#explain-part")
LASTING_WEB = small_web(pages=400_000, fault_rate=0.0)
"""More pages than any test waits for; none of them dies, so that the only dead letters are those of a test."""
EVIL = "<img src=x onerror=document.title='taken'>"
expect.set_options(timeout=PATIENCE * 1000)


def extra_site(path: str, before: int) -> Answer:
    """A site outside the simulated web: pages that fail on the first requests, and one with a hostile title."""
    if path == "/robots.txt":
        return Answer("nothing", 404)
    if path.startswith("/broken"):
        return Answer("sorry", 500) if before < 2 else page(f"mended {path}")
    return page(EVIL.replace("<", "&lt;")) if path == "/evil" else page(path)


def watched(folder: Path, dns: str, *more: object, delay: float = 0.5) -> Service:
    """A service that crawls nothing yet."""
    (folder / "gossamer.toml").write_text(
        "[retry]\nmax_tries = 2\ndelay = 0.05\n[fetch]\nhead_timeout = 600.0\ntotal_timeout = 600.0\n"
    )
    options = ["--config", folder / "gossamer.toml", "--dns", dns, "--scope", "any", "--delay", delay]
    return Service(folder / "crawl", *options, *more)


class Dashboard:
    """One tab. Notes what goes wrong in it."""

    def __init__(self, page: Page, service: Service) -> None:
        self.page = page
        self.address = f"http://127.0.0.1:{service.port}/"
        self.complaints: list[str] = []
        page.set_default_timeout(PATIENCE * 1000)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", lambda message: self.complaints.append(message.text) if message.type == "error" else None)

    def open(self) -> "Dashboard":
        """Open the page and wait for data."""
        self.page.goto(self.address)
        expect(self.page.locator("#as-of")).to_contain_text("As of")
        return self

    def __getitem__(self, name: str) -> Locator:
        """What has this id."""
        return self.page.locator(f"#{name}")

    def press(self, name: str) -> None:
        self.page.get_by_role("button", name=name, exact=True).click()

    def unlock(self, token: str) -> None:
        """Enter the token, in the dialog that asks for it."""
        expect(self["token-dialog"]).to_be_visible()
        self["token"].fill(token)
        self["token-dialog"].get_by_role("button", name="Unlock", exact=True).click()

    def figure(self, name: str) -> int:
        text = self[name].inner_text()
        return int(text.replace(",", "")) if text.replace(",", "").isdigit() else 0

    def host_row(self, host: str) -> Locator:
        """The row of a host, which is sought for by its name."""
        self["hosts-q"].fill(host)
        return self.page.locator(f'#hosts tr[data-host="{host}"]')

    def is_too_wide(self) -> bool:
        """Whether the page has to be scrolled sideways."""
        return bool(self.page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"))


def wait_for(service: Service, url: str, state: str) -> None:
    """Until a URL is in this state, however many others there are."""
    wait_until(lambda: service.get(f"/explain?url={url}").json["state"] == state, f"{url} to be {state}", PATIENCE)


@contextmanager
def dashboard(
    browser: Browser,
    service: Service,
    *,
    width: int = 1280,
    height: int = 900,
    scheme: Scheme = "light",
    token: bool = True,
    scale: float = 1.0,
    prepare: Callable[[Page], None] = lambda page: None,
) -> Iterator[Dashboard]:
    """The dashboard in a tab of its own, open, with its token unless that is what the test is about. `prepare` is
    called before the page is loaded."""
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme=scheme,
        reduced_motion="reduce",
        device_scale_factor=scale,
    )
    try:
        if token:
            context.add_init_script(f"if (!sessionStorage.token) sessionStorage.token = '{service.token}'")
        page = context.new_page()
        prepare(page)
        yield Dashboard(page, service).open()
    finally:
        context.close()
