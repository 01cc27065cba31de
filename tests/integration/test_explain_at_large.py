"""The story of a URL while a crawl runs, under another identity, and of a whole simulated web."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.frontier.orderings.mercator import Mercator
from tests.integration.crawl_process import Command, gossamer, scene, small_web, wait_until
from tests.integration.explain_cases import Explained, ask, part, parts, why
from tests.integration.small_server import Answer, SmallServer, links, page

pytestmark = pytest.mark.service


@pytest.fixture
def slow() -> Iterator[SmallServer]:
    with SmallServer({"/": links("/a", "/b"), "/a": Answer("a", delay=20.0), "/b": page("b")}, "127.0.0.44") as server:
        yield server


def test_a_running_crawl_can_be_asked(tmp_path: Path, slow: SmallServer) -> None:
    (tmp_path / "gossamer.toml").write_text('order = "bfs"\ndelay = 0.03\n')
    crawl = Explained(tmp_path / "crawl", tmp_path / "gossamer.toml", slow.base)
    with Command("crawl", f"{slow.base}/", *crawl.options, "--allow-private", "--quiet") as crawler:
        wait_until(lambda: "/a" in slow.paths() or not crawler.runs, "the slow page to be asked for")
        home, waiting = ask(crawl, f"{slow.base}/"), ask(crawl, f"{slow.base}/b")

    assert home["state"] == "stored"
    assert part(home, "archive")["sound"] is True
    assert waiting["state"] == "queued"
    assert "not running" not in why(waiting)


def test_a_url_that_was_met_in_another_minimised_spelling_is_known_with_and_without_the_setting(tmp_path: Path) -> None:
    (tmp_path / "gossamer.toml").write_text("delay = 0.03\n[filter]\nminimise = true\n")
    (tmp_path / "plain.toml").write_text("delay = 0.03\n")
    with SmallServer({"/": links("/a/"), "/a/": page("a")}, "127.0.0.45") as server:
        crawl = Explained(tmp_path / "crawl", tmp_path / "gossamer.toml", server.base)
        ended = gossamer("crawl", f"{server.base}/", *crawl.options, "--allow-private", "--quiet", "--json")
    assert ended.report["pages"] == 2

    for config in ("gossamer.toml", "plain.toml"):
        story = ask(crawl, f"{server.base}/a", "--config", str(tmp_path / config))
        assert story["state"] == "stored"
        assert part(story, "identity")["known_as"] == f"{server.base}/a/"
        assert part(story, "archive")["sound"] is True


@pytest.mark.parametrize("order", ["mercator", "novelty", "importance"])
def test_the_stories_of_a_whole_simulated_web_agree_with_its_pages(tmp_path: Path, order: str) -> None:
    with scene(tmp_path / "web", small_web(seed=64, hosts=20, pages=150), ["--order", order]) as stage:
        ended = gossamer(*stage.command, "--max-pages", 90)
        assert ended.status == 0, ended.err
        pages = stage.pages()
    crawl = Explained(stage.dir, stage.toml, "")
    seeds = set(stage.web.seeds)

    told = {
        str(known["url"]): ask(crawl, str(known["url"]), "--scope", "tld:test", "--order", order) for known in pages
    }

    assert {known["state"] for known in pages} >= {"stored", "queued"}
    for known in pages:
        story = told[str(known["url"])]
        finding = part(story, "finding")
        way = parts(finding, "way")
        assert (story["state"], story["reason"]) == (known["state"], known["reason"])
        assert (way[0]["url"] if way else None) == known["found_on"]
        assert finding["cut"] is True or (way[-1]["url"] if way else known["url"]) in seeds
        assert (story["archive"] is not None) == (known["state"] in ("stored", "duplicate"))
        assert story["archive"] is None or part(story, "archive")["sound"] is True
        assert (story["place"] is not None) == (known["state"] == "queued")
        standing = part(story, "standing")
        assert standing["priority"] == pytest.approx(sum(float(str(n)) for n in part(standing, "parts").values()))
        assert standing["queued_by"] is None
        if known["state"] == "queued" and order == "mercator":
            # It stands where it was put, and links since then move it only now and then: if so, that is told.
            put_by = standing["priority"] if standing["queued_with"] is None else standing["queued_with"]
            assert standing["front"] == Mercator().front_of(float(str(put_by)) * Mercator.unit)
        elif known["state"] == "queued":
            assert standing["queued_with"] is None
        if known["reason"] == "robots_denied":
            assert part(story, "robots")["line"] is not None
