"""Rate and refusal, RT-01 to RT-11: hosts that ask for quiet, in words good and bad, hosts that are down, and several
workers that must not be together what each of them is not.

Waits are shortened; what is asserted of them is what the server saw: that nobody came too early.
"""

import socket
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pytest

from gossamer.crawl.visit.disposition import MAX_RATE_LIMITED
from gossamer.fetch.http.headers import requested_wait
from gossamer.model.http_dates import RETRY_AFTER_CAP, retry_after
from gossamer.model.units import Instant
from tests.crawl.scripted_crawl import HOME, crawled, html
from tests.crawl.scripted_fetcher import response
from tests.hostile.small_crawl import SmallCrawl
from tests.integration.crawl_process import Command, Constants, gossamer, wait_until
from tests.integration.small_server import NOTHING, Answer, Site, SmallServer, links, page

NOW = Instant(1_800_000_000.0)
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
BASE = 0.1


def imf(moment: float) -> str:
    at = datetime.fromtimestamp(moment, UTC)
    return f"{DAYS[at.weekday()][:3]}, {at:%d} {MONTHS[at.month - 1]} {at:%Y %H:%M:%S} GMT"


def rfc_850(moment: float) -> str:
    at = datetime.fromtimestamp(moment, UTC)
    return f"{DAYS[at.weekday()]}, {at:%d}-{MONTHS[at.month - 1]}-{at:%y %H:%M:%S} GMT"


def asctime(moment: float) -> str:
    at = datetime.fromtimestamp(moment, UTC)
    return f"{DAYS[at.weekday()][:3]} {MONTHS[at.month - 1]} {at.day:2} {at:%H:%M:%S %Y}"


TOML = f"[retry]\ndelay = {BASE}\n"
AT_ONCE = Constants({"gossamer.config.policies.HOST_PATIENCE": 0.0})


def asked_at(server: SmallServer, path: str) -> list[float]:
    return [asked.at for asked in server.asked if asked.path == path]


def answered_at(server: SmallServer, path: str) -> list[float]:
    return [asked.answered_at for asked in server.asked if asked.path == path]


def busy(times: int, retry_after: Callable[[], str] | None, status: int = 429) -> Site:
    """One page that answers so often with a refusal, then with itself."""

    def site(path: str, before: int) -> Answer:
        if path != "/":
            return NOTHING
        headers = {} if retry_after is None else {"Retry-After": retry_after()}
        return Answer("busy", status, headers) if before < times else page("here at last")

    return site


@pytest.mark.service
def test_rt_01_a_host_that_asks_for_quiet_gets_it_and_no_try_is_used_up(tmp_path: Path) -> None:
    crawl = SmallCrawl(tmp_path, TOML, AT_ONCE)
    with SmallServer(busy(4, lambda: "1")) as server:  # one more than the tries that a URL has
        crawl.run(server.base + "/")
        asked, answered = asked_at(server, "/"), answered_at(server, "/")

    assert states(crawl) == ["stored"]
    assert len(asked) == 5
    assert all(later - earlier >= 1.0 for earlier, later in zip(answered, asked[1:], strict=False))


def states(crawl: SmallCrawl) -> list[object]:
    return [each["state"] for each in crawl.pages()]


@pytest.mark.service
@pytest.mark.parametrize("form", [imf, rfc_850, asctime])
def test_rt_02_a_date_is_kept_in_every_form(tmp_path: Path, form: Callable[[float], str]) -> None:
    until: list[float] = []

    def soon() -> str:
        until.append(float(int(time.time()) + 2))
        return form(until[0])

    crawl = SmallCrawl(tmp_path, TOML, AT_ONCE)
    with SmallServer(busy(1, soon)) as server:
        crawl.run(server.base + "/")
        asked = asked_at(server, "/")

    assert states(crawl) == ["stored"]
    assert len(asked) == 2
    assert asked[1] >= until[0]


@pytest.mark.parametrize("value", ["999999999999", "9" * 5000, imf(253_370_764_800.0), "86401"])
def test_rt_03_a_wait_beyond_all_measure_is_a_day(value: str) -> None:
    assert retry_after(value, NOW) == RETRY_AFTER_CAP


@pytest.mark.service
def test_rt_03_a_host_that_asks_for_ages_is_parked(tmp_path: Path) -> None:
    crawl = SmallCrawl(tmp_path, TOML, AT_ONCE)
    began = time.time()
    with SmallServer(busy(1, lambda: "999999999999")) as server:
        with Command(*crawl.command([server.base + "/"])) as crawler:
            wait_until(lambda: answered_at(server, "/") or not crawler.runs, "the first request")
            wait_until(lambda: longest_quiet(crawl) >= began + RETRY_AFTER_CAP, "what it asked for to be on record")
            assert crawler.runs  # it waits for the host
        asked = asked_at(server, "/")

    assert len(asked) == 1


UNREADABLE = ["-5", "soon", "1.5", "", "Sun, 06 Nov 1994 08:49:37 GMT", "Thu, 99 Foo 2026 00:00:00 GMT"]


@pytest.mark.parametrize("value", UNREADABLE)
def test_rt_04_what_is_no_wait_is_none(value: str) -> None:
    assert retry_after(value, NOW) is None


@pytest.mark.service
def test_rt_04_a_host_that_does_not_say_how_long_is_left_alone_all_the_same(tmp_path: Path) -> None:
    def site(path: str, before: int) -> Answer:
        if path == "/":
            return links(*(f"/{number}" for number in range(len(UNREADABLE))))
        number = path[1:]
        if not number.isdigit():
            return NOTHING
        return Answer("busy", 429, {"Retry-After": UNREADABLE[int(number)]}) if before == 0 else page(f"page {number}")

    crawl = SmallCrawl(tmp_path, TOML, AT_ONCE)
    with SmallServer(site) as server:
        crawl.run(server.base + "/")
        gaps = [
            asked_at(server, f"/{number}")[1] - answered_at(server, f"/{number}")[0]
            for number in range(len(UNREADABLE))
        ]

    assert states(crawl) == ["stored"] * (1 + len(UNREADABLE))
    assert min(gaps) >= BASE


@pytest.mark.service
def test_rt_05_a_host_in_trouble_is_asked_ever_more_rarely_until_it_is_well(tmp_path: Path) -> None:
    crawl = SmallCrawl(tmp_path, TOML, AT_ONCE)
    with SmallServer(busy(2, None, status=503)) as server:
        crawl.run(server.base + "/")
        asked, answered = asked_at(server, "/"), answered_at(server, "/")

    assert states(crawl) == ["stored"]
    assert len(asked) == 3
    assert asked[1] - answered[0] >= BASE
    assert asked[2] - answered[1] >= 2 * BASE


@pytest.mark.service
def test_rt_06_a_host_that_refuses_connections_is_tried_seldom_and_disturbs_nobody(tmp_path: Path) -> None:
    healthy = {"/": links(*(f"/{n}" for n in range(20))), **{f"/{n}": page(f"page {n}") for n in range(20)}}
    with socket.socket() as closed, SmallServer(healthy) as server:
        closed.bind(("127.0.0.2", 0))  # bound and not listening: refused
        refusing = f"http://127.0.0.2:{closed.getsockname()[1]}/"
        crawl = SmallCrawl(tmp_path, TOML, AT_ONCE)
        ended = crawl.run(refusing, server.base + "/")

    kept = {str(each["url"]): each["state"] for each in crawl.pages()}
    assert kept.pop(refusing) == "dead"  # in a state that says why
    assert list(kept.values()) == ["stored"] * 21
    errors = ended.report["errors"]
    assert isinstance(errors, dict)
    assert 1 <= errors["conn_refused"] <= 20


def longest_quiet(crawl: SmallCrawl) -> float:
    """Until when some host is left alone, by the crawl's database."""
    with closing(sqlite3.connect(f"file:{crawl.dir / 'crawl.db'}?mode=ro", uri=True)) as db:
        return float(db.execute("SELECT max(next_contact) FROM hosts").fetchone()[0] or 0.0)


@pytest.mark.service
def test_rt_07_a_host_that_asked_for_quiet_gets_it_over_a_killed_process_too(tmp_path: Path) -> None:
    crawl = SmallCrawl(tmp_path, TOML, AT_ONCE)
    began = time.time()
    with SmallServer(busy(1, lambda: "4")) as server:
        with Command(*crawl.command([server.base + "/"])) as crawler:
            wait_until(lambda: answered_at(server, "/") or not crawler.runs, "the first request")
            wait_until(lambda: longest_quiet(crawl) >= began + 4.0, "what it asked for to be on record")
            crawler.process.kill()
            crawler.process.wait()
        crawl.run(server.base + "/")
        asked, answered = asked_at(server, "/"), answered_at(server, "/")

    assert states(crawl) == ["stored"]
    assert len(asked) == 2
    assert asked[1] - answered[0] >= 4.0


@pytest.mark.service
def test_rt_08_four_workers_leave_a_host_the_gap_that_one_would(server_path: Path) -> None:
    delay, others = 0.1, [f"/{n}" for n in range(59)]
    crawl = SmallCrawl(server_path, TOML, AT_ONCE)
    with SmallServer({"/": links(*others), **{path: page(f"page {path}") for path in others}}) as server:
        ended = gossamer(*crawl.command([server.base + "/"], "--workers", 4, "--delay", delay))

    assert ended.status == 0, ended.err
    assert (ended.report["pages"], ended.report["politeness_violations"]) == (60, 0)
    asked = sorted(server.asked, key=lambda each: each.at)
    assert len(asked) == 61  # robots.txt once
    assert min(later.at - earlier.at for earlier, later in pairwise(asked)) >= delay


def test_rt_09_every_answer_may_ask_for_quiet(tmp_path: Path) -> None:
    quiet = {"Retry-After": "100"}
    moved = response(302, headers={"Location": "/a", **quiet})
    script = {
        HOME + "robots.txt": response(404, headers=quiet),
        HOME: moved,
        HOME + "a": response(200, b"<a href=/b>", {"Content-Type": "text/html", **quiet}),
        HOME + "b": html(title="b"),
    }

    crawl = crawled(tmp_path, script)

    asked = sorted(at for times in crawl.request_times.values() for at in times)
    assert len(asked) == 4
    assert all(later - earlier >= 100.0 for earlier, later in pairwise(asked))


@pytest.mark.parametrize("status", [200, 302, 404, 429, 503])
def test_rt_10_a_date_is_compared_with_the_clock_that_wrote_it(status: int) -> None:
    for wrong_by in (-1e9, -3600.0, 0.0, 3600.0, 1e6):
        theirs = NOW + wrong_by
        answer = response(status, headers={"Date": imf(theirs), "Retry-After": imf(theirs + 120.0)})

        assert requested_wait(answer, NOW) == 120.0

    for date in ("", "yesterday", imf(NOW)):
        answer = response(status, headers={"Date": date, "Retry-After": imf(NOW + 120.0)})

        assert requested_wait(answer, NOW) == 120.0


def test_rt_11_the_only_url_of_a_host_is_given_up_after_as_many_429s_as_any_other(tmp_path: Path) -> None:
    busy = response(429, headers={"Retry-After": "20"})

    crawl = crawled(tmp_path, {HOME: [busy] * (MAX_RATE_LIMITED + 1)})

    assert crawl.requests == [HOME] * MAX_RATE_LIMITED
    assert crawl.rows()[HOME][:2] == ("dead", "rate_limited")


@pytest.mark.parametrize(
    ("value", "wait"),
    [
        ("3, 3", 3.0),
        ("3, 120", 120.0),
        ("120,soon", 120.0),
        (f"{imf(NOW + 60.0)}, {imf(NOW + 120.0)}", 120.0),
        (f"90, {imf(NOW + 120.0)}, 60", 120.0),
        (f"{imf(NOW - 60.0)}, 5", 5.0),
        ("soon, later", None),
        (", ".join(["1"] * 5000), 1.0),
    ],
)
def test_rt_12_of_several_waits_the_longest_is_kept(value: str, wait: float | None) -> None:
    assert requested_wait(response(headers={"Retry-After": value}), NOW) == wait
