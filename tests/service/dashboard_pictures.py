"""The pictures of the dashboard in docs/, taken of a real crawl of a simulated web that has all sorts of things in it.

python -m tests.service.dashboard_pictures docs
"""

import sys
import tempfile
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import expect

from gossamer.lab.simweb.run import SimwebProcess
from tests.browser import running_browser
from tests.integration.crawl_process import small_web, wait_until
from tests.integration.small_server import SmallServer
from tests.service.dashboard_scene import Dashboard, dashboard, extra_site, watched

SECONDS = 60
"""Of the crawl, before it is pictured: enough for the charts to show something."""
WEB = small_web(hosts=600, pages=60_000, seed_hosts=20, external_links=0.4)


def main(folder: Path) -> None:
    with (
        tempfile.TemporaryDirectory() as crawl,
        SimwebProcess(WEB) as web,
        SmallServer(extra_site) as site,
        running_browser() as browser,
        watched(Path(crawl), web.dns_address) as service,
    ):
        lost = [
            "http://nobody.test/",
            "http://gone.invalid.test/about",
            f"{site.base}/broken/1",
            f"{site.base}/broken/2",
        ]
        service.post("/seed/urls", {"urls": [*web.seeds, *lost]})
        wait_until(lambda: service.get("/status").json["seconds"] > SECONDS, "enough to show", 5 * SECONDS)
        busiest, second = (host["host"] for host in service.get("/hosts?limit=2").json["hosts"])
        service.post(f"/hosts/{second}", {"action": "pause"})
        with dashboard(browser, service, width=1440) as opened:
            show_much(opened)
            keep(folder / "dashboard-light.png", opened.page.screenshot(full_page=True))
            opened.host_row(busiest).get_by_role("button", name=busiest, exact=True).click()
            expect(opened["host-facts"]).to_contain_text("known pages")
            keep(folder / "dashboard-host.png", opened["hosts-part"].screenshot())
        with dashboard(browser, service, width=1440, height=1010, scheme="dark") as opened:
            show_much(opened)
            keep(folder / "dashboard-dark.png", opened.page.screenshot())
        with dashboard(browser, service, width=390, height=844, scale=2.0) as opened:
            keep(folder / "dashboard-phone.png", opened.page.screenshot())


def show_much(opened: Dashboard) -> None:
    """Rows in every table, and a story."""
    expect(opened.page.locator("#hosts tr th")).to_have_count(12)
    expect(opened.page.locator("#visits .address")).to_have_count(12)
    opened.page.get_by_role("button", name="explain http").first.click()
    expect(opened["story"]).to_contain_text("Found", ignore_case=True)
    opened.page.evaluate("scrollTo(0, 0)")
    opened["doing"].hover()
    expect(opened["visits-note"]).to_contain_text("Most recent visits")


def keep(path: Path, png: bytes) -> None:
    """With 256 colours: it needs no more, and is a third as large."""
    Image.open(BytesIO(png)).convert("RGB").quantize(256).save(path, optimize=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
