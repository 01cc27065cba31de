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
from gossamer.backends.sqlite.dead_letters import DeadFilter, dead_window
from gossamer.backends.sqlite.host_index import HostIndex, HostStanding
from gossamer.backends.sqlite.host_reports import HostReports, HostRow
from gossamer.backends.sqlite.pages import PageFilter, Window, page_window
from gossamer.backends.sqlite.reading import host_row
from gossamer.backends.sqlite.reports import status
from gossamer.backends.sqlite.story import StoryReader
from gossamer.clock import Clock
from gossamer.config import Config
from gossamer.explain.words import story_object
from gossamer.inquiries import HOST_SORTS, Json, host_object, story_from
from gossamer.model.units import HostKey, Instant
from gossamer.rulebook import Rulebook

T = TypeVar("T")
AT_ONCE = 4
"""Questions that are answered at the same time; more wait, so that callers do not starve the crawl of threads."""
HOSTS_KEPT = 2.0
"""Seconds for which the counts of hosts are good: making them reads every host and the new URLs ..."""
HOSTS_WORTH = 50.0
"""... or so many times as long as that took, if this is longer: a fiftieth of a thread goes into it at most. Only the
first time every URL is read, which says nothing of the next."""
_CACHE_KIB = 4_096


class Questions:
    """Answers about the crawl in one directory."""

    def __init__(self, directory: Path, clock: Clock) -> None:
        self._directory = directory
        self._path = directory / "crawl.db"
        self._clock = clock
        self._threads = ThreadPoolExecutor(AT_ONCE, "gossamer-question")
        self._host_thread = ThreadPoolExecutor(1, "gossamer-hosts")  # alone has what follows of hosts
        self._free: list[sqlite3.Connection] = []  # to open one takes longer than most questions
        self._good_until = float("-inf")
        self._index = HostIndex(self._path)
        self._standings: list[HostStanding] | None = None
        self._sorted: dict[str, list[HostStanding]] = {}
        self._rules: Rulebook | None = None

    def _book(self, config: Config) -> Rulebook:
        """The rules of the configuration as it stands now."""
        rules = self._rules
        if rules is None or (rules.config is not config and rules.config != config):
            self._rules = rules = Rulebook(config)
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
        self._host_thread.shutdown()
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
        return await self._ask(
            lambda db: story_object(story_from(StoryReader(db, self._path), book, url, running=True))
        )

    async def hosts(self, config: Config, sort: str, offset: int, most: int, contains: str) -> tuple[list[Json], int]:
        """So many hosts from `offset` on, and how many there are."""
        book = self._book(config)

        def chosen() -> tuple[list[Json], int]:
            standings = self._counted_hosts()
            if sort not in self._sorted:
                self._sorted[sort] = sorted(standings, key=HOST_SORTS[sort])
            meant = self._sorted[sort]
            if contains:
                meant = [standing for standing in meant if contains in standing.host]
            rows = self._asked(lambda db: self._rows_of(db, meant[offset : offset + most]))
            now = Instant(self._clock.now())
            return [host_object(row, book, now) for row in rows], len(meant)

        return await asyncio.get_running_loop().run_in_executor(self._host_thread, chosen)

    async def host(self, config: Config, host: HostKey) -> Json | None:
        """Everything known of a host; None if it is not known."""

        def counted(db: sqlite3.Connection) -> HostRow | None:
            number = host_row(db, host)
            if number < 0:
                return None
            reports = HostReports(db, self._path)
            return reports.row(number, reports.counts_of(number))

        row = await self._ask(counted)
        return None if row is None else host_object(row, self._book(config), Instant(self._clock.now()))

    def _counted_hosts(self) -> list[HostStanding]:
        begun = self._clock.monotonic()
        if self._standings is not None and begun < self._good_until:
            return self._standings
        first = self._standings is None
        self._standings, self._sorted = self._asked(self._index.look), {}
        now = self._clock.monotonic()
        self._good_until = now + max(HOSTS_KEPT, 0.0 if first else HOSTS_WORTH * (now - begun))
        return self._standings

    def _rows_of(self, db: sqlite3.Connection, standings: list[HostStanding]) -> list[HostRow]:
        reports = HostReports(db, self._path)
        return [reports.row_of(standing) for standing in standings]
