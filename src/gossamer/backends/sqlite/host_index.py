"""All hosts of a crawl with the counts of their URLs, without counting every URL each time.

What is no longer queued is counted in the rows of the hosts (migration 14). How many URLs a host has is counted here:
they are only ever added, each with a larger number than all before it, so a look counts those that came since the last.
The first look goes through all numbers once.
"""

import sqlite3
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from gossamer.backends.sqlite.database import translated
from gossamer.backends.sqlite.queries import named_queries

_URLS_AT_ONCE = 100_000


class HostStanding(NamedTuple):
    """What hosts are put in order by, and their counts of URLs."""

    number: int
    host: str
    next_contact: float
    queued: int
    stored: int
    fetched: int  # URLs that were answered at least once
    known: int
    excluded: int


class HostIndex:
    """Remembers how far it has counted. Used from one thread at a time, on any connection to the same database."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._sql = named_queries("host_reports.sql")
        self._known: Counter[int] = Counter()
        self._counted_to = 0

    def look(self, db: sqlite3.Connection) -> list[HostStanding]:
        """Every host, in the order in which they were met, as of one commit. Raises StoreFailed."""
        try:
            while self._last_url(db) - self._counted_to > _URLS_AT_ONCE:  # short reads, while there is much
                self._count(db, self._counted_to + _URLS_AT_ONCE)
            db.execute("BEGIN")
            try:
                self._count(db, self._last_url(db))
                rows = db.execute(self._sql["standings"]).fetchall()
            finally:
                db.execute("COMMIT")
        except sqlite3.Error as error:
            raise translated(error, self._path) from error
        known = self._known
        return [
            HostStanding(number, host, next_contact, known[number] - away, stored, fetched, known[number], excluded)
            for number, host, next_contact, away, stored, fetched, excluded in rows
        ]

    def _last_url(self, db: sqlite3.Connection) -> int:
        last: int = db.execute(self._sql["last_url"]).fetchone()[0]
        return last

    def _count(self, db: sqlite3.Connection, last: int) -> None:
        self._known.update(dict(db.execute(self._sql["known"], (self._counted_to, last)).fetchall()))
        self._counted_to = max(self._counted_to, last)
