"""A sitemap that has proved truthful brings the visit of a changed page forward; one that has not does not."""

import datetime
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from running import gossamer
from small_server import Answer, SmallServer, links, page
from test_sitemap_crawl import crawl, robots, rows, urlset

from gossamer.crawl.signals import HostChanging
from gossamer.recrawl.trust import HostTrust

pytestmark = pytest.mark.service

PAGES = ("/a", "/b", "/c")
TOML = '[recrawl]\nshortest = 0.001\n[[recrawl.rules]]\npattern = "*/map.xml"\ninterval = 0.001\n'
"""The sitemap is always due; pages are in two weeks."""
TRUTHFUL = HostTrust(reports=40, confirmed=40, changes=50, foretold=40)


def site(dates: dict[str, str]) -> dict[str, Answer]:
    listed = [f"<loc>{path}</loc><lastmod>{dates[path]}</lastmod>" for path in PAGES]
    return {
        "/robots.txt": robots("Sitemap: /map.xml"),
        "/": links(*PAGES),
        "/map.xml": urlset(*listed),
        **{path: page(path + dates[path]) for path in PAGES},
    }


def remember(folder: Path, trust: HostTrust) -> None:
    """What a longer crawl would have learnt of the host."""
    with closing(sqlite3.connect(folder / "crawl" / "crawl.db")) as db, db:
        db.execute("UPDATE hosts SET changing = ?", (HostChanging(trust=trust).to_text(),))


@pytest.mark.parametrize(("trust", "again"), [(TRUTHFUL, 1), (HostTrust(), 0)])
def test_a_page_that_a_sitemap_says_has_changed_is_visited_at_once_where_that_has_proved_true(
    tmp_path: Path, trust: HostTrust, again: int
) -> None:
    dates = dict.fromkeys(PAGES, "2024-05-06")
    held = site(dates)
    with SmallServer(held) as server:
        first = crawl(server, tmp_path, toml=TOML)
        remember(tmp_path, trust)
        dates["/b"] = datetime.datetime.now(datetime.UTC).isoformat(timespec="microseconds")
        held.update(site(dates))
        second = crawl(server, tmp_path, toml=TOML)
        visits = [server.paths().count(path) for path in PAGES]
        told = gossamer("status", "--dir", tmp_path / "crawl", "--json").report["recrawl"]
        story = gossamer("explain", server.base + "/b", "--dir", tmp_path / "crawl", "--json").report["recrawl"]

    assert (first.status, second.status) == (0, 0)
    assert visits == [1, 1 + again, 1]
    assert second.report["changed"] == 1 + again  # the sitemap has changed, too
    assert isinstance(told, dict) and isinstance(story, dict)
    assert told["reported"] == again
    assert story["signals"]["reports_believed"] is bool(again)
    assert story["signals"]["reports_judged"] == trust.reports + again
    found = rows(tmp_path, "SELECT changing FROM hosts")[0][0]
    assert HostChanging.from_text(str(found)).trust.confirmed == trust.confirmed + again
