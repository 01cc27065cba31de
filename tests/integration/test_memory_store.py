"""A whole crawl with `--store memory:` has the result of one that stores its results in files."""

import asyncio
from contextlib import closing
from io import StringIO
from pathlib import Path

import pytest

from gossamer.cli.verify import examine
from gossamer.clock import SteadyClock
from gossamer.config.load import Config
from gossamer.config.policies import PolicyCache, canonicaliser_for
from gossamer.crawl.run.session import session
from gossamer.extract.full_page import Wanted
from gossamer.model.states import UrlState
from gossamer.observe.display import NoDisplay, ProgressLine
from gossamer.reports.export.rows import Documents
from gossamer.reports.ports import Archive, CrawlReader
from gossamer.reports.queries import explain_url
from gossamer.reports.records import Json, PageFilter
from gossamer.seed.lists import read_arguments
from tests.integration.crawl_process import gossamer, scene, small_web
from tests.integration.small_server import SmallServer, links, page

pytestmark = pytest.mark.service

Pages = dict[str, tuple[str, int | None, bytes | None]]


async def crawl(config: Config, urls: list[str]) -> tuple[Json, Pages]:
    """The totals and the pages of a crawl that is run to its end in this process."""
    seeds = read_arguments(urls, canonicaliser_for(config).canonicalise)
    async with session(config, seeds, False, NoDisplay()) as opened:
        await opened.crawl.engine.run()
        with closing(opened.crawl.open_reader()) as reader:
            totals = reader.status.totals()
            pages = {row.url: (_kind(row.state), row.status, row.digest) for row in reader.pages.stream(PageFilter())}
            check_archive(config, reader, opened.crawl.archive)
    return totals, pages


def check_archive(config: Config, reader: CrawlReader, archive: Archive) -> None:
    """Nothing is wrong with the archive of a running crawl, and its documents are found by explain and export."""
    assert examine(reader.audit, archive, config, ProgressLine(StringIO(), SteadyClock(), ""), running=True).sound
    stored = [row for row in reader.pages.stream(PageFilter(state=UrlState.STORED)) if row.mime == "text/html"]
    documents = Documents(archive, Wanted(text=True))
    for row in stored[:20]:
        assert row.warc_file is not None and row.warc_offset is not None and row.warc_length is not None
        document = documents.open(row.warc_file, row.warc_offset, row.warc_length)
        assert document is not None and document.response.url == row.url and document.text
    story = explain_url(reader.urls, archive, PolicyCache(config), stored[0].url, running=True)
    assert story.archive is not None and story.archive.sound


def _kind(state: UrlState) -> str:
    """Which of several equal documents is stored and which are duplicates depends on the order of the visits."""
    return "stored" if state is UrlState.DUPLICATE else state.word


def test_a_crawl_in_memory_finds_what_one_in_files_finds(tmp_path: Path) -> None:
    steady = small_web(seed=15, hosts=8, pages=120, fault_rate=0.0, crawl_delay_seconds=0.0)
    with scene(tmp_path / "files", steady) as stage:
        options = {
            "dns": stage.web.dns_address,
            "scope": "tld:test",
            "allow_private": True,
            "quiet": True,
            "delay": 0.01,
            "delay_factor": 0.0,
        }
        in_files = asyncio.run(crawl(Config(dir=str(stage.dir), **options), stage.web.seeds))  # type: ignore[arg-type]
        in_memory = asyncio.run(
            crawl(Config(dir=str(tmp_path / "memory"), store="memory:", **options), stage.web.seeds)  # type: ignore[arg-type]
        )

    assert len(in_memory[1]) > 100
    assert in_memory[1] == in_files[1]
    for name in ("pages", "duplicates", "discovered", "queued", "dead", "hosts", "excluded", "finished"):
        assert in_memory[0][name] == in_files[0][name], name
    assert not any(path.suffix in (".db", ".gz") for path in (tmp_path / "memory").rglob("*"))


def test_the_command_crawls_in_memory_and_leaves_no_store(tmp_path: Path) -> None:
    with SmallServer({"/": links("/a"), "/a": page("page a")}) as server:
        options = ("--allow-private", "--delay", 0.01, "--delay-factor", 0, "--json")
        ended = gossamer("crawl", server.base + "/", "--store", "memory:", "--dir", tmp_path / "crawl", *options)

    assert ended.status == 0, ended.err
    assert ended.report["pages"] == 2
    assert sorted(path.name for path in (tmp_path / "crawl").iterdir()) == ["crawl.lock", "crawl.log"]


@pytest.mark.parametrize("command", [["pages"], ["verify"], ["explain", "http://a.test/"]], ids=" ".join)
def test_a_store_in_memory_cannot_be_read_by_another_process(command: list[str], tmp_path: Path) -> None:
    ended = gossamer(*command, "--store", "memory:", cwd=tmp_path)

    assert ended.status == 2
    assert "--store: memory: exists only in the process of its crawl" in ended.err


def test_several_processes_cannot_share_a_store_in_memory(tmp_path: Path) -> None:
    workers = gossamer("crawl", "http://a.test/", "--store", "memory:", "--workers", 2, cwd=tmp_path)
    service = gossamer("serve", "--store", "memory:", cwd=tmp_path)

    assert (workers.status, service.status) == (2, 2)
    assert "--store: memory: is for one process, not for 2" in workers.err
    assert "memory: cannot be used" in service.err
