"""Opening the crawl's database: is it ours, is it current, is it whole?"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gossamer.backends.sqlite.queries import schema
from gossamer.errors import DiskFull, NotThisCrawl, StoreFailed
from gossamer.model.states import UrlState
from gossamer.model.task import Via

APPLICATION_ID = 0x676F7373  # "goss": tells our files from any other SQLite file
VERSION = 17
"""Of the schema (`user_version`)."""

# For every value that is not exactly a number or a text the driver looks for somebody who adapts it, and where there is
# nobody it makes an exception and drops it: forty times a page, at six times the price of the value.
sqlite3.register_adapter(type(None), {None: None}.get)
sqlite3.register_adapter(bytes, bytes)
sqlite3.register_adapter(bool, int)
sqlite3.register_adapter(UrlState, int)
sqlite3.register_adapter(Via, int)


def connect(path: Path, *, read_only: bool = False, cache_kib: int = 16_384) -> sqlite3.Connection:
    """A connection in autocommit mode, usable from any one thread at a time."""
    mode = "ro" if read_only else "rwc"
    db = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}", uri=True, isolation_level=None, check_same_thread=False, timeout=30.0
    )
    db.execute(f"PRAGMA cache_size = -{cache_kib}")
    db.execute("PRAGMA temp_store = MEMORY")
    return db


def open_for_writing(path: Path) -> sqlite3.Connection:
    """Open the database, creating it as needed. Raises NotThisCrawl for a file that is not ours."""
    with _refusing(path):
        db = connect(path, cache_kib=65_536)
        try:
            blank = _is_blank(db)
            if blank:
                db.execute("PRAGMA page_size = 8192")
            else:
                check_ours(db, path)
            db.execute("PRAGMA journal_mode = WAL")
            # A commit is on the disk when it is confirmed. It costs the writer thread one fsync per batch.
            db.execute("PRAGMA synchronous = FULL")
            db.execute("PRAGMA wal_autocheckpoint = 4000")
            if blank:
                marks = f"PRAGMA application_id = {APPLICATION_ID};\nPRAGMA user_version = {VERSION};"
                db.executescript(f"BEGIN IMMEDIATE;\n{schema()}\n{marks}\nCOMMIT;")
        except BaseException:
            db.close()
            raise
    return db


@contextmanager
def _refusing(path: Path) -> Iterator[None]:
    """The driver's errors as ours: a file that is no database is not this crawl's."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise translated(error, path) from error
    except sqlite3.DatabaseError as error:
        raise NotThisCrawl(f"{path} is not a readable database ({error})") from error


def _is_blank(db: sqlite3.Connection) -> bool:
    """Nothing is in it: a new file, or one whose process ended before the schema was committed."""
    marks = db.execute("PRAGMA application_id").fetchone()[0] or db.execute("PRAGMA user_version").fetchone()[0]
    return not marks and db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0


def open_for_reading(path: Path) -> sqlite3.Connection:
    """Open an existing database for reports. Raises NotThisCrawl as above, StoreFailed if it cannot be read now."""
    if not path.exists():
        raise NotThisCrawl(f"there is no crawl here: {path} does not exist")
    with _refusing(path):
        db = connect(path, read_only=True)
        try:
            check_ours(db, path)
        except BaseException:
            db.close()
            raise
    return db


def check_ours(db: sqlite3.Connection, path: Path) -> None:
    found = db.execute("PRAGMA application_id").fetchone()[0]
    if found != APPLICATION_ID:
        raise NotThisCrawl(f"{path} is a database, but not one of Gossamer's")
    version: int = db.execute("PRAGMA user_version").fetchone()[0]
    if version != VERSION:
        age = "a newer" if version > VERSION else "an older"
        raise NotThisCrawl(f"{path} was written by {age} Gossamer (schema {version}; this one knows {VERSION})")


def translated(error: sqlite3.Error, path: Path) -> StoreFailed:
    """A driver's error as one of ours."""
    if getattr(error, "sqlite_errorname", "") == "SQLITE_FULL" or "disk is full" in str(error):
        return DiskFull(f"no space left for {path}")
    return StoreFailed(f"{path}: {error}")
