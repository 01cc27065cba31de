"""A sitemap that has proved truthful brings the visit of a changed page forward; one that has not does not. The weeks
in which it proves what it is pass on the clock of a rehearsal."""

import datetime
from collections import Counter
from pathlib import Path

import pytest

from gossamer.clock import CLOCK_FILE, SharedClock
from gossamer.model.units import DAY, Seconds
from gossamer.recrawl.change_hints import ENOUGH, HostChangeHistory, HostTrust
from tests.integration.crawl_process import Ended, gossamer
from tests.integration.small_server import NOTHING, Answer, SmallServer, links, page
from tests.integration.test_sitemap_crawl import LOCAL, robots, rows, urlset

pytestmark = pytest.mark.service

PAGES = tuple(f"/{number}" for number in range(ENOUGH + 2))
TOML = '[recrawl]\nshortest = 0.001\n[[recrawl.rules]]\npattern = "*/map.xml"\ninterval = 0.001\n'
"""The sitemap is always due; pages are in two weeks."""


class Place:
    """A site, a sitemap of it, there or on another host, and a crawl that is run from time to time."""

    def __init__(self, folder: Path, server: SmallServer, held: dict[str, Answer], lists: SmallServer) -> None:
        """`lists` has the sitemap, of what is `held` by `server`."""
        self.folder, self.server, self.held, self.lists = folder, server, held, lists
        (folder / "crawl").mkdir()
        (folder / "gossamer.toml").write_text(TOML)
        self.clock = SharedClock(folder / "crawl" / CLOCK_FILE)
        self.dates = dict.fromkeys(PAGES, "2024-05-06")
        self.texts = dict.fromkeys(PAGES, "as it was")
        self.show()

    def show(self) -> None:
        listed = [f"<loc>{self.server.base}{path}</loc><lastmod>{date}</lastmod>" for path, date in self.dates.items()]
        self.held.update({path: page(path + text) for path, text in self.texts.items()})
        self.held["/map.xml"] = urlset(*listed)
        self.held["/robots.txt"] = robots(f"Sitemap: {self.lists.base}/map.xml")
        self.held["/"] = links(*PAGES)

    def changes(self, *paths: str, indeed: bool = True) -> None:
        """Pages change, or the sitemap only says so."""
        now = datetime.datetime.fromtimestamp(self.clock.now(), datetime.UTC).isoformat(timespec="microseconds")
        self.dates.update(dict.fromkeys(paths, now))
        if indeed:
            self.texts.update(dict.fromkeys(paths, f"changed {now}"))
        self.show()

    def crawl(self) -> tuple[Ended, Counter[str]]:
        """Run it once. What was asked for."""
        before = Counter(self.server.paths())
        seeds = dict.fromkeys((self.server.base, self.lists.base))
        where = ("--dir", self.folder / "crawl", "--config", self.folder / "gossamer.toml", "--rehearse", 1_000)
        ended = gossamer("crawl", *seeds, *where, *LOCAL)
        assert ended.status == 0, ended.err
        return ended, Counter(self.server.paths()) - before

    def days_pass(self, days: float) -> None:
        self.clock.advance(Seconds(days * DAY))

    def proves(self, *, truthful: bool) -> None:
        """Visit all pages; read that all have changed; visit them when they are due."""
        self.crawl()
        self.days_pass(1.0)
        self.changes(*PAGES, indeed=truthful)
        _, early = self.crawl()
        assert not early.keys() & {*PAGES}  # nobody believes it yet
        self.days_pass(60.0)
        _, due = self.crawl()
        assert due.keys() >= {*PAGES}
        self.days_pass(1.0)

    def trust(self) -> HostTrust:
        """In the host of the pages."""
        query = (
            f"SELECT h.changing FROM hosts h JOIN urls u ON u.host_id = h.id WHERE u.url LIKE '%:{self.server.port}/1'"
        )
        return HostChangeHistory.from_text(str(rows(self.folder, query)[0][0])).trust


@pytest.mark.parametrize("truthful", [True, False])
def test_a_page_that_a_sitemap_says_has_changed_is_visited_at_once_where_that_has_proved_true(
    tmp_path: Path, truthful: bool
) -> None:
    held: dict[str, Answer] = {}
    with SmallServer(held) as server:
        place = Place(tmp_path, server, held, server)
        place.proves(truthful=truthful)
        earned = place.trust()
        place.changes("/3")
        ended, asked = place.crawl()
        told = gossamer("status", "--dir", tmp_path / "crawl", "--json").report["recrawl"]
        story = gossamer("explain", server.base + "/3", "--dir", tmp_path / "crawl", "--json").report["recrawl"]

    again = int(truthful)
    assert (earned.reports, earned.confirmed) == (len(PAGES), again * len(PAGES))
    assert [asked[path] for path in PAGES] == [again if path == "/3" else 0 for path in PAGES]
    assert ended.report["changed"] == 2 + again * (len(PAGES) + 1)  # the sitemap has changed twice
    assert isinstance(told, dict) and isinstance(story, dict)
    assert told["reported"] == again
    assert story["signals"]["reports_believed"] is truthful
    assert story["signals"]["reports_judged"] == len(PAGES) + again
    assert place.trust().confirmed == (len(PAGES) + 1) * again


def test_a_report_brings_the_visit_to_a_host_forward_that_nothing_else_is_due_on(tmp_path: Path) -> None:
    held: dict[str, Answer] = {}

    def only_the_list(path: str, _: int) -> Answer:
        return held.get(path, NOTHING) if path == "/map.xml" else NOTHING

    with SmallServer(held) as server, SmallServer(only_the_list) as lists:
        place = Place(tmp_path, server, held, lists)
        place.proves(truthful=True)
        place.changes("/3")
        ended, asked = place.crawl()

    assert [path for path in PAGES if asked[path]] == ["/3"]
    assert ended.report["changed"] == 2 + len(PAGES) + 1
