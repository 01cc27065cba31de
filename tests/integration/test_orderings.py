"""Whole crawls under every ordering: complete, and with a single slot in exactly the order of the formula."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from gossamer.cli.simulate import graph_of_crawl
from gossamer.crawl.run.location import CrawlLocation
from gossamer.lab.simweb.audit import ground_truth
from tests.contracts.test_whole_orders import MODELS, Web
from tests.integration.crawl_checks import page_requests
from tests.integration.crawl_process import gossamer, scene, small_web

pytestmark = pytest.mark.service

ONE_SLOT = ("--concurrency", 1, "--delay", 0, "--delay-factor", 0)


def stored(folder: Path) -> set[str]:
    with closing(sqlite3.connect(folder / "crawl.db")) as db:
        return {url for (url,) in db.execute("SELECT url FROM urls WHERE state = 1")}


def place_of(url: str) -> tuple[str, str]:
    """Host and path, as the server notes them."""
    authority, _, path = url.partition("//")[2].partition("/")
    return authority.partition(":")[0], "/" + path


@pytest.mark.parametrize("order", ["best-first", "dfs", "novelty", "balance", "importance"])
def test_an_ordering_finds_all_that_there_is(order: str, tmp_path: Path) -> None:
    config = small_web(seed=31, hosts=15, pages=150, duplicate_rate=0.0)
    with scene(tmp_path, config, options=("--order", order)) as stage:
        ended = gossamer(*stage.command)
        truth = ground_truth(stage.web.web())

    assert ended.status == 0, ended.err
    assert ended.report["politeness_violations"] == 0
    assert stored(stage.dir) == set(truth.stored)


def test_the_ordering_can_be_changed_in_the_middle_of_a_crawl(tmp_path: Path) -> None:
    config = small_web(seed=32, hosts=15, pages=150, duplicate_rate=0.0)
    with scene(tmp_path, config) as stage:
        for pages, order in ((30, "mercator"), (60, "importance"), (90, "dfs")):
            assert gossamer(*stage.command, "--max-pages", pages, "--order", order).status == 0
        ended = gossamer(*stage.command, "--order", "bfs")
        truth = ground_truth(stage.web.web())

    assert ended.status == 0, ended.err
    assert stored(stage.dir) == set(truth.stored)


@pytest.mark.parametrize("order", ["bfs", "dfs", "novelty", "balance", "importance"])
def test_with_one_slot_the_order_of_a_crawl_is_the_formulas(order: str, tmp_path: Path) -> None:
    plain = {
        "redirect_rate": 0.0,
        "duplicate_rate": 0.0,
        "missing_rate": 0.0,
        "disallowed_rate": 0.0,
        "fault_rate": 0.0,
    }
    config = small_web(seed=33, hosts=8, pages=80, crawl_delay_seconds=0.0, **plain)
    with scene(tmp_path, config, options=("--order", order, *ONE_SLOT)) as stage:
        ended = gossamer(*stage.command)
    asked = [(r.host, r.target) for r in page_requests(stage.web.requests())]
    assert ended.status == 0, ended.err

    graph = graph_of_crawl(CrawlLocation(stage.dir))
    assert graph.urls is not None
    links = [list(graph.links_of(page)) for page in range(graph.pages)]
    expected = MODELS[order](Web(list(graph.urls), links, list(graph.seeds))).run()

    assert asked == [place_of(graph.urls[page]) for page in expected]
