"""Real documentation, served by a real server, is crawled completely: three ways of finding its pages agree."""

import shutil
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urldefrag, urljoin

import pytest

from tests.debian import unpacked
from tests.integration.crawl_process import gossamer
from tests.integration.nginx import nginx_serving

pytestmark = pytest.mark.service

FOLDERS = {
    "git": "git-doc:usr/share/doc/git-doc",
    "policy": "debian-policy:usr/share/doc/debian-policy/policy.html",
    "sqlite": "sqlite3-doc:usr/share/doc/sqlite3",
    "faq": "debian-faq:usr/share/doc/debian/FAQ",
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folders = {}
    for name, where in FOLDERS.items():
        package, _, folder = where.partition(":")
        folders[name] = unpacked(package) / folder
    with nginx_serving(tmp_path_factory.mktemp("nginx"), folders) as address:
        yield address


class PlainParser(HTMLParser):
    """Where the elements of a page lead that our crawl follows by default."""

    def __init__(self) -> None:
        super().__init__()
        self.base: str | None = None
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        href = values.get("href")
        if tag in ("a", "area") and href is not None:
            self.found.append(href)
        elif tag == "base" and self.base is None:
            self.base = href
        elif tag in ("frame", "iframe") and values.get("src"):
            self.found.append(values["src"] or "")
        elif tag == "link" and href and not {"stylesheet", "icon", "search"} & set((values.get("rel") or "").split()):
            self.found.append(href)


def found_by_plain_parser(start: str) -> set[str]:
    """The HTML pages of the site, by breadth-first search with the standard library."""
    waiting, met, pages = [start], {start}, set()
    while waiting:
        url = waiting.pop()
        try:
            with urllib.request.urlopen(url, timeout=60) as answer:
                if "html" not in answer.headers.get("content-type", ""):
                    continue
                url, text = answer.url, answer.read().decode("utf-8", "replace")
        except urllib.error.HTTPError:
            continue
        pages.add(url)
        parser = PlainParser()
        parser.feed(text)
        for href in parser.found:
            target = urldefrag(urljoin(urljoin(url, parser.base or ""), href.strip())).url
            if target.startswith(start) and target not in met:
                met.add(target)
                waiting.append(target)
    return pages


def found_by_wget(start: str, folder: Path) -> set[str]:
    """The HTML pages that `wget --mirror` requests and gets."""
    log = folder / "wget.log"
    program = shutil.which("wget") or unpacked("wget") / "usr/bin/wget"
    subprocess.run(
        [program, "--mirror", "--no-verbose", "--tries=1", "-o", log, "-P", folder / "mirror", start],
        timeout=300,
    )
    lines = log.read_text(errors="replace").splitlines()
    saved = [line.split(" URL:")[1].split(" ")[0] for line in lines if " URL:" in line]
    pages = set()
    for url in saved:
        path = folder / "mirror" / url.removeprefix("http://")
        path = path / "index.html" if path.is_dir() else path
        head = path.read_bytes()[:2048].lower() if path.is_file() else b""
        if b"<html" in head or b"<!doctype html" in head:
            pages.add(url)
    return pages


def test_the_crawl_finds_what_a_plain_parser_and_wget_find(site: str, tmp_path: Path) -> None:
    start = site + "/"
    options = ("--allow-private", "--delay", 0, "--delay-factor", 0, "--json", "--quiet")
    last = gossamer("crawl", start, "--dir", tmp_path / "crawl", *options).lines[-1]
    assert last["finished"] is True and last["politeness_violations"] == 0
    rows = gossamer("pages", "--dir", tmp_path / "crawl", "--json").lines
    ours = {str(r["url"]) for r in rows if r["state"] in ("stored", "duplicate") and "html" in str(r["mime"])}
    plain = found_by_plain_parser(start)
    wget = found_by_wget(start, tmp_path)
    assert len(ours) > 1000
    assert ours == plain
    # wget has one name for a folder and its index.html, and asks for one of them only.
    twice = {url for url in ours - wget if url.endswith("/index.html") and url.removesuffix("index.html") in wget}
    # <link rel="search"> names a service of the site; wget follows it like any other.
    services = {url for url in wget - ours if url.endswith("/policy/search.html")}
    assert ours - twice == wget - services
    assert len(twice) <= len(FOLDERS) and len(services) <= 1
