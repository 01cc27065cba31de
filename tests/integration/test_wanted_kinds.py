"""Only wanted kinds of documents are kept, and unwanted bodies are not even downloaded."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.crawl_process import gossamer
from tests.integration.small_server import Answer, SmallServer, links, page

pytestmark = pytest.mark.service

LOCAL = ("--allow-private", "--delay", 0.02, "--json", "--quiet")
MEGABYTE = 1024 * 1024
ROBOTS = Answer("User-agent: *\nDisallow: /private\n", headers={"Content-Type": "text/plain"})


def pages(folder: Path) -> dict[str, tuple[object, object]]:
    """State and reason by path."""
    found = gossamer("pages", "--dir", folder, "--json").lines
    return {"/" + str(p["url"]).split("/", 3)[3]: (p["state"], p["reason"]) for p in found}


class LargeFile:
    """A server that has 50 MB to send to whoever takes them, and counts what was taken off its hands."""

    SIZE = 50 * MEGABYTE

    def __init__(self, content_type: str) -> None:
        self._type = content_type
        self.sent = 0
        self.asked: list[str] = []

    @contextlib.contextmanager
    def serving(self) -> Iterator[str]:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 64 * 1024)
            threading.Thread(target=self._serve, args=(listener,), daemon=True).start()
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"

    def _serve(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):  # closed at the end
            while True:
                connection, _ = listener.accept()
                with connection, contextlib.suppress(OSError):
                    self._answer(connection)

    def _answer(self, connection: socket.socket) -> None:
        target = connection.recv(65536).split(b" ")[1].decode()
        self.asked.append(target)
        if target == "/robots.txt":
            connection.sendall(b"HTTP/1.1 404 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            return
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {self._type}\r\nContent-Length: {self.SIZE}\r\n\r\n"
        connection.sendall(head.encode())
        chunk = bytes(65536)
        for _ in range(self.SIZE // len(chunk)):
            self.sent += connection.send(chunk)


def test_a_large_unwanted_body_is_not_downloaded(tmp_path: Path) -> None:
    (tmp_path / "my.toml").write_text(
        f'[fetch]\nkinds = ["html"]\nmax_body_bytes = {60 * MEGABYTE}\n[sitemaps]\nwell_known = false\n'
    )
    unwanted, wanted = LargeFile("video/mp4"), LargeFile("text/html")
    options = ("--config", tmp_path / "my.toml", *LOCAL)
    with unwanted.serving() as base:
        ended = gossamer("crawl", f"{base}/film", "--dir", tmp_path / "film", *options)
    with wanted.serving() as base:
        gossamer("crawl", f"{base}/page", "--dir", tmp_path / "page", *options)

    assert ended.report["excluded"] == {"unwanted_type": 1}
    assert (ended.report["pages"], ended.report["fetched"]) == (0, 1)
    assert pages(tmp_path / "film") == {"/film": ("excluded", "unwanted_type")}
    assert unwanted.asked == ["/robots.txt", "/film"]
    assert unwanted.sent < wanted.sent / 4  # what fits into the buffers of both sides
    assert wanted.sent > 0.9 * LargeFile.SIZE


def test_what_is_declared_is_judged_by_its_head_and_the_rest_by_its_first_bytes(tmp_path: Path) -> None:
    def typed(body: str, kind: str) -> Answer:
        return Answer(body, headers={"Content-Type": kind})

    site = {
        "/robots.txt": ROBOTS,
        "/": links("/feed", "/film", "/unsaid", "/unsaid-page", "/private", "/missing", "/style", "/doc"),
        "/feed": typed("<?xml version='1.0'?><rss version='2.0'></rss>", "application/xml"),
        "/film": typed("x", "video/mp4"),
        "/style": typed("body {}", "text/css"),
        "/doc": typed("%PDF-1.7 a document", "application/pdf"),
        "/unsaid": typed("%PDF-1.7 another one", "unknown/unknown"),
        "/unsaid-page": typed("<!DOCTYPE html><a href='/found-there'>x</a>", "*/*"),
        "/found-there": page("found there"),
    }
    (tmp_path / "my.toml").write_text('[fetch]\nkinds = ["html", "feeds"]\n')
    with SmallServer(site) as server:
        ended = gossamer(
            "crawl", f"{server.base}/", "--config", tmp_path / "my.toml", "--dir", tmp_path / "crawl", *LOCAL
        )
        story = gossamer("explain", f"{server.base}/unsaid", "--dir", tmp_path / "crawl", "--json").report

    unwanted = ("excluded", "unwanted_type")
    assert pages(tmp_path / "crawl") == {
        "/": ("stored", None),
        "/feed": ("stored", None),
        "/unsaid-page": ("stored", None),
        "/found-there": ("stored", None),
        "/film": unwanted,
        "/style": unwanted,
        "/doc": unwanted,
        "/unsaid": unwanted,
        "/private": ("excluded", "robots_denied"),
        "/missing": ("missing", None),
    }
    assert ended.report["excluded"] == {"unwanted_type": 4, "robots_denied": 1}
    assert story["state"] == "excluded"


def test_an_unwanted_answer_does_not_spoil_the_next_visit_to_its_host(tmp_path: Path) -> None:
    films = {f"/film{n}": Answer("x" * 100_000, headers={"Content-Type": "video/mp4"}) for n in range(10)}
    between = {f"/page{n}": page(str(n)) for n in range(10)}
    site = {"/": links(*(path for pair in zip(films, between, strict=True) for path in pair)), **films, **between}
    (tmp_path / "my.toml").write_text('[fetch]\nkinds = ["text/*"]\n')
    with SmallServer(site) as server:
        ended = gossamer(
            "crawl", f"{server.base}/", "--config", tmp_path / "my.toml", "--dir", tmp_path / "crawl", *LOCAL
        )

    assert ended.report["pages"] == 11
    assert ended.report["errors"] == {}
    assert ended.report["excluded"] == {"unwanted_type": 10}
    assert ended.report["politeness_violations"] == 0


def test_by_default_only_documents_are_downloaded_and_any_lifts_it(tmp_path: Path) -> None:
    kept = {
        "/page": "text/html; charset=utf-8",
        "/xhtml": "application/xhtml+xml",
        "/notes": "text/plain",
        "/data": "application/xml",
        "/feed": "application/atom+xml",
        "/paper": "application/pdf",
    }
    left_out = {
        "/photo": "image/jpeg",
        "/setup": "application/x-msdownload",
        "/archive": "application/zip",
        "/data.json": "application/json",
        "/letter": "application/msword",
        "/numbers": "text/csv",
    }
    site = {"/": links(*kept, *left_out, "/unsaid", "/unsaid-photo")}
    for path, declared in (kept | left_out).items():
        site[path] = Answer(f"{path} as {declared}", headers={"Content-Type": declared})
    site["/unsaid"] = Answer("plain text", headers={"Content-Type": "unknown/unknown"})
    site["/unsaid-photo"] = Answer(octets=b"\x89PNG\r\n\x1a\n" + bytes(50_000), headers={"Content-Type": "*/*"})
    (tmp_path / "any.toml").write_text('[fetch]\nkinds = ["any"]\n')
    with SmallServer(site) as server:
        gossamer("crawl", f"{server.base}/", "--dir", tmp_path / "usual", *LOCAL)
        gossamer("crawl", f"{server.base}/", "--dir", tmp_path / "any", "--config", tmp_path / "any.toml", *LOCAL)

    usual = pages(tmp_path / "usual")
    assert {path for path, (state, _) in usual.items() if state == "stored"} == {"/", "/unsaid", *kept}
    unwanted = {path for path, state in usual.items() if state == ("excluded", "unwanted_type")}
    assert unwanted == {"/unsaid-photo", *left_out}
    assert {state for state, _ in pages(tmp_path / "any").values()} == {"stored"}
