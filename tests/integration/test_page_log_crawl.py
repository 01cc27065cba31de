"""`--log-pages` as a user sees it: a line for each page that the crawl has committed, by the ordering's own score."""

from pathlib import Path

import pytest

from gossamer.frontier.orderings import ORDERINGS
from tests.integration.crawl_process import gossamer
from tests.integration.small_server import Answer, SmallServer, links, page

pytestmark = pytest.mark.service

SITE = {
    "/": links("/a", "/b", "/gone", "/old"),
    "/a": links("/b"),
    "/b": page("nothing more"),
    "/old": Answer("", 301, {"Location": "/a"}),
}


def test_each_page_is_a_line_on_standard_output_and_the_report_goes_elsewhere(
    tmp_path: Path, server_path: Path
) -> None:
    with SmallServer(SITE) as server:
        common = ("crawl", f"{server.base}/", "--allow-private", "--delay", 0, "--delay-factor", 0)
        refused = gossamer(*common, "--log-pages", "-", "--json", cwd=tmp_path)
        no_folder = gossamer(*common, "--log-pages", "no/such/file", cwd=tmp_path)
        before = list(tmp_path.iterdir())
        order = ("--order", "novelty", "--concurrency", 1)
        ended = gossamer(*common, *order, "--dir", "one", "--log-pages", "-", cwd=tmp_path)
        workers = ("--dir", server_path / "two", "--workers", 2, "--order", "bfs")
        two = gossamer(*common, *workers, "--log-pages", "pages.log", cwd=tmp_path)

    assert (refused.status, no_folder.status, before) == (2, 2, [])
    assert "must be a file, not '-': with --json" in refused.err
    assert "--log-pages: cannot write to 'no/such/file': No such file or directory" in no_folder.err
    assert (ended.status, two.status) == (0, 0), ended.err + two.err
    lines = [line.split() for line in ended.out.splitlines()]
    shown = {line[-1].removeprefix(server.base): (line[1], line[2], line[4]) for line in lines}
    # 10 at first, 0.1 less with every visit of the domain; each reference adds 1, and 0.01 for the domain.
    assert shown == {
        "/": ("10.0000", "0", "200"),
        "/a": ("10.9400", "1", "200"),
        "/b": ("11.8500", "1", "200"),
        "/gone": ("10.7500", "1", "404"),
        "/old": ("10.6500", "1", "301"),
    }
    assert "pages stored" in ended.err
    assert "pages stored" in two.out
    assert {tuple(line.split()[-5:-4]) for line in (tmp_path / "pages.log").read_text().splitlines()} == {("2.0000",)}


FIRST = {
    "mercator": "-2.2373",  # log2(0.15), for a page without links to it, and 0.5 for a home page
    "best-first": "-1.7500",  # the same in quarters, and half of log2((1 + 1) / (0 + 1)) for its host
    "bfs": "2.0000",
    "dfs": "1.0000",  # the first entry
    "novelty": "10.0000",
    "balance": "0.0000",
    "importance": "1.1500",  # 0.15, and 1 / (1 + 0) for its domain
}


def test_the_score_in_a_line_is_in_the_unit_of_the_formula_under_every_ordering(tmp_path: Path) -> None:
    seen = {}
    with SmallServer({"/": page("alone")}) as server:
        for order in ORDERINGS:
            common = ("crawl", f"{server.base}/", "--allow-private", "--delay", 0, "--dir", order, "--order", order)
            ended = gossamer(*common, "--log-pages", "-", cwd=tmp_path)
            seen[order] = [line.split()[1] for line in ended.out.splitlines()]

    assert seen == {order: [score] for order, score in FIRST.items()}
