"""Many rows in few statements.

The driver gives the interpreter's lock away at every step of a statement and then has to win it back from a busy event
loop. One statement of 256 rows is one step; `executemany` over 256 rows is 256 of them, which beside a busy thread
costs several times the CPU and more than ten times the time (benchmarks/bench_store.py measures both). Reading is no
better, a step for each row of the answer; so what is read within a commit comes as one row: a list in JSON.
"""

import json
import sqlite3
from collections.abc import Sequence
from functools import cache
from itertools import chain
from typing import Any

_CHUNKS = (256, 32, 4, 1)
_ROWS = "(/*rows*/)"


@cache
def _statement(sql: str, rows: int) -> str:
    """`sql` with its one row of values, marked `(/*rows*/)`, repeated."""
    head, _, rest = sql.partition(_ROWS)
    row, mark, tail = rest.partition(_ROWS)
    if not mark:
        raise ValueError(f"the statement does not mark its row of values: {sql}")
    return head + ", ".join([row.strip()] * rows) + tail


def write_rows(db: sqlite3.Connection, sql: str, rows: Sequence[tuple[object, ...]]) -> int:
    """Run a statement whose row of values stands between two marks, for all rows. Returns the rows it changed."""
    changed = 0
    at = 0
    for size in _CHUNKS:
        while len(rows) - at >= size:
            values = tuple(chain.from_iterable(rows[at : at + size]))
            changed += db.execute(_statement(sql, size), values).rowcount
            at += size
    return changed


def read_rows(db: sqlite3.Connection, sql: str, rows: Sequence[tuple[object, ...]], *after: object) -> list[list[Any]]:
    """The answers to a question that is asked of all rows; it answers with one list in JSON. `after` are the values of
    the parameters behind the rows. Whole numbers and texts come exactly; fractions do not (15 digits)."""
    found: list[list[Any]] = []
    at = 0
    for size in _CHUNKS:
        while len(rows) - at >= size:
            values = (*chain.from_iterable(rows[at : at + size]), *after)
            found += json.loads(db.execute(_statement(sql, size), values).fetchone()[0])
            at += size
    return found
