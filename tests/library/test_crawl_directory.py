"""Where a crawl from Python is stored: a temporary directory, a named one, a fresh one; and what is said when it gives
no pages."""

import asyncio
import gc
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import gossamer
from gossamer import Crawl, GossamerWarning, Summary, crawl_pages
from gossamer.crawl.run.directory import CrawlDirectory
from gossamer.errors import DirectoryInUse, NotThisCrawl
from tests.integration.small_server import Answer, SmallServer

SITE = {
    "/": Answer("<title>home</title>" + "".join(f"<a href=/{n}>{n}</a>" for n in range(5))),
    **{f"/{n}": Answer(f"<title>page {n}</title><p>{'one two three four ' * n}{n}") for n in range(5)},
}
POLITE: dict[str, Any] = {"allow_private": True, "delay": 0.0, "delay_factor": 0.0}


@pytest.fixture(autouse=True)
def silence() -> Iterator[None]:
    """A warning that a test does not expect is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", GossamerWarning)
        yield


@pytest.fixture(scope="module")
def seed() -> Iterator[str]:
    with SmallServer(SITE) as server:
        yield server.base + "/"


def urls(*seeds: str, **options: Any) -> list[str]:
    return [page.url for page in crawl_pages(*seeds, **POLITE, **options)]


def test_without_a_directory_each_crawl_starts_over_and_leaves_nothing(
    seed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    assert sorted(urls(seed)) == sorted(urls(seed)) and len(urls(seed)) == 6
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_a_temporary_directory_lives_as_long_as_its_crawl(seed: str) -> None:
    crawl = Crawl(seed, **POLITE)
    directory = crawl.dir

    summary = gossamer.run(crawl)

    assert summary.pages == 6
    with gossamer.open(directory) as stored:
        assert len(list(stored.pages())) == 6
    del crawl
    gc.collect()
    assert not directory.exists()


def test_a_crawl_that_is_resumed_has_the_options_that_it_remembers_unless_others_are_given(
    seed: str, tmp_path: Path
) -> None:
    assert len(urls(seed, dir=tmp_path, max_depth=1, max_pages=2, filter={"exclude": ["*/3"]})) == 2

    resumed = Crawl(dir=tmp_path, delay=0.0, delay_factor=0.0)
    given = Crawl(dir=tmp_path, max_depth=9, filter={"max_url_bytes": 99}, config={"scope": "any"})
    summary = gossamer.run(resumed)

    assert (summary.stopped, summary.pages) == ("finished", 5)
    assert (resumed.config.max_depth, resumed.config.filter.exclude) == (1, ("*/3",))
    assert (given.config.max_depth, given.config.scope) == (9, "any")
    assert (given.config.filter.exclude, given.config.filter.max_url_bytes) == (("*/3",), 99)
    assert Crawl(dir=tmp_path, fresh=True).config.max_depth == 20


def test_a_directory_in_the_configuration_is_a_named_one(seed: str, tmp_path: Path) -> None:
    one, two, three = tmp_path / "one", tmp_path / "two", tmp_path / "three"

    assert Crawl(seed, config={"dir": str(one)}, **POLITE).dir == one
    assert Crawl(seed, store=f"sqlite:{two}", **POLITE).dir == two
    assert Crawl(seed, dir=three, config={"dir": str(one)}, **POLITE).dir == three


def test_with_stored_a_second_run_gives_the_same_list(seed: str, tmp_path: Path) -> None:
    first = urls(seed, dir=tmp_path / "c", max_pages=4, stored=True)
    second = urls(seed, dir=tmp_path / "c", max_pages=4, stored=True)
    third = urls(seed, dir=tmp_path / "c", stored=True)

    assert len(first) == 4 and first == second == third[:4]
    assert len(third) == len(set(third)) == 6


def test_a_second_run_without_new_pages_is_a_warning_that_names_the_ways_out(seed: str, tmp_path: Path) -> None:
    directory = str(tmp_path / "c")
    urls(seed, dir=directory, max_pages=4)

    for _ in range(2):  # also when it was said before
        with pytest.warns(GossamerWarning) as limited:
            assert urls(seed, dir=directory, max_pages=4) == []
        assert str(limited[0].message) == (
            f"{directory!r} holds this crawl: 4 pages, page limit (4) reached, nothing fetched; pass stored=True, "
            "fresh=True or a higher max_pages"
        )
    assert len(urls(seed, dir=directory)) == 2
    with pytest.warns(GossamerWarning) as finished:
        assert urls(seed, dir=directory) == []
    assert str(finished[0].message) == (
        f"{directory!r} holds this crawl: 6 pages, nothing left to crawl, nothing fetched; pass stored=True or "
        "fresh=True"
    )


def test_a_crawl_that_reaches_nothing_is_a_warning_with_the_reason() -> None:
    with SmallServer({}) as server, pytest.warns(GossamerWarning) as raised:
        assert urls(server.base + "/nowhere") == []

    assert str(raised[0].message) == "no page could be fetched (1 seed: 1 status 404)"


def contents(directory: Path) -> list[Path]:
    return sorted(path.relative_to(directory) for path in directory.rglob("*"))


def test_fresh_empties_the_directory_of_a_crawl(seed: str, tmp_path: Path) -> None:
    directory = tmp_path / "c"
    urls(seed, dir=directory, max_pages=3)

    assert len(urls(seed, dir=directory, fresh=True)) == 6
    with gossamer.open(directory) as stored:
        assert len(list(stored.pages())) == len(list(stored.urls())) == 6
    assert len(list((directory / "warc").iterdir())) == 1
    assert (directory / "crawl.log").read_text().count('"crawl.started"') == 1
    assert urls(seed, dir=tmp_path / "new", fresh=True)  # nothing to empty


def test_fresh_changes_no_crawl_in_use_and_no_directory_with_other_files(seed: str, tmp_path: Path) -> None:
    used, other = tmp_path / "used", tmp_path / "other"
    urls(seed, dir=used, max_pages=3)
    before = contents(used)
    other.mkdir()
    (other / "thesis.tex").write_text("text")

    holder = CrawlDirectory(used)
    try:
        with pytest.raises(DirectoryInUse):
            urls(seed, dir=used, fresh=True)
    finally:
        holder.close()
    assert contents(used) == before
    (used / "notes.txt").write_text("mine")
    with pytest.raises(NotThisCrawl, match=r"holds other files besides its crawl \(notes.txt\); move them, or choose"):
        urls(seed, dir=used, fresh=True)
    with pytest.raises(NotThisCrawl, match="other files"):
        urls(seed, dir=other, fresh=True)
    assert (other / "thesis.tex").read_text() == "text"
    assert len(urls(seed, dir=used, stored=True)) == 6


def test_fresh_refuses_a_crawl_whose_archive_is_elsewhere(seed: str, tmp_path: Path) -> None:
    urls(seed, dir=tmp_path / "c", blobs=f"file:{tmp_path / 'archive'}", max_pages=3)

    with pytest.raises(NotThisCrawl, match=r"has its archive in .*archive; only a crawl with all its files"):
        urls(seed, dir=tmp_path / "c", fresh=True)
    assert list((tmp_path / "archive").iterdir())


def test_run_gives_a_summary_with_the_fields_of_the_command(seed: str, tmp_path: Path) -> None:
    crawl = Crawl(seed, dir=tmp_path / "c", max_pages=4, **POLITE)
    summary = gossamer.run(crawl)

    assert repr(crawl) == f"<Crawl in {tmp_path / 'c'}: 1 seed>"
    assert (summary.pages, summary.stopped, summary.finished) == (4, "page_limit", False)
    assert repr(summary) == f"<Summary stopped: page limit (4), 4 pages, {summary.queued} queued, 0 errors>"
    assert summary.to_dict()["seeds"] == summary.seeds == {"given": 1, "stored": 1, "failed": {}}
    assert crawl.status().to_dict() == summary.to_dict()
    with pytest.raises(AttributeError, match="no field 'items_per_day'"):
        _ = summary.items_per_day
    assert repr(gossamer.run(Crawl(seed, dir=tmp_path / "c", **POLITE))).startswith("<Summary finished, 6 pages, 0 q")


def test_run_works_where_an_event_loop_is_running_and_raises_what_the_crawl_raises(seed: str, tmp_path: Path) -> None:
    async def cell() -> Summary:
        return gossamer.run(Crawl(seed, **POLITE))

    assert asyncio.run(cell()).pages == 6
    (tmp_path / "file").write_text("")
    with pytest.raises(NotThisCrawl):
        gossamer.run(Crawl(seed, dir=tmp_path, **POLITE))


def test_a_crawl_cannot_be_opened_twice(seed: str) -> None:
    async def twice() -> None:
        async with Crawl(seed, **POLITE) as crawl, crawl:
            pass

    with pytest.raises(gossamer.GossamerError, match="open already"):
        asyncio.run(twice())
