"""Queues URLs again whose date has come: the next visit of what was visited, within the writer's transactions.

Follows the indexes of dates, so it reads no more rows than it queues.
"""

import math
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from gossamer.backends.sqlite.learnt import FACTS, facts_from
from gossamer.backends.sqlite.rows import write_rows
from gossamer.model.states import UrlState
from gossamer.model.units import HostId
from gossamer.store.changes import Again
from gossamer.store.ports import Prioritiser

REFRESHING = "refreshing"
"""The counter of queued URLs of which a document is stored."""

_AHEAD = 10 * 365 * 86_400.0  # seconds by which what goes before all others is dated back
_BOOST = 1e9  # added to the score of what does, where the score decides: no score comes near it

Touch = Callable[[HostId, int, float], None]


def queue_again(
    db: sqlite3.Connection,
    sql: Mapping[str, str],
    prioritiser: Prioritiser,
    order: Again,
    stamp: float,
    touch: Touch,
    *,
    scheduled: bool = True,
) -> list[tuple[UrlState, int]]:
    """Queue what is ordered, and tell `touch` of every place. Returns how many, by the state in which they were.

    What is due waits by the date at which it came due, among what was found since: the longest overdue is the first.
    Without `scheduled` only what was missing is looked at.
    """
    due = db.execute(sql["due_again"], (order.by, order.most)).fetchall() if scheduled else []
    if order.missing:
        due += db.execute(sql["due_missing"], (order.by, order.most - len(due))).fetchall()
    if order.early is not None:
        due += _early(db.execute(sql["due_early"], (order.by, order.most - len(due))), order.by, order.early)
    sooner = _AHEAD if order.ahead else 0.0
    boost = _BOOST if order.ahead and prioritiser.by_score else 0.0
    rows = []
    counts: Counter[UrlState] = Counter()
    for row in due:
        host_id, state, date = row[FACTS:]
        standing = prioritiser.standing(facts_from(row, stamp))
        front = prioritiser.front_until_due(standing.front)
        place = min(date, stamp) - sooner
        rows.append((front, place, min(date, stamp), standing.priority + boost, row[0]))
        counts[UrlState(state)] += 1
        touch(host_id, front, place)
    write_rows(db, sql["ask_again"], rows)
    totals = [(state.counter, -n) for state, n in counts.items()]
    totals += [(UrlState.QUEUED.counter, len(rows)), (REFRESHING, counts[UrlState.STORED])]
    write_rows(db, sql["count"], [(name, n) for name, n in totals if n])
    return list(counts.items())


def _early(coming: Iterable[tuple[Any, ...]], by: float, least: float) -> list[tuple[Any, ...]]:
    """Of what comes due next, the pages that may be visited already: no sooner than half of their gap allows."""
    found = []
    for *row, planned in coming:
        passed = (planned or 0.0) - (row[-1] - by)
        if row[-2] == UrlState.STORED and passed >= max((planned or 0.0) / 2, least):
            found.append(tuple(row))
    return found


def next_again(db: sqlite3.Connection, sql: Mapping[str, str], order: Again) -> float:
    """When the next URL comes due; infinity: never."""
    dates = [db.execute(sql["next_again"]).fetchone()[0]]
    if order.missing:
        dates.append(db.execute(sql["next_missing"]).fetchone()[0])
    return min((date for date in dates if date is not None), default=math.inf)
