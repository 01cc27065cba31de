"""Crawls from Python: the examples of the documents, run; and what happens at their edges."""

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gossamer import Crawl, Hook, Outcome, Page, crawl_pages
from gossamer.errors import GossamerError, UsageError
from tests.integration.small_server import Answer, SmallServer

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "EXTENDING.md"


def linking(*targets: str, title: str = "a page") -> Answer:
    return Answer(f"<title>{title}</title>" + "".join(f'<a href="{target}">{target}</a>' for target in targets))


SITE = {
    "/": linking("/a", "/b", "/private/c", title="home"),
    "/a": Answer("<title>first</title><p>one two three four five six seven eight nine ten</p>"),
    "/b": linking("/gone", title="second"),
    "/private/c": linking(title="hidden"),
}


@pytest.fixture
def server() -> Iterator[SmallServer]:
    with SmallServer(SITE) as served:
        yield served


def local(tmp_path: Path) -> dict[str, Any]:
    return {"dir": str(tmp_path / "crawl"), "allow_private": True, "delay": 0.0, "delay_factor": 0.0}


def example(number: int) -> dict[str, Any]:
    """What the nth example of the documents defines."""
    code = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), flags=re.DOTALL)[number]
    defined: dict[str, Any] = {"__name__": "example"}
    exec(compile(code, f"example {number}", "exec"), defined)
    return defined


def paths(server: SmallServer, urls: list[str]) -> set[str]:
    return {url.removeprefix(server.base) for url in urls}


def test_the_example_with_an_event_loop_gives_every_page_with_its_title(server: SmallServer, tmp_path: Path) -> None:
    titles = asyncio.run(example(1)["main"](server.base + "/", **local(tmp_path)))

    assert paths(server, list(titles)) == {"/", "/a", "/b", "/private/c"}
    assert titles[server.base + "/b"] == "second"


def test_the_first_example_finds_the_longest_page(server: SmallServer, tmp_path: Path) -> None:
    assert example(0)["longest"](server.base + "/", **local(tmp_path)).endswith("/a")


def test_the_example_of_selectors_reads_what_is_in_the_boxes(tmp_path: Path) -> None:
    box = "<div class=quote><b class=text>T</b><a class=tag href=/t>x</a><a class=tag>y</a><time>May 1999</time></div>"
    with SmallServer({"/": Answer(f"<title>q</title>{box}<div class=quote></div>")}) as server:
        (page,) = crawl_pages(server.base + "/", max_pages=1, **local(tmp_path))

        assert example(2)["quotes_in"](page) == [
            {"text": "T", "tags": ["x", "y"], "link": "/t", "year": "1999"},
            {"text": "", "tags": [], "link": None, "year": None},
        ]


def test_the_examples_of_a_crawl_on_disk_read_it(server: SmallServer, tmp_path: Path) -> None:
    list(crawl_pages(server.base + "/", **local(tmp_path)))

    assert example(3)["broken_links"](str(tmp_path / "crawl")) == [(server.base + "/gone", server.base + "/b")]
    with pytest.raises(ValueError, match="empty"):
        example(3)["longest_german"](str(tmp_path / "crawl"))


def test_pages_come_to_a_caller_within_another_event_loop(server: SmallServer, tmp_path: Path) -> None:
    async def within() -> list[str]:
        return [found.url for found in crawl_pages(server.base + "/", **local(tmp_path))]

    assert len(asyncio.run(within())) == 4


def test_the_hook_of_the_documents_hears_pages_and_outcomes_and_keeps_links_out(
    server: SmallServer, tmp_path: Path
) -> None:
    watcher = example(5)["Watcher"]()
    found = list(crawl_pages(server.base + "/", hooks=[watcher], **local(tmp_path)))

    assert paths(server, [each.url for each in found]) == {"/", "/a", "/b"}
    assert watcher.words >= 10
    assert not any("/private/" in asked.path for asked in server.asked)


def test_a_page_has_its_links_whole_and_its_body_as_it_was(server: SmallServer, tmp_path: Path) -> None:
    found = {each.url: each for each in crawl_pages(server.base + "/", **local(tmp_path))}
    home = found[server.base + "/"]

    assert paths(server, [link.url for link in home.links]) == {"/a", "/b", "/private/c"}
    assert home.body == SITE["/"].body.encode()
    assert (home.status, home.depth, home.is_html) == (200, 0, True)
    assert found[server.base + "/a"].depth == 1


def test_a_crawl_that_is_left_early_goes_on_where_it_stopped(server: SmallServer, tmp_path: Path) -> None:
    async def first() -> list[str]:
        async with Crawl(server.base + "/", concurrency=1, **local(tmp_path)) as crawl:
            async for found in crawl.pages():
                return [found.url]
        return []

    async def rest() -> list[str]:
        async with Crawl(**local(tmp_path)) as crawl:
            return [found.url async for found in crawl.pages()]

    early = asyncio.run(first())
    later = asyncio.run(rest())

    assert paths(server, early) == {"/"}
    assert set(early) | set(later) <= {server.base + path for path in SITE}
    assert not set(early) & set(later)
    asked = [each.path for each in server.asked if each.path in SITE]
    assert sorted(asked) == sorted(SITE)  # every page was fetched, and once


def test_run_tells_what_came_of_the_crawl(server: SmallServer, tmp_path: Path) -> None:
    async def run() -> tuple[int, bool]:
        async with Crawl(server.base + "/", **local(tmp_path)) as crawl:
            last = await crawl.run()
            return last.pages, last.finished

    assert asyncio.run(run()) == (4, True)


class Slow(Hook):
    """Notes how many pages of the crawl were stored while it was busy with its first."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def on_outcome(self, outcome: Outcome) -> None:
        self.calls.append(outcome.state.word)

    def on_page(self, page: Page) -> None:
        raise RuntimeError(f"cannot use {page.title}")

    def close(self) -> None:
        self.calls.append("closed")


def test_a_hook_that_raises_is_logged_and_hears_on(server: SmallServer, tmp_path: Path) -> None:
    hook = Slow()
    found = list(crawl_pages(server.base + "/", hooks=[hook], **local(tmp_path)))

    assert len(found) == 4
    assert sorted(hook.calls) == ["closed", "missing", "stored", "stored", "stored", "stored"]
    assert hook.calls[-1] == "closed"
    log = (tmp_path / "crawl" / "crawl.log").read_text()
    assert log.count('"hook.failed"') == 4 and "cannot use second" in log


def test_a_slow_consumer_slows_the_crawl_down(tmp_path: Path) -> None:
    """3,000 pages on one server, of which one is taken: the crawl stops fetching near the bound and a commit more."""
    many = {"/": linking(*(f"/{n}" for n in range(3000)))}

    def site(path: str, _: int) -> Answer:
        return many.get(path) or Answer(f"<title>{path}</title><p>{path} {path * 3}</p>")

    async def run(server: SmallServer) -> int:
        async with Crawl(server.base + "/", **local(tmp_path)) as crawl:
            async for _ in crawl.pages():
                for _ in range(60_000):
                    now = crawl._open_session().watch.snapshot()
                    if now.queues["listeners"].saturation >= 0.8 and not now.in_flight:
                        return now.fetched
                    await asyncio.sleep(0.01)
        raise AssertionError("it never stood still")

    with SmallServer(site) as server:
        assert asyncio.run(run(server)) < 1500


def test_what_cannot_be_used_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="max_pagez"):
        Crawl("http://x.test/", max_pagez=3)
    with pytest.raises(UsageError, match="'nobody'"):
        list(crawl_pages("http://x.test/", hooks=["nobody"], **local(tmp_path)))


def test_pages_outside_the_block_are_an_error(tmp_path: Path) -> None:
    crawl = Crawl("http://x.test/", dir=str(tmp_path))
    with pytest.raises(GossamerError, match="not open"):
        crawl.status()
