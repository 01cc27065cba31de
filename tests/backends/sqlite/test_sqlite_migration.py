"""Databases of older versions: nothing they hold is lost, and what they did not know is filled in."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlite_store import START, CapturesInMemory, FrontInUrl, domain_of

from gossamer.backends.sqlite.database import APPLICATION_ID, open_for_reading, open_for_writing
from gossamer.backends.sqlite.host_index import HostIndex
from gossamer.backends.sqlite.loader import SqliteLoader
from gossamer.backends.sqlite.queries import migrations
from gossamer.backends.sqlite.writer import SqliteWriter
from gossamer.clock import VirtualClock
from gossamer.errors import NotThisCrawl
from gossamer.frontier.front_queue import FrontWanted, HostWanted, LoadOrder
from gossamer.model.facts import BIRTH_CREDIT, DomainFacts
from gossamer.model.units import HostId, Instant

LATER = START + 500.0


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A database of the first version: on a.x.test a URL that is due, one that was stored and one that waits for a
    try; on y.org one that is due. x.test has been asked seven times, y.org twice."""
    path = tmp_path / "crawl.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA page_size = 8192")
        db.execute("PRAGMA journal_mode = WAL")
        db.executescript(migrations()[0][1])
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        db.execute("PRAGMA user_version = 1")
        db.execute("INSERT INTO domains (domain, partition, accesses) VALUES ('x.test', 1, 7), ('y.org', 2, 2)")
        db.execute("INSERT INTO hosts (host, domain_id) VALUES ('a.x.test', 1), ('y.org', 2)")
        rows = [(1, 1, 0, START - 9), (1, 1, 1, None), (1, 1, 0, LATER), (2, 2, 0, START - 5)]
        for number, (host_id, domain_id, state, at) in enumerate(rows, 1):
            db.execute(
                "INSERT INTO urls (host_id, domain_id, fingerprint, url, state, front, available_at, priority, depth,"
                " tries, hops, via, found_on, found_at) VALUES (?, ?, ?, ?, ?, 2, ?, 0.5, 1, 0, 0, 1, 0, 0)",
                (host_id, domain_id, number, f"http://h.test/2/{number}", state, at),
            )
        db.execute("INSERT INTO visits (url_id, at, status, digest) VALUES (2, 5.0, 200, x'01')")
        db.execute("INSERT INTO fronts VALUES (1, 2, ?), (2, 2, ?)", (START - 9, START - 5))
    return path


def opened(path: Path) -> SqliteWriter:
    return SqliteWriter(path, CapturesInMemory(), domain_of, FrontInUrl(), VirtualClock(START))


def test_the_queue_of_an_old_database_is_read_as_it_was(old: Path) -> None:
    with closing(opened(old)), closing(SqliteLoader(old)) as loader:
        wanted = HostWanted(HostId(1), True, ((2, (-1e300, 0), 9),), Instant(START))
        front = FrontWanted(2, (-1e300, 0), 9, Instant(START))
        loaded = loader.load(LoadOrder((front,), (wanted,)))

    assert loaded.number == 0
    assert loaded.fronts[0].entries == [(START - 9, 1), (START - 5, 2)]
    ((_, tasks, next_due),) = loaded.hosts[0].classes
    assert [(task.url_id, task.place, task.priority) for task in tasks] == [(1, START - 9, 0.5)]
    assert next_due == LATER
    record = loaded.hosts[0].record
    assert record is not None
    assert record.domain == DomainFacts(visits=7)


def test_old_urls_have_the_credit_of_new_ones_and_the_visits_that_are_known(old: Path) -> None:
    with closing(opened(old)), closing(open_for_reading(old)) as db:
        found = db.execute("SELECT place, links, links_from_others, credit, visits, changes FROM urls").fetchall()

    assert [row[1:3] for row in found] == [(0, 0)] * 4
    assert {row[3] for row in found} == {BIRTH_CREDIT}
    assert [row[4:] for row in found] == [(0, 0), (1, 0), (0, 0), (0, 0)]


def test_old_domains_get_their_suffixes_and_these_the_visits_of_their_domains(old: Path) -> None:
    for _ in range(2):  # once is enough, and twice is no more
        with closing(opened(old)), closing(SqliteLoader(old)) as loader, closing(open_for_reading(old)) as db:
            suffixes = dict(db.execute("SELECT suffix, id FROM suffixes").fetchall())
            of_domain = db.execute("SELECT domain, suffix_id FROM domains ORDER BY id").fetchall()

            assert of_domain == [("x.test", suffixes["test"]), ("y.org", suffixes["org"])]
            assert loader.suffix_visits() == {suffixes["test"]: 7, suffixes["org"]: 2}


def test_who_only_reads_is_told_to_have_an_old_database_brought_up_to_date(old: Path) -> None:
    before = old.read_bytes()

    with pytest.raises(NotThisCrawl, match=r"older Gossamer \(schema 1, now"):
        open_for_reading(old)

    assert old.read_bytes() == before


def test_a_migration_that_fails_leaves_the_old_database(old: Path) -> None:
    with closing(sqlite3.connect(old)) as db:
        db.execute("CREATE TABLE links (somebody TEXT)")  # in the way of the second migration's last steps
        db.commit()

    with pytest.raises(Exception, match="links already exists"):
        open_for_writing(old)

    with closing(sqlite3.connect(old)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (1,)
        assert db.execute("SELECT count(available_at) FROM fronts").fetchone() == (2,)


def test_the_urls_of_an_old_database_are_counted_for_its_hosts(old: Path) -> None:
    with closing(opened(old)), closing(open_for_reading(old)) as db:
        found = HostIndex(old).look(db)

    assert [(each.host, each.known, each.queued, each.stored, each.fetched) for each in found] == [
        ("a.x.test", 3, 2, 1, 1),
        ("y.org", 1, 1, 0, 0),
    ]
