"""What every reader of a crawl's database shares: errors as ours, transactions, and a few questions."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from gossamer.backends.sqlite.database import translated
from gossamer.backends.sqlite.queries import named_queries


@contextmanager
def our_errors(db: sqlite3.Connection) -> Iterator[None]:
    """Raises StoreFailed for the driver's errors, with the name of the database."""
    try:
        yield
    except sqlite3.Error as error:
        path = "the database"
        with suppress(sqlite3.Error):
            path = db.execute("PRAGMA database_list").fetchone()[2]
        raise translated(error, Path(path)) from error


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """All of the block or nothing of it. Raises StoreFailed."""
    with our_errors(db):
        db.execute("BEGIN IMMEDIATE")
        try:
            yield
            db.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                db.execute("ROLLBACK")
            raise


@contextmanager
def one_moment(db: sqlite3.Connection) -> Iterator[None]:
    """What is read in the block is of one commit. To be short, so that it keeps nothing from the crawl."""
    with our_errors(db):
        db.execute("BEGIN")
        try:
            yield
        finally:
            with suppress(sqlite3.Error):
                db.execute("COMMIT")


def fact(db: sqlite3.Connection, name: str) -> str | None:
    """A fact about the crawl itself."""
    with our_errors(db):
        row = db.execute(named_queries("queries.sql")["fact"], (name,)).fetchone()
    return None if row is None else str(row[0])


def host_row(db: sqlite3.Connection, host: str) -> int:
    """The id of a host; of an unknown host one that no URL has."""
    with our_errors(db):
        row = db.execute(named_queries("queries.sql")["host_by_name"], (host.lower().rstrip("."),)).fetchone()
    return -1 if row is None else int(row[0])


def last_url(db: sqlite3.Connection) -> int:
    """The id of the newest URL; 0 if there is none."""
    with our_errors(db):
        return int(db.execute(named_queries("queries.sql")["last_url"]).fetchone()[0])
