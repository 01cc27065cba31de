"""What a page says of itself is on record, and what it asks of a robot is heeded under the name that we go by."""

from pathlib import Path

import pytest

from tests.integration.crawl_process import gossamer
from tests.integration.small_server import Answer, SmallServer, links

pytestmark = pytest.mark.service

SITE = {
    "/": links("/a", "/b", "/c", "/e", "/f"),
    "/a": Answer('<html lang="pt-br"><link rel="canonical" href="../b?x=1#top"><title>a</title><p>one'),
    "/b": Answer("<title>b</title><p>two", headers={"Content-Language": "de", "Link": "</b2>; rel=canonical"}),
    "/c": Answer('<meta name="mybot" content="nofollow"><meta name="robots" content="all"><a href="/d">d</a>'),
    "/d": Answer("<p>not to be found"),
    "/e": Answer("plain", headers={"Content-Type": "text/plain", "Link": "</x>; rel=next, <sub/e>; rel=canonical"}),
    "/f": Answer('<link rel="canonical" href="/f">self', headers={"Link": "</g>; rel=canonical"}),
}


def test_language_and_canonical_address_are_on_record_and_told(tmp_path: Path) -> None:
    with SmallServer(SITE) as server:
        options = ("--allow-private", "--delay", 0, "--delay-factor", 0, "--quiet", "--user-agent", "mybot/1.0")
        assert gossamer("crawl", server.base, "--dir", tmp_path, *options).status == 0
        rows = {
            str(row["url"]).removeprefix(server.base): row
            for row in gossamer("pages", "--dir", tmp_path, "--json").lines
        }
        texts = gossamer("export", "--what", "text", "--format", "jsonl", "--dir", tmp_path).lines
        told = gossamer("explain", server.base + "/a", "--dir", tmp_path).out

    assert (rows["/a"]["language"], rows["/a"]["canonical"]) == ("pt-BR", server.base + "/b?x=1")
    assert (rows["/b"]["language"], rows["/b"]["canonical"]) == ("de", server.base + "/b2")
    assert rows["/e"]["canonical"] == server.base + "/sub/e"
    assert rows["/f"]["canonical"] is None  # the page's own word counts before its head's
    exported = {str(row["url"]).removeprefix(server.base): row["canonical"] for row in texts}
    assert (exported["/a"], exported["/b"], exported["/f"]) == ("../b?x=1#top", "/b2", "/f")  # as written
    assert "language: pt-BR" in told and f"declares the canonical URL {server.base}/b?x=1" in told
    assert "/d" not in rows  # of the two that /c speaks to, the one with our name counts
