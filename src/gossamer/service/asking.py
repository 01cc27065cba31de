"""Questions that callers ask, answered from the database: each in a thread, on a connection that can only read."""

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TypeVar

from gossamer.backends.sqlite.database import open_for_reading
from gossamer.backends.sqlite.host_reports import HostReports, HostRow
from gossamer.backends.sqlite.reports import DeadFilter, PageFilter, status
from gossamer.backends.sqlite.windows import Window, dead_window, host_number, page_window
from gossamer.clock import Clock
from gossamer.config import Config
from gossamer.explain.words import story_object
from gossamer.inquiries import HOST_SORTS, Json, host_object, story_of
from gossamer.model.units import HostKey, Instant

T = TypeVar("T")
AT_ONCE = 4
"""Questions that are answered at the same time; more wait, so that callers do not starve the crawl of threads."""
HOSTS_KEPT = 2.0
"""Seconds for which the counts of hosts are good: making them reads every URL once."""


class Questions:
    """Answers about the crawl in one directory."""

    def __init__(self, directory: Path, clock: Clock) -> None:
        self._directory = directory
        self._clock = clock
        self._turn = asyncio.Semaphore(AT_ONCE)
        self._counting = asyncio.Lock()
        self._hosts: tuple[float, list[HostRow]] = (float("-inf"), [])

    async def _ask(self, question: Callable[[sqlite3.Connection], T]) -> T:
        def asked() -> T:
            with closing(open_for_reading(self._directory / "crawl.db")) as db:
                return question(db)

        async with self._turn:
            return await asyncio.to_thread(asked)

    async def status(self) -> Json:
        return await self._ask(status)

    async def pages(self, wanted: PageFilter, after: int, contains: str | None, most: int) -> Window:
        return await self._ask(lambda db: page_window(db, wanted, after=after, contains=contains, most=most))

    async def dead(self, wanted: DeadFilter, after: int, most: int) -> Window:
        return await self._ask(lambda db: dead_window(db, wanted, after=after, most=most))

    async def explain(self, config: Config, url: str) -> Json:
        async with self._turn:
            return await asyncio.to_thread(lambda: story_object(story_of(config, url, running=True)))

    async def hosts(self, config: Config, sort: str, offset: int, most: int, contains: str) -> tuple[list[Json], int]:
        """So many hosts from `offset` on, and how many there are."""
        rows = await self._rows()
        now = Instant(self._clock.now())

        def chosen() -> tuple[list[Json], int]:
            meant = [row for row in rows if contains in row.host] if contains else rows
            ordered = sorted(meant, key=HOST_SORTS[sort])
            return [host_object(row, config, now) for row in ordered[offset : offset + most]], len(meant)

        return await asyncio.to_thread(chosen)

    async def host(self, config: Config, host: HostKey) -> Json | None:
        """Everything known of a host; None if it is not known."""

        def counted(db: sqlite3.Connection) -> HostRow | None:
            number = host_number(db, host)
            if number is None:
                return None
            reports = HostReports(db, self._directory / "crawl.db")
            return reports.row(number, reports.counts_of(number))

        row = await self._ask(counted)
        return None if row is None else host_object(row, config, Instant(self._clock.now()))

    async def _rows(self) -> list[HostRow]:
        async with self._counting:
            made, rows = self._hosts
            if self._clock.monotonic() - made >= HOSTS_KEPT:
                rows = await self._ask(self._all_rows)
                self._hosts = self._clock.monotonic(), rows
            return rows

    def _all_rows(self, db: sqlite3.Connection) -> list[HostRow]:
        reports = HostReports(db, self._directory / "crawl.db")
        return list(reports.rows(reports.counts()))
