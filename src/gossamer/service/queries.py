"""Questions that callers ask, answered from the database: each in a thread, on a connection that can only read.

Asked in front, for the most part; beside the crawl only about single hosts.
"""

import asyncio
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from gossamer.backends.sqlite.database import open_for_reading
from gossamer.backends.sqlite.explain_reader import StoryReader
from gossamer.backends.sqlite.pages import DeadFilter, PageFilter, Window, dead_window, page_window
from gossamer.backends.sqlite.reports import HostFilter, host_rows, number_of_hosts, status
from gossamer.clock import Clock
from gossamer.config.load import Config
from gossamer.config.policies import PolicyCache
from gossamer.model.units import HostKey, Instant
from gossamer.reports.explain.render import story_object
from gossamer.reports.queries import Json, host_object, story_from

T = TypeVar("T")
AT_ONCE = 4
"""Questions that are answered at the same time; more wait, so that callers do not starve the crawl of threads."""
_CACHE_KIB = 4_096


class ReadQueries:
    """Answers about the crawl in one directory."""

    def __init__(self, directory: Path, clock: Clock) -> None:
        self._directory = directory
        self._path = directory / "crawl.db"
        self._clock = clock
        self._threads = ThreadPoolExecutor(AT_ONCE, "gossamer-question")
        self._free: list[sqlite3.Connection] = []  # to open one takes longer than most questions
        self._rules: PolicyCache | None = None

    def _book(self, config: Config) -> PolicyCache:
        """The rules of the configuration as it stands now."""
        rules = self._rules
        if rules is None or (rules.config is not config and rules.config != config):
            self._rules = rules = PolicyCache(config)
        return rules

    async def _ask(self, question: Callable[[sqlite3.Connection], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._asked, question)

    def _asked(self, question: Callable[[sqlite3.Connection], T]) -> T:
        try:
            db = self._free.pop()
        except IndexError:  # another thread may have taken the last one
            db = self._opened()
        try:
            found = question(db)
        except BaseException:
            db.close()  # whatever is wrong with it, the next question does not meet it
            raise
        self._free.append(db)
        return found

    def _opened(self) -> sqlite3.Connection:
        db = open_for_reading(self._path)
        db.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        return db

    def close(self) -> None:
        """Nothing more is asked."""
        self._threads.shutdown()
        while self._free:
            self._free.pop().close()

    async def status(self) -> Json:
        return await self._ask(status)

    async def pages(self, wanted: PageFilter, after: int, contains: str | None, most: int) -> Window:
        return await self._ask(lambda db: page_window(db, wanted, after=after, contains=contains, most=most))

    async def dead(self, wanted: DeadFilter, after: int, most: int) -> Window:
        return await self._ask(lambda db: dead_window(db, wanted, after=after, most=most))

    async def explain(self, config: Config, url: str) -> Json:
        book = self._book(config)
        return await self._ask(lambda db: story_object(story_from(StoryReader(db), book, url, running=True)))

    async def hosts(self, config: Config, sort: str, offset: int, most: int, contains: str) -> tuple[list[Json], int]:
        """So many hosts from `offset` on, and how many there are."""
        book, wanted = self._book(config), HostFilter(contains=contains)

        def chosen(db: sqlite3.Connection) -> tuple[list[Json], int]:
            rows = host_rows(db, wanted, sort, offset=offset, limit=most)
            now = Instant(self._clock.now())
            return [host_object(row, book, now) for row in rows], number_of_hosts(db, wanted)

        return await self._ask(chosen)

    async def host(self, config: Config, host: HostKey) -> Json | None:
        """Everything known of a host; None if it is not known."""
        rows = await self._ask(lambda db: host_rows(db, HostFilter(host=host), "host"))
        return host_object(rows[0], self._book(config), Instant(self._clock.now())) if rows else None
