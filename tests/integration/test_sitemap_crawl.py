"""Pages that only a sitemap or a feed leads to are found, politely, with what the sitemap says of them."""

import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.integration.crawl_process import Constants, Ended, gossamer
from tests.integration.small_server import Answer, SmallServer, links, page

pytestmark = pytest.mark.service

LOCAL = ("--allow-private", "--delay", 0.01, "--delay-factor", 0, "--json", "--quiet")
XML = {"Content-Type": "application/xml"}
TEXT = {"Content-Type": "text/plain"}


def robots(*lines: str) -> Answer:
    return Answer("User-agent: *\nDisallow: /private\n" + "".join(f"{line}\n" for line in lines), headers=TEXT)


def urlset(*items: str) -> Answer:
    return Answer("<urlset>" + "".join(f"<url>{item}</url>" for item in items) + "</urlset>", headers=XML)


def index(*urls: str) -> Answer:
    inside = "".join(f"<sitemap><loc>{url}</loc></sitemap>" for url in urls)
    return Answer(f"<sitemapindex>{inside}</sitemapindex>", headers=XML)


def crawl(server: SmallServer, folder: Path, *options: object, toml: str = "") -> Ended:
    config = folder / "gossamer.toml"
    config.write_text(toml)
    fixed = ("--dir", folder / "crawl", "--config", config, *LOCAL)
    return gossamer("crawl", server.base, *fixed, *options)


def states(folder: Path) -> dict[str, object]:
    found = gossamer("pages", "--dir", folder / "crawl", "--json").lines
    return {"/" + str(p["url"]).split("/", 3)[3]: p["state"] for p in found}


def rows(folder: Path, sql: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(folder / "crawl" / "crawl.db")) as db:
        return db.execute(sql).fetchall()


def test_pages_that_only_a_sitemap_names_are_found_one_below_the_start(tmp_path: Path) -> None:
    site = {
        "/robots.txt": robots("Sitemap: /map.xml"),
        "/": page("home"),
        "/map.xml": urlset(
            "<loc>/listed</loc><lastmod>2024-05-06</lastmod><changefreq>daily</changefreq><priority>0.9</priority>",
            "<loc>/private/x</loc>",
            "<loc>http://elsewhere.test/</loc>",
            "<loc>/</loc><priority>1.0</priority>",
        ),
        "/listed": page("listed"),
    }
    with SmallServer(site) as server:
        ended = crawl(server, tmp_path)
        asked = [request.path for request in server.asked]

    assert ended.status == 0
    assert states(tmp_path) == {"/": "stored", "/map.xml": "stored", "/listed": "stored", "/private/x": "excluded"}
    assert sorted(asked) == ["/", "/listed", "/map.xml", "/robots.txt"]
    assert ended.report["excluded"] == {"robots_denied": 1, "out_of_scope": 1}
    assert rows(
        tmp_path,
        """SELECT u.depth, u.via, date(u.modified, 'unixepoch'), h.changefreq, h.priority, s.url LIKE '%/map.xml'
           FROM urls u JOIN hints h ON h.url_id = u.id JOIN urls s ON s.id = h.listed_in
           WHERE u.url NOT LIKE '%private%' ORDER BY u.id""",
    ) == [(0, 0, None, None, 1.0, 1), (1, 3, "2024-05-06", "daily", 0.9, 1)]
    assert (ended.report["sitemaps"], ended.report["sitemap_urls"]) == (1, 2)


def test_sitemaps_that_are_switched_off_are_not_asked_for(tmp_path: Path) -> None:
    site = {"/robots.txt": robots("Sitemap: /map.xml"), "/": page("home"), "/map.xml": urlset("<loc>/listed</loc>")}
    with SmallServer(site) as server:
        crawl(server, tmp_path, toml="[sitemaps]\nenabled = false\n")

        assert {request.path for request in server.asked} == {"/robots.txt", "/"}


def test_the_usual_place_is_looked_at_unless_that_is_switched_off(tmp_path: Path) -> None:
    site = {"/": page("home"), "/sitemap.xml": urlset("<loc>/listed</loc>"), "/listed": page("listed")}
    with SmallServer(site) as server:
        for toml, found in (("", True), ("[sitemaps]\nwell_known = false\n", False)):
            folder = tmp_path / str(found)
            folder.mkdir()
            crawl(server, folder, toml=toml)

            assert ("/listed" in states(folder)) is found


def test_a_host_without_a_sitemap_is_asked_once_and_only_explain_tells(tmp_path: Path) -> None:
    with SmallServer({"/": links("/page"), "/page": page("page")}) as server:
        ended = crawl(server, tmp_path)
        asked, guesses = server.paths(), server.guesses
        told = gossamer("explain", f"{server.base}/sitemap.xml", "--dir", tmp_path / "crawl").out
        robots = gossamer("explain", server.base, "--dir", tmp_path / "crawl", "--json").report["robots"]

    assert (asked, guesses) == (["/robots.txt", "/", "/page"], 1)
    assert states(tmp_path) == {"/": "stored", "/page": "stored"}
    report = ended.report
    assert [report[key] for key in ("discovered", "fetched", "missing", "errors", "excluded")] == [2, 2, 0, {}, {}]
    assert "never seen" in told and "no Sitemap line; requested /sitemap.xml at" in told
    assert isinstance(robots, dict) and robots["guess"] == "404"


def test_indexes_are_followed_once_each_and_no_deeper_than_the_limit(tmp_path: Path) -> None:
    def site(path: str, before: int) -> Answer:
        if path == "/robots.txt":
            return robots("Sitemap: /1.xml", "Sitemap: /1.xml")
        if path == "/":
            return page("home")
        number = path.strip("/").removesuffix(".xml")
        if path.endswith(".xml"):
            return index("/1.xml", f"/{int(number) + 1}.xml")
        return page("nothing")

    with SmallServer(site) as server:
        ended = crawl(server, tmp_path)
        asked = [request.path for request in server.asked]

    assert sorted(asked) == ["/", "/1.xml", "/2.xml", "/3.xml", "/4.xml", "/5.xml", "/robots.txt"]
    assert ended.report["excluded"] == {"sitemap_limit": 2}


def test_a_large_sitemap_enters_in_lots_and_only_as_far_as_the_limit(tmp_path: Path) -> None:
    entries = [f"<loc>/{number}</loc>" for number in range(6_000)]
    site = {"/robots.txt": robots("Sitemap: /map.xml"), "/": page("home"), "/map.xml": urlset(*entries)}
    with SmallServer(site) as server:
        ended = crawl(
            server, tmp_path, "--max-pages", 2, Constants({"gossamer.crawl.document.sitemaps.MAX_URLS": 5_000})
        )

    assert ended.report["discovered"] == 5_002
    assert ended.report["excluded"] == {"sitemap_limit": 1_000}
    assert rows(tmp_path, "SELECT kind, entries, dropped FROM sitemaps") == [("urlset", 5_000, 0)]


def test_a_host_may_list_so_many_urls_and_no_more(tmp_path: Path) -> None:
    site = {
        "/robots.txt": robots("Sitemap: /a.xml", "Sitemap: /b.xml"),
        "/": page("home"),
        "/a.xml": urlset(*(f"<loc>/a{number}</loc>" for number in range(30))),
        "/b.xml": urlset(*(f"<loc>/b{number}</loc>" for number in range(30))),
    }
    with SmallServer(site) as server:
        ended = crawl(server, tmp_path, Constants({"gossamer.crawl.document.sitemaps.MAX_URLS": 40}))

    assert ended.report["sitemap_urls"] == 40
    assert ended.report["excluded"] == {"sitemap_limit": 20}


def test_a_damaged_sitemap_is_used_as_far_as_it_goes_and_said_to_be_damaged(tmp_path: Path) -> None:
    site = {
        "/robots.txt": robots("Sitemap: /map.xml"),
        "/": page("home"),
        "/map.xml": Answer("<urlset><url><loc>/listed</loc></url><url><loc>/cut", headers=XML),
        "/listed": page("listed"),
    }
    with SmallServer(site) as server:
        ended = crawl(server, tmp_path)

    assert states(tmp_path) == {"/": "stored", "/map.xml": "stored", "/listed": "stored"}
    assert ended.report["errors"] == {"bad_xml": 1}


@pytest.mark.parametrize("status", [404, 503])
def test_what_comes_with_an_error_is_not_read(tmp_path: Path, status: int) -> None:
    listed = urlset("<loc>/listed</loc>")
    site = {
        "/robots.txt": robots("Sitemap: /map.xml"),
        "/": page("home"),
        "/map.xml": Answer(listed.body, status, listed.headers),
    }
    with SmallServer(site) as server:
        crawl(server, tmp_path, toml="[retry]\nmax_tries = 1\n")

        assert "/listed" not in {request.path for request in server.asked}


def test_rules_for_pages_do_not_keep_sitemaps_out(tmp_path: Path) -> None:
    site = {
        "/robots.txt": robots("Sitemap: /map.gz"),
        "/": page("home"),
        "/map.gz": urlset("<loc>/news/a</loc>", "<loc>/b.gz</loc>", "<loc>/b</loc>"),
        "/news/a": page("listed"),
    }
    toml = '[filter]\ninclude = ["*/news/*", "*/"]\n[fetch]\nkinds = ["html"]\n'
    with SmallServer(site) as server:
        crawl(server, tmp_path, toml=toml)

    assert states(tmp_path) == {"/": "stored", "/map.gz": "stored", "/news/a": "stored"}


def test_a_feed_leads_to_its_items(tmp_path: Path) -> None:
    feed = """<rss version="2.0"><channel><link>/</link><item><link>/item</link>
        <pubDate>Mon, 06 May 2024 00:00:00 GMT</pubDate></item><item><guid>nothing</guid></item></channel></rss>"""
    site = {
        "/": Answer('<link rel="alternate" type="application/rss+xml" href="/feed">'),
        "/feed": Answer(feed, headers={"Content-Type": "application/rss+xml"}),
        "/item": page("item"),
    }
    with SmallServer(site) as server:
        crawl(server, tmp_path)

    assert states(tmp_path) == {"/": "stored", "/feed": "stored", "/item": "stored"}
    assert rows(
        tmp_path, "SELECT depth, via, links, date(modified, 'unixepoch') FROM urls WHERE url LIKE '%/item'"
    ) == [(2, 1, 1, "2024-05-06")]


def test_a_redirected_sitemap_is_still_one(tmp_path: Path) -> None:
    site = {
        "/robots.txt": robots("Sitemap: /map.xml"),
        "/": page("home"),
        "/map.xml": Answer("", 301, {"Location": "/moved.txt"}),
        "/moved.txt": Answer("/relative\n", headers=TEXT),
    }
    with SmallServer(site) as server:
        site["/moved.txt"] = Answer(f"{server.base}/listed\n", headers=TEXT)
        site["/listed"] = page("listed")
        crawl(server, tmp_path)

    assert states(tmp_path)["/listed"] == "stored"


DYING = """
import os, signal, sys
from gossamer.store.table.writer import TableWriter
from gossamer.cli.main import main

commit, entered = TableWriter.commit, 0

def commit_and_die(self, batch, now):
    global entered
    entered += len(batch.candidates)
    done = commit(self, batch, now)
    if entered > 2_000:
        os.kill(os.getpid(), signal.SIGKILL)
    return done

TableWriter.commit = commit_and_die
sys.exit(main(sys.argv[1:]))
"""
"""A crawl that is killed when it has committed two thousand URLs."""


def test_a_crawl_killed_in_the_middle_of_a_sitemap_loses_nothing_of_it(tmp_path: Path) -> None:
    many = 10_000
    listed = urlset(*(f"<loc>/{number}</loc><lastmod>2020-01-01</lastmod>" for number in range(many)))
    site = {"/robots.txt": robots("Sitemap: /map.xml"), "/": page("home"), "/map.xml": listed}
    options = ("--dir", tmp_path / "crawl", *LOCAL, "--max-pages", 2)

    with SmallServer(site) as server:
        dying = [sys.executable, "-c", DYING, "crawl", server.base, *map(str, options)]
        assert subprocess.run(dying, capture_output=True).returncode == -signal.SIGKILL
        [(entered,)] = rows(tmp_path, "SELECT count(*) FROM urls")
        assert 2_000 < int(str(entered)) < many
        assert rows(tmp_path, "SELECT state FROM urls WHERE sitemap = 1") == [(0,)]

        ended = gossamer("crawl", server.base, *options)

    assert ended.status == 0, ended.err
    assert rows(tmp_path, "SELECT count(*), count(DISTINCT url), count(modified) FROM urls") == [
        (many + 2, many + 2, many)
    ]
    assert rows(tmp_path, "SELECT entries FROM sitemaps") == [(many,)]


def test_explain_tells_of_the_sitemap(tmp_path: Path) -> None:
    site = {
        "/robots.txt": robots("Sitemap: /map.xml"),
        "/": page("home"),
        "/map.xml": urlset("<loc>/listed</loc><lastmod>2024-05-06</lastmod>"),
        "/listed": page("listed"),
    }
    with SmallServer(site) as server:
        crawl(server, tmp_path)
        told = gossamer("explain", f"{server.base}/listed", "--dir", tmp_path / "crawl", "--json").report
        asked = gossamer("explain", f"{server.base}/map.xml", "--dir", tmp_path / "crawl").out

    listing = told["listing"]
    assert isinstance(listing, dict)
    assert listing["listed_in"] == f"{server.base}/map.xml" and listing["modified_at"] == "2024-05-06T00:00:00.000Z"
    assert "it is a sitemap, which the robots.txt of 127.0.0.1 names" in asked
