"""One store behind the ports of `reports`: for reading, and for changes by an operator."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict

from gossamer.model.units import Instant
from gossamer.reports.ports import Repair
from gossamer.reports.records import DeadFilter, PositionOf
from gossamer.reports.table.explain import UrlQueries
from gossamer.reports.table.links import LinkQueries
from gossamer.reports.table.pages import DeadLetterQueries, PageQueries
from gossamer.reports.table.status import HostQueries, StatusQueries
from gossamer.reports.table.verify import AuditQueries, TableRepair
from gossamer.store.ports import Database
from gossamer.store.table import bulk_changes


class TableReader:
    """`reports.ports.CrawlReader`. Owns its connection."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self.status = StatusQueries(db)
        self.pages = PageQueries(db)
        self.hosts = HostQueries(db)
        self.dead_letters = DeadLetterQueries(db)
        self.urls = UrlQueries(db)
        self.links = LinkQueries(db)
        self.audit = AuditQueries(db)

    def close(self) -> None:
        self._db.close()


class TableEditor(TableReader):
    """`reports.ports.CrawlEditor`, on the connection of a writer."""

    def __init__(self, db: Database, *, is_shared: bool = False) -> None:
        """`is_shared`: by workers, for which caches remember what is in the store."""
        super().__init__(db)
        self._is_shared = is_shared

    def requeue_dead(self, wanted: DeadFilter, now: Instant, position: PositionOf) -> int:
        return bulk_changes.requeue_dead(self._db, now, position, **asdict(wanted))

    def drop_dead(self, wanted: DeadFilter, now: Instant, position: PositionOf) -> int:
        return bulk_changes.drop_dead(self._db, now, position, **asdict(wanted))

    @contextmanager
    def repair(self, now: Instant, position: PositionOf) -> Iterator[Repair]:
        with self._db.transaction():
            yield TableRepair(self._db, now, position)
            if self._is_shared:  # what caches know about documents may not hold any more
                _, generation, *_ = self._db.fetch_one("crawl_now") or (None, 0)
                self._db.execute("raise_generation", generation)
