"""The read side of the database behind the ports of `reports`, one class for each group of methods."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from gossamer.backends.sqlite import pages, reports
from gossamer.backends.sqlite.database import fact, last_url, open_for_reading, open_for_writing, our_errors
from gossamer.backends.sqlite.driver import SqliteDatabase
from gossamer.backends.sqlite.explain_reader import SqliteUrlReader
from gossamer.backends.sqlite.export_reader import SqliteLinkReader
from gossamer.backends.sqlite.verify import SqliteAuditReader, SqliteRepair
from gossamer.model.units import Instant
from gossamer.observe.wait_reasons import Waits
from gossamer.reports.ports import Repair
from gossamer.reports.records import (
    DeadFilter,
    DeadLetter,
    ExcludedUrl,
    HostFilter,
    HostRow,
    Json,
    LimitedUrl,
    PageFilter,
    PageRow,
    PositionOf,
    Progress,
    RecrawlReport,
    Window,
)
from gossamer.store.ports import Database
from gossamer.store.table import bulk_changes


class SqliteStatusReader:
    """`reports.ports.StatusReader`."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def totals(self) -> Json:
        return reports.status(self._db)

    def waits(self, now: Instant) -> Waits:
        return reports.waits(self._db, now)

    def recrawl_report(self, now: Instant) -> RecrawlReport:
        return reports.recrawl_report(self._db, now)

    def count_outbox(self) -> int:
        return reports.count_outbox(self._db)

    def fact(self, name: str) -> str | None:
        return fact(self._db, name)

    def options(self) -> Json:
        return reports.remembered_options(self._db)

    def queue_order(self) -> str | None:
        return reports.queue_order(self._db)

    def seed_sources(self) -> frozenset[str]:
        return reports.seed_sources(self._db)


class SqlitePageReader:
    """`reports.ports.PageReader`."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def stream(self, wanted: PageFilter, progress: Progress | None = None) -> Iterator[PageRow]:
        return pages.page_rows(self._db, wanted, progress)

    def window(
        self, wanted: PageFilter, *, after: int, contains: str | None = None, most: int = 100
    ) -> Window[PageRow]:
        return pages.page_window(self._db, wanted, after=after, contains=contains, most=most)

    def last_id(self) -> int:
        return last_url(self._db)


class SqliteHostReader:
    """`reports.ports.HostReader`."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def rows(self, wanted: HostFilter, sort: str, *, offset: int = 0, limit: int | None = None) -> list[HostRow]:
        return reports.host_rows(self._db, wanted, sort, offset=offset, limit=limit)

    def count(self, wanted: HostFilter) -> int:
        return reports.number_of_hosts(self._db, wanted)


class SqliteDeadLetterReader:
    """`reports.ports.DeadLetterReader`."""

    def __init__(self, db: sqlite3.Connection, database: Database) -> None:
        self._db = db
        self._database = database

    def stream(self, wanted: DeadFilter) -> Iterator[DeadLetter]:
        return pages.dead_letters(self._db, wanted)

    def window(self, wanted: DeadFilter, *, after: int, most: int = 100) -> Window[DeadLetter]:
        return pages.dead_window(self._db, wanted, after=after, most=most)

    def ids(self, wanted: DeadFilter, *, after: int, most: int) -> list[int]:
        return pages.dead_ids(self._db, wanted, after=after, most=most)

    def ids_of(self, urls: Sequence[str]) -> list[int]:
        return pages.ids_of(self._db, urls)

    def excluded(self, reasons: Sequence[str], host: str | None = None) -> Iterator[list[ExcludedUrl]]:
        return bulk_changes.excluded_urls(self._database, reasons, host)

    def limited(self, reasons: Sequence[str]) -> Iterator[tuple[list[LimitedUrl], int]]:
        return bulk_changes.limited_urls(self._database, reasons)


class SqliteCrawlReader:
    """`reports.ports.CrawlReader`. Owns its connection."""

    def __init__(self, db: sqlite3.Connection, path: Path | None = None) -> None:
        """`path` is for messages; by default the connection knows it."""
        self._db = db
        self._database = SqliteDatabase(db, path)
        self.status = SqliteStatusReader(db)
        self.pages = SqlitePageReader(db)
        self.hosts = SqliteHostReader(db)
        self.dead_letters = SqliteDeadLetterReader(db, self._database)
        self.urls = SqliteUrlReader(db)
        self.links = SqliteLinkReader(db)
        self.audit = SqliteAuditReader(db)

    def close(self) -> None:
        self._db.close()


class SqliteCrawlEditor(SqliteCrawlReader):
    """`reports.ports.CrawlEditor`. The caller holds the lock of the directory."""

    def requeue_dead(self, wanted: DeadFilter, now: Instant, position: PositionOf) -> int:
        return bulk_changes.requeue_dead(self._database, now, position, host=wanted.host, reason=wanted.reason)

    def drop_dead(self, wanted: DeadFilter, now: Instant, position: PositionOf) -> int:
        return bulk_changes.drop_dead(self._database, now, position, host=wanted.host, reason=wanted.reason)

    def repair(self, now: Instant, position: PositionOf) -> AbstractContextManager[Repair]:
        return SqliteRepair(self._db, self._database, now, position)


def open_reader(path: Path, *, cache_kib: int | None = None) -> SqliteCrawlReader:
    """Raises NotThisCrawl for a file that is not ours, OldSchema for one to be migrated first, StoreFailed for one that
    cannot be read now."""
    db = open_for_reading(path)
    if cache_kib is not None:
        with our_errors(db):
            db.execute(f"PRAGMA cache_size = -{cache_kib}")
    return SqliteCrawlReader(db, path)


def open_editor(path: Path) -> SqliteCrawlEditor:
    """Migrates the database if its schema is an older one. Raises NotThisCrawl or StoreFailed."""
    return SqliteCrawlEditor(open_for_writing(path), path)
