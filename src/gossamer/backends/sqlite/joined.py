"""The reports of all workers' databases as those of one crawl.

Each worker has its part of the domains, so no URL and no host is in two of them; every one knows all seeds.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from heapq import merge
from itertools import islice

from gossamer.backends.sqlite.dead_letters import DeadFilter, dead_letters, dead_object
from gossamer.backends.sqlite.pages import Json, PageFilter, PageRow, page_object, page_rows
from gossamer.backends.sqlite.queries import named_queries
from gossamer.backends.sqlite.reading import our_errors

_IN_ALL = ("seeds",)  # what every part knows of the whole crawl


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
    rows = merge(*(_pages(db, archive, wanted) for db, archive in parts), key=lambda row: row.found_at)
    return map(page_object, islice(rows, wanted.limit))


def dead(dbs: Sequence[sqlite3.Connection], wanted: DeadFilter) -> Iterator[Json]:
    """As `reports.dead`."""
    letters = merge(*(dead_letters(db, wanted) for db in dbs), key=lambda letter: letter.found_at)
    return map(dead_object, letters)


def _pages(db: sqlite3.Connection, archive: str, wanted: PageFilter) -> Iterator[PageRow]:
    for row in page_rows(db, wanted):
        yield row if row.warc_file is None else row._replace(warc_file=archive + row.warc_file)


def _counted(counts: Iterable[object], *, ordered: bool) -> dict[str, int]:
    total: Counter[str] = Counter()
    for one in counts:
        if isinstance(one, dict):
            total.update(one)
    return dict(total.most_common()) if ordered else dict(total)
