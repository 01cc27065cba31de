"""The driver's errors as ours, for whoever reads a connection that somebody else has opened."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from gossamer.backends.sqlite.database import translated


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
