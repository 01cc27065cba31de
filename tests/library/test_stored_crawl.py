"""Stored crawls from Python: what they give is what was crawled, and what the commands give."""

import asyncio
import json
import shutil
import sys
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import gossamer
from gossamer import Crawl, GossamerWarning, Hook, Page, StoredCrawl, crawl_pages
from gossamer.errors import MissingExtra, NotThisCrawl, UsageError
from tests.integration.crawl_process import gossamer as command
from tests.integration.small_server import Answer, SmallServer

SITE = {
    "/": Answer("<html lang=en><title>home</title><a href=/a>to a</a> <a href=/b>to b</a> <a href=/gone>lost</a>"),
    "/a": Answer("<html lang=de><title>A</title><h1>Eins</h1><p>Ein Absatz mit einigen W\u00f6rtern und mehr."),
    "/b": Answer("<html lang=pt-BR><title>B</title><h1>dois</h1><a href=/>back</a>"),
}


class Crawled:
    """A finished crawl and the pages that it delivered."""

    def __init__(self, base: str, directory: Path, pages: dict[str, Page]) -> None:
        self.base = base
        self.directory = directory
        self.pages = pages


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawled]:
    directory = tmp_path_factory.mktemp("stored") / "crawl"
    with SmallServer(SITE) as server:
        pages = crawl_pages(server.base + "/", dir=directory, allow_private=True, delay=0.0, delay_factor=0.0)
        yield Crawled(server.base, directory, {page.url: page for page in pages})


@pytest.fixture
def stored(crawled: Crawled) -> Iterator[StoredCrawl]:
    with gossamer.open(crawled.directory) as found:
        yield found


def titles(pages: Iterator[Page]) -> list[str]:
    return sorted(page.title or "" for page in pages)


def described(page: Page) -> tuple[Any, ...]:
    return page.url, page.status, page.title, page.depth, page.body, page.headers, page.html, page.text, page.links


def test_the_stored_pages_are_those_that_the_crawl_delivered(crawled: Crawled, stored: StoredCrawl) -> None:
    found = list(stored.pages())

    assert len(found) == 3
    for page in found:
        assert described(page) == described(crawled.pages[page.url])
        assert abs(page.fetched_at - crawled.pages[page.url].fetched_at) < timedelta(seconds=30)
    assert repr(stored) == f"<StoredCrawl {crawled.directory}: 3 pages, 0 queued>"


def test_pages_are_filtered_as_in_exports(stored: StoredCrawl) -> None:
    tomorrow = datetime.now(UTC) + timedelta(days=1)

    assert titles(stored.pages(language="pt")) == ["B"]
    assert titles(stored.pages(status=200, mime="text/*")) == ["A", "B", "home"]
    assert titles(stored.pages(status="4xx")) == titles(stored.pages(mime="image/*")) == []
    assert titles(stored.pages(since=tomorrow)) == titles(stored.pages(until=date(2020, 1, 1))) == []
    assert len(titles(stored.pages(since="2020-01-01", until=tomorrow))) == 3
    assert titles(stored.pages(host="127.0.0.1")) == ["A", "B", "home"] and not titles(stored.pages(host="b.test"))
    with pytest.raises(UsageError, match="status: 'ok' is neither"):
        stored.pages(status="ok")


def test_a_page_is_found_by_its_url(crawled: Crawled, stored: StoredCrawl) -> None:
    page = stored.page(crawled.base + "/x/../a#part")

    assert page is not None and described(page) == described(crawled.pages[crawled.base + "/a"])
    assert page.css("h1::text").get() == "Eins"
    for unknown in ("/gone", "/never"):
        assert stored.page(crawled.base + unknown) is None


def test_urls_links_and_tables_are_the_objects_of_the_exports(crawled: Crawled, stored: StoredCrawl) -> None:
    def exported(what: str) -> list[dict[str, object]]:
        found: list[dict[str, object]] = command(
            "export", "--dir", crawled.directory, "--what", what, "--quiet", cwd=crawled.directory.parent
        ).lines
        return found

    def in_arrow(what: str) -> list[dict[str, object]]:
        rows = stored.to_arrow(what).to_pylist()
        return [{name: _as_in_json(value) for name, value in row.items()} for row in rows]

    assert list(stored.urls()) == exported("pages") == in_arrow("pages")
    assert list(stored.links()) == exported("links") == in_arrow("links")
    assert in_arrow("text") == exported("text")
    assert [each["url"] for each in stored.urls(state="missing")] == [crawled.base + "/gone"]
    frame = stored.to_pandas("pages")
    assert frame[frame.status >= 400][["url", "found_on"]].values.tolist() == [
        [crawled.base + "/gone", crawled.base + "/"]
    ]


def _as_in_json(value: object) -> object:
    if not isinstance(value, datetime):
        return value
    return value.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def test_a_url_is_explained_as_by_the_command(crawled: Crawled, stored: StoredCrawl) -> None:
    url = crawled.base + "/gone"

    told = command("explain", url, "--dir", crawled.directory, "--json", cwd=crawled.directory.parent).report

    assert json.loads(json.dumps(stored.explain(url))).keys() == told.keys()
    assert stored.explain(url)["state"] == told["state"] == "missing"


def test_the_status_is_that_of_the_command(crawled: Crawled, stored: StoredCrawl) -> None:
    told = command("status", "--dir", crawled.directory, "--json", cwd=crawled.directory.parent).report
    found = json.loads(json.dumps(stored.status()))

    for moving in ("recrawl", "waits", "next_due"):  # estimates as of now
        assert type(found.pop(moving)) is type(told.pop(moving))
    assert found == told and found["pages"] == 3


def test_names_that_do_not_exist_are_refused_with_those_that_do(stored: StoredCrawl, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"^there is no table 'sites'; there are pages, links, text$"):
        stored.to_arrow("sites")
    with pytest.raises(UsageError, match=r"^state: there is no state 'new'; there are queued, "):
        stored.urls(state="new")
    with pytest.raises(NotThisCrawl, match="there is no crawl in"):
        gossamer.open(tmp_path / "nothing")
    with pytest.raises(UsageError, match="cannot be read"):
        gossamer.open("memory:")


def test_a_crawl_is_opened_by_the_url_of_its_store(crawled: Crawled) -> None:
    with gossamer.open(f"sqlite:{crawled.directory}") as found:
        assert len(list(found.pages())) == 3


def test_a_missing_extra_is_named(stored: StoredCrawl, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtra, match=r"StoredCrawl.to_pandas needs pandas: pip install 'gossamer\[pandas\]'"):
        stored.to_pandas("pages")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match=r"StoredCrawl.to_arrow needs pyarrow: pip install 'gossamer\[parquet\]'"):
        stored.to_arrow("pages")


def test_a_page_that_cannot_be_read_is_left_out_with_a_warning(crawled: Crawled, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(crawled.directory, copy)
    (warc,) = (copy / "warc").glob("*.warc.gz")
    data = bytearray(warc.read_bytes())
    with gossamer.open(copy) as found:
        place = next(each for each in found.urls(state="stored") if str(each["url"]).endswith("/a"))
        start = int(str(place["warc_offset"]))
        data[start + 10 : start + 200] = bytes(190)
        warc.write_bytes(data)

        with pytest.warns(GossamerWarning, match="left out: .*see gossamer verify"):
            assert titles(found.pages()) == ["B", "home"]


def test_a_running_crawl_is_read_as_of_its_last_commit(tmp_path: Path) -> None:
    async def read_while_it_runs(base: str) -> list[tuple[bool, int, str | None]]:
        options: dict[str, Any] = {"allow_private": True, "delay": 0.0, "delay_factor": 0.0}
        found = []
        async with Crawl(base + "/", dir=tmp_path / "c", **options) as crawl:
            async for page in crawl.pages():
                with gossamer.open(crawl.dir) as stored:
                    same = stored.page(page.url)
                    assert same is not None and described(same) == described(page)
                    running = stored.status()["running"]
                    found.append((running is True, len(list(stored.pages())), same.title))
        return found

    with SmallServer(SITE) as server:
        found = asyncio.run(read_while_it_runs(server.base))

    assert sorted(title or "" for _, _, title in found) == ["A", "B", "home"]
    assert all(running for running, _, _ in found) and [number for _, number, _ in found][-1] == 3
    with gossamer.open(tmp_path / "c") as stored:
        assert stored.status()["running"] is False


class TextSources(Hook):
    """Notes where the text of each page comes from."""

    def __init__(self) -> None:
        self.found: list[str | None] = []

    def on_page(self, page: Page) -> None:
        self.found.append(page.text_source)


def test_the_extractor_of_the_configuration_reads_the_pages_wherever_they_come_from(tmp_path: Path) -> None:
    words = " ".join(f"Sentence number {n} has several words, and a full stop." for n in range(30))
    site = {"/": Answer(f"<html lang=en><title>t</title><nav>menu</nav><article><h1>Head</h1><p>{words}</article>")}
    options: dict[str, Any] = {"dir": tmp_path / "c", "allow_private": True, "content": {"text": "trafilatura"}}
    hook = TextSources()
    with SmallServer(site) as server:
        (live,) = crawl_pages(server.base + "/", hooks=[hook], **options)
        (again,) = crawl_pages(server.base + "/", stored=True, **options)

    with gossamer.open(tmp_path / "c") as stored:
        (page,) = stored.pages()
        (row,) = stored.to_arrow("text").to_pylist()

    sources = [*hook.found, live.text_source, again.text_source, page.text_source, row["text_source"]]
    assert sources == ["trafilatura"] * 5
    assert live.text == again.text == page.text == row["text"] and words in live.text
    assert "# Head" in live.markdown() and "menu" not in live.markdown() and "menu" in live.markdown(main=False)
