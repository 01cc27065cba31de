"""What the crawl has learnt from outcomes: kept with every batch, read at the start, undone where a rule is lifted."""

import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

from gossamer.backends.sqlite.database import connect
from gossamer.backends.sqlite.orders import MOST, carry_out_at_rest
from gossamer.backends.sqlite.queries import named_queries
from gossamer.backends.sqlite.reading import our_errors, transaction
from gossamer.backends.sqlite.rows import write_rows
from gossamer.model.states import UrlState
from gossamer.model.units import HostKey, Instant
from gossamer.store.changes import Batch, LearntParameter, Order
from gossamer.store.ports import Prioritiser


def save_lessons(db: sqlite3.Connection, sql: Mapping[str, str], batch: Batch, now: float) -> None:
    """The part of a commit that is about budgets, parameters and pages that stand for missing ones."""
    if batch.budgets:
        write_rows(db, sql["save_budget"], list(batch.budgets.items()))
    if batch.domain_budgets:
        write_rows(db, sql["save_domain_budget"], list(batch.domain_budgets.items()))
    if batch.soft_missing:
        write_rows(db, sql["save_soft_missing"], list(batch.soft_missing.items()))
    for host, place, name, pairs, contents, refuted in batch.parameters:
        if refuted:
            db.execute(sql["refute_parameter"], (now, host, place, name))
        else:
            db.execute(sql["learn_parameter"], (host, place, name, pairs, contents, now))


def learnt_parameters(db: sqlite3.Connection) -> list[LearntParameter]:
    """All that was learnt, and all of which that was wrong."""
    rows = db.execute(named_queries("queries.sql")["parameters"])
    return [LearntParameter._make(row)._replace(refuted=bool(row[5])) for row in rows]


def lift_cuts(path: Path, is_free: Callable[[HostKey], bool], prioritiser: Prioritiser, now: Instant) -> int:
    """Queue again what was excluded as a trap on hosts for which nothing is cut any more. Returns how many URLs.

    Before the writer exists; the queue must stand under the ordering of `prioritiser`. A transaction for each order.
    """
    sql = named_queries("orders.sql")
    lifted = 0
    with closing(connect(path)) as db, our_errors(db):
        hosts = db.execute(sql["hosts_with_cuts"]).fetchall()
        for host_id in [host_id for host_id, host in hosts if is_free(HostKey(host))]:
            while rows := db.execute(sql["cut_urls"], (host_id, MOST)).fetchall():
                order = Order(tuple(url_id for (url_id,) in rows), UrlState.EXCLUDED, UrlState.QUEUED)
                with transaction(db):
                    lifted += carry_out_at_rest(db, [order], prioritiser.standing, now)
    return lifted
