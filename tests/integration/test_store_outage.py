"""A store that fails in the middle of a transaction, and comes back: its breaker (X2) in a whole crawl."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gossamer.config.load import make_config
from gossamer.config.policies import canonicaliser_for
from gossamer.crawl.observers import CrawlObserver
from gossamer.crawl.run.session import session
from gossamer.errors import StoreFailed
from gossamer.observe.display import NoDisplay
from gossamer.seed.lists import read_arguments
from tests.integration.crawl_process import gossamer
from tests.integration.small_server import Answer, SmallServer

pytestmark = pytest.mark.service
PAGES = 1200


def answer(path: str, before: int) -> Answer:
    """Every page leads to the next five, and is long enough to fill a database."""
    if path == "/robots.txt":
        return Answer("", 404)
    number = int(path[1:] or 0)
    targets = [n for n in range(5 * number + 1, 5 * number + 6) if n < PAGES]
    return Answer(f"<title>{number}</title><p>page {number}" + "".join(f'<a href="/{n}">{n}</a>' for n in targets))


def test_while_commits_fail_nothing_is_fetched_and_afterwards_nothing_is_missing(tmp_path: Path) -> None:
    with SmallServer(answer) as site:
        wishes: dict[str, object] = {"dir": str(tmp_path / "crawl"), "allow_private": True, "traps": {"cut": False}}
        wishes |= {"delay": 0.0, "delay_factor": 0.0}
        fetched_at_rest, told = asyncio.run(crawl_with_outage(site, wishes))

        assert told == ["store.failing", "store.recovered"]
        assert 0 < fetched_at_rest < PAGES
        asked = [path for path in site.paths() if path != "/robots.txt"]
        assert len(asked) == len(set(asked)) == PAGES  # each page once: a failed commit repeats no visit

    assert gossamer("verify", "--dir", tmp_path / "crawl").status == 0
    pages = gossamer("pages", "--dir", tmp_path / "crawl", "--json").lines
    assert sum(page["state"] == "stored" for page in pages) == PAGES


async def crawl_with_outage(site: SmallServer, wishes: dict[str, object]) -> tuple[int, list[str]]:
    config = make_config(wishes, {})
    seeds = read_arguments([site.base + "/"], canonicaliser_for(config).canonicalise)
    told: list[str] = []
    async with session(config, seeds, False, NoDisplay()) as opened:
        store: Any = opened.crawl.store
        store.outlasts_full_disk = True
        failing = asyncio.Event()

        class Listener(CrawlObserver):
            def store_failing(self, error: StoreFailed | None) -> None:
                told.append("store.recovered" if error is None else "store.failing")
                failing.set()

        tries, try_to_commit = 0, store._try_to_commit

        async def counted(batch: object) -> object:
            nonlocal tries
            tries += 1
            return await try_to_commit(batch)

        async def until(holds: Callable[[], bool]) -> None:
            for _ in range(6000):
                if holds():
                    return
                await asyncio.sleep(0.01)
            raise AssertionError(f"waited in vain after {tries} tries")

        opened.crawl.engine.observers.subscribe(Listener())
        store._try_to_commit = counted
        db = store._writer._db.connection
        (pages,) = db.execute("PRAGMA page_count").fetchone()
        db.execute(f"PRAGMA max_page_count = {pages + 4}")  # a disk that is full for SQLite, in mid-transaction
        running = asyncio.create_task(opened.crawl.engine.run())
        await asyncio.wait_for(failing.wait(), 60)
        await until(lambda: opened.watch.snapshot().in_flight == 0)  # what was on its way has come in
        before, tried = len(site.asked), tries
        await until(lambda: tries >= tried + 2)  # each comes later than the one before
        assert len(site.asked) == before and store.saturation == 1.0
        await asyncio.wrap_future(store._executor.submit(db.execute, "PRAGMA max_page_count = 1073741823"))
        await asyncio.wait_for(running, 60)
        assert opened.crawl.engine.finished
        return before, told
