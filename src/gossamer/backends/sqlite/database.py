"""Opening the crawl's database: is it ours, is it current, is it whole?"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gossamer.backends.sqlite.queries import script
from gossamer.errors import DiskFull, NotThisCrawl, OldSchema, StoreFailed
from gossamer.model.states import UrlState
from gossamer.model.task import Via

APPLICATION_ID = 0x676F7373  # "goss": tells our files from any other SQLite file
VERSION = 18
"""Of the schema (`user_version`)."""
OLDEST = 17
"""The oldest version that is brought up to date."""

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
    """Open the database, creating it or bringing it up to date as needed. Raises NotThisCrawl for a file that is not
    ours."""
    with _refusing(path):
        db = connect(path, cache_kib=65_536)
        try:
            scripts = [(VERSION, "schema.sql")]
            if _is_blank(db):
                db.execute("PRAGMA page_size = 8192")
            else:
                version = check_ours(db, path)
                scripts = [(n, f"migration_{n}.sql") for n in range(version + 1, VERSION + 1)]
            db.execute("PRAGMA journal_mode = WAL")
            # A commit is on the disk when it is confirmed. It costs the writer thread one fsync per batch.
            db.execute("PRAGMA synchronous = FULL")
            db.execute("PRAGMA wal_autocheckpoint = 4000")
            for version, file in scripts:
                marks = f"PRAGMA application_id = {APPLICATION_ID};\nPRAGMA user_version = {version};"
                db.executescript(f"BEGIN IMMEDIATE;\n{script(file)}\n{marks}\nCOMMIT;")
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
    """Open an existing database for reports. Raises NotThisCrawl as above; OldSchema for one that `open_for_writing`
    brings up to date; StoreFailed if it cannot be read now."""
    if not path.exists():
        raise NotThisCrawl(f"there is no crawl here: {path} does not exist")
    with _refusing(path):
        db = connect(path, read_only=True)
        try:
            version = check_ours(db, path)
            if version < VERSION:
                raise OldSchema(
                    f"{path} was written by an older Gossamer (schema {version}, now {VERSION}): "
                    "resume the crawl, and it is brought up to date"
                )
        except BaseException:
            db.close()
            raise
    return db


def check_ours(db: sqlite3.Connection, path: Path) -> int:
    """The version of its schema. Raises NotThisCrawl for one that is not ours, or that we do not know."""
    found = db.execute("PRAGMA application_id").fetchone()[0]
    if found != APPLICATION_ID:
        raise NotThisCrawl(f"{path} is a database, but not one of Gossamer's")
    version: int = db.execute("PRAGMA user_version").fetchone()[0]
    if not OLDEST <= version <= VERSION:
        age = "a newer" if version > VERSION else "an older"
        known = f"{OLDEST} to {VERSION}"
        raise NotThisCrawl(f"{path} was written by {age} Gossamer (schema {version}; this one knows {known})")
    return version


def translated(error: sqlite3.Error, path: Path) -> StoreFailed:
    """A driver's error as one of ours."""
    if getattr(error, "sqlite_errorname", "") == "SQLITE_FULL" or "disk is full" in str(error):
        return DiskFull(f"no space left for {path}")
    return StoreFailed(f"{path}: {error}")
