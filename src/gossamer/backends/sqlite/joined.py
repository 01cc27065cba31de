"""The reports of all workers' databases as those of one crawl.

Each worker has its part of the domains, so no URL and no host is in two of them; every one knows all seeds.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from heapq import merge
from itertools import islice

from gossamer.backends.sqlite import reports
from gossamer.backends.sqlite.queries import named_queries
from gossamer.backends.sqlite.reading import our_errors
from gossamer.backends.sqlite.reports import DeadFilter, Json, PageFilter

_IN_ALL = ("seeds",)  # what every part knows of the whole crawl

Dated = tuple[float, Json]


def totals(found: Sequence[Json], under_way: int) -> Json:
    """What `reports.status` tells of each, as one. A URL that is on its way to its owner keeps the crawl from being
    finished."""
    if len(found) == 1:
        return found[0]
    whole: Json = {}
    for name, first in found[0].items():
        values = [one[name] for one in found]
        if isinstance(first, dict):
            whole[name] = _counted(values, ordered=name != "states")
        elif isinstance(first, bool):
            whole[name] = all(values)
        else:
            numbers = [value for value in values if isinstance(value, int)]
            whole[name] = max(numbers) if name in _IN_ALL else sum(numbers)
    whole["finished"] = bool(whole["finished"]) and not under_way
    return whole


def under_way(dbs: Iterable[sqlite3.Connection]) -> int:
    """URLs that one worker has found and their owner does not have on record yet."""
    sql, number = named_queries("reports.sql"), 0
    for db in dbs:
        with our_errors(db):
            number += db.execute(sql["under_way"]).fetchone()[0]
    return number


def pages(parts: Sequence[tuple[sqlite3.Connection, str]], wanted: PageFilter) -> Iterator[Json]:
    """As `reports.pages`; with each database what comes before the names of its WARC files."""
    if len(parts) == 1:
        return reports.pages(parts[0][0], wanted)
    return islice(_merged([_pages(db, archive, wanted) for db, archive in parts]), wanted.limit)


def dead(dbs: Sequence[sqlite3.Connection], wanted: DeadFilter) -> Iterator[Json]:
    """As `reports.dead`."""
    if len(dbs) == 1:
        return reports.dead(dbs[0], wanted.host, wanted.reason)
    return _merged([_dated(db, reports.numbered_dead(db, wanted)) for db in dbs])


def _pages(db: sqlite3.Connection, archive: str, wanted: PageFilter) -> Iterator[Dated]:
    for found_at, page in _dated(db, reports.numbered_pages(db, wanted)):
        if isinstance(warc := page["warc"], dict):
            warc["file"] = archive + warc["file"]
        yield found_at, page


def _dated(db: sqlite3.Connection, rows: Iterator[tuple[int, Json]]) -> Iterator[Dated]:
    """Rows with the moment of their discovery."""
    sql = named_queries("reports.sql")["found_at"]
    for number, row in rows:
        with our_errors(db):
            (found_at,) = db.execute(sql, (number,)).fetchone()
        yield found_at, row


def _merged(streams: Sequence[Iterator[Dated]]) -> Iterator[Json]:
    """Oldest discovery first, as each of them is by itself."""
    return (row for _, row in merge(*streams, key=lambda dated: dated[0]))


def _counted(counts: Iterable[object], *, ordered: bool) -> dict[str, int]:
    total: Counter[str] = Counter()
    for one in counts:
        if isinstance(one, dict):
            total.update(one)
    return dict(total.most_common()) if ordered else dict(total)
