"""Opening the crawl's database."""

import re
import sqlite3
import tarfile
from contextlib import closing
from pathlib import Path

import pytest

from gossamer.backends.sqlite.driver import (
    APPLICATION_ID,
    VERSION,
    SqliteDatabase,
    _statement,
    named_queries,
    open_for_reading,
    open_for_writing,
    table_statements,
    translated,
)
from gossamer.errors import DiskFull, NotThisCrawl, OldSchema, StoreFailed
from gossamer.model.units import Instant
from gossamer.store.table.metadata import Metadata

PREVIOUS = Path(__file__).parents[2] / "integration" / "fixtures" / "crawl-v17.tar.xz"


def schema_of(db: sqlite3.Connection) -> dict[str, object]:
    """Tables with their columns, and the definitions of everything else, by name."""
    found: dict[str, object] = {}
    for kind, name, sql in db.execute("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall():
        columns = db.execute("SELECT * FROM pragma_table_info(?)", (name,)).fetchall()
        found[name] = columns if kind == "table" else " ".join(sql.split())
    return found


def previous_database(folder: Path) -> Path:
    """A database that the previous version wrote."""
    with tarfile.open(PREVIOUS) as archive:
        archive.extract("crawl/crawl.db", folder, filter="data")
    return folder / "crawl" / "crawl.db"


def foreign_database(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE recipes (dish TEXT)")
        db.commit()


def test_a_new_database_has_the_schema_of_one_that_was_brought_up_to_date(tmp_path: Path) -> None:
    with (
        closing(open_for_writing(tmp_path / "crawl.db")) as db,
        closing(open_for_writing(previous_database(tmp_path))) as previous,
    ):
        assert schema_of(db) == schema_of(previous)
        assert previous.execute("PRAGMA user_version").fetchone() == (VERSION,)


def test_the_urls_of_hosts_are_counted_when_a_database_is_brought_up_to_date(tmp_path: Path) -> None:
    with closing(open_for_writing(previous_database(tmp_path))) as db:
        counts = "SELECT host_id, queued, stored, answered, excluded, known FROM host_counts"
        kept = db.execute(counts).fetchall()
        db.execute(named_queries("queries.sql")["count_hosts"])

        assert kept == db.execute(counts).fetchall()
        assert sum(row[-1] for row in kept) == db.execute("SELECT count(*) FROM urls").fetchone()[0] == 152


def test_readers_say_that_an_old_database_is_to_be_brought_up_to_date(tmp_path: Path) -> None:
    path = previous_database(tmp_path)
    before = path.read_bytes()

    with pytest.raises(OldSchema, match=r"older Gossamer \(schema 17, now 23\)"):
        open_for_reading(path)

    assert path.read_bytes() == before


def test_a_migration_gives_old_urls_and_hosts_what_their_scores_are_made_of(tmp_path: Path) -> None:
    with closing(open_for_writing(previous_database(tmp_path))) as db:
        for table, group, column in (("urls", "host_id", "ordinal"), ("hosts", "domain_id", "number")):
            numbers: dict[int, list[int]] = {}
            for of, number in db.execute(f"SELECT {group}, {column} FROM {table} ORDER BY id"):
                numbers.setdefault(of, []).append(number)
            assert all(found == list(range(len(found))) for found in numbers.values()), table
        assert db.execute("SELECT count(*) FROM urls WHERE (links > 0) <> (link_sum > 0)").fetchone() == (0,)
        assert db.execute("SELECT count(*) FROM urls WHERE steps <> depth").fetchone() == (0,)
        hosts = "SELECT count(*) FROM hosts h WHERE h.domain_id = d.id"
        assert db.execute(f"SELECT count(*) FROM domains d WHERE d.hosts <> ({hosts})").fetchone() == (0,)


def test_a_migration_that_fails_leaves_the_old_database(tmp_path: Path) -> None:
    path = previous_database(tmp_path)
    with closing(sqlite3.connect(path)) as db:
        db.execute("DROP TABLE near_segments")  # the last thing that the migration drops
        before = schema_of(db)

    with pytest.raises(StoreFailed, match="no such table"):
        open_for_writing(path)

    with closing(sqlite3.connect(path)) as db:
        assert (schema_of(db), db.execute("PRAGMA user_version").fetchone()) == (before, (17,))


def test_a_new_database_is_marked_as_ours_and_current(tmp_path: Path) -> None:
    with closing(open_for_writing(tmp_path / "crawl.db")) as db:
        assert db.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
        assert db.execute("PRAGMA user_version").fetchone() == (VERSION,)
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert db.execute("PRAGMA synchronous").fetchone() == (2,)
        assert db.execute("PRAGMA page_size").fetchone() == (8192,)


def test_opening_again_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "crawl.db"
    with closing(open_for_writing(path)) as db:
        before = schema_of(db)

    with closing(open_for_writing(path)) as db:
        assert schema_of(db) == before


def test_every_query_is_a_statement_that_the_schema_understands(tmp_path: Path) -> None:
    with closing(open_for_writing(tmp_path / "crawl.db")) as db:
        for sql in table_statements().values():
            statement = sql.replace("(/*rows*/)", "")
            numbered = set(re.findall(r"\?\d", statement))  # one value each, however often it is used
            count = len(numbered) or statement.count("?")
            assert db.execute("EXPLAIN " + statement, (0,) * count).fetchall()


def test_an_update_from_a_single_row_takes_the_same_values_and_makes_no_table_of_them(tmp_path: Path) -> None:
    updates = [sql for sql in table_statements().values() if re.search(r"^UPDATE .*\sFROM new WHERE", sql, re.M | re.S)]
    assert len(updates) > 10
    with closing(open_for_writing(tmp_path / "crawl.db")) as db:
        for sql in updates:
            values = (0,) * _statement(sql, 3).count("?")
            assert db.execute("EXPLAIN " + _statement(sql, 3), values).fetchall()
            single = _statement(sql, 1)
            assert "VALUES" not in single
            assert db.execute("EXPLAIN " + single, values[: len(values) // 3]).fetchall()


@pytest.mark.parametrize("opening", [open_for_writing, open_for_reading])
def test_a_database_of_somebody_else_is_refused_and_left_alone(tmp_path: Path, opening: type) -> None:
    path = tmp_path / "crawl.db"
    foreign_database(path)
    before = path.read_bytes()

    with pytest.raises(NotThisCrawl, match="a database of another program"):
        opening(path)

    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["crawl.db"]


@pytest.mark.parametrize("opening", [open_for_writing, open_for_reading])
@pytest.mark.parametrize("garbage", [b"x" * 4096, b"SQLite format 3\0" + b"\xff" * 5000, b"#!/bin/sh\n"])
def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path, opening: type, garbage: bytes) -> None:
    path = tmp_path / "crawl.db"
    path.write_bytes(garbage)

    with pytest.raises(NotThisCrawl):
        opening(path)

    assert path.read_bytes() == garbage


@pytest.mark.parametrize("opening", [open_for_writing, open_for_reading])
@pytest.mark.parametrize(("version", "age"), [(9999, "newer"), (16, "older")])
def test_a_database_of_another_version_is_refused_and_left_alone(
    tmp_path: Path, opening: type, version: int, age: str
) -> None:
    path = tmp_path / "crawl.db"
    with closing(open_for_writing(path)) as db:
        db.execute(f"PRAGMA user_version = {version}")
    before = path.read_bytes()

    with pytest.raises(NotThisCrawl, match=rf"{age} Gossamer \(schema {version}"):
        opening(path)

    assert path.read_bytes() == before


def test_reading_where_there_is_no_crawl_makes_none(tmp_path: Path) -> None:
    with pytest.raises(NotThisCrawl, match="does not exist"):
        open_for_reading(tmp_path / "crawl.db")

    assert list(tmp_path.iterdir()) == []


def test_an_empty_file_becomes_a_database(tmp_path: Path) -> None:
    path = tmp_path / "crawl.db"
    path.touch()

    with closing(open_for_writing(path)) as db:
        assert "urls" in schema_of(db)


def test_a_database_whose_making_was_cut_short_is_completed(tmp_path: Path) -> None:
    """Killed after the file was made, before the schema was committed."""
    path = tmp_path / "crawl.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA page_size = 8192")
        db.execute("PRAGMA journal_mode = WAL")
    assert path.stat().st_size > 0

    with closing(open_for_writing(path)) as db:
        assert "urls" in schema_of(db)


def test_a_directory_that_cannot_be_written_is_a_failure_of_the_store(tmp_path: Path) -> None:
    with pytest.raises(StoreFailed):
        open_for_writing(tmp_path / "no such directory" / "crawl.db")


def test_a_full_disk_is_told_from_other_trouble(tmp_path: Path) -> None:
    assert isinstance(translated(sqlite3.OperationalError("database or disk is full"), tmp_path), DiskFull)
    assert not isinstance(translated(sqlite3.OperationalError("disk I/O error"), tmp_path), DiskFull)


class CutShort(sqlite3.Connection):
    """A connection whose process dies (as far as the file can tell) after a number of statements."""

    left = 0

    def execute(self, sql: str, values: object = (), /) -> sqlite3.Cursor:
        if self.left == 0:
            raise KeyboardInterrupt
        self.left -= 1
        return super().execute(sql, values)  # type: ignore[arg-type]


@pytest.mark.parametrize("statements", [0, 1, 2, 3])
def test_a_crawl_never_has_a_name_without_the_key_of_its_fingerprints(tmp_path: Path, statements: int) -> None:
    path = tmp_path / "crawl.db"
    open_for_writing(path).close()
    db = sqlite3.connect(path, factory=CutShort, isolation_level=None)
    db.left = statements

    with pytest.raises(KeyboardInterrupt):  # at: what is there? begin, insert, commit
        Metadata(SqliteDatabase(db, path)).settle_identity(Instant(1.0), "crawl", 11)
    db.close()

    with closing(open_for_writing(path)) as again:
        assert again.execute("SELECT count(*) FROM facts").fetchone() == (0,)


def test_the_identity_of_a_crawl_is_settled_once(tmp_path: Path) -> None:
    path = tmp_path / "crawl.db"
    with closing(open_for_writing(path)) as db:
        Metadata(SqliteDatabase(db)).settle_identity(Instant(1.0), "crawl", 11)
        key = Metadata(SqliteDatabase(db)).fingerprint_key()

    with closing(open_for_writing(path)) as db:
        Metadata(SqliteDatabase(db)).settle_identity(Instant(2.0), "other", 12)
        assert Metadata(SqliteDatabase(db)).fingerprint_key() == key == 11
