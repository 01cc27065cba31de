"""Wider rules bring back what was refused: the crawl ends with the URLs that it would have had from the start."""

import asyncio
import json
import os
import signal
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

import gossamer
from gossamer.crawl.run.opener import CrawlLocation, open_crawl
from gossamer.library.crawl import Summary
from gossamer.reports.records import PageFilter
from tests.integration.crawl_process import Command, Constants, wait_until
from tests.integration.crawl_process import gossamer as command
from tests.integration.small_server import Answer, SmallServer, links, page
from tests.service.service_process import Service

pytestmark = pytest.mark.service

HERE, THERE = "127.0.30.1", "127.0.30.2"
LONG = "/long-" + "x" * 120
KILLS = int(os.environ.get("GOSSAMER_WIDENING_KILLS", "3"))


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


def crawl(seed: str, directory: Path, settings: Settings) -> Any:
    """Crawl to the end, with the library. Returns the field `readmission`."""
    usual: dict[str, Any] = {"delay": 0.0, "delay_factor": 0.0, "allow_private": True, "dir": str(directory)}

    async def run() -> Summary:
        async with gossamer.Crawl(seed, config={**usual, **settings}) as running:
            return await running.run()

    last = asyncio.run(run())
    assert last.finished
    return last.to_dict()["readmission"]


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
        assert crawl(site, directory, narrow) is None
        assert urls(directory) != wanted[name], name

        found = crawl(site, directory, wide)

        assert urls(directory) == wanted[name], name
        assert found["done"] == found["pages"] and found["returned"] > 0, name
        assert crawl(site, directory, wide) is None, name


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


# --- the other ways -----------------------------------------------------------------------------------


def options(directory: Path) -> list[object]:
    return ["--dir", directory, "--allow-private", "--delay", 0, "--delay-factor", 0, "--json"]


def test_the_command_line_says_what_became_wider_and_what_came_of_it(
    site: str, wanted: dict[str, dict[str, str]], tmp_path: Path
) -> None:
    assert command("crawl", site, *options(tmp_path), "--max-depth", 1).report["readmission"] is None

    wide = command("crawl", "--scope", "any", "--max-depth", 20, *options(tmp_path))

    found = wide.report["readmission"]
    assert isinstance(found, dict) and found["pages"] == found["done"] > 0 and found["unreadable"] == 0
    changes = "max_depth 1 → 20, scope host → any"
    assert f"Rules are wider ({changes}): reading {found['pages']} pages again for refused links\n" in wide.err
    assert f"\n{found['returned']} URLs queued\n" in wide.err
    assert urls(tmp_path) == wanted["two at once"]


def test_a_running_crawl_whose_rules_become_wider_on_sighup_brings_back_what_was_refused(tmp_path: Path) -> None:
    toml, go_on = tmp_path / "gossamer.toml", threading.Event()
    toml.write_text("max_depth = 1\n")
    other = {"/": links("/1"), "/1": page("other 1")}
    with ExitStack() as stack:
        there = stack.enter_context(SmallServer(other, THERE))
        pages = {"/": links("/a", "/held", f"{there.base}/"), "/a": links("/b"), "/b": page("b"), "/held": page("held")}

        def answer(path: str, _: int) -> Answer:
            if path == "/held":
                go_on.wait()
            return pages.get(path, Answer("", 404))

        here = stack.enter_context(SmallServer(answer, HERE))
        fixed = [*options(tmp_path / "crawl"), "--config", toml, "--quiet"]
        running = stack.enter_context(Command("crawl", f"{here.base}/", *fixed))
        stack.callback(go_on.set)
        wait_until(lambda: {"/a", "/held"} <= set(here.paths()) or not running.runs, "the page that is held")
        toml.write_text('max_depth = 9\nscope = "any"\n')
        os.kill(running.process.pid, signal.SIGHUP)
        log = tmp_path / "crawl" / "crawl.log"
        wait_until(
            lambda: (log.exists() and "rules.readmitted" in log.read_text()) or not running.runs, "the end of the pass"
        )
        go_on.set()
        ended = running.ended()

    assert ended.report["finished"] is True, ended.err
    assert set(urls(tmp_path / "crawl")) == {
        *(here.base + path for path in pages),
        *(there.base + path for path in other),
    }


def test_a_limit_that_is_lifted_through_the_service_brings_back_what_was_refused(tmp_path: Path) -> None:
    deep = {"/": links("/a", "/b"), "/a": links("/c", "/d"), "/b": page("b"), "/c": links("/e"), "/d": page("d")}
    with SmallServer({**deep, "/e": page("e")}, HERE) as here, Service(tmp_path / "crawl") as service:
        service.post("/url/limit", {"excludedDomains": [], "depthLimit": 1, "urlLengthLimit": 2000})
        service.post("/seed/urls", {"urls": [here.base + "/"]})
        service.wait_for(here.base + "/a", "stored")
        service.wait_for(here.base + "/b", "stored")

        answer = service.post("/url/limit", {"excludedDomains": [], "depthLimit": 9, "urlLengthLimit": 2000}).json

        assert answer["rereading"] + answer["returned"] > 0
        service.wait_for(here.base + "/e", "stored")
        wait_until(lambda: service.get("/url/limit").json["rereading"] == 0, "the end of the pass")
        assert service.get("/url/limit").json["returned"] == 2  # /e was found on a page that was fetched after that
        assert service.stopped() == 0


# --- accidents ----------------------------------------------------------------------------------------


def numbered(stack: ExitStack, count: int) -> tuple[str, int]:
    """Pages in a row, each with links to pages of another host. Returns the first, and how many URLs there are."""
    there = stack.enter_context(SmallServer(lambda path, _: page(f"there {path}"), THERE))

    def answer(path: str, _: int) -> Answer:
        if path == "/robots.txt":
            return Answer("", 404)
        number = int(path[1:] or 0)
        following = [f"/{n}" for n in range(4 * number + 1, 4 * number + 5) if n < count]
        return links(*following, f"{there.base}/{number}", f"{there.base}/also-{number}")

    return stack.enter_context(SmallServer(answer, HERE)).base + "/", 3 * count


def pages_done(directory: Path) -> int:
    """How many pages the pass has read, as far as that is committed; all of them when it is complete."""
    with closing(sqlite3.connect(directory / "crawl.db")) as db:
        record = json.loads(db.execute("SELECT value FROM facts WHERE name = 'admission'").fetchone()[0])
    return int(record.get("done", 0)) if record.get("reasons") else 0


def test_a_pass_that_is_killed_again_and_again_loses_nothing(tmp_path: Path) -> None:
    step = Constants({"gossamer.crawl.rules.readmission.PAGES_AT_ONCE": 2})
    toml, directory = tmp_path / "gossamer.toml", tmp_path / "crawl"
    toml.write_text("[traps]\ncut = false\n")  # many pages of one shape
    fixed = [*options(directory), "--config", toml]
    with ExitStack() as stack:
        site, count = numbered(stack, 12 * KILLS)
        assert command("crawl", site, *fixed).report["finished"] is True
        assert len(urls(directory)) == count // 3
        killed = 0
        for number in range(KILLS):
            with Command("crawl", "--scope", "any", *fixed, step) as running:
                target = 8 * number + 4
                wait_until(lambda: pages_done(directory) >= target or not running.runs, "the pass")  # noqa: B023
                killed += running.runs
                running.kill()
        ended = command("crawl", *fixed, step)

    assert killed >= KILLS / 2
    assert ended.report["finished"] is True, ended.err
    assert ended.report["politeness_violations"] == 0
    assert len(urls(directory)) == count
    assert command("verify", "--dir", directory).status == 0


def test_a_file_of_the_archive_that_cannot_be_read_is_named_and_counted(tmp_path: Path) -> None:
    with ExitStack() as stack:
        site, count = numbered(stack, 6)
        crawl(site, tmp_path, {})
        (file,) = (tmp_path / "warc").iterdir()
        whole = file.read_bytes()
        file.write_bytes(bytes(len(whole)))

        found = crawl(site, tmp_path, ANY)

    assert found == {"pages": 6, "done": 6, "returned": 0, "unreadable": 6}
    events = [json.loads(line) for line in (tmp_path / "crawl.log").read_text().splitlines()]
    (ended,) = (event for event in events if event["event"] == "rules.readmitted")
    assert ended["unreadable"] == 6 and ended["files"].startswith(file.name)
    assert len(urls(tmp_path)) == count // 3
