"""Hostile sitemaps (docs/HOSTILE.md, SM): endless, damaged or malicious ones. Whole crawls, with a healthy host."""

import gzip
import zlib
from functools import cache
from pathlib import Path

import pytest

from tests.hostile.small_crawl import RETRY, SmallCrawl
from tests.integration.crawl_process import Json, gossamer
from tests.integration.small_server import Answer, SmallServer, links, page

pytestmark = pytest.mark.service

MIB = 1 << 20
XML = {"Content-Type": "application/xml"}
SENTINEL = "127.0.0.8"


def robots(*paths: str) -> Answer:
    lines = "".join(f"Sitemap: {path}\n" for path in paths)
    return Answer(f"User-agent: *\nDisallow:\n{lines}", headers={"Content-Type": "text/plain"})


def urlset(*items: str, before: str = "") -> Answer:
    inside = "".join(f"<url>{item}</url>" for item in items)
    return Answer(f"{before}<urlset>{inside}</urlset>", headers=XML)


def index(*paths: str) -> Answer:
    return Answer(
        f"<sitemapindex>{''.join(f'<sitemap><loc>{p}</loc></sitemap>' for p in paths)}</sitemapindex>", 200, XML
    )


def site_with(listed: Answer, **more: Answer) -> dict[str, Answer]:
    pages = {f"/{name}": page(f"page {name}") for name in ("a", "b", "c")}
    return {"/robots.txt": robots("/map.xml"), "/": page("home"), "/map.xml": listed, **pages, **more}


@cache
def bomb() -> bytes:
    """128 MiB of spaces after one entry, in a small gzip file."""
    packer = zlib.compressobj(9, wbits=31)
    entry = packer.compress(b"<urlset><url><loc>/a</loc></url>") + packer.flush(zlib.Z_FULL_FLUSH)
    # What stands between two full flushes refers to nothing before it, so it can stand there any number of times. Only
    # the checksum at the end is that of one; nobody may get that far.
    spaces = packer.compress(b" " * MIB) + packer.flush(zlib.Z_FULL_FLUSH)
    return entry + spaces * 128 + packer.flush()


def by_path(pages: list[Json]) -> dict[str, tuple[object, object]]:
    """State and reason by path."""
    return {"/" + str(each["url"]).split("/", 3)[3]: (each["state"], each["reason"]) for each in pages}


def test_sm_01_and_02_indexes_in_circles_and_chains_are_read_once_each_and_five_deep(tmp_path: Path) -> None:
    site = {
        "/robots.txt": robots("/self.xml", "/ring-a.xml", "/1.xml"),
        "/": page("home"),
        "/self.xml": index("/self.xml"),
        "/ring-a.xml": index("/ring-b.xml"),
        "/ring-b.xml": index("/ring-a.xml"),
        **{f"/{n}.xml": index(f"/{n + 1}.xml") for n in range(1, 20)},
    }
    crawl = SmallCrawl(tmp_path)
    with SmallServer(site) as server:
        ended = crawl.run(server.base)
        asked = server.paths()

    chain = [f"/{n}.xml" for n in range(1, 6)]
    assert sorted(asked) == sorted(["/robots.txt", "/", "/self.xml", "/ring-a.xml", "/ring-b.xml", *chain])
    assert ended.report["excluded"] == {"sitemap_limit": 1}


def test_sm_03_the_first_entries_of_too_many_are_used_and_the_rest_is_counted(tmp_path: Path) -> None:
    listed = urlset(*(f"<loc>/{n}</loc>" for n in range(200_000)))
    fixed = {"/robots.txt": robots("/map.xml"), "/map.xml": listed}
    crawl = SmallCrawl(tmp_path)
    with SmallServer(lambda path, _: fixed.get(path) or page(path)) as server:
        ended = gossamer(*crawl.command([server.base], "--max-pages", 3))

    assert ended.status == 0, ended.err
    assert ended.report["sitemap_urls"] == 50_000
    assert ended.report["excluded"] == {"sitemap_limit": 150_000}
    assert ended.report["errors"] == {"parse_limit": 1}


def test_sm_04_a_sitemap_beyond_all_size_is_cut_and_its_beginning_used(tmp_path: Path) -> None:
    start = b"<urlset><url><loc>/a</loc></url><url><loc>/b</loc></url><!--"
    listed = Answer(octets=start + b"-->" + b"<!-- nothing -->" * (2 * MIB), headers=XML)
    crawl = SmallCrawl(tmp_path)
    with SmallServer(site_with(listed)) as server:
        crawl.run(server.base)

    found = by_path(crawl.pages())
    assert found["/map.xml"] == ("stored", "parse_limit")
    assert found["/a"] == found["/b"] == ("stored", None)


@pytest.mark.parametrize("coding", [{}, {"Content-Encoding": "gzip"}], ids=["at home", "for the way"])
def test_sm_05_a_bomb_costs_no_more_than_a_sitemap_may(tmp_path: Path, coding: dict[str, str]) -> None:
    crawl = SmallCrawl(tmp_path)
    with SmallServer(site_with(Answer(octets=bomb(), headers={**XML, **coding}))) as server:
        crawl.run(server.base)

    assert by_path(crawl.pages())["/map.xml"] == ("stored", "parse_limit")
    assert by_path(crawl.pages())["/a"] == ("stored", None)


def test_sm_06_and_07_entities_are_neither_expanded_nor_opened(tmp_path: Path) -> None:
    canary = tmp_path / "canary.txt"
    canary.write_text("/canary-was-read")
    laughs = '<!ENTITY l0 "lol">' + "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 11))
    with SmallServer({}, SENTINEL) as sentinel:
        outside = f'<!ENTITY file SYSTEM "{canary.as_uri()}"><!ENTITY url SYSTEM "{sentinel.base}/entity">'
        parameter = f'<!ENTITY % dtd SYSTEM "{sentinel.base}/parameter">%dtd;'
        site = site_with(
            urlset("<loc>/&l10;</loc>", before=f"<!DOCTYPE urlset [{laughs}]>"),
            **{
                "/robots.txt": robots("/map.xml", "/opens.xml"),
                "/opens.xml": urlset(
                    "<loc>/a&file;</loc>",
                    "<loc>/b&url;</loc>",
                    before=f'<!DOCTYPE urlset SYSTEM "{sentinel.base}/dtd" [{outside}{parameter}]>',
                ),
            },
        )
        crawl = SmallCrawl(tmp_path / "crawls")
        with SmallServer(site) as server:
            crawl.run(server.base)
            asked = server.paths()

        assert sentinel.paths() == []
    assert sorted(asked) == ["/", "/a", "/b", "/map.xml", "/opens.xml", "/robots.txt"]
    assert by_path(crawl.pages())["/map.xml"] == ("stored", "bad_xml")


def test_sm_08_entries_elsewhere_enter_only_by_the_scope_and_by_the_address_policy(tmp_path: Path) -> None:
    with SmallServer({"/x": page("x")}, SENTINEL) as sentinel:
        listed = urlset(f"<loc>{sentinel.base}/x</loc>", "<loc>http://169.254.169.254/latest</loc>", "<loc>/a</loc>")
        crawl = SmallCrawl(tmp_path)
        with SmallServer(site_with(listed)) as server:
            ended = crawl.run(server.base)
            assert sentinel.paths() == []
            assert ended.report["excluded"] == {"out_of_scope": 2}

            fixed = ("--dir", tmp_path / "wide", "--allow-network", "127.0.0.0/8", "--scope", "any", "--delay", 0.02)
            wide = gossamer("crawl", server.base, *fixed, "--json", "--quiet")
        assert wide.report["excluded"] == {"blocked_address": 1}
        assert "/x" in sentinel.paths()


def test_sm_09_entries_are_trimmed_and_decoded_and_bad_ones_harm_nobody(tmp_path: Path) -> None:
    listed = urlset(
        "<loc></loc>",
        "<loc>\n\t /a \n</loc>",
        "<loc><![CDATA[/b?x=1&y=2]]></loc>",
        "<loc>javascript:alert(1)</loc>",
        "<loc>/c?x=1&amp;y=2</loc>",
    )
    site = site_with(listed, **{"/b?x=1&y=2": page("b with a query"), "/c?x=1&y=2": page("c with a query")})
    crawl = SmallCrawl(tmp_path)
    with SmallServer(site) as server:
        ended = crawl.run(server.base)

    found = by_path(crawl.pages())
    assert found.keys() == {"/", "/map.xml", "/a", "/b?x=1&y=2", "/c?x=1&y=2"}
    assert {state for state, _ in found.values()} == {"stored"}
    assert ended.report["excluded"] == {"sitemap_limit": 1, "bad_scheme": 1}


def test_sm_10_dates_and_priorities_that_cannot_be_are_ignored_and_their_urls_kept(tmp_path: Path) -> None:
    listed = urlset(
        "<loc>/a</loc><lastmod>2024-13-45</lastmod><priority>NaN</priority>",
        "<loc>/b</loc><lastmod>yesterday</lastmod><priority>1e400</priority>",
        f"<loc>/c</loc><lastmod>{'9' * MIB}</lastmod>",
        "<loc>/d</loc><lastmod>9999-01-01</lastmod>",
    )
    crawl = SmallCrawl(tmp_path)
    with SmallServer(site_with(listed, **{"/d": page("page d")})) as server:
        crawl.run(server.base)
        told = [gossamer("explain", f"{server.base}/{name}", "--dir", crawl.dir, "--json").report for name in "abcd"]

    for each in told:
        listing = each["listing"]
        assert each["state"] == "stored" and isinstance(listing, dict)
        assert (listing["modified_at"], listing["priority"]) == (None, None)


@pytest.mark.parametrize(
    ("body", "reason", "listed"),
    [
        (b"<urlset><url><loc>/a</loc></url><url><lo", "bad_xml", ["/a"]),
        (b"<urlset><url><loc>/a</loc></url><url><loc>/\xff</loc></url></urlset>", "bad_xml", ["/a"]),
        (b"<html><body><url><loc>/a</loc></url></body></html>", "not_a_sitemap", []),
        (gzip.compress(b"<urlset><url><loc>/a</loc></url>" + b" " * 99)[:-12], "bad_encoding", ["/a"]),
    ],
    ids=["cut", "not UTF-8", "another root", "cut packed"],
)
def test_sm_11_what_stands_before_a_fault_is_used_and_the_fault_is_told(
    tmp_path: Path, body: bytes, reason: str, listed: list[str]
) -> None:
    crawl = SmallCrawl(tmp_path)
    with SmallServer(site_with(Answer(octets=body, headers=XML))) as server:
        ended = crawl.run(server.base)

    found = by_path(crawl.pages())
    assert found.pop("/map.xml") == ("stored", reason)
    assert sorted(found) == ["/", *listed]
    assert ended.report["errors"] == {reason: 1}


def test_sm_12_sitemaps_that_come_with_an_error_are_not_read(tmp_path: Path) -> None:
    listed = urlset("<loc>/a</loc>")
    site = {
        "/robots.txt": robots("/gone.xml", "/broken.xml"),
        "/": links("/b"),
        "/b": page("b"),
        "/a": page("a"),
        "/gone.xml": Answer(listed.body, 404, XML),
        "/broken.xml": Answer(listed.body, 500, XML),
    }
    crawl = SmallCrawl(tmp_path, f"{RETRY}max_tries = 1\n")
    with SmallServer(site) as server:
        crawl.run(server.base)
        asked = set(server.paths())

    assert asked == {"/robots.txt", "/", "/b", "/gone.xml", "/broken.xml"}
