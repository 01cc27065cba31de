"""What an operator orders for URLs, carried out within a commit; and the URLs that an order may be about."""

import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence

from gossamer.backends.sqlite.learnt import facts_from
from gossamer.backends.sqlite.queries import named_queries
from gossamer.backends.sqlite.reading import our_errors
from gossamer.model.states import UrlState, may_follow
from gossamer.model.units import HostId, HostKey, Instant, Url
from gossamer.store.changes import Order
from gossamer.store.ports import Prioritiser

MOST = 1_000
"""URLs of one order: a few milliseconds of a commit."""
_SCANNED = 20_000

Excluded = tuple[int, Url, HostKey, int, int]
"""A URL that is excluded: its row, the URL, its host, its depth, and whether it is a sitemap."""


def carry_out(
    db: sqlite3.Connection, order: Order, prioritiser: Prioritiser, stamp: Instant, counts: Counter[str]
) -> list[tuple[HostId, int, float]]:
    """Move the URLs of an order that are still where it says; in a transaction. What the front queues have got: host,
    queue and place."""
    if not may_follow(order.state, order.to):
        raise ValueError(f"no order may move a URL from {order.state.word} to {order.to.word}")
    sql = named_queries("orders.sql")
    touched: list[tuple[HostId, int, float]] = []
    order.done = 0  # the commit may have been tried before
    for url_id in order.url_ids:
        row = db.execute(sql["url"], (url_id, order.state)).fetchone()
        if row is None or (order.reasons and row[0] not in order.reasons):
            continue
        _, host_id, *learnt = row
        order.done += 1
        if order.to is UrlState.QUEUED:
            front, priority, place = prioritiser.standing(facts_from(learnt, stamp))
            place = stamp if place is None else place
            db.execute(sql["queue_again"], (stamp, front, place, priority, url_id))
            db.execute(sql["forgive_host"], (host_id,))
            touched.append((host_id, front, place))
        else:
            db.execute(sql["give_up"], (order.to, order.because, url_id))
    counts[order.state.counter] -= order.done
    counts[order.to.counter] += order.done
    if order.to is UrlState.EXCLUDED and order.because is not None:
        counts["excluded:" + order.because] += order.done
    return touched


def excluded_urls(db: sqlite3.Connection, reasons: Sequence[str], host: str | None = None) -> Iterator[list[Excluded]]:
    """The URLs that are excluded for one of these reasons, a chunk at a time. Raises StoreFailed."""
    sql = named_queries("orders.sql")
    host_id: int | None = None
    with our_errors(db):
        if host is not None:
            row = db.execute(sql["host_id"], (host,)).fetchone()
            if row is None:
                return
            host_id = row[0]
        last: int = db.execute(sql["last_id"]).fetchone()[0]
        marks = ", ".join("?" * len(reasons))
        statement = sql["excluded_of_host" if host_id is not None else "excluded"].replace("/*reasons*/", marks)
        for after in range(0, last, _SCANNED):
            bounds = (after, after + _SCANNED) if host_id is None else (host_id, after, after + _SCANNED)
            rows = db.execute(statement, (*bounds, *reasons)).fetchall()
            for at in range(0, len(rows), MOST):
                yield rows[at : at + MOST]
