"""Known pages with their last visits, and dead letters: in order of discovery, as a stream or a window at a time."""

from collections.abc import Iterator, Sequence
from typing import Any

from gossamer.model.facts import DomainFacts, HostFacts, PriorityFacts
from gossamer.model.states import UrlState
from gossamer.model.task import Via
from gossamer.reports.records import (
    DeadFilter,
    DeadLetter,
    ExcludedUrl,
    LimitedUrl,
    PageFilter,
    PageRow,
    Progress,
    Window,
)
from gossamer.store.ports import Database
from gossamer.store.row_formats import FACTS, facts_from
from gossamer.store.table.bulk_changes import dead_ids, excluded_urls, limited_urls
from gossamer.store.table.hosts import row_of_host
from gossamer.store.table.windows import url_windows

WINDOW = 2_000
"""URLs that a stream covers with one statement."""
SCANNED = 50_000
"""URLs that are searched for one window: a search for something rare returns an empty window to continue from."""
_STEP = 5_000
_DEAD_AT_ONCE = 500
_PRIORITY_FACTS = FACTS + 7  # columns: the facts of a URL, three of its host and its domain, the visits of its suffix


class PageQueries:
    """`reports.ports.PageReader`."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def last_id(self) -> int:
        return int(self._db.fetch_value("last_url"))

    def stream(self, wanted: PageFilter, progress: Progress | None = None) -> Iterator[PageRow]:
        host_id = None if wanted.host is None else row_of_host(self._db, wanted.host)
        for after, upto in url_windows(self._db, WINDOW, self.last_id(), progress):
            yield from self._rows("page_ids", after, upto, host_id, wanted.state, None, WINDOW)

    def window(
        self, wanted: PageFilter, *, after: int, contains: str | None = None, most: int = 100
    ) -> Window[PageRow]:
        last = self.last_id()
        if wanted.host is not None:  # its URLs are found by an index
            host_id = row_of_host(self._db, wanted.host)
            rows = self._rows("page_ids_of_host", after, last, host_id, wanted.state, contains, most)
            return Window(rows, rows[-1].url_id if len(rows) >= most else None)
        items: list[PageRow] = []
        windows = url_windows(self._db, _STEP, last, after=after)
        for _, (start, upto) in zip(range(SCANNED // _STEP), windows, strict=False):
            rows = self._rows("page_ids", start, upto, None, wanted.state, contains, most - len(items))
            items += rows
            if len(items) >= most:
                return Window(items, rows[-1].url_id)
            after = upto
        return Window(items, after if after < last else None)

    def _rows(self, ids: str, *values: object) -> list[PageRow]:
        with self._db.snapshot():
            found = [url_id for (url_id,) in self._db.fetch_all(ids, *values)]
            rows = self._db.fetch_all("page_rows", found) if found else []
        return [PageRow._make((*row[:3], UrlState(row[3]), row[4], Via(row[5]), *_with_facts(row[6:]))) for row in rows]


class DeadLetterQueries:
    """`reports.ports.DeadLetterReader`."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def stream(self, wanted: DeadFilter) -> Iterator[DeadLetter]:
        after = 0
        while letters := self._rows(wanted, after, _DEAD_AT_ONCE):
            yield from letters
            after = letters[-1].url_id

    def window(self, wanted: DeadFilter, *, after: int, most: int = 100) -> Window[DeadLetter]:
        letters = self._rows(wanted, after, most)
        return Window(letters, letters[-1].url_id if len(letters) == most else None)

    def ids(self, wanted: DeadFilter, *, after: int, most: int) -> list[int]:
        return dead_ids(self._db, wanted.host, wanted.reason, wanted.failure_class, after=after, most=most)

    def ids_of(self, urls: Sequence[str]) -> list[int]:
        return [url_id for (url_id,) in self._db.fetch_all("dead_ids_of", list(urls))]

    def excluded(self, reasons: Sequence[str], host: str | None = None) -> Iterator[list[ExcludedUrl]]:
        return excluded_urls(self._db, reasons, host)

    def limited(self, reasons: Sequence[str]) -> Iterator[tuple[list[LimitedUrl], int]]:
        return limited_urls(self._db, reasons)

    def _rows(self, wanted: DeadFilter, after: int, most: int) -> list[DeadLetter]:
        with self._db.snapshot():
            found = self.ids(wanted, after=after, most=most)
            rows = self._db.fetch_all("dead_letter_rows", found) if found else []
        return [DeadLetter._make((*row[:6], *_with_facts(row[6:]))) for row in rows]


def _with_facts(row: tuple[Any, ...]) -> Iterator[Any]:
    """The facts in the last columns of a row, then its other columns."""
    facts = row[-_PRIORITY_FACTS:]
    known, fetched, number, *domain, suffix_visits = facts[FACTS:]
    url = facts_from(facts, 0.0, HostFacts(known, fetched, number))._replace(age=None)
    yield PriorityFacts(url, facts[FACTS - 1], DomainFacts(*domain), suffix_visits)
    yield from row[:-_PRIORITY_FACTS]
