"""Wider rules bring back what was refused: the crawl ends with the URLs that it would have had from the start."""

import asyncio
import json
import os
import shutil
import signal
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import gossamer
from gossamer.config.load import make_config
from gossamer.crawl.run.location import CrawlLocation
from gossamer.crawl.run.opener import open_crawl
from gossamer.crawl.run.private_store import reachable
from gossamer.library.crawl import Summary
from gossamer.model.states import UrlState
from gossamer.reports.records import PageFilter
from tests.integration.crawl_process import Command, Constants, Json, wait_until
from tests.integration.crawl_process import gossamer as command
from tests.integration.small_server import NOTHING, Answer, SmallServer, links, page
from tests.service.service_process import Service

pytestmark = pytest.mark.service

HERE, THERE, HOLD = "127.0.30.1", "127.0.30.2", "127.0.30.3"
LONG = "/long-" + "x" * 120
XML = {"content-type": "application/xml"}
KILLS = int(os.environ.get("GOSSAMER_WIDENING_KILLS", "3"))


class Sites:
    """Three hosts. Each rule below keeps something of the first two out. The third has one page, a seed, which it can
    hold back: meanwhile a crawl does not end, and its other hosts are not in the way."""

    def __init__(self, stack: ExitStack) -> None:
        there: dict[str, Answer] = {
            "/": links("/x", "/y.gif", "/robots-only"),
            **{path: page(f"there {path}") for path in ("/x", "/y.gif", "/moved", "/listed", "/only-listed")},
            "/map.xml": Answer("<urlset><url><loc>/only-listed</loc></url></urlset>", headers=XML),
        }
        base = stack.enter_context(SmallServer(there, THERE)).base
        listed = "".join(
            f"<url><loc>{url}</loc></url>" for url in ("/listed", "/skip/listed", "/listed.gif", f"{base}/listed")
        )
        pages = ("/d", "/skip/one", "/skip/two", "/skip/moved", "/file.gif", LONG, "/p/p/p/p/p/p", "/listed")
        here: dict[str, Answer] = {
            "/robots.txt": Answer(f"Sitemap: /map.xml\nSitemap: {base}/map.xml\nUser-agent: *\nDisallow: /denied\n"),
            "/map.xml": Answer(f"<urlset>{listed}</urlset>", headers=XML),
            "/": links(
                *("/a", "/skip/one", "/file.gif", LONG, "/to-other", "/to-skip", "/p/p/p/p/p/p", "/note.txt"),
                *("/denied", f"{base}/", "mailto:x@y.test"),
            ),
            "/a": links("/b", "/skip/two"),
            "/b": links("/c", f"{base}/x"),
            "/c": links("/d"),
            "/to-other": Answer(status=302, headers={"location": f"{base}/moved"}),
            "/to-skip": Answer(status=302, headers={"location": "/skip/moved"}),
            "/note.txt": Answer("plain text", headers={"content-type": "text/plain"}),
            **{path: page(f"here {path}") for path in pages},
            "/skip/listed": page("here skip listed"),
            "/listed.gif": page("here listed gif"),
        }
        self.home, self.last = threading.Event(), threading.Event()  # the pages that may be sent
        self.home.set()
        self.last.set()

        def first(path: str, _: int) -> Answer:
            if path == "/":
                self.home.wait()
            return here.get(path, NOTHING)

        def third(path: str, _: int) -> Answer:
            if path != "/":
                return NOTHING
            self.last.wait()
            return page("held")

        stack.callback(self.home.set)
        stack.callback(self.last.set)
        self.here, hold = SmallServer(first, HERE), SmallServer(third, HOLD)
        self.seeds = [stack.enter_context(server).base + "/" for server in (self.here, hold)]


@pytest.fixture(scope="module")
def sites() -> Iterator[Sites]:
    with ExitStack() as stack:
        yield Sites(stack)


Settings = Mapping[str, Any]
USUAL: Settings = {"delay": 0.0, "delay_factor": 0.0, "allow_private": True}
ANY: Settings = {"scope": "any"}
LIMITS: Settings = {"max_depth": 1, "filter": {"exclude_domains": [THERE], "max_url_bytes": 60}}
NO_LIMITS: Settings = {"max_depth": 20, "filter": {"exclude_domains": [], "max_url_bytes": 2083}}


class Rule(NamedTuple):
    """Settings that keep something out, and those that let it in."""

    narrow: Settings
    wide: Settings


RULES = {
    "scope": Rule({}, ANY),
    "depth": Rule({**ANY, "max_depth": 1}, {**ANY, "max_depth": 20}),
    "pattern": Rule({**ANY, "filter": {"exclude": ["*/skip/*"]}}, {**ANY, "filter": {"exclude": []}}),
    "include": Rule(
        {**ANY, "filter": {"include": ["*/a", f"http://{HERE}*/", f"http://{HOLD}*/"]}},
        {**ANY, "filter": {"include": []}},
    ),
    "extension": Rule(ANY, {**ANY, "filter": {"exclude_extensions": []}}),
    "length": Rule({**ANY, "filter": {"max_url_bytes": 60}}, {**ANY, "filter": {"max_url_bytes": 2083}}),
    "domain": Rule({**ANY, "filter": {"exclude_domains": [THERE]}}, {**ANY, "filter": {"exclude_domains": []}}),
    "repeats": Rule(ANY, {**ANY, "traps": {"cut": False}}),
    "repeats of a host": Rule(ANY, {**ANY, "host": {HERE: {"trap": False}}}),
    "requests": Rule({**ANY, "politeness": {"max_per_domain": 3}}, ANY),
    "address": Rule({**ANY, "allow_private": False, "allow_networks": [HERE, HOLD]}, {**ANY, "allow_private": True}),
    "networks": Rule(
        {**ANY, "allow_private": False, "allow_networks": [HERE, HOLD]},
        {**ANY, "allow_private": False, "allow_networks": ["127.0.30.0/24"]},
    ),
    "kinds": Rule({**ANY, "fetch": {"kinds": ["html"]}}, {**ANY, "fetch": {"kinds": ["any"]}}),
    "host": Rule({**ANY, "host": {HERE: {"exclude": ["*/a"]}}}, ANY),
    "pages": Rule({**ANY, "max_pages": 3}, {**ANY, "max_pages": 1000}),
    "two at once": Rule({"max_depth": 1}, {**ANY, "max_depth": 20}),
}
BOTH_WAYS = ("scope", "address", "two at once")
"""Rules that are also tried from wide to narrow to wide."""


def crawl(seeds: list[str], directory: Path, settings: Settings) -> Any:
    """Crawl to the end, with the library. Returns the field `readmission`."""

    async def run() -> Summary:
        async with gossamer.Crawl(*seeds, config={**USUAL, "dir": str(directory), **settings}) as running:
            return await running.run()

    last = asyncio.run(run())
    assert last.stopped in ("finished", "page_limit")
    return last.to_dict()["readmission"]


def urls(directory: Path) -> dict[str, str]:
    """Every URL that was not excluded, and its state."""
    with reachable(CrawlLocation(directory)) as location, open_crawl(location) as opened:
        rows = list(opened.reader.pages.stream(PageFilter()))
    return {row.url: row.state.word for row in rows if row.state.word != "excluded"}


class Wanted:
    """The URLs of crawls that had their rules from the start."""

    def __init__(self, sites: Sites, folder: Path) -> None:
        self._seeds, self._folder = sites.seeds, folder
        self._known: dict[str, dict[str, str]] = {}

    def by(self, settings: Settings) -> dict[str, str]:
        same = repr(make_config({**USUAL, **settings}, {}))  # with the defaults
        if same not in self._known:
            directory = self._folder / str(len(self._known))
            crawl(self._seeds, directory, settings)
            self._known[same] = urls(directory)
        return self._known[same]


@pytest.fixture(scope="module")
def wanted(sites: Sites, tmp_path_factory: pytest.TempPathFactory) -> Wanted:
    return Wanted(sites, tmp_path_factory.mktemp("wide"))


@pytest.fixture(scope="module")
def narrow(sites: Sites, wanted: Wanted, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a crawl by the narrow settings of each rule."""
    folder = tmp_path_factory.mktemp("narrow")
    for name, rule in RULES.items():
        assert crawl(sites.seeds, folder / name, rule.narrow) is None
        assert urls(folder / name) != wanted.by(rule.wide), name
    return folder


def test_a_crawl_that_was_widened_ends_with_the_urls_of_one_that_was_wide_from_the_start(
    sites: Sites, wanted: Wanted, narrow: Path, tmp_path: Path
) -> None:
    for name, (_, wide) in RULES.items():
        directory = shutil.copytree(narrow / name, tmp_path / name)

        found = crawl(sites.seeds, directory, wide)

        assert urls(directory) == wanted.by(wide), name
        if name != "pages":  # nothing was refused there
            assert found["done"] == found["pages"] and found["returned"] > 0, name
        if name in BOTH_WAYS:
            assert crawl(sites.seeds, directory, wide) is None, name


def test_rules_that_were_wide_then_narrow_lose_nothing_when_they_are_wide_again(
    sites: Sites, wanted: Wanted, tmp_path: Path
) -> None:
    for name in BOTH_WAYS:
        narrow, wide = RULES[name]
        for settings in ({**wide, "max_pages": 3}, narrow, wide):
            crawl(sites.seeds, tmp_path / name, settings)

        assert urls(tmp_path / name) == wanted.by(wide), name


# --- the other ways -----------------------------------------------------------------------------------


def write_toml(path: Path, settings: Settings) -> Path:
    """Settings as a file. The values of JSON that they have are those of TOML too."""
    lines, tables = [], []
    for key, value in {**USUAL, **settings}.items():
        if not isinstance(value, dict):
            lines.append(f"{key} = {json.dumps(value)}")
            continue
        within = {f"{key}.{json.dumps(name)}": own for name, own in value.items()} if key == "host" else {key: value}
        for name, section in within.items():
            tables += [f"[{name}]", *(f"{each} = {json.dumps(own)}" for each, own in section.items())]
    path.write_text("\n".join([*lines, *tables, ""]))
    return path


def test_every_rule_can_be_widened_on_the_command_line(wanted: Wanted, narrow: Path, tmp_path: Path) -> None:
    for name, (_, wide) in RULES.items():
        directory = shutil.copytree(narrow / name, tmp_path / name)

        ended = command("crawl", "--dir", directory, "--config", write_toml(tmp_path / "gossamer.toml", wide))

        assert ended.status == 0, (name, ended.err)
        assert urls(directory) == wanted.by(wide), name


def test_rules_that_were_wide_then_narrow_can_be_widened_again_on_the_command_line(
    sites: Sites, wanted: Wanted, tmp_path: Path
) -> None:
    started, narrow, wide = ["crawl", *sites.seeds, *options(tmp_path)], ["--max-depth", 1], ["--max-depth", 20]
    for words in (["--scope", "any", *wide, "--max-pages", 3], ["--scope", "host", *narrow], ["--scope", "any", *wide]):
        assert command(*started, *words).status == 0

    assert urls(tmp_path) == wanted.by(RULES["two at once"].wide)


def options(directory: Path) -> list[object]:
    return ["--dir", directory, "--allow-private", "--delay", 0, "--delay-factor", 0, "--json"]


def test_the_command_line_says_what_became_wider_and_what_came_of_it(
    sites: Sites, wanted: Wanted, tmp_path: Path
) -> None:
    assert command("crawl", *sites.seeds, *options(tmp_path), "--max-depth", 1).report["readmission"] is None

    wide = command("crawl", "--scope", "any", "--max-depth", 20, *options(tmp_path))

    found = wide.report["readmission"]
    assert isinstance(found, dict) and found["pages"] == found["done"] > 0 and found["unreadable"] == 0
    changes = "max_depth 1 → 20, scope host → any"
    assert f"Rules are wider ({changes}): reading {found['pages']} pages again for refused links\n" in wide.err
    assert f"\n{found['returned']} URLs queued\n" in wide.err
    assert urls(tmp_path) == wanted.by(RULES["two at once"].wide)


def test_a_crawl_by_two_workers_can_be_widened(sites: Sites, wanted: Wanted, server_path: Path) -> None:
    narrow = command("crawl", *sites.seeds, *options(server_path), "--workers", 2, "--max-depth", 1)
    assert narrow.report["finished"] is True, narrow.err

    wide = command("crawl", "--scope", "any", "--max-depth", 20, *options(server_path))

    assert wide.report["finished"] is True, wide.err
    assert urls(server_path) == wanted.by(RULES["two at once"].wide)


def in_state(directory: Path, state: UrlState) -> int:
    """How many URLs of a running crawl are in this state; -1 if there is none yet."""
    if not (directory / "crawl.db").exists():
        return -1
    with closing(sqlite3.connect(directory / "crawl.db")) as db:
        try:
            return int(db.execute("SELECT count(*) FROM urls WHERE state = ?", (state,)).fetchone()[0])
        except sqlite3.OperationalError:  # it has no tables yet
            return -1


class Hangups:
    """A running crawl whose file is changed."""

    def __init__(self, stack: ExitStack, sites: Sites, folder: Path, settings: Settings) -> None:
        folder.mkdir()
        self.directory, self._toml = folder / "crawl", folder / "gossamer.toml"
        write_toml(self._toml, settings)
        fixed = ["--dir", self.directory, "--config", self._toml, "--quiet", "--json"]
        self.running = stack.enter_context(Command("crawl", *sites.seeds, *fixed))

    def wait(self, what: Callable[[], object], why: str) -> None:
        wait_until(lambda: what() or not self.running.runs, why)
        assert self.running.runs, self.running.ended().err

    def events(self, name: str) -> int:
        log = self.directory / "crawl.log"
        return log.read_text().count(f'"{name}"') if log.exists() else 0

    def change(self, settings: Settings) -> None:
        write_toml(self._toml, settings)
        before = self.events("rules.changed")
        os.kill(self.running.process.pid, signal.SIGHUP)
        self.wait(lambda: self.events("rules.changed") > before, "the new rules")


def test_every_rule_can_be_widened_on_sighup(sites: Sites, wanted: Wanted, tmp_path: Path) -> None:
    for name, (narrow, wide) in RULES.items():
        with ExitStack() as stack:
            sites.last.clear()
            stack.callback(sites.last.set)
            crawl = Hangups(stack, sites, tmp_path / name, narrow)
            if name == "pages":  # the page that is held may become the third
                crawl.wait(lambda: in_state(crawl.directory, UrlState.STORED) == 2, "two pages")  # noqa: B023
            else:
                crawl.wait(lambda: in_state(crawl.directory, UrlState.QUEUED) == 1, "all but the last page")  # noqa: B023

            crawl.change(wide)

            if name != "pages":
                crawl.wait(lambda: crawl.events("rules.readmitted"), f"the end of the pass: {name}")  # noqa: B023
            sites.last.set()
            ended = crawl.running.ended()

        assert ended.report["finished"] is True, (name, ended.err)
        assert urls(crawl.directory) == wanted.by(wide), name


def test_rules_that_become_narrow_and_wide_again_on_sighup_lose_nothing(
    sites: Sites, wanted: Wanted, tmp_path: Path
) -> None:
    for name in BOTH_WAYS:
        narrow, wide = RULES[name]
        with ExitStack() as stack:
            for event in (sites.home, sites.last):
                event.clear()
                stack.callback(event.set)
            before = sites.here.paths().count("/")
            crawl = Hangups(stack, sites, tmp_path / name, wide)
            crawl.wait(lambda: sites.here.paths().count("/") > before, "the first page")  # noqa: B023
            crawl.change(narrow)
            sites.home.set()
            crawl.wait(lambda: in_state(crawl.directory, UrlState.QUEUED) == 1, "all but the last page")  # noqa: B023
            crawl.change(wide)
            crawl.wait(lambda: crawl.events("rules.readmitted"), "the end of the pass")  # noqa: B023
            sites.last.set()
            ended = crawl.running.ended()

        assert ended.report["finished"] is True, (name, ended.err)
        assert urls(crawl.directory) == wanted.by(wide), name


def test_limits_that_are_lifted_through_the_service_bring_back_what_was_refused(
    sites: Sites, wanted: Wanted, tmp_path: Path
) -> None:
    toml = write_toml(tmp_path / "gossamer.toml", ANY)
    none = {"excludedDomains": [], "depthLimit": 20, "urlLengthLimit": 2083}
    all_three = {"excludedDomains": [THERE], "depthLimit": 1, "urlLengthLimit": 60}
    length, domains = {"filter": LIMITS["filter"]}, {"filter": {**NO_LIMITS["filter"], "exclude_domains": [THERE]}}
    steps: list[tuple[Json, Settings]] = [  # what is sent, and the settings that say the same as all of it so far
        ({"depthLimit": 20}, {**NO_LIMITS, **length}),
        ({"urlLengthLimit": 2083}, {**NO_LIMITS, **domains}),
        ({"excludedDomains": []}, NO_LIMITS),
        (all_three, NO_LIMITS),  # what is stored stays
        (none, NO_LIMITS),
    ]
    with Service(tmp_path / "crawl", "--config", toml) as service:

        def settled() -> bool:
            limits = service.get("/url/limit").json
            return [limits["rereading"], limits["unchecked"], in_state(service.directory, UrlState.QUEUED)] == [0, 0, 0]

        service.post("/url/limit", all_three)
        service.post("/seed/urls", {"urls": sites.seeds})
        wait_until(settled, "the pages that the limits permit")
        assert urls(service.directory) == wanted.by({**ANY, **LIMITS})
        for sent, same in steps:
            answer = service.post("/url/limit", sent).json
            if sent is not all_three:
                assert sent is none or answer["rereading"] + answer["returned"] > 0
            wait_until(settled, f"the end of the pass after {sent}")
            assert urls(service.directory) == wanted.by({**ANY, **same}), sent
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
    step = Constants({"gossamer.crawl.run.rule_changes.PAGES_AT_ONCE": 2})
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
        crawl([site], tmp_path, {})
        (file,) = (tmp_path / "warc").iterdir()
        whole = file.read_bytes()
        file.write_bytes(bytes(len(whole)))

        found = crawl([site], tmp_path, ANY)

    assert found == {"pages": 6, "done": 6, "returned": 0, "unreadable": 6}
    events = [json.loads(line) for line in (tmp_path / "crawl.log").read_text().splitlines()]
    (ended,) = (event for event in events if event["event"] == "rules.readmitted")
    assert ended["unreadable"] == 6 and ended["files"].startswith(file.name)
    assert len(urls(tmp_path)) == count // 3
