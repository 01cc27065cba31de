"""Pages and dead letters a window at a time, for callers that come back for the next one; and the facts of a crawl."""

import json
import sqlite3
from collections.abc import Iterator
from typing import NamedTuple

from gossamer.backends.sqlite.queries import named_queries
from gossamer.backends.sqlite.reading import our_errors
from gossamer.backends.sqlite.reports import DeadFilter, Json, PageFilter, dead_object, page_object

SCANNED = 50_000
"""URLs that are looked at for one window: whoever searches for what is rare gets an empty window and comes back."""
_STEP = 5_000


class Window(NamedTuple):
    """Some of what was asked for, and where to go on; None: there is no more."""

    items: list[Json]
    next: int | None


def page_window(
    db: sqlite3.Connection, wanted: PageFilter, *, after: int, contains: str | None = None, most: int = 100
) -> Window:
    """Known pages after a row, oldest discovery first. Raises StoreFailed."""
    sql, reports = named_queries("windows.sql"), named_queries("reports.sql")
    with our_errors(db):
        host_id = None if wanted.host is None else _host_id(db, reports, wanted.host)
        items: list[Json] = []
        last: int = db.execute(sql["last_id"]).fetchone()[0]
        end = min(last, after + SCANNED)
        statement = sql["page_ids" if host_id is None else "page_ids_of_host"]
        while after < end or (host_id is not None and after < last):
            upto = min(end, after + _STEP) if host_id is None else last  # a host's URLs are found by index
            values = {"after": after, "upto": upto, "state": wanted.state, "host_id": host_id}
            rows = db.execute(statement, {**values, "text": contains, "most": most - len(items)}).fetchall()
            for run in _runs([number for (number,) in rows]):
                items += [page_object(row) for row in db.execute(reports["pages"], run)]
            if len(items) >= most:
                return Window(items, rows[-1][0])
            after = upto
        return Window(items, after if after < last else None)


def _runs(numbers: list[int]) -> Iterator[tuple[int, int, int]]:
    """Numbers that follow each other: the one before the first, the last, and how many there are. Without a filter
    they are one run, which is read at once."""
    first = 0
    for end in range(1, len(numbers) + 1):
        if end == len(numbers) or numbers[end] != numbers[end - 1] + 1:
            yield numbers[first] - 1, numbers[end - 1], end - first
            first = end


def dead_window(db: sqlite3.Connection, wanted: DeadFilter, *, after: int, most: int = 100) -> Window:
    """Dead letters after a row, oldest discovery first. Raises StoreFailed."""
    reports = named_queries("reports.sql")
    with our_errors(db):
        ids = dead_ids(db, wanted, after=after, most=most)
        items = [dead_object(db.execute(reports["dead_letter"], (number,)).fetchone()) for number in ids]
    return Window(items, ids[-1] if len(ids) == most else None)


def dead_ids(db: sqlite3.Connection, wanted: DeadFilter, *, after: int, most: int) -> list[int]:
    """The rows of dead letters after a row."""
    reports = named_queries("reports.sql")
    with our_errors(db):
        host_id = None if wanted.host is None else _host_id(db, reports, wanted.host)
        values = {"after": after, "host_id": host_id, "reason": wanted.reason, "most": most}
        return [row[0] for row in db.execute(reports["dead_ids"], values)]


def ids_of(db: sqlite3.Connection, urls: list[str]) -> list[int]:
    """The rows of these URLs that are dead letters, by their canonical form."""
    with our_errors(db):
        return [row[0] for row in db.execute(named_queries("windows.sql")["dead_urls"], (json.dumps(urls),))]


def host_number(db: sqlite3.Connection, host: str) -> int | None:
    """The row of a host, if it is known."""
    with our_errors(db):
        number = _host_id(db, named_queries("reports.sql"), host)
    return None if number < 0 else number


def fact(db: sqlite3.Connection, name: str) -> str | None:
    """A fact about the crawl itself."""
    with our_errors(db):
        row = db.execute(named_queries("reports.sql")["fact"], (name,)).fetchone()
    return None if row is None else str(row[0])


def _host_id(db: sqlite3.Connection, reports: dict[str, str], host: str) -> int:
    row = db.execute(reports["host_id"], (host.lower().rstrip("."),)).fetchone()
    return -1 if row is None else int(row[0])
