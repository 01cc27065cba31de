"""Wider rules bring back what was refused: the crawl ends with the URLs that it would have had from the start."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import gossamer
from gossamer.crawl.run.opener import CrawlLocation, open_crawl
from gossamer.observe.snapshot import Snapshot
from gossamer.reports.records import PageFilter
from tests.integration.small_server import Answer, SmallServer, links, page

pytestmark = pytest.mark.service

HERE, THERE = "127.0.30.1", "127.0.30.2"
LONG = "/long-" + "x" * 120


def sites(stack: ExitStack) -> tuple[SmallServer, SmallServer]:
    """Two hosts. Each rule below keeps something of them out."""
    there: dict[str, Answer] = {
        "/": links("/x", "/y.gif", "/robots-only"),
        **{path: page(f"there {path}") for path in ("/x", "/y.gif", "/moved", "/listed")},
    }
    other = stack.enter_context(SmallServer(there, THERE))
    base = other.base
    xml = {"content-type": "application/xml"}
    listed = "".join(
        f"<url><loc>{url}</loc></url>" for url in ("/listed", "/skip/listed", "/listed.gif", f"{base}/listed")
    )
    here: dict[str, Answer] = {
        "/robots.txt": Answer("Sitemap: /map.xml\nUser-agent: *\nDisallow: /denied\n"),
        "/map.xml": Answer(f"<urlset>{listed}</urlset>", headers=xml),
        "/": links(
            *("/a", "/skip/one", "/file.gif", LONG, "/to-other", "/to-skip", "/p/p/p/p/p/p", "/note.txt", "/denied"),
            *(f"{base}/", "mailto:x@y.test"),
        ),
        "/a": links("/b", "/skip/two"),
        "/b": links("/c", f"{base}/x"),
        "/c": links("/d"),
        "/to-other": Answer(status=302, headers={"location": f"{base}/moved"}),
        "/to-skip": Answer(status=302, headers={"location": "/skip/moved"}),
        "/note.txt": Answer("plain text", headers={"content-type": "text/plain"}),
        **{
            path: page(f"here {path}")
            for path in ("/d", "/skip/one", "/skip/two", "/skip/moved", "/file.gif", LONG, "/p/p/p/p/p/p", "/listed")
        },
        "/skip/listed": page("here skip listed"),
        "/listed.gif": page("here listed gif"),
    }
    return stack.enter_context(SmallServer(here, HERE)), other


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    with ExitStack() as stack:
        yield sites(stack)[0].base + "/"


Settings = Mapping[str, Any]
ANY = {"scope": "any"}
RULES: dict[str, tuple[Settings, Settings]] = {
    "scope": ({}, ANY),
    "depth": ({**ANY, "max_depth": 1}, ANY),
    "pattern": ({**ANY, "filter": {"exclude": ["*/skip/*"]}}, ANY),
    "include": ({**ANY, "filter": {"include": ["*/a", f"http://{HERE}*/"]}}, ANY),
    "extension": (ANY, {**ANY, "filter": {"exclude_extensions": []}}),
    "length": ({**ANY, "filter": {"max_url_bytes": 60}}, ANY),
    "domain": ({**ANY, "filter": {"exclude_domains": [THERE]}}, ANY),
    "repeats": (ANY, {**ANY, "traps": {"cut": False}}),
    "requests": ({**ANY, "politeness": {"max_per_domain": 3}}, ANY),
    "address": ({**ANY, "allow_private": False, "allow_networks": [HERE]}, ANY),
    "kinds": ({**ANY, "fetch": {"kinds": ["html"]}}, {**ANY, "fetch": {"kinds": ["any"]}}),
    "host": ({**ANY, "host": {HERE: {"exclude": ["*/a"]}}}, ANY),
    "two at once": ({"max_depth": 1}, ANY),
}


def crawl(seed: str, directory: Path, settings: Settings) -> Snapshot:
    """Crawl to the end, with the library."""
    usual: dict[str, Any] = {"delay": 0.0, "delay_factor": 0.0, "allow_private": True, "dir": str(directory)}

    async def run() -> Snapshot:
        async with gossamer.Crawl(seed, config={**usual, **settings}) as running:
            return await running.run()

    last = asyncio.run(run())
    assert last.finished
    return last


def urls(directory: Path) -> dict[str, str]:
    """Every URL that was not excluded, and its state."""
    with open_crawl(CrawlLocation(directory)) as opened:
        rows = list(opened.reader.pages.stream(PageFilter()))
    return {row.url: row.state.word for row in rows if row.state.word != "excluded"}


@pytest.fixture(scope="module")
def wanted(site: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    """By rule: the URLs of a crawl that had the wider rule from the start."""
    folder, known = tmp_path_factory.mktemp("wide"), {}
    for name, (_, wide) in RULES.items():
        text = repr(wide)
        if text not in known:
            crawl(site, folder / name, wide)
            known[text] = urls(folder / name)
    return {name: known[repr(wide)] for name, (_, wide) in RULES.items()}


def test_a_crawl_that_was_widened_ends_with_the_urls_of_one_that_was_wide_from_the_start(
    site: str, wanted: dict[str, dict[str, str]], tmp_path: Path
) -> None:
    for name, (narrow, wide) in RULES.items():
        directory = tmp_path / name
        assert crawl(site, directory, narrow).readmission is None
        assert urls(directory) != wanted[name], name

        last = crawl(site, directory, wide)

        assert urls(directory) == wanted[name], name
        assert last.readmission is not None and last.readmission.complete, name
        assert last.readmission.returned > 0, name
        assert crawl(site, directory, wide).readmission is None, name


def test_rules_that_were_wide_then_narrow_lose_nothing_when_they_are_wide_again(
    site: str, wanted: dict[str, dict[str, str]], tmp_path: Path
) -> None:
    for name in ("scope", "depth", "pattern"):
        narrow, wide = RULES[name]
        for settings in ({**wide, "max_pages": 3}, narrow, wide):
            options = {key: value for key, value in settings.items() if key != "max_pages"}
            if "max_pages" in settings:
                stop_early(site, tmp_path / name, options)
            else:
                crawl(site, tmp_path / name, options)

        assert urls(tmp_path / name) == wanted[name], name


def stop_early(seed: str, directory: Path, settings: Settings) -> None:
    usual: dict[str, Any] = {"delay": 0.0, "delay_factor": 0.0, "allow_private": True, "dir": str(directory)}

    async def run() -> None:
        async with gossamer.Crawl(seed, config={**usual, **settings, "max_pages": 3}) as running:
            await running.run()

    asyncio.run(run())
