"""robots.txt, RB-01 to RB-18, as whole crawls: what the server was asked for, and what became of the URLs.

What a file means alone is tested by the same ids in tests/fetch/robots.
"""

import asyncio
import contextlib
import gzip
import itertools
import socket
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.fetch.robots import parse_robots
from gossamer.filter.canonical import Canonical, canonicalise
from tests.effort import growth, lines_run
from tests.fetch.http.scripted_server import Scripted, Talk
from tests.fetch.http.tls_trust import authority
from tests.hostile.dns_stage import naming
from tests.hostile.scripted import site as scripted_site
from tests.hostile.small_crawl import RETRY, SmallCrawl
from tests.integration.crawl_process import GIVEN_UP_AT_ONCE, Command, Constants, Json, gossamer, wait_until
from tests.integration.small_server import NOTHING, Answer, Site, SmallServer, links, page
from tests.name_server import NXDOMAIN, SERVFAIL, A, Reply, a

pytestmark = pytest.mark.service

PATIENT = Constants({"gossamer.config.policies.MAX_RETRY_DELAY": 0.5})
"""A host that is down is waited for."""
HOME = links("/open", "/private")
PRIVATE = "User-agent: *\nDisallow: /private\n"


def rules(text: str) -> Answer:
    return Answer(text, headers={"Content-Type": "text/plain"})


def three_pages(robots: Site | Answer, name: str = "") -> Site:
    """A page with two links, and a robots.txt. With another name they are other documents."""
    pages = {"/": links("/open", "/private", "#" + name), "/open": page("open" + name), "/private": page(name)}

    def site(path: str, before: int) -> Answer:
        if path == "/robots.txt":
            return robots if isinstance(robots, Answer) else robots(path, before)
        return pages.get(path, NOTHING)

    return site


def states(crawl: SmallCrawl) -> dict[str, tuple[str, str | None]]:
    """Path -> state and reason."""
    return {path_of(each): (str(each["state"]), _text(each["reason"])) for each in crawl.pages()}


def path_of(found: Json) -> str:
    return "/" + str(found["url"]).split("/", 3)[3]


def _text(value: object) -> str | None:
    return None if value is None else str(value)


@contextlib.contextmanager
def raw(robots: bytes, *more: bytes) -> Iterator[Scripted]:
    """The same pages, with a robots.txt of these bytes; `more` is repeated until the client has enough."""
    pages = {b"/": HOME.body, b"/open": "open", b"/private": "private"}

    async def script(talk: Talk) -> None:
        while True:
            path = (await talk.request()).split()[1]
            if path == b"/robots.txt":
                if not more:
                    await talk.say(_head(200, len(robots)) + robots)
                    continue
                await talk.say(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n" + robots)
                while True:
                    await talk.say(more[0])
            body = pages[path].encode() if path in pages else b""
            await talk.say(_head(200 if path in pages else 404, len(body)) + body)

    with scripted_site(script) as server:
        yield server


def _head(status: int, length: int) -> bytes:
    return b"HTTP/1.1 %d X\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n" % (status, length)


def crawled_raw(folder: Path, robots: bytes, *more: bytes) -> dict[str, tuple[str, str | None]]:
    crawl = SmallCrawl(folder)
    with raw(robots, *more) as server:
        crawl.run(f"http://127.0.0.1:{server.port}/")
    return states(crawl)


STORED, DENIED = ("stored", None), ("excluded", "robots_denied")


# --- what cannot be had -------------------------------------------------------------------------------


@pytest.mark.parametrize("trouble", [Answer("", 500), Answer("<!DOCTYPE html><p>Sorry", 503)], ids=["500", "503"])
def test_rb_01_no_page_is_fetched_while_the_server_fails_and_it_is_asked_ever_more_rarely(
    tmp_path: Path, trouble: Answer
) -> None:
    crawl = SmallCrawl(tmp_path)
    with SmallServer(three_pages(trouble)) as server:
        crawl.run(server.base + "/")
        asked = [each.at for each in server.asked]

    assert set(server.paths()) == {"/robots.txt"}
    assert states(crawl) == {"/": ("dead", "robots_unreachable")}
    gaps = [later - earlier for earlier, later in itertools.pairwise(asked)]
    assert len(gaps) == 4
    assert all(gap >= 0.05 * 0.8 * 2**n for n, gap in enumerate(gaps))


def test_rb_01_urls_wait_for_as_long_as_the_host_is_given(tmp_path: Path) -> None:
    crawl = SmallCrawl(tmp_path, RETRY, PATIENT)
    with SmallServer(three_pages(lambda _, before: Answer("", 503) if before < 8 else rules(PRIVATE))) as server:
        crawl.run(server.base + "/")

    assert server.paths() == ["/robots.txt"] * 9 + ["/", "/open"]
    assert states(crawl) == {"/": STORED, "/open": STORED, "/private": DENIED}


@pytest.mark.parametrize("status", [404, 410, 401, 403])
def test_rb_02_without_a_file_everything_is_allowed(tmp_path: Path, status: int) -> None:
    crawl = SmallCrawl(tmp_path)
    with SmallServer(three_pages(Answer(PRIVATE, status))) as server:
        crawl.run(server.base + "/")

    assert states(crawl) == {"/": STORED, "/open": STORED, "/private": STORED}


def test_rb_03_a_host_that_asks_for_quiet_is_asked_for_nothing_and_then_again(tmp_path: Path) -> None:
    busy = Answer("", 429, {"Retry-After": "2"})
    crawl = SmallCrawl(tmp_path)
    with SmallServer(three_pages(lambda _, before: busy if before == 0 else rules(PRIVATE))) as server:
        crawl.run(server.base + "/")

    assert server.paths() == ["/robots.txt", "/robots.txt", "/", "/open"]
    assert server.asked[1].at - server.asked[0].answered_at >= 2.0


@contextlib.contextmanager
def out_of_reach(how: str) -> Iterator[int]:
    """A port whose robots.txt cannot be had."""
    with contextlib.ExitStack() as stack:
        if how == "reset":

            async def script(talk: Talk) -> None:
                assert (await talk.request()).startswith(b"GET /robots.txt ")
                talk.reset()

            yield stack.enter_context(scripted_site(script)).port
            return
        held = stack.enter_context(socket.socket())
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
        if how == "no connection":
            held.listen(0)
            for _ in range(4):  # its queue is full, and nobody takes from it
                filler = stack.enter_context(socket.socket())
                filler.setblocking(False)
                filler.connect_ex(("127.0.0.1", port))
        yield port


@pytest.mark.parametrize("how", ["refused", "reset", "no connection"])
def test_rb_06_nothing_is_fetched_from_a_host_whose_file_cannot_be_asked_for(tmp_path: Path, how: str) -> None:
    crawl = SmallCrawl(tmp_path, RETRY + "[fetch]\nconnect_timeout = 0.2\n")
    with out_of_reach(how) as port:
        crawl.run(f"http://127.0.0.1:{port}/")

    assert states(crawl) == {"/": ("dead", "robots_unreachable")}


def test_rb_06_a_file_that_leads_to_a_name_that_does_not_exist_closes_its_host(tmp_path: Path) -> None:
    crawl = SmallCrawl(tmp_path)
    away = Answer("", 302, {"Location": "http://elsewhere.test/robots.txt"})
    with SmallServer(three_pages(away)) as server, naming(lambda _host, _kind: Reply(code=NXDOMAIN)) as names:
        ended = gossamer(*crawl.command([server.base + "/"], "--dns", names.address))

    assert ended.status == 0, ended.err
    assert set(server.paths()) == {"/robots.txt"}
    assert states(crawl) == {"/": ("dead", "robots_unreachable")}


def test_rb_06_a_file_that_leads_to_a_name_whose_servers_fail_is_waited_for(tmp_path: Path) -> None:
    failing = threading.Event()
    failing.set()
    crawl = SmallCrawl(tmp_path)
    with SmallServer({"/robots.txt": rules(PRIVATE)}, "127.0.0.7") as elsewhere:
        away = Answer("", 302, {"Location": f"http://elsewhere.test:{elsewhere.port}/robots.txt"})

        def zone(_host: str, kind: int) -> Reply:
            if failing.is_set():
                return Reply(code=SERVFAIL)
            return a("127.0.0.7") if kind == A else Reply()

        with (
            SmallServer(three_pages(away)) as server,
            naming(zone) as names,
            Command(*crawl.command([server.base + "/"], "--dns", names.address)) as crawler,
        ):
            wait_until(lambda: "/robots.txt" in server.paths() or not crawler.runs, "the first request")
            wait_until(lambda: names.questions("elsewhere.test") >= 4 or not crawler.runs, "another look-up")
            before = server.paths()
            failing.clear()
            ended = crawler.ended()

    assert ended.status == 0, ended.err
    assert set(before) == {"/robots.txt"}  # nothing is fetched until the rules can be read,
    assert elsewhere.paths() == ["/robots.txt"]
    assert states(crawl) == {  # and then by those rules
        "/": ("stored", None),
        "/open": ("stored", None),
        "/private": ("excluded", "robots_denied"),
    }


def test_rb_17_a_file_that_drips_is_unreachable_when_its_time_is_up(tmp_path: Path) -> None:
    async def script(talk: Talk) -> None:
        assert (await talk.request()).startswith(b"GET /robots.txt ")
        await talk.say(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
        while True:
            await talk.say(b"#")
            await asyncio.sleep(0.05)

    constants = Constants(GIVEN_UP_AT_ONCE | {"gossamer.crawl.visit.request.ROBOTS_TIMEOUT": 0.4})
    crawl = SmallCrawl(tmp_path, constants=constants)
    with scripted_site(script) as server:
        crawl.run(f"http://127.0.0.1:{server.port}/")  # another host is crawled meanwhile
        heard = len(server.heard)

    assert 1 <= heard <= 5  # fewer when nothing else is left to do by then
    assert states(crawl) == {"/": ("dead", "robots_unreachable")}


# --- redirects ----------------------------------------------------------------------------------------


@contextlib.contextmanager
def leading_on(hops: int) -> Iterator[list[SmallServer]]:
    """Hosts whose robots.txt lead from one to the next, `hops` times."""
    with contextlib.ExitStack() as stack:
        servers: list[SmallServer] = []
        answer = rules(PRIVATE)
        for n in reversed(range(hops + 1)):
            server = SmallServer(three_pages(answer), f"127.0.4.{n + 1}")
            servers.insert(0, stack.enter_context(server))
            answer = Answer("", 301, {"Location": server.base + "/robots.txt"})
        yield servers


def test_rb_04_rules_at_the_end_of_five_redirects_over_other_hosts_hold_for_the_first(tmp_path: Path) -> None:
    crawl = SmallCrawl(tmp_path)
    with leading_on(5) as servers:
        crawl.run(servers[0].base + "/")

    assert servers[0].paths() == ["/robots.txt", "/", "/open"]
    assert [server.paths() for server in servers[1:]] == [["/robots.txt"]] * 5
    assert states(crawl) == {"/": STORED, "/open": STORED, "/private": DENIED}


def test_rb_04_six_redirects_are_as_no_file_and_flagged(tmp_path: Path) -> None:
    crawl = SmallCrawl(tmp_path)
    with leading_on(6) as servers:
        crawl.run(servers[0].base + "/")

    assert servers[6].paths() == []
    assert states(crawl) == {"/": STORED, "/open": STORED, "/private": STORED}
    told = gossamer("explain", servers[0].base + "/private", "--dir", crawl.dir).out
    assert "too many redirects" in told


def test_rb_04_a_host_that_is_crawled_itself_keeps_its_gap_when_others_ask_it_for_their_rules(tmp_path: Path) -> None:
    delay, askers = 0.3, 6
    crawl = SmallCrawl(tmp_path)
    with contextlib.ExitStack() as stack:
        busy = stack.enter_context(SmallServer(three_pages(rules(PRIVATE)), "127.0.5.1"))
        away = Answer("", 307, {"Location": busy.base + "/robots.txt"})
        others = [stack.enter_context(SmallServer(three_pages(away), f"127.0.5.{n}")) for n in range(2, 2 + askers)]
        seeds = [server.base + "/" for server in (busy, *others)]
        ended = gossamer(*crawl.command(seeds, "--delay", delay))
        asked = busy.asked

    assert ended.status == 0, ended.err
    assert ended.report["politeness_violations"] == 0
    # All have the same home page: whichever is read first is the one whose links are followed.
    assert [server.paths()[:2] for server in others] == [["/robots.txt", "/"]] * askers
    assert [each.path for each in asked].count("/robots.txt") == 1 + askers
    assert "/" in {each.path for each in asked}
    gaps = [later.at - earlier.answered_at for earlier, later in itertools.pairwise(asked)]
    assert min(gaps) >= delay


_WHOLE = PRIVATE.encode() + b"Disallow: /open\n"
_LONG = gzip.compress(_WHOLE + bytes(range(256)) * 8, compresslevel=0)
_IN_PART = {
    "cut short": (b"200 OK", b"Content-Length: %d\r\n" % (len(_WHOLE) + 9), _WHOLE),
    "cut between chunks": (b"200 OK", b"Transfer-Encoding: chunked\r\n", b"%x\r\n%b\r\n" % (len(_WHOLE), _WHOLE)),
    "206": (b"206 Partial Content", b"Content-Range: bytes 0-%d/999\r\n" % (len(_WHOLE) - 1), _WHOLE),
    "gzip cut short": (b"200 OK", b"Content-Encoding: gzip\r\n", _LONG[:-40]),
    "brotli that is none": (b"200 OK", b"Content-Encoding: br\r\n", b"\xff" * 200),
    "too many codings": (b"200 OK", b"Content-Encoding: gzip, gzip, gzip, gzip\r\n", gzip.compress(_WHOLE)),
}


@pytest.mark.parametrize("kind", _IN_PART)
def test_rb_18_a_file_that_arrives_in_part_is_as_one_that_cannot_be_had(tmp_path: Path, kind: str) -> None:
    status, fields, body = _IN_PART[kind]
    asked = []

    async def script(talk: Talk) -> None:
        asked.append((await talk.request()).split()[1])
        await talk.say(b"HTTP/1.1 %b\r\nContent-Type: text/plain\r\n%b\r\n%b" % (status, fields, body))

    crawl = SmallCrawl(tmp_path)
    with scripted_site(script) as server:
        crawl.run(f"http://127.0.0.1:{server.port}/")

    assert set(asked) == {b"/robots.txt"}
    assert states(crawl) == {"/": ("dead", "robots_unreachable")}


def test_rb_18_a_plain_file_that_is_declared_as_gzip_is_read(tmp_path: Path) -> None:
    crawl = SmallCrawl(tmp_path)
    with SmallServer(three_pages(Answer(PRIVATE, headers={"Content-Encoding": "gzip"}))) as server:
        crawl.run(server.base + "/")

    assert states(crawl) == {"/": STORED, "/open": STORED, "/private": DENIED}


# --- what a file may look like ------------------------------------------------------------------------


def test_rb_05_a_web_page_in_its_place_has_no_rules(tmp_path: Path) -> None:
    crawl = SmallCrawl(tmp_path)
    with SmallServer(three_pages(HOME)) as server:
        crawl.run(server.base + "/")

    assert states(crawl) == {"/": STORED, "/open": STORED, "/private": STORED}


def test_rb_07_what_stands_beyond_500_kib_does_not_count(tmp_path: Path) -> None:
    early = b"User-agent: *\nDisallow: /open\n"
    filler = b"# filler\n" * ((590_000 - len(early)) // 9)

    found = crawled_raw(tmp_path, early + filler + b"Disallow: /private\n")

    assert found == {"/": STORED, "/open": DENIED, "/private": STORED}


def test_rb_08_of_a_file_without_end_the_rules_so_far_hold(tmp_path: Path) -> None:
    found = crawled_raw(tmp_path, PRIVATE.encode(), b"# and so on\n" * 1000)

    assert found == {"/": STORED, "/open": STORED, "/private": DENIED}


def test_rb_09_a_byte_order_mark_hides_nothing(tmp_path: Path) -> None:
    found = crawled_raw(tmp_path, b"\xef\xbb\xbfUser-agent: *\nDisallow: /\n")

    assert found == {"/": DENIED}


@pytest.mark.parametrize(
    "robots",
    [PRIVATE.encode("utf-16"), b"# Stra\xdfe\n" + PRIVATE.encode(), PRIVATE.replace("\n", "\r").encode()],
    ids=["rb_10 utf-16", "rb_10 latin-1", "rb_11 cr"],
)
def test_rb_10_and_11_odd_bytes_and_line_ends_are_read(tmp_path: Path, robots: bytes) -> None:
    assert crawled_raw(tmp_path, robots) == {"/": STORED, "/open": STORED, "/private": DENIED}


@pytest.mark.parametrize("value", ["86400", "1e308"])
def test_rb_12_a_host_that_asks_for_more_than_we_wait_is_left_alone(tmp_path: Path, value: str) -> None:
    crawl = SmallCrawl(tmp_path)
    with SmallServer(three_pages(rules(f"User-agent: *\nCrawl-delay: {value}\n"))) as server:
        crawl.run(server.base + "/")

    assert server.paths() == ["/robots.txt"]
    assert states(crawl) == {"/": ("excluded", "crawl_delay_too_long")}


@pytest.mark.parametrize("value", ["-5", "NaN", "inf", "abc", "1,5", ""])
def test_rb_13_a_delay_that_is_none_is_ignored(tmp_path: Path, value: str) -> None:
    crawl = SmallCrawl(tmp_path)
    with SmallServer(three_pages(rules(f"User-agent: *\nCrawl-delay: {value}\n"))) as server:
        crawl.run(server.base + "/")

    assert states(crawl) == {"/": STORED, "/open": STORED, "/private": STORED}


def test_rb_14_a_rule_made_of_stars_is_judged_in_no_time() -> None:
    found = parse_robots(b"User-agent: *\nDisallow: /*a*a*a*a*a*a*a*b\n", "gossamer")

    assert found.allows("/" + "a" * 200)
    assert growth(lines_run, lambda size: found.allows("/" + "a" * size), 200) < 10


def test_rb_15_each_scheme_has_its_own_rules(tmp_path: Path) -> None:
    crawl = SmallCrawl(tmp_path, f'{RETRY}[fetch]\nca_bundle = "{authority().ca_file}"\n')
    tls = authority().server_side("127.0.0.1")
    with (
        SmallServer(three_pages(rules(PRIVATE))) as plain,
        SmallServer(three_pages(rules("User-agent: *\nDisallow: /open\n"), "tls"), tls=tls) as secure,
        SmallServer(three_pages(rules(""), "other")) as other,
    ):
        crawl.run(plain.base + "/", secure.base + "/", other.base + "/")

    assert secure.base.startswith("https://127.0.0.1:")
    assert plain.paths() == ["/robots.txt", "/", "/open"]
    assert secure.paths() == ["/robots.txt", "/", "/private"]
    assert other.paths()[:2] == ["/robots.txt", "/"] and sorted(other.paths()[2:]) == ["/open", "/private"]


def test_rb_15_one_port_has_other_rules_for_another_scheme() -> None:
    """Where one port speaks both, which no server of ours does."""
    found = [canonicalise(f"{scheme}://h.test:8080/") for scheme in ("http", "https")]

    origins = {each.origin for each in found if isinstance(each, Canonical)}
    assert origins == {"http://h.test:8080", "https://h.test:8080"}


def test_rb_15_each_port_has_its_own_rules(tmp_path: Path) -> None:
    crawl = SmallCrawl(tmp_path)
    with SmallServer(three_pages(rules(PRIVATE))) as one, SmallServer(three_pages(rules(""), "other")) as other:
        crawl.run(one.base + "/", other.base + "/")

    assert one.paths() == ["/robots.txt", "/", "/open"]
    assert other.paths()[:2] == ["/robots.txt", "/"] and sorted(other.paths()[2:]) == ["/open", "/private"]


@pytest.mark.parametrize(
    "home",
    [
        Answer('<!DOCTYPE html><META NAME="ROBOTS" CONTENT="NoIndex, NOFOLLOW"><a href="/open">x</a>'),
        Answer('<!DOCTYPE html><a href="/open">x</a>', headers={"X-Robots-Tag": "nofollow"}),
    ],
    ids=["meta", "header"],
)
def test_rb_16_links_that_are_not_to_be_followed_are_not(tmp_path: Path, home: Answer) -> None:
    crawl = SmallCrawl(tmp_path)
    with SmallServer({"/": home, "/open": page("open")}) as server:
        crawl.run(server.base + "/")

    assert server.paths() == ["/robots.txt", "/"]


# --- over a restart -----------------------------------------------------------------------------------


def test_rules_of_the_last_day_hold_on_while_the_file_cannot_be_had(tmp_path: Path) -> None:
    short = Answer(PRIVATE, headers={"Content-Type": "text/plain", "Cache-Control": "max-age=0"})
    crawl = SmallCrawl(tmp_path)
    with SmallServer(three_pages(lambda _, before: short if before == 0 else Answer("", 503))) as server:
        crawl.run(server.base + "/")
        expire_rules(crawl)
        seeds = [server.base + path for path in ("/", "/open?2", "/private?2")]
        ended = gossamer(*crawl.command(seeds, "--add-seeds"))

    assert ended.status == 0, ended.err
    # The file may be asked for once more meanwhile: its time is over, and the rules of before hold on a little only.
    assert server.paths()[:4] == ["/robots.txt", "/", "/open", "/robots.txt"]
    assert [path for path in server.paths() if path != "/robots.txt"] == ["/", "/open", "/open?2"]
    assert states(crawl)["/private?2"] == DENIED


def expire_rules(crawl: SmallCrawl) -> None:
    """As if the time of every stored robots.txt were over, though the day is not."""
    with contextlib.closing(sqlite3.connect(crawl.dir / "crawl.db")) as db, db:
        db.execute("UPDATE robots SET expires_at = fetched_at")
