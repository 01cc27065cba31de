"""Redirects, RD-01 to RD-18, as whole crawls: what the servers were asked for, and what became of the URLs.

RD-07, redirects to addresses out of bounds, is in test_hostile_addresses.py, where sentinels listen, and here by what
is put on record.
"""

import contextlib
import itertools
import os
import signal
from pathlib import Path

import pytest

from tests.fetch.http.scripted_server import Talk
from tests.hostile.dns_stage import naming
from tests.hostile.scripted import site as scripted_site
from tests.hostile.small_crawl import SmallCrawl
from tests.hostile.survival import SECRET
from tests.integration.crawl_process import Command, Json, gossamer, wait_until
from tests.integration.small_server import NOTHING, Answer, SmallServer, links, page
from tests.name_server import NXDOMAIN, A, Reply, a

pytestmark = pytest.mark.service


def to(location: str, status: int = 302) -> Answer:
    return Answer("", status, {"Location": location})


def crawled(crawl: SmallCrawl, seeds: list[str], *options: object) -> Json:
    ended = gossamer(*crawl.command(seeds, *options))
    assert ended.status == 0, ended.err
    assert ended.report["politeness_violations"] == 0
    assert SECRET not in ended.out + ended.err
    return ended.report


def by_url(crawl: SmallCrawl) -> dict[str, Json]:
    return {str(each["url"]): each for each in crawl.pages()}


def dead_letters(crawl: SmallCrawl) -> dict[str, str]:
    return {str(each["url"]): str(each["reason"]) for each in gossamer("dead", "--dir", crawl.dir, "--json").lines}


# --- loops and chains -----------------------------------------------------------------------------------


def test_rd_01_a_page_that_redirects_to_itself_is_asked_for_once(tmp_path: Path) -> None:
    crawl = SmallCrawl(tmp_path)
    with SmallServer({"/a": to("/a")}) as server:
        crawl.run(server.base + "/a")

    assert server.paths() == ["/robots.txt", "/a"]
    assert dead_letters(crawl) == {server.base + "/a": "redirect_loop"}


@pytest.mark.parametrize("length", [2, 5])
def test_rd_02_a_loop_over_several_hosts_is_found_when_it_closes(tmp_path: Path, length: int) -> None:
    crawl = SmallCrawl(tmp_path)
    with contextlib.ExitStack() as stack:
        first = SmallServer(lambda path, _: to(targets[0]) if path == "/x" else NOTHING, "127.0.6.1")
        servers = [stack.enter_context(first)]
        targets = [first.base + "/x"]
        for n in range(2, length + 1):
            server = stack.enter_context(SmallServer({"/x": to(targets[-1])}, f"127.0.6.{n}"))
            targets.append(server.base + "/x")
            servers.append(server)
        targets.reverse()  # the first leads to the last, and so on down to the first
        crawled(crawl, [first.base + "/x"], "--scope", "any")

    assert sum(server.paths().count("/x") for server in servers) == length
    assert list(dead_letters(crawl).values()) == ["redirect_loop"]


@pytest.mark.parametrize("hops", [10, 11])
def test_rd_03_ten_redirects_are_followed_and_eleven_are_not(tmp_path: Path, hops: int) -> None:
    site = {f"/{n}": to(f"/{n + 1}") for n in range(hops)}
    crawl = SmallCrawl(tmp_path)
    with SmallServer({**site, f"/{hops}": page("there")}) as server:
        crawl.run(server.base + "/0")

    found = by_url(crawl)
    assert server.paths() == ["/robots.txt", *(f"/{n}" for n in range(11))]
    for n in range(10):
        hop = found[f"{server.base}/{n}"]
        assert (hop["state"], hop["redirect_to"]) == ("redirect", f"{server.base}/{n + 1}")
    if hops == 10:
        assert found[server.base + "/10"]["state"] == "stored"
    else:
        assert dead_letters(crawl) == {server.base + "/10": "too_many_redirects"}


def test_rd_04_a_chain_without_end_ends(tmp_path: Path) -> None:
    crawl = SmallCrawl(tmp_path)
    with SmallServer(lambda path, _: to(f"/r?n={int(path[5:]) + 1}") if path[:5] == "/r?n=" else NOTHING) as server:
        crawl.run(server.base + "/r?n=1")

    assert server.paths() == ["/robots.txt", *(f"/r?n={n}" for n in range(1, 12))]
    assert list(dead_letters(crawl).values()) == ["too_many_redirects"]


# --- where they must not lead -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "location",
    [
        "file:///CANARY",
        "gopher://127.0.0.1/",
        "ftp://127.0.0.1/",
        "data:text/html,x",
        "javascript:alert(1)",
        "ws://127.0.0.1/",
        "about:blank",
    ],
)
def test_rd_05_and_06_other_schemes_are_recorded_and_not_followed(tmp_path: Path, location: str) -> None:
    canary = tmp_path / "canary"
    canary.write_text("never read")
    accessed = canary.stat().st_atime_ns
    crawl = SmallCrawl(tmp_path)
    with SmallServer({"/a": to(location.replace("/CANARY", str(canary)))}) as server:
        ended = crawl.run(server.base + "/a")

    assert server.paths() == ["/robots.txt", "/a"]
    (found,) = crawl.pages()
    assert (found["state"], found["reason"]) == ("redirect", "redirect_bad_scheme")
    assert ended.report["excluded"] == {"redirect_bad_scheme": 1}
    assert canary.stat().st_atime_ns == accessed


@pytest.mark.parametrize(
    "target", ["http://127.0.0.1:{}/", "http://169.254.169.254/", "http://[::1]:{}/", "http://[::ffff:10.0.0.1]/"]
)
def test_rd_07_addresses_out_of_bounds_are_not_dialled(tmp_path: Path, target: str) -> None:
    crawl = SmallCrawl(tmp_path)
    with SmallServer({"/": page("sentinel")}) as sentinel:
        location = target.format(sentinel.port)
        with SmallServer({"/a": to(location)}, "127.0.7.1") as server:
            options = ["--no-allow-private", "--allow-network", "127.0.7.0/24", "--scope", "any"]
            crawled(crawl, [server.base + "/a"], *options)

    assert sentinel.asked == []
    reasons = {url: each["reason"] for url, each in by_url(crawl).items() if not url.startswith(server.base)}
    assert list(reasons.values()) == ["blocked_address"]


def test_rd_08_what_stands_before_the_host_is_neither_sent_nor_written_down(tmp_path: Path) -> None:
    crawl = SmallCrawl(tmp_path)
    with SmallServer({"/": page("there")}, "127.0.6.2") as other:
        location = other.base.replace("http://", f"http://user:{SECRET}@") + "/"
        with SmallServer({"/a": to(location)}) as server:
            crawled(crawl, [server.base + "/a"], "--scope", "any")

    assert other.paths() == ["/robots.txt", "/"]
    assert all("Authorization" not in asked.headers for asked in other.asked)
    assert by_url(crawl)[server.base + "/a"]["redirect_to"] == other.base + "/"
    assert by_url(crawl)[other.base + "/"]["state"] == "stored"


def test_rd_14_a_target_that_robots_txt_denies_is_not_fetched(tmp_path: Path) -> None:
    rules = Answer("User-agent: *\nDisallow: /no\n", headers={"Content-Type": "text/plain"})
    crawl = SmallCrawl(tmp_path)
    with SmallServer({"/robots.txt": rules, "/no": page("no")}, "127.0.6.2") as other:
        site = {"/robots.txt": rules, "/a": to("/no"), "/b": to(other.base + "/no"), "/no": page("no")}
        with SmallServer(site) as server:
            crawled(crawl, [server.base + "/a", server.base + "/b"], "--scope", "any")

    assert sorted(server.paths()) == ["/a", "/b", "/robots.txt"]
    assert other.paths() == ["/robots.txt"]
    found = by_url(crawl)
    for base in (server.base, other.base):
        assert (found[base + "/no"]["state"], found[base + "/no"]["reason"]) == ("excluded", "robots_denied")


def test_rd_15_a_target_outside_the_scope_is_recorded_and_not_fetched(tmp_path: Path) -> None:
    crawl = SmallCrawl(tmp_path)
    with SmallServer({"/": page("outside")}, "127.0.6.2") as other, SmallServer({"/a": to(other.base + "/")}) as server:
        crawl.run(server.base + "/a")

    assert other.asked == []
    (found,) = crawl.pages()
    assert (found["state"], found["redirect_to"], found["reason"]) == ("redirect", other.base + "/", "out_of_scope")


# --- how they are written -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("location", "path"),
    [("next", "/dir/next"), ("../x", "/x"), ("?q=1", "/dir/a?q=1"), ("//HOST/p", "/p"), ("///HOST/p", "/p")],
)
def test_rd_09_locations_are_resolved_as_browsers_do(tmp_path: Path, location: str, path: str) -> None:
    crawl = SmallCrawl(tmp_path)

    def site(asked: str, _: int) -> Answer:
        if asked == "/dir/a":
            return to(location.replace("HOST", server.base.removeprefix("http://")))
        return page("there") if asked == path else NOTHING

    with SmallServer(site) as server:
        crawl.run(server.base + "/dir/a")

    assert server.paths() == ["/robots.txt", "/dir/a", path]


@pytest.mark.parametrize("location", ["", "#f"])
def test_rd_09_a_location_that_says_nothing_is_the_same_page(tmp_path: Path, location: str) -> None:
    crawl = SmallCrawl(tmp_path)
    with SmallServer({"/a": to(location)}) as server:
        crawl.run(server.base + "/a")

    assert server.paths() == ["/robots.txt", "/a"]
    assert dead_letters(crawl) == {server.base + "/a": "redirect_loop"}


@pytest.mark.parametrize(
    ("location", "target"),
    [
        ("/é".encode(), b"/%C3%A9"),
        (b"/\xe9", b"/%E9"),
        (b"/a b", b"/a%20b"),
        (b'/"q"', b"/%22q%22"),
    ],
    ids=["utf-8", "latin-1", "space", "quotes"],
)
def test_rd_10_bytes_that_no_url_may_hold_are_escaped(tmp_path: Path, location: bytes, target: bytes) -> None:
    async def script(talk: Talk) -> None:
        while True:
            path = (await talk.request()).split(b" ")[1]
            if path == b"/a":
                await talk.say(b"HTTP/1.1 302 X\r\nLocation: " + location + b"\r\nContent-Length: 0\r\n\r\n")
            elif path == target:
                await talk.say(b"HTTP/1.1 200 X\r\nContent-Type: text/html\r\nContent-Length: 5\r\n\r\nthere")
            else:
                await talk.say(b"HTTP/1.1 404 X\r\nContent-Length: 0\r\n\r\n")

    crawl = SmallCrawl(tmp_path)
    with scripted_site(script) as server:
        crawl.run(f"http://127.0.0.1:{server.port}/a")

    assert by_url(crawl)[f"http://127.0.0.1:{server.port}" + target.decode()]["state"] == "stored"


def test_rd_11_a_redirect_to_nowhere_is_stored_as_it_is(tmp_path: Path) -> None:
    crawl = SmallCrawl(tmp_path)
    with SmallServer({"/a": Answer("<!DOCTYPE html><p>moved", 301)}) as server:
        crawl.run(server.base + "/a")

    assert server.paths() == ["/robots.txt", "/a"]
    (found,) = crawl.pages()
    assert (found["state"], found["status"], found["reason"]) == ("stored", 301, "redirect_no_location")
    assert found["size"] == 23


@pytest.mark.parametrize(
    ("body", "asked"),
    [
        ('<meta http-equiv=refresh content="0;url=/x">', ["/robots.txt", "/", "/x"]),
        ('<meta http-equiv=refresh content="5">', ["/robots.txt", "/"]),
        ('<noscript><meta http-equiv=refresh content="0;url=/x"></noscript>', ["/robots.txt", "/", "/x"]),
    ],
    ids=["elsewhere", "itself", "noscript"],
)
def test_rd_12_a_page_that_refreshes_gives_a_link(tmp_path: Path, body: str, asked: list[str]) -> None:
    crawl = SmallCrawl(tmp_path)
    with SmallServer({"/": Answer(f"<!DOCTYPE html>{body}"), "/x": page("x")}) as server:
        crawl.run(server.base + "/")

    assert server.paths() == asked


def test_rd_17_and_18_the_links_of_alternatives_are_followed_and_a_refresh_header_is_a_link(tmp_path: Path) -> None:
    site = {
        "/": Answer(
            "<!DOCTYPE html><a href='/refreshed'>one</a><a href='/empty'>two</a><a href='/same'>three</a>", 300
        ),
        "/refreshed": Answer("<!DOCTYPE html>wait", headers={"Refresh": "5; url=/from-page"}),
        "/empty": Answer("", headers={"Refresh": "0;URL='/from-empty'"}),
        "/same": Answer("<!DOCTYPE html>wait", headers={"Refresh": "0, /from-duplicate"}),
        "/from-page": Answer("<!DOCTYPE html>itself", headers={"Refresh": "1"}),
        "/from-empty": page("from an empty page"),
        "/from-duplicate": page("from a duplicate"),
    }
    crawl = SmallCrawl(tmp_path)
    with SmallServer(site) as server:
        crawl.run(server.base + "/")
        asked = sorted(server.paths())

    assert asked == sorted([*site, "/robots.txt"])
    states = {str(each["url"]).removeprefix(server.base): (each["state"], each["status"]) for each in crawl.pages()}
    assert states["/"] == ("stored", 300)
    assert states["/same"] == ("duplicate", 200)


def test_rd_13_international_hosts_are_asked_for_by_their_ascii_names(tmp_path: Path) -> None:
    locations = {
        "/a": "http://bücher.test:PORT/",
        "/b": "http://bücher。test:PORT/b",
        "/c": "http://b\u200d.test:PORT/",
    }

    async def script(talk: Talk) -> None:
        while True:
            head = await talk.request()
            path = head.split(b" ")[1].decode()
            if path in locations and b"Host: start.test" in head:
                location = locations[path].replace("PORT", str(server.port)).encode()
                await talk.say(b"HTTP/1.1 302 X\r\nLocation: " + location + b"\r\nContent-Length: 0\r\n\r\n")
            else:
                body = b"at " + path.encode()
                await talk.say(
                    b"HTTP/1.1 200 X\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n" % len(body) + body
                )

    def zone(host: str, kind: int) -> Reply:
        if host not in ("start.test", "xn--bcher-kva.test"):
            return Reply(code=NXDOMAIN)
        return a("127.0.0.1") if kind == A else Reply()

    crawl = SmallCrawl(tmp_path)
    with scripted_site(script) as server, naming(zone) as names:
        seeds = [f"http://start.test:{server.port}{path}" for path in locations]
        crawled(crawl, seeds, "--dns", names.address, "--scope", "any")
        asked = {name for name, _ in names.asked}

    found = by_url(crawl)
    home = f"http://xn--bcher-kva.test:{server.port}"
    assert (found[home + "/"]["state"], found[home + "/b"]["state"]) == ("stored", "stored")
    assert found[seeds[2]]["reason"] == "bad_url"
    assert asked == {"start.test", "xn--bcher-kva.test"}


# --- many at once -------------------------------------------------------------------------------------------


def test_rd_16_a_host_that_many_others_redirect_to_is_not_hurried(tmp_path: Path) -> None:
    hosts, pages, delay = 100, 15, 0.05
    crawl = SmallCrawl(tmp_path)
    servers = []
    with contextlib.ExitStack() as stack:
        victim = stack.enter_context(SmallServer(lambda path, _: page(path), "127.0.6.250"))
        seeds = []
        for n in range(1, hosts + 1):
            site = {f"/{p}": to(f"{victim.base}/{n}-{p}") for p in range(pages)}
            home = links(*site, f"#{n}")  # each a document of its own
            server = stack.enter_context(SmallServer({"/": home, **site}, f"127.0.6.{n}"))
            servers.append(server)
            seeds.append(server.base + "/")
        listed = tmp_path / "seeds.txt"
        listed.write_text("\n".join(seeds))
        with Command(*crawl.command([], "--seeds", listed, "--scope", "any", "--delay", delay)) as crawler:
            # To the end it would be fifteen hundred gaps; when all redirects have been given, any burst would be over.
            everything = hosts * (2 + pages)
            wait_until(lambda: sum(len(s.asked) for s in servers) >= everything or not crawler.runs, "all redirects")
            wait_until(lambda: len(victim.asked) >= 50 or not crawler.runs, "requests to the victim")
            os.kill(crawler.process.pid, signal.SIGTERM)
            ended = crawler.ended()

    assert ended.report["politeness_violations"] == 0
    assert sum(len(server.asked) for server in servers) == everything
    assert len(victim.asked) >= 50
    gaps = [later.at - earlier.answered_at for earlier, later in itertools.pairwise(victim.asked)]
    assert min(gaps) >= delay
    waiting = [each for each in crawl.pages() if str(each["url"]).startswith(victim.base)]
    assert len(waiting) == hosts * pages
    assert {each["state"] for each in waiting} == {"queued", "stored"}
