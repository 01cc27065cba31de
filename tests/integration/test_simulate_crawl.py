"""A crawl's own link graph, replayed: what is stored is what the web has."""

import json
from pathlib import Path

import pytest

from gossamer.cli.simulate import graph_of_crawl
from gossamer.crawl.run.location import CrawlLocation
from gossamer.lab.simulate.graph import LinkGraph, graph_of_web
from tests.integration.crawl_process import gossamer, scene, small_web

pytestmark = pytest.mark.service


def links_by_name(graph: LinkGraph) -> dict[str, set[str]]:
    assert graph.urls is not None
    return {url: {graph.urls[link] for link in graph.links_of(page)} for page, url in enumerate(graph.urls)}


def test_the_stored_graph_of_a_finished_crawl_is_that_of_the_web_and_can_be_replayed(tmp_path: Path) -> None:
    # Without duplicates, whose links a crawl leaves to the page that it knew already.
    config = small_web(seed=21, hosts=12, pages=150, fault_rate=0.0, duplicate_rate=0.0, redirect_rate=0.1)
    with scene(tmp_path, config) as stage:
        assert gossamer(*stage.command).status == 0
        web = stage.web.web()
        stored = graph_of_crawl(CrawlLocation(stage.dir))

        ended = gossamer("simulate", "--crawl", stage.dir, "--order", "importance", "--rest", 0, "--json")

    assert links_by_name(stored) == links_by_name(graph_of_web(web.config))
    assert stored.urls is not None
    assert {stored.urls[page] for page in stored.seeds} == set(stage.web.seeds)
    found = json.loads(ended.out)
    assert (found["graph"]["pages"], found["seeds"]) == (stored.pages, len(stage.web.seeds))
    assert 50 < found["curves"][0]["shares"][-1] < 100
