"""Known pages with their last visits, and dead letters: in order of discovery, as a stream or a window at a time.

Every statement reads a bounded number of rows, so a slow reader does not hold up a running crawl. Changes that are
committed between two statements may show.
"""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any

from gossamer.backends.sqlite.database import host_row, last_url, named_queries, our_errors
from gossamer.model.facts import DomainFacts, HostFacts, PriorityFacts
from gossamer.model.states import UrlState
from gossamer.reports.records import DeadFilter, DeadLetter, PageFilter, PageRow, Progress, Window
from gossamer.store.row_formats import FACTS, facts_from

WINDOW = 2_000
"""Ids that a stream covers with one statement."""
SCANNED = 50_000
"""URLs that are searched for one window: a search for something rare returns an empty window to continue from."""
_STEP = 5_000


def page_rows(db: sqlite3.Connection, wanted: PageFilter, progress: Progress | None = None) -> Iterator[PageRow]:
    """All pages that match the filter; its limit is ignored. Raises StoreFailed."""
    host_id = None if wanted.host is None else host_row(db, wanted.host)
    last = last_url(db)
    for after in range(0, last, WINDOW):
        values = {"after": after, "upto": after + WINDOW, "state": wanted.state, "host_id": host_id, "text": None}
        yield from _read(db, "ids", {**values, "most": WINDOW})
        if progress is not None:
            progress(min(after + WINDOW, last), last)


def page_window(
    db: sqlite3.Connection, wanted: PageFilter, *, after: int, contains: str | None = None, most: int = 100
) -> Window[PageRow]:
    """Known pages after an id. Raises StoreFailed."""
    host_id = None if wanted.host is None else host_row(db, wanted.host)
    items: list[PageRow] = []
    last = last_url(db)
    end = min(last, after + SCANNED)
    while after < end or (host_id is not None and after < last):
        upto = min(end, after + _STEP) if host_id is None else last  # a host's URLs are found by index
        values = {"after": after, "upto": upto, "state": wanted.state, "host_id": host_id, "text": contains}
        rows = _read(db, "ids" if host_id is None else "ids_of_host", {**values, "most": most - len(items)})
        items += rows
        if len(items) >= most:
            return Window(items, rows[-1].url_id)
        after = upto
    return Window(items, after if after < last else None)


def _read(db: sqlite3.Connection, ids: str, values: dict[str, object]) -> list[PageRow]:
    sql = named_queries("pages.sql")
    with our_errors(db):
        rows = db.execute(sql["pages"].replace("/*ids*/", sql[ids]), values).fetchall()
    return [PageRow._make((*row[:3], UrlState(row[3]), row[4], *_with_facts(row[5:]))) for row in rows]


_PRIORITY_FACTS = FACTS + 7  # columns: the facts of a URL, three of its host and its domain, the visits of its suffix


def _with_facts(row: tuple[Any, ...]) -> Iterator[Any]:
    """The facts in the last columns of a row, then its other columns."""
    facts = row[-_PRIORITY_FACTS:]
    known, fetched, number, *domain, suffix_visits = facts[FACTS:]
    url = facts_from(facts, 0.0, HostFacts(known, fetched, number))._replace(age=None)
    yield PriorityFacts(url, facts[FACTS - 1], DomainFacts(*domain), suffix_visits)
    yield from row[:-_PRIORITY_FACTS]


_WINDOW = 500


def dead_letters(db: sqlite3.Connection, wanted: DeadFilter) -> Iterator[DeadLetter]:
    """All dead letters that match. Raises StoreFailed."""
    after = 0
    while letters := _window(db, wanted, after, _WINDOW):
        yield from letters
        after = letters[-1].url_id


def dead_window(db: sqlite3.Connection, wanted: DeadFilter, *, after: int, most: int = 100) -> Window[DeadLetter]:
    """Dead letters after an id. Raises StoreFailed."""
    letters = _window(db, wanted, after, most)
    return Window(letters, letters[-1].url_id if len(letters) == most else None)


def dead_ids(db: sqlite3.Connection, wanted: DeadFilter, *, after: int, most: int) -> list[int]:
    """The ids of dead letters after an id."""
    with our_errors(db):
        return [
            row[0] for row in db.execute(named_queries("dead_letters.sql")["ids"], _values(db, wanted, after, most))
        ]


def ids_of(db: sqlite3.Connection, urls: Sequence[str]) -> list[int]:
    """The ids of those of these URLs, in canonical form, that are dead letters."""
    with our_errors(db):
        return [
            row[0] for row in db.execute(named_queries("dead_letters.sql")["ids_of_urls"], (json.dumps(list(urls)),))
        ]


def _window(db: sqlite3.Connection, wanted: DeadFilter, after: int, most: int) -> list[DeadLetter]:
    sql = named_queries("dead_letters.sql")
    statement = sql["letters"].replace("/*ids*/", sql["ids"])
    with our_errors(db):
        rows = db.execute(statement, _values(db, wanted, after, most)).fetchall()
    return [DeadLetter._make((*row[:6], *_with_facts(row[6:]))) for row in rows]


def _values(db: sqlite3.Connection, wanted: DeadFilter, after: int, most: int) -> dict[str, object]:
    host_id = None if wanted.host is None else host_row(db, wanted.host)
    return {"after": after, "host_id": host_id, "reason": wanted.reason, "most": most}
