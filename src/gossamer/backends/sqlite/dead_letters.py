"""The dead letters of a crawl, oldest discovery first: a window at a time."""

import json
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from gossamer.backends.sqlite.pages import Json, Window, timestamp
from gossamer.backends.sqlite.queries import named_queries
from gossamer.backends.sqlite.reading import host_row, our_errors

_WINDOW = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadFilter:
    """Which dead letters are meant; None: any."""

    host: str | None = None
    reason: str | None = None


class DeadLetter(NamedTuple):
    """A URL whose tries are used up, with its last failure."""

    url_id: int
    url: str
    host: str
    reason: str | None
    tries: int
    depth: int
    priority: float
    found_at: float
    failed_at: float | None
    status: int | None
    detail: str | None
    found_on: str | None


def dead_letters(db: sqlite3.Connection, wanted: DeadFilter) -> Iterator[DeadLetter]:
    """All that are wanted. Raises StoreFailed."""
    after = 0
    while letters := _window(db, wanted, after, _WINDOW):
        yield from letters
        after = letters[-1].url_id


def dead_window(db: sqlite3.Connection, wanted: DeadFilter, *, after: int, most: int = 100) -> Window:
    """Those after a row. Raises StoreFailed."""
    letters = _window(db, wanted, after, most)
    return Window([dead_object(letter) for letter in letters], letters[-1].url_id if len(letters) == most else None)


def dead_ids(db: sqlite3.Connection, wanted: DeadFilter, *, after: int, most: int) -> list[int]:
    """The rows of dead letters after a row."""
    with our_errors(db):
        return [
            row[0] for row in db.execute(named_queries("dead_letters.sql")["ids"], _values(db, wanted, after, most))
        ]


def ids_of(db: sqlite3.Connection, urls: list[str]) -> list[int]:
    """The rows of these URLs that are dead letters, by their canonical form."""
    with our_errors(db):
        return [row[0] for row in db.execute(named_queries("dead_letters.sql")["ids_of_urls"], (json.dumps(urls),))]


def _window(db: sqlite3.Connection, wanted: DeadFilter, after: int, most: int) -> list[DeadLetter]:
    sql = named_queries("dead_letters.sql")
    statement = sql["letters"].replace("/*ids*/", sql["ids"])
    with our_errors(db):
        return [DeadLetter._make(row) for row in db.execute(statement, _values(db, wanted, after, most)).fetchall()]


def _values(db: sqlite3.Connection, wanted: DeadFilter, after: int, most: int) -> dict[str, object]:
    host_id = None if wanted.host is None else host_row(db, wanted.host)
    return {"after": after, "host_id": host_id, "reason": wanted.reason, "most": most}


def dead_object(letter: DeadLetter) -> Json:
    """JSON form of a dead letter."""
    return {
        "url": letter.url,
        "host": letter.host,
        "reason": letter.reason,
        "tries": letter.tries,
        "depth": letter.depth,
        "priority": letter.priority,
        "failed_at": timestamp(letter.failed_at),
        "status": letter.status,
        "detail": letter.detail,
        "found_on": letter.found_on,
    }
