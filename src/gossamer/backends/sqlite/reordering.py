"""Puts the whole queue in order for another ordering.

Done before the writer is opened. A crash in the middle leaves a queue that stands under no ordering, and the next start
does it all again: what a row gets depends on the row alone.
"""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from gossamer.backends.sqlite.database import open_for_writing, translated
from gossamer.backends.sqlite.facts import Facts
from gossamer.backends.sqlite.learnt import FACTS, facts_from
from gossamer.backends.sqlite.queries import named_queries
from gossamer.backends.sqlite.rows import write_rows
from gossamer.model.units import Instant
from gossamer.store.ports import Prioritiser

CHUNK = 20_000


def reorder(
    path: Path,
    order: str,
    prioritiser: Prioritiser,
    now: Instant,
    progress: Callable[[int, int], None] = lambda done, total: None,
    *,
    settings: str = "",
) -> bool:
    """Make the queue stand under the ordering of that name and with these settings. False if it does already.

    `progress` is told how many of how many queued URLs are done. Raises StoreFailed, NotThisCrawl.
    """
    with closing(open_for_writing(path)) as db:
        facts = Facts(db)
        if (facts.order(), facts.order_settings()) == (order, settings):
            return False
        try:
            _reorder(db, order, settings, prioritiser, now, progress)
        except sqlite3.Error as error:
            raise translated(error, path) from error
    return True


def _reorder(
    db: sqlite3.Connection,
    order: str,
    settings: str,
    prioritiser: Prioritiser,
    now: Instant,
    progress: Callable[[int, int], None],
) -> None:
    sql = named_queries("queries.sql")
    # From the first row that changes until the last one has, no ordering may take the queue for its own.
    db.execute(sql["forget_fact"], ("order",))
    total: int = db.execute(sql["count_queued"]).fetchone()[0]
    done = last = 0
    while rows := db.execute(sql["queued_after"], (last, CHUNK)).fetchall():
        changed = [new for row in rows if (new := _standing(row, prioritiser, now)) is not None]
        db.execute("BEGIN IMMEDIATE")
        with db:
            write_rows(db, sql["move_url"], changed)
        last = rows[-1][0]
        done += len(rows)
        progress(done, total)
    db.execute("BEGIN IMMEDIATE")
    with db:
        db.execute(sql["clear_fronts"])
        db.execute(sql["rebuild_fronts"])
        db.execute(sql["set_fact"], ("order_settings", settings))
        db.execute(sql["set_fact"], ("order", order))


def _standing(row: tuple[object, ...], prioritiser: Prioritiser, now: Instant) -> tuple[int, float, float, int] | None:
    """The row as `move_url` takes it; None if it stands right."""
    facts = facts_from(row, now)
    *stood, available_at = row[FACTS:]
    front, priority, place = prioritiser.standing(facts)
    due: float = available_at or 0.0  # type: ignore[assignment]
    if due > now:
        front, place = prioritiser.front_until_due(front), due
    elif place is None:
        place = due
    return None if stood == [front, place, priority] else (front, place, priority, facts.url_id)
