"""What a crawl waits for, as far as it is on record: each kind apart, and never by reading a whole table."""

import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.backends.sqlite.driver import SqliteDatabase, open_for_writing, table_statements
from gossamer.model.states import UrlState
from gossamer.model.units import Instant
from gossamer.observe.wait_reasons import Waits
from gossamer.reports.table import status

NOW = Instant(1_700_000_000.0)
DUE, LATER = NOW - 5, NOW + 600

STATEMENTS = ("last_front", "ready_hosts", "resting_hosts", "retries", "recrawls", "next_missing", "dead_reasons")


@pytest.fixture
def db(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    connection = open_for_writing(tmp_path / "crawl.db")
    yield connection
    connection.close()


def add_host(db: sqlite3.Connection, number: int, next_contact: float = 0.0) -> None:
    db.execute(
        "INSERT INTO hosts (id, host, domain_id, next_contact) VALUES (?, ?, ?, ?)",
        (number, f"h{number}.test", number, next_contact),
    )


def add_url(
    db: sqlite3.Connection,
    host: int,
    at: float | None,
    *,
    state: UrlState = UrlState.QUEUED,
    reason: str | None = None,
    place: float | None = None,
    front: int = 0,
) -> None:
    """A URL, its front-queue entry and its place in the totals. Without a place it stands by its date."""
    (number,) = db.execute("SELECT coalesce(max(id), 0) + 1 FROM urls").fetchone()
    place = (at or 0.0) if place is None else place
    db.execute(
        "INSERT INTO urls (id, host_id, domain_id, fingerprint, url, state, front, available_at, priority, depth,"
        " tries, hops, via, found_on, found_at, reason, place)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1, 1, 0, 0, 1, 0, 0, ?, ?)",
        (number, host, host, number, f"http://h{host}.test/{number}", state, front, at, reason, place),
    )
    if state is UrlState.QUEUED:
        db.execute(
            "INSERT INTO fronts VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET place = min(place, excluded.place)",
            (host, front, place),
        )
    db.execute(
        "INSERT INTO counters VALUES (?, 1) ON CONFLICT DO UPDATE SET value = value + 1", (f"state:{state.word}",)
    )


def waits(db: sqlite3.Connection) -> Waits:
    return status.StatusQueries(SqliteDatabase(db)).waits(NOW)


def test_no_statement_reads_a_whole_table(db: sqlite3.Connection) -> None:
    for name in STATEMENTS:
        sql = table_statements()[name]
        values = [1] * (len(set(re.findall(r"\?\d", sql))) or sql.count("?"))
        plan = [row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {sql}", values)]
        scans = [line for line in plan if re.match(r"SCAN (?!f$|h$|\(subquery)", line)]
        assert [line for line in scans if "COVERING INDEX urls_dead_reasons" not in line] == [], (name, plan)
        assert not any("TEMP B-TREE" in line for line in plan), (name, plan)


def test_a_new_crawl_waits_for_nothing(db: sqlite3.Connection) -> None:
    found = waits(db)

    assert (found.in_flight, found.due, found.ready_hosts, found.resting_hosts, found.retries) == (None, 0, 0, 0, 0)
    assert (found.recrawls, found.missing, found.next_contact, found.next_retry) == (0, 0, None, None)


def test_urls_that_are_due_are_told_with_the_hosts_that_may_be_contacted(db: sqlite3.Connection) -> None:
    for host in (1, 2):
        add_host(db, host, next_contact=DUE)
        add_url(db, host, DUE)
        add_url(db, host, DUE, front=2)

    assert (waits(db).due, waits(db).ready_hosts) == (4, 2)


def test_hosts_that_rest_are_told_apart_if_they_have_urls(db: sqlite3.Connection) -> None:
    for host, rests_until in ((1, NOW + 30), (2, NOW + 7), (3, NOW + 3)):
        add_host(db, host, next_contact=rests_until)
    add_url(db, 1, DUE)
    add_url(db, 2, DUE)
    add_url(db, 3, None, state=UrlState.STORED)

    found = waits(db)

    assert (found.due, found.ready_hosts) == (2, 0)
    assert (found.resting_hosts, found.next_contact) == (2, NOW + 7)


def test_retries_are_counted_only_until_they_are_due(db: sqlite3.Connection) -> None:
    add_host(db, 1)
    add_url(db, 1, LATER, reason="read_timeout")
    add_url(db, 1, LATER + 60, reason="server_error")
    add_url(db, 1, DUE, reason="conn_refused")

    found = waits(db)

    assert (found.due, found.ready_hosts) == (1, 1)
    assert (found.retries, found.next_retry) == (2, LATER)


def test_a_front_queue_entry_that_is_out_of_date_makes_no_host_ready(db: sqlite3.Connection) -> None:
    add_host(db, 1)
    add_url(db, 1, LATER, reason="read_timeout")
    db.execute("UPDATE fronts SET place = ?", (DUE,))  # as while the host has a back queue, and after a crash

    assert (waits(db).ready_hosts, waits(db).retries) == (0, 1)


def test_under_an_ordering_by_score_what_is_due_stands_in_the_first_front_queue(db: sqlite3.Connection) -> None:
    add_host(db, 1)
    add_host(db, 2)
    add_url(db, 1, DUE, place=-300.0)
    add_url(db, 2, LATER, reason="server_error", front=1)

    found = waits(db)

    assert (found.due, found.ready_hosts, found.retries, found.next_retry) == (1, 1, 1, LATER)


def test_recrawls_and_missing_pages_have_dates_of_their_own(db: sqlite3.Connection) -> None:
    add_host(db, 1)
    for state in (UrlState.STORED, UrlState.DUPLICATE, UrlState.REDIRECT):
        add_url(db, 1, LATER + state, state=state)
    add_url(db, 1, None, state=UrlState.STORED)
    add_url(db, 1, LATER + 99, state=UrlState.MISSING, reason="missing")

    found = waits(db)

    assert (found.due, found.retries) == (0, 0)
    assert (found.recrawls, found.next_recrawl) == (3, LATER + 1)
    assert (found.missing, found.next_missing) == (1, LATER + 99)


def test_counting_is_given_up_at_the_limits(db: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(status, "HOSTS_COUNTED", 3)
    monkeypatch.setattr(status, "URLS_COUNTED", 4)
    for host in range(1, 7):
        add_host(db, host)
        add_url(db, host, DUE)
        add_url(db, host, LATER, reason="server_error")

    found = waits(db)

    assert (found.ready_hosts, found.hosts_counted_to) == (3, 3)
    assert (found.retries, found.urls_counted_to, found.due) == (4, 4, None)
