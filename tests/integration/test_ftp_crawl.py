"""A crawl of a real FTP server: off unless it is switched on, and archived in a form that other readers know."""

from collections import Counter
from pathlib import Path

import pytest
from fastwarc.warc import ArchiveIterator as FastIterator
from warcio.archiveiterator import ArchiveIterator

from tests.fetch.ftp.ftp_server import real_server
from tests.integration.crawl_process import gossamer
from tests.integration.small_server import SmallServer, links, page

pytestmark = pytest.mark.service

LOCAL = ("--allow-private", "--delay", 0.02, "--json", "--quiet")


def folder_of_files(folder: Path) -> Path:
    (folder / "pub" / "deep").mkdir(parents=True)
    (folder / "pub" / "notes.txt").write_bytes(b"HTTP/1.1 is not what this file is about\r\n\r\n")
    (folder / "pub" / "page.html").write_bytes(b'<title>P</title><a href="deep/one.txt">one</a>')
    (folder / "pub" / "deep" / "one.txt").write_bytes(b"one\n")
    (folder / "pub" / "secret.txt").write_bytes(b"not for crawlers\n")
    (folder / "robots.txt").write_bytes(b"User-agent: *\nDisallow: /pub/secret.txt\n")
    return folder


def test_an_ftp_server_is_crawled_by_its_directories_and_archived_as_resources(tmp_path: Path) -> None:
    (tmp_path / "my.toml").write_text("[fetch]\nftp = true\n")
    options = ("--config", tmp_path / "my.toml", "--dir", tmp_path / "crawl")
    with real_server(folder_of_files(tmp_path / "files")) as port:
        base = f"ftp://127.0.0.1:{port}"
        ended = gossamer("crawl", f"{base}/pub", *options, *LOCAL)
        again = gossamer("crawl", f"{base}/pub", *options, *LOCAL)
    pages = {str(p["url"]): p for p in gossamer("pages", "--json", "--dir", tmp_path / "crawl").lines}
    story = gossamer("explain", f"{base}/pub/notes.txt", *options, "--json").report

    assert ended.status == again.status == 0, ended.err + again.err
    assert ended.report["politeness_violations"] == 0
    stored = {url for url, found in pages.items() if found["state"] == "stored"}
    texts = {f"{base}/pub/{name}" for name in ("notes.txt", "page.html", "deep/one.txt")}
    assert stored == {f"{base}/pub/", f"{base}/pub/deep/"} | texts
    assert pages[f"{base}/pub"]["state"] == "redirect"
    assert pages[f"{base}/pub/secret.txt"]["reason"] == "robots_denied"
    assert story["archive"]["problem"] is None  # type: ignore[index]
    check_records(tmp_path / "crawl" / "warc", stored, f"{base}/pub/notes.txt")


def check_records(folder: Path, stored: set[str], notes: str) -> None:
    """Two readers that are not ours agree on what is there, digests included."""
    kinds: Counter[tuple[str, str]] = Counter()
    for path in folder.iterdir():
        with path.open("rb") as file:
            for record in ArchiveIterator(file, check_digests="raise"):
                body, url = record.content_stream().read(), record.rec_headers.get_header("WARC-Target-URI")
                if record.rec_type != "warcinfo":
                    kinds[record.rec_type, url] += 1
                if (record.rec_type, url) == ("resource", notes):
                    assert body == b"HTTP/1.1 is not what this file is about\r\n\r\n"
                if (record.rec_type, url) == ("metadata", notes):
                    assert b"\r\nRETR /pub/notes.txt\r\n" in body and b"\r\n226 " in body
        with path.open("rb") as file:
            for found in FastIterator(file, parse_http=False, auto_decode="none"):
                assert found.verify_block_digest()
    assert kinds == Counter({(kind, url): 1 for kind in ("resource", "metadata") for url in stored})


def test_without_the_switch_an_ftp_seed_is_refused_and_a_link_is_counted(tmp_path: Path) -> None:
    with real_server(folder_of_files(tmp_path / "files")) as port, SmallServer({}) as nobody:
        seed = gossamer("crawl", f"ftp://127.0.0.1:{port}/pub/", "--dir", tmp_path / "no", *LOCAL)
        with SmallServer({"/": links(f"ftp://127.0.0.1:{nobody.port}/pub/", "/a"), "/a": page("a")}) as server:
            ended = gossamer("crawl", f"{server.base}/", "--dir", tmp_path / "crawl", *LOCAL)

    assert seed.status == 2
    assert "bad_scheme" in seed.err and seed.err.count("\n") == 1
    assert ended.report["excluded"] == {"bad_scheme": 1}
    assert nobody.asked == []


def test_ftp_urls_that_are_queued_when_it_is_switched_off_are_excluded(tmp_path: Path) -> None:
    (tmp_path / "on.toml").write_text("[fetch]\nftp = true\n")
    (tmp_path / "off.toml").write_text("")
    with SmallServer({"/": links("ftp://127.0.0.1:2121/pub/", "/a"), "/a": page("a")}) as server:
        seed = ("crawl", f"{server.base}/", "--scope", "any", "--dir", tmp_path / "crawl", *LOCAL)
        gossamer(*seed, "--config", tmp_path / "on.toml", "--max-pages", 1)
        ended = gossamer(*seed, "--config", tmp_path / "off.toml")

    assert ended.report["finished"] is True
    assert ended.report["excluded"] == {"bad_scheme": 1}
