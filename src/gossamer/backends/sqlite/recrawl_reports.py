"""How fresh the copies of a crawl are, as far as its store can tell. The crawl may be running."""

import sqlite3
from collections.abc import Iterator
from typing import NamedTuple

from gossamer.backends.sqlite.queries import named_queries
from gossamer.backends.sqlite.reading import fact, last_url, our_errors
from gossamer.model.units import Instant

MOST_OVERDUE = 10_000
"""How far URLs are counted whose date has passed."""

SAMPLE = 500
"""Pages that are looked at, evenly spread over all that were discovered."""

Copied = tuple[float | None, float | None, Instant, str | None]
"""A page that we have: the two numbers of its estimate, when it was visited, how its host's pages change."""


class RecrawlReport(NamedTuple):
    overdue: int  # as large as MOST_OVERDUE: or more
    price: str | None  # as `crawl.recrawling` writes it
    pace: str | None  # as `crawl.pace` does
    waiting: int  # pages that are queued for another visit
    sample: list[Copied]


def recrawl_report(db: sqlite3.Connection, now: Instant) -> RecrawlReport:
    """Costs the same however large the crawl is."""
    sql = named_queries("reports.sql")
    with our_errors(db):
        (overdue,) = db.execute(sql["overdue"], {"now": now, "most": MOST_OVERDUE}).fetchone()
        (waiting,) = db.execute(sql["refreshing"]).fetchone()
        rows = [db.execute(sql["visited"], (url_id,)).fetchone() for url_id in _spread(last_url(db))]
    sample = [row for row in rows if row]
    return RecrawlReport(overdue, fact(db, "recrawl"), fact(db, "recrawl_pace"), waiting, sample)


def _spread(last: int) -> Iterator[int]:
    step = max(1.0, last / SAMPLE)
    number = min(last, SAMPLE)
    return (1 + int(each * step) for each in range(number))
