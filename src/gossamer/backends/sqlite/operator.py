"""URLs that are queued again or given up by order: of a person, of `verify`, or because a rule was lifted.

`carry_out` is the one way back into the queue; only a recrawl and a retry, which are planned, have their own.
"""

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from gossamer.backends.sqlite.database import (
    facts_from,
    host_row,
    last_url,
    named_queries,
    our_errors,
    transaction,
    write_rows,
)
from gossamer.backends.sqlite.pages import DeadFilter, dead_ids
from gossamer.model.batch import BulkChange
from gossamer.model.facts import QueuePosition, UrlFacts
from gossamer.model.states import UrlState, may_follow
from gossamer.model.units import HostId, HostKey, Instant, Url

MOST = 1_000
"""URLs of one order: a few milliseconds of a commit."""
DROPPED = "dropped"
"""Exclusion reason of a dropped dead letter."""
_SCANNED = 20_000

Stands = Callable[[UrlFacts], QueuePosition]
"""Where a URL stands in the order of the queue."""
Entry = tuple[HostId, int, float]
"""A new entry of a front queue: host, queue and place."""
Excluded = tuple[int, Url, HostKey, int, int]
"""A URL that is excluded: its row, the URL, its host, its depth, and whether it is a sitemap."""


def carry_out(
    db: sqlite3.Connection, order: BulkChange, stands: Stands, stamp: Instant, counts: Counter[str]
) -> list[Entry]:
    """Move the URLs of an order that are still where it says, and add to the counters what changes; in a transaction.
    The entries are for the front queues."""
    if not may_follow(order.from_state, order.to_state):
        raise ValueError(f"no order may move a URL from {order.from_state.word} to {order.to_state.word}")
    sql = named_queries("orders.sql")
    entries: list[Entry] = []
    rows = {url_id: db.execute(sql["url"], (url_id, order.from_state)).fetchone() for url_id in order.url_ids}
    meant = {url_id: row for url_id, row in rows.items() if row and (not order.reasons or row[0] in order.reasons)}
    order.changed = len(meant)
    write_rows(db, named_queries("queries.sql")["count_moves"], [(order.to_state, False, url_id) for url_id in meant])
    for url_id, (reason, host_id, *learnt) in meant.items():
        if order.from_state is UrlState.EXCLUDED and reason is not None:
            counts["excluded:" + reason] -= 1
        if order.to_state is UrlState.QUEUED:
            front, priority, place = stands(facts_from(learnt, stamp))
            place = stamp if place is None else place
            db.execute(sql["queue_again"], (stamp, front, place, priority, url_id))
            db.execute(sql["forgive_host"], (host_id,))
            entries.append((host_id, front, place))
        else:
            db.execute(sql["give_up"], (order.to_state, order.to_reason, url_id))
    counts[order.from_state.counter] -= order.changed
    counts[order.to_state.counter] += order.changed
    if order.to_state is UrlState.EXCLUDED and order.to_reason is not None:
        counts["excluded:" + order.to_reason] += order.changed
    return entries


def carry_out_at_rest(db: sqlite3.Connection, orders: Iterable[BulkChange], stands: Stands, now: Instant) -> int:
    """The same of a crawl that does not run, in a transaction, with the front queues and the counters. Returns how many
    URLs were moved."""
    sql = named_queries("queries.sql")
    counts: Counter[str] = Counter()
    done = 0
    for order in orders:
        write_rows(db, sql["enter_front"], carry_out(db, order, stands, now, counts))
        done += order.changed
    write_rows(db, sql["count"], [(name, n) for name, n in counts.items() if n])
    return done


def requeue_dead(db: sqlite3.Connection, wanted: DeadFilter, now: Instant, stands: Stands) -> int:
    """Give dead letters another life: queued, no try used up, due now. Returns how many.

    The caller holds the directory's lock. All in one transaction. Raises StoreFailed.
    """
    with transaction(db):
        return carry_out_at_rest(db, _of_dead(db, wanted, UrlState.QUEUED), stands, now)


def drop_dead(db: sqlite3.Connection, wanted: DeadFilter, now: Instant, stands: Stands) -> int:
    """Drop dead letters: they become excluded, with the reason `dropped`. Otherwise as `requeue_dead`."""
    with transaction(db):
        return carry_out_at_rest(db, _of_dead(db, wanted, UrlState.EXCLUDED, DROPPED), stands, now)


def _of_dead(
    db: sqlite3.Connection, wanted: DeadFilter, to: UrlState, because: str | None = None
) -> Iterator[BulkChange]:
    after = 0
    while ids := dead_ids(db, wanted, after=after, most=MOST):
        yield BulkChange(tuple(ids), UrlState.DEAD, to, to_reason=because)
        after = ids[-1]


def excluded_urls(db: sqlite3.Connection, reasons: Sequence[str], host: str | None = None) -> Iterator[list[Excluded]]:
    """The URLs that are excluded for one of these reasons, a chunk at a time. Raises StoreFailed."""
    sql = named_queries("orders.sql")
    host_id = None if host is None else host_row(db, host)
    last = last_url(db)
    marks = ", ".join("?" * len(reasons))
    statement = sql["excluded_of_host" if host_id is not None else "excluded"].replace("/*reasons*/", marks)
    for after in range(0, last, _SCANNED):
        bounds = (after, after + _SCANNED) if host_id is None else (host_id, after, after + _SCANNED)
        with our_errors(db):
            rows = db.execute(statement, (*bounds, *reasons)).fetchall()
        for at in range(0, len(rows), MOST):
            yield rows[at : at + MOST]
