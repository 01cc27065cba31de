"""Queries run on readers that stay open, a few at a time."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import pytest

from gossamer.backends.sqlite.driver import open_for_writing
from gossamer.clock import VirtualClock
from gossamer.config.load import Config
from gossamer.config.policies import ordering_for
from gossamer.crawl.run.location import CrawlLocation
from gossamer.errors import StoreFailed
from gossamer.model.units import HostKey, Instant
from gossamer.reports.ports import CrawlReader
from gossamer.reports.records import DeadFilter, PageFilter
from gossamer.reports.table.reader import TableEditor, TableReader
from gossamer.service.queries import AT_ONCE, ReadQueries
from tests.cli.crawl_samples import change, small_crawl

T = TypeVar("T")


def asked(folder: Path, ask: Callable[[ReadQueries], Awaitable[T]]) -> T:
    open_for_writing(folder / "crawl.db").close()

    async def main() -> T:
        questions = ReadQueries(CrawlLocation(folder), Config, VirtualClock())
        try:
            return await ask(questions)
        finally:
            questions.close()

    return asyncio.run(main())


def test_one_question_after_the_other_needs_one_connection(tmp_path: Path) -> None:
    async def ask(questions: ReadQueries) -> set[int]:
        return {await questions._run(id) for _ in range(5)}

    assert len(asked(tmp_path, ask)) == 1


def test_a_crowd_of_questions_needs_no_more_connections_than_may_be_asked_at_once(tmp_path: Path) -> None:
    async def ask(questions: ReadQueries) -> set[int]:
        return set(await asyncio.gather(*(questions._run(id) for _ in range(50))))

    assert len(asked(tmp_path, ask)) <= AT_ONCE


def test_a_connection_on_which_a_question_failed_is_not_used_again(tmp_path: Path) -> None:
    failed: list[CrawlReader] = []

    def fails(reader: CrawlReader) -> None:
        failed.append(reader)
        raise RuntimeError("as bad as can be")

    async def ask(questions: ReadQueries) -> int:
        with pytest.raises(RuntimeError):
            await questions._run(fails)
        window = await questions.pages(PageFilter(), 0, None, 10)
        return len(window.items)

    assert asked(tmp_path, ask) == 0
    with pytest.raises(StoreFailed, match="closed"):
        failed[0].status.totals()


def test_pages_and_dead_letters_have_the_score_of_the_ordering(tmp_path: Path) -> None:
    crawl = small_crawl(tmp_path / "crawl")
    change(crawl, "UPDATE facts SET value = 'balance' WHERE name = 'order'")
    change(crawl, "UPDATE domains SET accesses = 2, links_from_others = 5")

    async def ask(questions: ReadQueries) -> list[object]:
        plain = await questions.pages(PageFilter(), 0, None, 1)
        with_parts = await questions.pages(PageFilter(), 0, None, 1, parts=True)
        dead = await questions.dead(DeadFilter(), 0, 1)
        assert "priority_parts" not in plain.items[0]
        return [*(found.items[0]["priority"] for found in (plain, dead)), with_parts.items[0]["priority_parts"]]

    parts = {"domain_visits": -94.0, "domain_links_from_others": 65.0, "suffix_visits": 0.0}
    assert asked(crawl, ask) == [-29.0, -29.0, parts]


def test_a_reader_cannot_change_anything(tmp_path: Path) -> None:
    async def ask(questions: ReadQueries) -> None:
        def forget(reader: CrawlReader) -> None:
            assert isinstance(reader, TableReader)
            with TableEditor(reader._db).repair(Instant(1.0), ordering_for(Config()).standing) as repair:
                repair.forget_visit(1)

        with pytest.raises(StoreFailed, match="readonly"):
            await questions._run(forget)

    asked(tmp_path, ask)


def test_hosts_are_read_from_the_current_database(tmp_path: Path) -> None:
    crawl = small_crawl(tmp_path / "crawl")  # a duplicate, a dead letter and a queued URL on one host

    async def main() -> list[tuple[object, ...]]:
        questions = ReadQueries(CrawlLocation(crawl), Config, VirtualClock())
        found = []
        try:
            for _ in range(2):
                ((host,), total) = await questions.hosts("queued", 0, 10, "h.t")
                assert host == await questions.host(HostKey("h.test"))
                found.append((total, *(host[name] for name in ("queued", "fetched", "known", "excluded"))))
                change(crawl, "UPDATE urls SET state = 6, reason = 'robots' WHERE state = 0")
            assert await questions.hosts("queued", 0, 10, "nobody") == ([], 0)
            assert await questions.host(HostKey("nowhere.test")) is None
        finally:
            questions.close()
        return found

    assert asyncio.run(main()) == [(1, 1, 1, 3, {}), (1, 0, 1, 3, {"robots": 1})]
