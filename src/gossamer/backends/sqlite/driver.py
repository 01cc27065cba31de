"""The `Database` port on one SQLite connection, and the `Tables` port on one SQLite file, which is opened, created and
migrated here.

The statements are in .sql files, in blocks that begin with `-- name:`.

Many rows go into few statements. The driver releases the interpreter's lock at every step of a statement and then has
to win it back from a busy event loop. One statement of 256 rows is one step; `executemany` over 256 rows is 256 steps,
which next to a busy thread costs several times the CPU and more than ten times the time (benchmarks/bench_store.py
measures both). The same goes for reading, one step per row; so what a commit reads for many rows comes back as one row
that holds a list in JSON.
"""

import json
import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache, wraps
from importlib.resources import files
from itertools import chain
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from gossamer.errors import DiskFull, NotThisCrawl, OldSchema, StoreFailed
from gossamer.model.formats import reversed_name
from gossamer.model.states import UrlState
from gossamer.model.task import Via

_NAME = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)


_FACTS = """u.id, u.url, u.depth, u.links, u.links_from_others, u.credit, u.visits, u.changes, u.link_sum, u.steps,
    u.ordinal, (SELECT priority FROM hints WHERE url_id = u.id),
    max(coalesce(u.modified, u.last_modified), coalesce(u.last_modified, u.modified))"""
"""The facts of a URL, as `store.row_formats.facts_from` reads them."""


@cache
def named_queries(file: str) -> dict[str, str]:
    """All statements of a file, by name. `/*facts*/` stands for the facts of the URL `u`."""
    text = files("gossamer.backends.sqlite").joinpath(file).read_text(encoding="utf-8").replace("/*facts*/", _FACTS)
    parts = _NAME.split(text)
    return {name: body.strip() for name, body in zip(parts[1::2], parts[2::2], strict=True)}


def script(file: str) -> str:
    """A file of statements without names."""
    return files("gossamer.backends.sqlite").joinpath(file).read_text(encoding="utf-8")


APPLICATION_ID = 0x676F7373  # "goss": tells our files from any other SQLite file
VERSION = 23
"""Of the schema (`user_version`)."""
OLDEST = 17
"""The oldest version that is brought up to date."""

# For every value that is not exactly a number or a text the driver looks for an adapter, and raises and drops an
# exception if there is none: forty times a page, at six times the price of the value.
sqlite3.register_adapter(type(None), {None: None}.get)
sqlite3.register_adapter(bytes, bytes)
sqlite3.register_adapter(bool, int)
sqlite3.register_adapter(UrlState, int)
sqlite3.register_adapter(Via, int)


_CACHE_KIB = 16_384
Place = Path | str
"""Where a database is: a file, or the name of a database in memory."""


def connect(place: Place, *, read_only: bool = False, cache_kib: int = _CACHE_KIB) -> sqlite3.Connection:
    """A connection in autocommit mode, usable from any one thread at a time.

    All connections of this process to one name in memory see the same database; it is gone with the last of them."""
    if isinstance(place, Path):
        uri = f"{place.absolute().as_uri()}?mode={'ro' if read_only else 'rwc'}"
    else:
        uri = f"file:/{place}?vfs=memdb"
    db = sqlite3.connect(
        uri, uri=True, isolation_level=None, check_same_thread=False, timeout=30.0, cached_statements=_STATEMENTS_KEPT
    )
    db.execute(f"PRAGMA cache_size = -{cache_kib}")
    db.execute("PRAGMA temp_store = MEMORY")
    db.create_function("reversed_name", 1, reversed_name, deterministic=True)
    return db


def open_for_writing(path: Place) -> sqlite3.Connection:
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
def _refusing(path: Place) -> Iterator[None]:
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


def open_for_reading(path: Place, *, cache_kib: int = _CACHE_KIB) -> sqlite3.Connection:
    """Open an existing database for reading. Raises NotThisCrawl as above; OldSchema for one that `open_for_writing`
    brings up to date; StoreFailed if it cannot be read now."""
    if isinstance(path, Path) and not path.exists():
        raise NotThisCrawl(f"there is no crawl here: {path} does not exist")
    with _refusing(path):
        db = connect(path, read_only=True, cache_kib=cache_kib)
        try:
            db.execute("PRAGMA query_only = ON")  # for a database in memory, which cannot be opened for reading only
            version = check_ours(db, path)
            if version < VERSION:
                raise OldSchema(
                    f"{path} was written by an older Gossamer (schema {version}, now {VERSION}): "
                    "resume the crawl to upgrade it"
                )
        except BaseException:
            db.close()
            raise
    return db


def check_ours(db: sqlite3.Connection, path: Place) -> int:
    """The version of its schema. Raises NotThisCrawl for one that is not ours, or that we do not know."""
    found = db.execute("PRAGMA application_id").fetchone()[0]
    if found != APPLICATION_ID:
        raise NotThisCrawl(f"{path} is a database of another program")
    version: int = db.execute("PRAGMA user_version").fetchone()[0]
    if not OLDEST <= version <= VERSION:
        age = "a newer" if version > VERSION else "an older"
        known = f"{OLDEST} to {VERSION}"
        raise NotThisCrawl(f"{path} was written by {age} Gossamer (schema {version}; this version supports {known})")
    return version


def translated(error: sqlite3.Error, path: Place) -> StoreFailed:
    """A driver's error as one of ours."""
    if getattr(error, "sqlite_errorname", "") == "SQLITE_FULL" or "disk is full" in str(error):
        return DiskFull(f"no space left for {path}")
    return StoreFailed(f"{path}: {error}")


_MOST_ROWS = 256
_FEW_ROWS = 16
_STATEMENTS_KEPT = 512  # prepared; one for many rows may be there once for each number of `_chunk`
_ROWS = "(/*rows*/)"
_UPDATE_FROM = re.compile(r"WITH new \(([^)]+)\) AS\s+\(VALUES .*?\)\s+(UPDATE .*)\sFROM new (WHERE .*)", re.DOTALL)


@cache
def _statement(sql: str, rows: int) -> str:
    """`sql` with its one row of values, marked `(/*rows*/)`, repeated. An update from a single row names the values
    themselves: for a table of them, even of one row, SQLite makes two temporary tables."""
    if rows == 1 and (update := _UPDATE_FROM.fullmatch(sql)):
        number = {name.strip(): n for n, name in enumerate(update[1].split(","), 1)}
        return re.sub(r"\bnew\.(\w+)", lambda column: f"?{number[column[1]]}", f"{update[2]} {update[3]}")
    head, _, rest = sql.partition(_ROWS)
    row, mark, tail = rest.partition(_ROWS)
    if not mark:
        raise ValueError(f"the statement does not mark its row of values: {sql}")
    return head + ", ".join([row.strip()] * rows) + tail


def _chunk(left: int) -> int:
    """The number of rows for one statement: all if they are few, like those of one page, otherwise a power of two, so
    that there are few statements to prepare."""
    return left if left <= _FEW_ROWS else min(_MOST_ROWS, 1 << left.bit_length() - 1)


def write_rows(db: sqlite3.Connection, sql: str, rows: Sequence[tuple[object, ...]]) -> int:
    """Run a statement whose row of values is between two marks, for all rows. Returns the number of rows changed."""
    if len(rows) == 1:  # as often as not
        return db.execute(_statement(sql, 1), rows[0]).rowcount
    changed = 0
    at, left = 0, len(rows)
    while left:
        size = _chunk(left)
        values = tuple(chain.from_iterable(rows[at : at + size]))
        changed += db.execute(_statement(sql, size), values).rowcount
        at, left = at + size, left - size
    return changed


def read_rows(db: sqlite3.Connection, sql: str, rows: Sequence[tuple[object, ...]], *after: object) -> list[list[Any]]:
    """The rows that a statement finds for all rows of values; it returns them as one list in JSON. `after` are the
    values of the parameters behind the rows. Whole numbers and texts are exact, fractions to 15 digits."""
    found: list[list[Any]] = []
    at, left = 0, len(rows)
    while left:
        size = _chunk(left)
        values = (*chain.from_iterable(rows[at : at + size]), *after)
        found += json.loads(db.execute(_statement(sql, size), values).fetchone()[0])
        at, left = at + size, left - size
    return found


P = ParamSpec("P")
T = TypeVar("T")

STATEMENTS = (
    *("queries.sql", "bulk_changes.sql", "orders.sql"),
    *("status.sql", "hosts.sql", "pages.sql", "explain.sql", "links.sql", "verify.sql"),
)
"""The files whose statements can be called by name: those of `store.table`, then those of `reports.table`."""
_SMALL_CACHE_KIB = 4_096
_STEERING_WAIT_MS = 3_000

sqlite3.register_adapter(list, json.dumps)  # a list is one parameter: the statement takes it apart with json_each


@cache
def table_statements() -> dict[str, str]:
    """All statements by name. A name occurs once in all files."""
    found: dict[str, str] = {}
    for file in STATEMENTS:
        statements = named_queries(file)
        if twice := found.keys() & statements.keys():
            raise ValueError(f"{file} has statements of the same name as another file: {', '.join(sorted(twice))}")
        found |= statements
    return found


def _translating(
    method: Callable[Concatenate["SqliteDatabase", P], T],
) -> Callable[Concatenate["SqliteDatabase", P], T]:
    """Raises StoreFailed (DiskFull) where the driver raises one of its errors. Around every method of the port."""

    @wraps(method)
    def call(database: "SqliteDatabase", /, *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return method(database, *args, **kwargs)
        except sqlite3.Error as error:
            raise translated(error, database.path) from error

    return call


class SqliteDatabase:
    """One connection and the named statements."""

    def __init__(self, connection: sqlite3.Connection, path: Place | None = None) -> None:
        """`path` is for messages; by default the connection knows it."""
        self.connection = connection
        self.path = path or Path(connection.execute("PRAGMA database_list").fetchone()[2])
        self._sql = table_statements()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        self._run("BEGIN IMMEDIATE")
        try:
            yield
            self._run("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):  # a statement that fails may have ended the transaction already
                self.connection.execute("ROLLBACK")
            raise

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        self._run("BEGIN")
        try:
            yield
            self._run("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                self.connection.execute("ROLLBACK")
            raise

    @_translating
    def _run(self, statement: str) -> None:
        self.connection.execute(statement)

    @_translating
    def execute(self, name: str, *values: object) -> int:
        return self.connection.execute(self._sql[name], values).rowcount

    @_translating
    def insert(self, name: str, *values: object) -> int:
        return int(self.connection.execute(self._sql[name], values).lastrowid or 0)

    @_translating
    def fetch_value(self, name: str, *values: object) -> Any:
        row = self.connection.execute(self._sql[name], values).fetchone()
        return None if row is None else row[0]

    @_translating
    def fetch_one(self, name: str, *values: object) -> tuple[Any, ...] | None:
        row: tuple[Any, ...] | None = self.connection.execute(self._sql[name], values).fetchone()
        return row

    @_translating
    def fetch_all(self, name: str, *values: object) -> list[tuple[Any, ...]]:
        return self.connection.execute(self._sql[name], values).fetchall()

    @_translating
    def fetch_each(self, name: str, rows: Sequence[tuple[object, ...]]) -> list[list[tuple[Any, ...]]]:
        execute, sql = self.connection.execute, self._sql[name]
        return [execute(sql, row).fetchall() for row in rows]

    @_translating
    def write_rows(self, name: str, rows: Sequence[tuple[object, ...]]) -> int:
        return write_rows(self.connection, self._sql[name], rows) if rows else 0

    @_translating
    def read_rows(self, name: str, rows: Sequence[tuple[object, ...]], *after: object) -> list[Any]:
        return read_rows(self.connection, self._sql[name], rows, *after)

    @_translating
    def close(self) -> None:
        self.connection.close()


def open_writer(path: Place) -> SqliteDatabase:
    """The connection that writes. Creates the database or migrates it. Raises NotThisCrawl, StoreFailed."""
    return SqliteDatabase(open_for_writing(path), path)


def open_reader(path: Place, *, small: bool = False) -> SqliteDatabase:
    """A connection that only reads, to a database that exists; a `small` one has a small cache. Raises NotThisCrawl,
    OldSchema, StoreFailed."""
    db = open_for_reading(path, cache_kib=_SMALL_CACHE_KIB) if small else open_for_reading(path)
    return SqliteDatabase(db, path)


def open_steering(path: Place) -> SqliteDatabase:
    """A second connection that writes, to a database that exists: its transactions wait for those of the first, but not
    for long. What it commits is on the disk. Raises NotThisCrawl, OldSchema, StoreFailed."""
    open_for_reading(path, cache_kib=_SMALL_CACHE_KIB).close()  # checks it
    with _refusing(path):
        db = connect(path, cache_kib=_SMALL_CACHE_KIB)
        try:
            db.execute(f"PRAGMA busy_timeout = {_STEERING_WAIT_MS}")
            db.execute("PRAGMA synchronous = FULL")
        except BaseException:
            db.close()
            raise
    return SqliteDatabase(db, path)


class SqliteTables:
    """`store.ports.Tables` in one file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def exist(self) -> bool:
        try:
            return self.path.exists()
        except OSError as error:
            raise StoreFailed(f"{self.path}: {error.strerror or error}") from error

    def open_writer(self) -> SqliteDatabase:
        return open_writer(self.path)

    def open_reader(self, *, small: bool = False) -> SqliteDatabase:
        return open_reader(self.path, small=small)

    def open_steering(self) -> SqliteDatabase:
        return open_steering(self.path)

    def close(self) -> None:
        """Nothing to give back: the tables are in their file."""
