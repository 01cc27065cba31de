"""Visiting again: what has not changed costs little, what has is stored anew, nothing is visited before its date."""

import os
import signal
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.integration.changing_site import SOON, ChangingSite, Copy, Document, Validators
from tests.integration.crawl_process import Command, Json, gossamer, wait_until

pytestmark = pytest.mark.service

TWINS = ("/twin1", "/twin2")


def rows(copy: Copy, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(f"file:{copy.dir / 'crawl.db'}?mode=ro", uri=True)) as db:
        return db.execute(query).fetchall()


@dataclass(frozen=True, slots=True)
class Lives:
    """A site that was crawled three times, and what was known of its pages after each."""

    site: ChangingSite
    copy: Copy
    reports: list[Json]
    pages: list[dict[str, Json]]  # by path, after each crawl
    links: list[list[tuple[object, ...]]]


@pytest.fixture(scope="module")
def lives(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lives]:
    """Between the first and the second crawl some pages change, between the second and the third they change back."""
    names = {validators: f"/{validators.name.lower()}" for validators in Validators}
    documents = {path: Document(path, validators) for validators, path in names.items()}
    documents |= {path: Document("twin", Validators.HONEST) for path in ("/twin1", "/twin2")}
    documents |= {path: Document(path, Validators.HONEST) for path in ("/down", "/gone", "/found")}
    documents["/hub"] = Document("hub", Validators.HONEST, ("/none",))
    documents["/"] = Document("home", links=tuple(path for path in documents if path != "/found"))
    toml = SOON + "[retry]\ndelay = 0.02\nmax_tries = 2\nmissing_delay = 3000\n"
    with ChangingSite(documents) as site:
        copy = Copy(tmp_path_factory.mktemp("lives"), site, toml)
        found = Lives(site, copy, [], [], [])

        def is_all_due() -> bool:
            soon = f"available_at BETWEEN {time.time()} AND {time.time() + 60}"
            return rows(copy, f"SELECT count(*) FROM urls WHERE {soon}") == [(0,)]

        def crawl() -> None:
            if found.reports:
                wait_until(is_all_due, "all dates to have come")
                with closing(sqlite3.connect(copy.dir / "crawl.db")) as db, db:
                    db.execute("UPDATE urls SET available_at = available_at - 3000 WHERE state = 4")  # 50 minutes pass
            found.reports.append(copy.run().report)
            found.pages.append(copy.pages())
            found.links.append(rows(copy, "SELECT url, links FROM urls ORDER BY id"))

        crawl()
        documents["/down"].status, documents["/gone"].status = 503, 404
        documents["/hub"].version, documents["/hub"].links = 1, ("/none", "/found")
        crawl()
        documents["/down"].status = documents["/gone"].status = 200
        documents["/hub"].version, documents["/hub"].links = 0, ("/none",)
        crawl()
        yield found


@pytest.mark.parametrize(
    ("validators", "again", "profile"),
    [
        (Validators.HONEST, 304, "server-not-modified"),
        (Validators.DATED, 304, "server-not-modified"),
        (Validators.STIFF, 304, "server-not-modified"),
        (Validators.NONE, 200, "identical-payload-digest"),
        (Validators.RESTLESS, 200, "identical-payload-digest"),
    ],
)
def test_what_has_not_changed_is_a_revisit_record_and_keeps_its_facts(
    lives: Lives, validators: Validators, again: int, profile: str
) -> None:
    path = f"/{validators.name.lower()}"
    before, after = lives.pages[0][path], lives.pages[1][path]

    assert lives.site[path].answered == [200, again, again]
    assert lives.copy.records(path) == ["response", profile, profile]
    kept = before.keys() - {"fetched_at", "took", "next_visit", "priority", "etag"}
    assert {name: after[name] for name in kept} == {name: before[name] for name in kept}
    assert str(after["fetched_at"]) > str(before["fetched_at"])
    assert rows(lives.copy, f"SELECT visits, changes FROM urls WHERE url LIKE '%{path}'") == [(3, 0)]


def test_what_has_changed_is_stored_anew_and_its_new_links_are_followed(lives: Lives) -> None:
    assert lives.site["/hub"].conditions == [{}, {"If-None-Match": '"0"'}, {"If-None-Match": '"1"'}]
    assert lives.copy.records("/hub") == ["response"] * 3
    assert "/found" not in lives.pages[0]
    assert lives.pages[1]["/found"]["state"] == "stored"


def test_links_are_counted_once_however_often_their_page_is_read(lives: Lives) -> None:
    counts = [{row[0]: row[1] for row in found} for found in lives.links]
    url = lives.site.server.base + "/none"

    assert [count[url] for count in counts] == [2, 2, 2]  # from the home page, and from one that changes


def test_a_document_that_comes_back_is_read_again(lives: Lives) -> None:
    first, changed, last = (pages["/hub"] for pages in lives.pages)

    assert first["digest"] == last["digest"] != changed["digest"]
    assert (last["state"], last["title"]) == ("stored", "hub")
    assert rows(lives.copy, "SELECT changes FROM urls WHERE url LIKE '%/hub'") == [(2,)]


def test_a_duplicate_stays_one_as_long_as_nothing_changes(lives: Lives) -> None:
    states = [{path: (pages[path]["state"], pages[path]["duplicate_of"]) for path in TWINS} for pages in lives.pages]
    copy = next(path for path in TWINS if states[0][path][0] == "duplicate")

    assert states[0] == states[1] == states[2]
    assert states[0][copy][1] is not None
    assert lives.copy.records(copy) == ["identical-payload-digest", "server-not-modified", "server-not-modified"]


def test_a_server_that_is_down_costs_no_page(lives: Lives) -> None:
    before, during = lives.pages[0]["/down"], lives.pages[1]["/down"]

    assert lives.site["/down"].answered == [200, 503, 503, 304]
    assert (during["state"], during["digest"], during["status"]) == ("stored", before["digest"], 200)
    assert during["next_visit"] is not None
    assert (lives.reports[1]["dead"], lives.reports[1]["errors"]) == (0, {"server_error": 2})
    assert lives.copy.records("/down") == ["response", "server-not-modified"]


def test_a_page_that_is_gone_is_missing_and_one_that_returns_is_stored(lives: Lives) -> None:
    states = [(pages["/gone"]["state"], pages["/gone"]["status"]) for pages in lives.pages]

    assert states == [("stored", 200), ("missing", 404), ("stored", 200)]


def test_what_came_of_visiting_again_is_counted(lives: Lives) -> None:
    names = ("refreshed", "not_modified", "unchanged", "changed")
    assert [lives.reports[0][name] for name in names] == [0, 0, 0, 0]
    # Of eleven pages: five are not modified, three are what they were, one has changed, one is missing, one is down.
    assert [lives.reports[1][name] for name in names] == [11, 5, 3, 1]
    assert [report["pages"] for report in lives.reports] == [10, 10, 11]
    assert [report["run_pages"] for report in lives.reports] == [10, 0, 1]
    assert [report["finished"] for report in lives.reports] == [True, True, True]


def test_explain_tells_why_the_next_visit_is_when_it_is(lives: Lives) -> None:
    command = ("explain", lives.site.server.base + "/hub", "--dir", lives.copy.dir, "--config", lives.copy.toml)

    told = gossamer(*command, "--json").report["recrawl"]
    text = gossamer(*command).out

    assert isinstance(told, dict)
    assert (told["policy"], told["visits"], told["changes"], told["assumed"]) == ("adaptive", 3, 2, False)
    assert 0.01 <= told["gap"] <= 0.2
    assert told["change_interval"] > 0 and 0 < told["uncertainty"] < 2
    assert "from 3 visits, 2 of which found a change" in text
    assert "minimum value of a recrawl" in text


def test_status_tells_how_fresh_the_copies_are_and_what_that_costs(lives: Lives) -> None:
    def now() -> dict[str, Any]:
        found = gossamer("status", "--dir", lives.copy.dir, "--json").report["recrawl"]
        assert isinstance(found, dict)
        return found

    wait_until(lambda: now()["overdue"] == 12, "all dates to pass")
    told = now()
    text = gossamer("status", "--dir", lives.copy.dir).out

    assert isinstance(told, dict)
    assert 0.0 < told["freshness"] <= 1.0
    assert (told["scheduled"], told["overdue"]) == (12, 12)
    assert told["refreshed"] == lives.reports[2]["refreshed"]
    assert told["visits_a_day"] > 0 and told["price"] > 0
    assert "not modified" in text


def test_a_finished_crawl_is_not_visited_before_its_date(tmp_path: Path) -> None:
    with ChangingSite({"/": Document("home")}) as site:
        copy = Copy(tmp_path, site, "")
        copy.run()
        asked = len(site.server.asked)
        again = copy.run()

        assert len(site.server.asked) == asked
    assert again.report["refreshed"] == 0
    assert again.report["finished"] is True
    assert rows(copy, "SELECT round((u.available_at - v.at) / 86400) BETWEEN 5 AND 20 FROM urls u, visits v") == [(1,)]


def test_rules_say_what_is_visited_when(tmp_path: Path) -> None:
    toml = """
    [[recrawl.rules]]
    pattern = "*/news/*"
    interval = 300
    [[recrawl.rules]]
    state = "not-found"
    never = true
    [[recrawl.rules]]
    mime = "text/*"
    host = "127.0.0.1"
    interval = 7200
    """
    with ChangingSite({"/": Document("home", links=("/news/1", "/nothing")), "/news/1": Document("n")}) as site:
        copy = Copy(tmp_path, site, toml)
        copy.run()

    gaps = rows(copy, "SELECT u.available_at - v.at FROM urls u JOIN visits v ON v.url_id = u.id ORDER BY u.id")
    assert [None if gap is None else round(float(str(gap))) for (gap,) in gaps] == [7200, 300, None]


def test_a_crawl_that_keeps_fresh_goes_on_until_it_is_stopped_and_finds_liars_out(tmp_path: Path) -> None:
    documents = {
        "/": Document("home", Validators.HONEST, ("/liar", "/plain")),
        "/liar": Document("liar", Validators.STIFF),
        "/plain": Document("plain"),
    }
    with ChangingSite(documents) as site:
        copy = Copy(tmp_path, site, SOON, "--keep-fresh")
        with Command(*copy.command) as crawler:
            wait_until(lambda: site.visits("/liar") >= 2 or not crawler.runs, "a second visit")
            site["/liar"].version = 1
            wait_until(lambda: site["/liar"].answered[3:].count(200) >= 3 or not crawler.runs, "the liar's end")
            assert crawler.runs
            crawler.process.terminate()
            ended = crawler.ended()
        digest = copy.pages()["/liar"]["digest"]
        answers, conditions = site["/liar"].answered, site["/liar"].conditions

        assert set(site["/"].answered[1:]) <= {200, 304}
        assert site["/"].answered.count(304) >= 5
    assert ended.status == 143
    assert ended.report["politeness_violations"] == 0
    found_out = answers.index(200, 1)
    assert found_out == 9  # the tenth visit asks without conditions ...
    assert all(not asked for asked in conditions[found_out:])  # ... and so do all after it
    assert rows(copy, "SELECT changes FROM urls WHERE url LIKE '%/liar'") == [(1,)]
    assert digest is not None


def test_other_wishes_are_taken_on_sighup(tmp_path: Path) -> None:
    with ChangingSite({"/": Document("home", links=("/a",)), "/a": Document("a")}) as site:
        copy = Copy(tmp_path, site, SOON, "--keep-fresh")
        with Command(*copy.command) as crawler:
            wait_until(lambda: site.visits("/a") >= 3 or not crawler.runs, "a third visit")
            assert crawler.runs
            copy.toml.write_text(SOON + '[[recrawl.rules]]\npattern = "*"\nnever = true\n')
            os.kill(crawler.process.pid, signal.SIGHUP)
            ended = crawler.ended()  # nothing has a date any more

    assert (ended.status, ended.report["finished"]) == (0, True)
    assert rows(copy, "SELECT DISTINCT available_at FROM urls") == [(None,)]


TWICE = "SELECT url FROM urls WHERE visits = 2"


def test_a_kill_in_the_middle_of_a_recrawl_loses_nothing_and_repeats_next_to_nothing(tmp_path: Path) -> None:
    paths = [f"/{number}" for number in range(60)]
    pages = {path: Document(path, Validators.HONEST if n % 2 else Validators.NONE) for n, path in enumerate(paths)}
    with ChangingSite({"/": Document("home", links=tuple(paths)), **pages}) as site:
        first = Copy(tmp_path, site, "[recrawl]\nlongest = 1.0\nshortest = 0.5\ninterval = 1.0\n")
        first.run()
        copy = Copy(tmp_path, site, "[recrawl]\ninterval = 1e6\nshortest = 1e6\nlongest = 1e6\n")
        late = "SELECT 1 FROM urls WHERE available_at > (julianday('now') - 2440587.5) * 86400"
        wait_until(lambda: not rows(copy, late), "all dates")
        site.hold_after(62 + 25)  # one request at a time: when it is held nothing else is under way
        with Command(*copy.command, "--delay", 0.01) as crawler:
            wait_until(lambda: site.holds or not crawler.runs, "the middle")
            assert crawler.runs
            crawler.process.kill()
            crawler.ended()
        site.let_go()
        answered = {path for path in paths if site.visits(path) == 2}
        committed = {str(url).removeprefix(site.server.base) for (url,) in rows(copy, TWICE)}
        report = copy.run().report
        visits = {path: site.visits(path) for path in paths}

        assert all(page.answered[0] == 200 for page in pages.values())
    assert visits == {path: 3 if path in answered - committed else 2 for path in paths}
    assert (report["pages"], report["finished"]) == (61, True)
    assert rows(copy, "SELECT DISTINCT state, visits FROM urls") == [(1, 2)]
    assert all(copy.records(path)[0] == "response" and len(copy.records(path)) == 2 for path in paths[:4])
    assert rows(copy, "SELECT revisit, count(*) FROM captures GROUP BY revisit") == [(0, 61), (1, 61)]
    verified = gossamer("verify", "--dir", copy.dir)
    assert verified.status == 0, verified.out + verified.err
