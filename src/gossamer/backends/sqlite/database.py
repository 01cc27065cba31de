"""Opening the crawl's database: is it ours, is it current, is it whole?"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gossamer.backends.sqlite.queries import migrations
from gossamer.errors import DiskFull, NotThisCrawl, StoreFailed
from gossamer.model.states import UrlState
from gossamer.model.task import Via

APPLICATION_ID = 0x676F7373  # "goss": tells our files from any other SQLite file

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
    """Open the database, making or migrating it as needed. Raises NotThisCrawl for a file that is not ours."""
    with _refusing(path):
        db = connect(path, cache_kib=65_536)
        try:
            if _is_blank(db):
                db.execute("PRAGMA page_size = 8192")
            else:
                check_ours(db, path)
            db.execute("PRAGMA journal_mode = WAL")
            # A commit is on the disk when it is confirmed. It costs the writer thread one fsync per batch.
            db.execute("PRAGMA synchronous = FULL")
            db.execute("PRAGMA wal_autocheckpoint = 4000")
            migrate(db)
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
    """Nothing is in it: a new file, or one whose making was cut short before its first migration."""
    marks = db.execute("PRAGMA application_id").fetchone()[0] or db.execute("PRAGMA user_version").fetchone()[0]
    return not marks and db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0


def open_for_reading(path: Path) -> sqlite3.Connection:
    """Open an existing database for reports. Raises NotThisCrawl as above and for an older version's, which only who
    writes may bring up to date; StoreFailed if it cannot be read now."""
    if not path.exists():
        raise NotThisCrawl(f"there is no crawl here: {path} does not exist")
    with _refusing(path):
        db = connect(path, read_only=True)
        try:
            check_ours(db, path)
            version, newest = _version(db), migrations()[-1][0]
            if version < newest:
                raise NotThisCrawl(
                    f"{path} was written by an older Gossamer (schema {version}, now {newest}): "
                    "resume the crawl, and it is brought up to date"
                )
        except BaseException:
            db.close()
            raise
    return db


def _version(db: sqlite3.Connection) -> int:
    version: int = db.execute("PRAGMA user_version").fetchone()[0]
    return version


def check_ours(db: sqlite3.Connection, path: Path) -> None:
    found = db.execute("PRAGMA application_id").fetchone()[0]
    if found != APPLICATION_ID:
        raise NotThisCrawl(f"{path} is a database, but not one of Gossamer's")
    newest = migrations()[-1][0]
    version = _version(db)
    if version > newest:
        raise NotThisCrawl(f"{path} was written by a newer Gossamer (schema {version}; this one knows {newest})")


def migrate(db: sqlite3.Connection) -> None:
    """Bring the schema up to date, each migration in a transaction of its own."""
    version = _version(db)
    for number, script in migrations():
        if number > version:
            marks = f"PRAGMA application_id = {APPLICATION_ID};\nPRAGMA user_version = {number};"
            db.executescript(f"BEGIN IMMEDIATE;\n{script}\n{marks}\nCOMMIT;")


def translated(error: sqlite3.Error, path: Path) -> StoreFailed:
    """A driver's error as one of ours."""
    if getattr(error, "sqlite_errorname", "") == "SQLITE_FULL" or "disk is full" in str(error):
        return DiskFull(f"no space left for {path}")
    return StoreFailed(f"{path}: {error}")
