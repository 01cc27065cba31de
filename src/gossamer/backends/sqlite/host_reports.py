"""Reads what is on record of hosts, for people; also while a crawl runs."""

import sqlite3
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from gossamer.backends.sqlite.database import translated
from gossamer.backends.sqlite.host_index import HostStanding
from gossamer.backends.sqlite.queries import named_queries
from gossamer.model.states import UrlState

_URLS_AT_ONCE = 100_000
_HOSTS_AT_ONCE = 500


@dataclass(slots=True)
class HostCounts:
    """The URLs of a host, counted."""

    queued: int = 0
    stored: int = 0
    fetched: int = 0  # URLs that were answered at least once
    known: int = 0
    excluded: Counter[str] = field(default_factory=Counter)  # by reason


@dataclass(frozen=True, slots=True)
class HostRow:
    """A host as it is on record."""

    number: int
    host: str
    domain: str
    next_contact: float
    last_took: float
    address: str | None
    rest_reason: str | None
    trouble: str | None
    budget: str | None
    counts: HostCounts

    @property
    def standing(self) -> HostStanding:
        """What it is put in order by."""
        c = self.counts
        figures = (c.queued, c.stored, c.fetched, c.known, c.excluded.total())
        return HostStanding(self.number, self.host, self.next_contact, *figures)


class HostReports:
    """Counts first, then the rows in any order. Raises StoreFailed."""

    def __init__(self, db: sqlite3.Connection, path: Path) -> None:
        self._db = db
        self._path = path
        self._sql = named_queries("host_reports.sql")

    def counts(self) -> dict[int, HostCounts]:
        """The counts of every host that has URLs, by its row. Reads the whole task table once."""
        found: dict[int, HostCounts] = {}
        try:
            last: int = self._db.execute(self._sql["last_url"]).fetchone()[0]
            for start in range(0, last, _URLS_AT_ONCE):
                rows = self._db.execute(self._sql["counts"], (start, start + _URLS_AT_ONCE)).fetchall()
                for number, state, urls, visited in rows:
                    counts = found.setdefault(number, HostCounts())
                    counts.known += urls
                    counts.fetched += visited
                    if state == UrlState.QUEUED:
                        counts.queued += urls
                    elif state == UrlState.STORED:
                        counts.stored += urls
            for number, reason, urls in self._db.execute(self._sql["excluded"]).fetchall():
                found.setdefault(number, HostCounts()).excluded[reason or "unknown"] += urls
        except sqlite3.Error as error:
            raise translated(error, self._path) from error
        return found

    def counts_of(self, number: int) -> HostCounts:
        """The counts of one host, by its row. Reads its URLs only."""
        counts = HostCounts()
        try:
            for state, reason, urls, visited in self._db.execute(self._sql["counts_of"], (number,)).fetchall():
                counts.known += urls
                counts.fetched += visited
                if state == UrlState.QUEUED:
                    counts.queued += urls
                elif state == UrlState.STORED:
                    counts.stored += urls
                elif state == UrlState.EXCLUDED:
                    counts.excluded[reason or "unknown"] += urls
        except sqlite3.Error as error:
            raise translated(error, self._path) from error
        return counts

    def rows(self, counts: dict[int, HostCounts]) -> Iterator[HostRow]:
        """Every host, in the order in which they were met."""
        last = 0
        while rows := self._read("hosts", last, _HOSTS_AT_ONCE):
            for row in rows:
                yield HostRow(*row, counts.get(row[0]) or HostCounts())
            last = rows[-1][0]

    def row_of(self, standing: HostStanding) -> HostRow:
        """The row of a host that was counted already. Reads why its URLs are excluded, and none of the others."""
        excluded = Counter(dict(self._read_counts("excluded_of", standing.number)) if standing.excluded else {})
        counts = HostCounts(standing.queued, standing.stored, standing.fetched, standing.known, excluded)
        return self.row(standing.number, counts)

    def row(self, number: int, counts: HostCounts) -> HostRow:
        return HostRow(*self._read("host", number)[0], counts)

    def _read_counts(self, name: str, number: int) -> list[tuple[str, int]]:
        try:
            return self._db.execute(self._sql[name], (number,)).fetchall()
        except sqlite3.Error as error:
            raise translated(error, self._path) from error

    def _read(self, name: str, *values: int) -> list[tuple[int, str, str, float, float, str, str, str, str]]:
        try:
            return self._db.execute(self._sql[name], values).fetchall()
        except sqlite3.Error as error:
            raise translated(error, self._path) from error
