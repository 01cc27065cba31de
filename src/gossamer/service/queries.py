"""Queries of the service, answered from the store: each in a thread, with a reader that cannot change anything.

The operator's overrides are read with every query that depends on them, so an answer shows what was changed before.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from gossamer.clock import Clock
from gossamer.config.load import Config
from gossamer.config.overrides import OVERRIDES_KEY, Limits, Overrides, limits_of
from gossamer.config.policies import PolicyCache
from gossamer.crawl.run.location import CrawlLocation
from gossamer.crawl.run.opener import open_archive, open_part
from gossamer.model.units import HostKey, Instant
from gossamer.reports.explain.render import story_object
from gossamer.reports.export.formats import page_object
from gossamer.reports.export.tables import PageColumns
from gossamer.reports.ports import CrawlReader
from gossamer.reports.queries import explain_url, host_object
from gossamer.reports.records import DeadFilter, HostFilter, HostRow, Json, PageFilter, Window, dead_object
from gossamer.reports.scores import Scores, scores_of

T = TypeVar("T")
AT_ONCE = 4
"""Queries that run at the same time; more wait, so that callers do not starve the crawl of threads."""


class ReadQueries:
    """Queries about one crawl."""

    def __init__(self, location: CrawlLocation, configured: Callable[[], Config], clock: Clock) -> None:
        """`configured` returns the current configuration, without the overrides."""
        self._configured = configured
        self._location = location
        self._clock = clock
        self._threads = ThreadPoolExecutor(AT_ONCE, "gossamer-query")
        self._free: list[CrawlReader] = []  # to open one takes longer than most queries
        self._rules: PolicyCache | None = None
        self._known: tuple[str | None, Overrides] | None = None  # the overrides that were read last, with their text

    def _overrides(self, reader: CrawlReader) -> Overrides:
        text = reader.status.fact(OVERRIDES_KEY)
        known = self._known
        if known is None or known[0] != text:
            self._known = known = text, Overrides.from_text(text)
        return known[1]

    def _policies(self, overrides: Overrides) -> PolicyCache:
        """The policies of the current configuration."""
        config, rules = overrides.apply_limits(self._configured()), self._rules
        if rules is None or (rules.config is not config and rules.config != config):
            self._rules = rules = PolicyCache(config)
        return rules

    async def _run(self, query: Callable[[CrawlReader], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._run_here, query)

    def _run_here(self, query: Callable[[CrawlReader], T]) -> T:
        try:
            reader = self._free.pop()
        except IndexError:  # another thread may have taken the last one
            reader = open_part(self._location)
        try:
            found = query(reader)
        except BaseException:
            reader.close()  # whatever is wrong with it, the next query gets another one
            raise
        self._free.append(reader)
        return found

    def close(self) -> None:
        """No more queries come."""
        self._threads.shutdown()
        while self._free:
            self._free.pop().close()

    async def limits(self) -> Limits:
        """The limits in force."""
        return await self._run(lambda reader: limits_of(self._overrides(reader).apply_limits(self._configured())))

    async def pages(
        self, wanted: PageFilter, after: int, contains: str | None, most: int, *, parts: bool = False
    ) -> Window[Json]:
        def chosen(reader: CrawlReader) -> Window[Json]:
            scores = self._scores(reader)
            found = reader.pages.window(wanted, after=after, contains=contains, most=most)
            columns = PageColumns(scores.total, scores.parts if parts else None)
            return Window([page_object(row, columns) for row in found.items], found.next)

        return await self._run(chosen)

    async def dead(self, wanted: DeadFilter, after: int, most: int) -> Window[Json]:
        def chosen(reader: CrawlReader) -> Window[Json]:
            scores = self._scores(reader)
            found = reader.dead_letters.window(wanted, after=after, most=most)
            return Window([dead_object(letter, scores.total) for letter in found.items], found.next)

        return await self._run(chosen)

    def _scores(self, reader: CrawlReader) -> Scores:
        return scores_of(reader, self._policies(self._overrides(reader)), self._clock.now())

    async def explain(self, url: str) -> Json:
        def explained(reader: CrawlReader) -> Json:
            archive, policies = open_archive(self._location, reader), self._policies(self._overrides(reader))
            return story_object(explain_url(reader.urls, archive, policies, url, running=True))

        return await self._run(explained)

    async def hosts(self, sort: str, offset: int, most: int, contains: str) -> tuple[list[Json], int]:
        """At most `most` hosts from `offset` on, and how many there are."""
        wanted = HostFilter(contains=contains)

        def chosen(reader: CrawlReader) -> tuple[list[Json], int]:
            rows = reader.hosts.rows(wanted, sort, offset=offset, limit=most)
            return self._host_objects(reader, rows), reader.hosts.count(wanted)

        return await self._run(chosen)

    async def host(self, host: HostKey) -> Json | None:
        """Everything known about a host; None if it is not known."""

        def found(reader: CrawlReader) -> list[Json]:
            return self._host_objects(reader, reader.hosts.rows(HostFilter(host=host), "host"))

        return next(iter(await self._run(found)), None)

    def _host_objects(self, reader: CrawlReader, rows: list[HostRow]) -> list[Json]:
        overrides, now = self._overrides(reader), Instant(self._clock.now())
        policies = self._policies(overrides)
        return [host_object(row, policies, now, overrides.hosts.for_host(HostKey(row.host))) for row in rows]
