import hashlib
import sqlite3
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from gossamer.backends.sqlite.driver import SqliteDatabase, open_for_reading, open_for_writing, open_reader, open_writer
from gossamer.clock import VirtualClock
from gossamer.errors import StoreFailed
from gossamer.frontier.orderings import Ordering
from gossamer.frontier.orderings.ordering import Novelty
from gossamer.model.batch import Batch, SeedRecord
from gossamer.model.facts import PriorityFacts, QueuePosition, UrlFacts
from gossamer.model.loads import HostRequest, LoadRequest
from gossamer.model.outcome import Response
from gossamer.model.settlement import Capture, Settlement
from gossamer.model.states import UrlState
from gossamer.model.task import Candidate, Via
from gossamer.model.units import Domain, Fingerprint, HostId, HostKey, Instant, Seconds, Url
from gossamer.reports.export.formats import page_object
from gossamer.reports.export.tables import PageColumns
from gossamer.reports.records import DeadFilter, Json, PageFilter, dead_object
from gossamer.reports.table.reader import TableReader
from gossamer.reports.table.status import StatusQueries
from gossamer.store.ports import Location
from gossamer.store.table.bulk_changes import drop_dead, requeue_dead
from gossamer.store.table.loader import TableLoader
from gossamer.store.table.writer import TableWriter

NOW = Instant(1_700_000_000.0)
A, B = HostKey("a.test"), HostKey("b.test")
DIGEST = hashlib.sha1(b"document").digest()


class CapturesInMemory:
    """Places each record behind the last; keeps nothing."""

    def __init__(self) -> None:
        self._length = 0

    def append(self, capture: Capture) -> Location:
        place = Location("one.warc.gz", self._length, len(capture.response.wire_body))
        self._length += place.length
        return place

    def flush(self) -> dict[str, int]:
        return {"one.warc.gz": self._length}

    def committed(self) -> None: ...

    def moves(self) -> dict[str, bool]:
        return {}

    def roll_back(self) -> None: ...

    def close(self) -> None: ...


class InTurn(Ordering):
    """Every URL has a priority of a half; its class is told by its number."""

    name = "in turn"
    fronts = 3

    def standing(self, url: UrlFacts) -> QueuePosition:
        return QueuePosition(2 - url.url_id % 2, 0.5)


ORDERING = InTurn()


def domain_of(host: HostKey) -> tuple[Domain, int, str]:
    return Domain(host), 0, "test"


def capture(url: Url) -> Capture:
    answer = Response(url, 200, b"", b"", b"x" * 100, {}, "127.0.0.1", NOW, Seconds(0.1))
    return Capture(answer, DIGEST)


def candidate(url: str, host: HostKey, found_on: int = 0) -> Candidate:
    number = Fingerprint(hash_of(url))
    return Candidate(Url(url), host, number, 1 if found_on else 0, 0, Via.LINK, found_on)


def hash_of(url: str) -> int:
    return int.from_bytes(hashlib.sha1(url.encode()).digest()[:7], "big")


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """Eight URLs on two hosts, one in every state; on b.test a second dead one instead of a queued one.

    Rows: 1 stored, 2 duplicate of 1, 3 redirect, 4 missing, 5 excluded, 6 queued (all a.test), 7 and 8 dead (b.test).
    """
    path = tmp_path / "crawl.db"
    writer = TableWriter(open_writer(path), CapturesInMemory(), domain_of, ORDERING, VirtualClock(NOW))
    start = candidate("http://a.test/", A)
    first = Batch(candidates=[start], seeds=[SeedRecord(start.url, A, "a.test", "argument 1")])
    writer.commit(first, NOW)
    found = [candidate(f"http://a.test/{n}", A, found_on=1) for n in range(2, 7)]
    found += [candidate(f"http://b.test/{n}", B, found_on=1) for n in (7, 8)]
    writer.commit(Batch(candidates=found), NOW)
    visited = Batch()
    visited.counters.update({"fetched": 4, "bytes": 1234, "status:2xx": 2, "error:conn_refused": 2, "duplicates": 1})
    visited.counters.update({"excluded:robots_denied": 1})
    page = Settlement(
        HostId(1), 1, 0, UrlState.STORED, Instant(NOW + 1), status=200, size=8, digest=DIGEST, mime="text/html"
    )
    stored = page._replace(title="Start", capture=capture(start.url), available_at=Instant(NOW + 86_400))
    visited.settle(stored)
    visited.settle(page._replace(url_id=2, front=1, state=UrlState.DUPLICATE, duplicate_of=1))
    visited.settle(Settlement(HostId(1), 3, 1, UrlState.REDIRECT, NOW, status=301, redirect_to="http://a.test/"))
    visited.settle(Settlement(HostId(1), 4, 1, UrlState.MISSING, NOW, status=404, reason="http_404"))
    visited.settle(Settlement(HostId(1), 5, 1, UrlState.EXCLUDED, NOW, reason="robots_denied"))
    for number, reason in ((7, "conn_refused"), (8, "read_timeout")):
        dead = Settlement(HostId(2), number, number - 6, UrlState.DEAD, NOW, tries=3, reason=reason, detail="no answer")
        visited.settle(dead)
    writer.commit(visited, NOW)
    writer.close()
    return path


@pytest.fixture
def db(database: Path) -> Iterator[sqlite3.Connection]:
    connection = open_for_reading(database)
    yield connection
    connection.close()


def half(facts: PriorityFacts) -> float:
    return 0.5


def pages_of(db: sqlite3.Connection, wanted: PageFilter) -> Iterator[Json]:
    return (
        page_object(row, PageColumns(half))
        for row in islice(TableReader(SqliteDatabase(db)).pages.stream(wanted), wanted.limit)
    )


def dead_of(db: sqlite3.Connection, wanted: DeadFilter) -> Iterator[Json]:
    return (dead_object(letter, half) for letter in TableReader(SqliteDatabase(db)).dead_letters.stream(wanted))


def by_url(found: Iterator[Json]) -> dict[object, Json]:
    return {page["url"]: page for page in found}


def test_the_status_counts_every_url_once_by_state(db: sqlite3.Connection) -> None:
    found = StatusQueries(SqliteDatabase(db)).totals()

    assert found["states"] == {
        "queued": 1, "stored": 1, "duplicate": 1, "redirect": 1, "missing": 1, "gone": 0, "excluded": 1, "dead": 2,
    }  # fmt: skip
    assert found["discovered"] == 8
    assert (found["pages"], found["queued"], found["dead"], found["hosts"], found["seeds"]) == (1, 1, 2, 2, 1)
    assert found["errors"] == {"conn_refused": 2}
    assert found["dead_by_reason"] == {"conn_refused": 1, "read_timeout": 1}
    assert found["warc_bytes"] == 100
    assert found["finished"] is False


def test_a_stored_page_says_what_it_is_and_where_it_lies(db: sqlite3.Connection) -> None:
    page = by_url(pages_of(db, PageFilter()))["http://a.test/"]

    assert page == {
        "v": 1,
        "url": "http://a.test/",
        "via": "link",
        "took": page["took"],
        "found_at": "2023-11-14T22:13:20.000Z",
        "links": 0,
        "etag": None,
        "last_modified": None,
        "rendered": False,
        "warc_file": "one.warc.gz",
        "warc_offset": 0,
        "warc_length": 100,
        "status": 200,
        "state": "stored",
        "depth": 0,
        "priority": 0.5,
        "size": 8,
        "digest": "sha1:J6BHRSE22FW2AX7MJ7P4MH7EI6MLSJZA",
        "fetched_at": "2023-11-14T22:13:21.000Z",
        "next_visit": "2023-11-15T22:13:20.000Z",
        "duplicate_of": None,
        "redirect_to": None,
        "reason": None,
        "near_duplicate_of": None,
        "distance": None,
        "host": "a.test",
        "mime": "text/html",
        "title": "Start",
        "language": None,
        "canonical": None,
        "found_on": None,
        "truncated": None,
        "unverified": False,
        "replaced_characters": 0,
        "warc": {"file": "one.warc.gz", "offset": 0, "length": 100},
    }


def test_other_outcomes_name_the_url_they_point_to(db: sqlite3.Connection) -> None:
    pages = by_url(pages_of(db, PageFilter()))

    assert pages["http://a.test/2"]["duplicate_of"] == "http://a.test/"
    assert pages["http://a.test/2"]["warc"] is None
    assert pages["http://a.test/3"]["redirect_to"] == "http://a.test/"
    assert pages["http://a.test/5"]["reason"] == "robots_denied"
    assert pages["http://a.test/6"]["fetched_at"] is None
    assert pages["http://b.test/7"]["found_on"] == "http://a.test/"


def test_pages_come_in_order_of_discovery_and_can_be_limited(db: sqlite3.Connection) -> None:
    urls = [page["url"] for page in pages_of(db, PageFilter(limit=3))]

    assert urls == ["http://a.test/", "http://a.test/2", "http://a.test/3"]
    assert list(pages_of(db, PageFilter(limit=0))) == []


def test_pages_are_filtered_by_state_and_host(db: sqlite3.Connection) -> None:
    dead = by_url(pages_of(db, PageFilter(state=UrlState.DEAD)))
    stored_here = by_url(pages_of(db, PageFilter(state=UrlState.STORED, host="A.test.")))
    elsewhere = by_url(pages_of(db, PageFilter(host="nowhere.test")))

    assert dead.keys() == {"http://b.test/7", "http://b.test/8"}
    assert stored_here.keys() == {"http://a.test/"}
    assert elsewhere == {}


def test_many_pages_are_read_in_chunks_and_all_come(tmp_path: Path) -> None:
    path = tmp_path / "crawl.db"
    writer = TableWriter(open_writer(path), CapturesInMemory(), domain_of, ORDERING, VirtualClock(NOW))
    urls = [f"http://{host}/{n}" for n in range(700) for host in (A, B)]
    writer.commit(Batch(candidates=[candidate(url, HostKey(url[7:13])) for url in urls]), NOW)
    writer.close()
    db = open_for_reading(path)

    everything = [page["url"] for page in pages_of(db, PageFilter())]
    one_host = [page["url"] for page in pages_of(db, PageFilter(host="b.test"))]
    queued = [page["url"] for page in pages_of(db, PageFilter(state=UrlState.QUEUED))]

    db.close()
    assert everything == queued == urls
    assert one_host == urls[1::2]


def test_a_reader_left_open_does_not_hold_back_the_running_crawl(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gossamer.reports.table.pages.WINDOW", 1)
    reader, writer = open_for_reading(database), open_for_writing(database)
    pages = pages_of(reader, PageFilter())
    next(pages)

    writer.execute("UPDATE urls SET depth = 9")
    blocked, _, _ = writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()

    assert blocked == 0
    assert next(pages)["depth"] == 9
    reader.close()
    writer.close()


def test_dead_letters_tell_their_last_failure(db: sqlite3.Connection) -> None:
    letter = next(dead_of(db, DeadFilter(reason="read_timeout")))

    assert letter["url"] == "http://b.test/8"
    assert letter["tries"] == 3
    assert letter["detail"] == "no answer"
    assert letter["failed_at"] == "2023-11-14T22:13:20.000Z"
    assert [d["url"] for d in dead_of(db, DeadFilter(host="b.test"))] == [
        "http://b.test/7",
        "http://b.test/8",
    ]
    assert list(dead_of(db, DeadFilter(host="a.test"))) == []


def counts(db: sqlite3.Connection) -> dict[str, int]:
    """What the counters of the states ought to be, counted row by row."""
    rows = db.execute("SELECT state, count(*) FROM urls GROUP BY state")
    return {UrlState(state).word: number for state, number in rows}


def test_requeued_letters_are_due_with_all_their_tries(database: Path) -> None:
    db = open_for_writing(database)

    number = requeue_dead(SqliteDatabase(db), Instant(NOW + 50), ORDERING.standing, reason="conn_refused")

    pages = by_url(pages_of(db, PageFilter(host="b.test")))
    assert number == 1
    assert pages["http://b.test/7"]["state"] == "queued"
    assert pages["http://b.test/7"]["reason"] is None
    assert pages["http://b.test/8"]["state"] == "dead"
    assert db.execute("SELECT tries FROM urls WHERE id = 7").fetchone() == (0,)
    db.close()


def test_the_frontier_finds_requeued_letters_in_its_front_queues(database: Path) -> None:
    db = open_for_writing(database)
    db.execute("DELETE FROM fronts")  # as it is when a host has nothing queued

    requeue_dead(SqliteDatabase(db), Instant(NOW + 50), ORDERING.standing)

    assert sorted(db.execute("SELECT host_id, front, place FROM fronts")) == [
        (2, 1, NOW + 50),
        (2, 2, NOW + 50),
    ]
    db.close()
    loader = TableLoader(open_reader(database))
    wanted = HostRequest(HostId(2), True, ((1, (0.0, 0), 10), (2, (0.0, 0), 10)), Instant(NOW + 60))
    (host,) = loader.load(LoadRequest((), (wanted,))).hosts
    loader.close()
    assert [task.url for _, tasks, _ in host.classes for task in tasks] == ["http://b.test/7", "http://b.test/8"]


def test_under_an_ordering_by_score_requeued_letters_stand_by_their_score(database: Path) -> None:
    db = open_for_writing(database)
    db.execute("UPDATE urls SET links = 4 WHERE id = 8")

    requeue_dead(SqliteDatabase(db), Instant(NOW + 50), Novelty().standing)

    places = db.execute("SELECT id, front, place, priority, available_at FROM urls WHERE host_id = 2 ORDER BY id")
    assert places.fetchall() == [(7, 0, 0.0, 0.0, NOW + 50), (8, 0, -400.0, 400.0, NOW + 50)]
    assert db.execute("SELECT front, place FROM fronts WHERE host_id = 2 AND front = 0").fetchone() == (0, -400.0)
    db.close()


def test_a_front_queue_entry_that_is_earlier_stays(database: Path) -> None:
    db = open_for_writing(database)
    db.execute("INSERT OR REPLACE INTO fronts VALUES (2, 1, 5.0)")

    requeue_dead(SqliteDatabase(db), Instant(NOW + 50), ORDERING.standing)

    assert db.execute("SELECT place FROM fronts WHERE host_id = 2 AND front = 1").fetchone() == (5.0,)
    db.close()


def test_dropped_letters_are_excluded_for_good(database: Path) -> None:
    db = open_for_writing(database)

    number = drop_dead(SqliteDatabase(db), NOW, ORDERING.standing, host="b.test")

    pages = by_url(pages_of(db, PageFilter(host="b.test")))
    assert number == 2
    assert {(page["state"], page["reason"]) for page in pages.values()} == {("excluded", "dropped")}
    assert list(dead_of(db, DeadFilter())) == []
    found = StatusQueries(SqliteDatabase(db)).totals()
    assert found["excluded"] == {"dropped": 2, "robots_denied": 1}
    db.close()


def test_the_counters_stay_true_after_requeue_and_drop(database: Path) -> None:
    db = open_for_writing(database)

    requeue_dead(SqliteDatabase(db), NOW, ORDERING.standing, reason="conn_refused")
    drop_dead(SqliteDatabase(db), NOW, ORDERING.standing)

    states = StatusQueries(SqliteDatabase(db)).totals()["states"]
    assert isinstance(states, dict)
    assert {word: n for word, n in states.items() if n} == counts(db)
    db.close()


def test_nothing_matches_nothing_changes(database: Path) -> None:
    db = open_for_writing(database)
    before = list(db.iterdump())

    assert requeue_dead(SqliteDatabase(db), NOW, ORDERING.standing, host="nowhere.test") == 0
    assert drop_dead(SqliteDatabase(db), NOW, ORDERING.standing, reason="no_such_reason") == 0

    assert list(db.iterdump()) == before
    db.close()


def test_a_failure_within_a_change_leaves_everything_as_it_was(database: Path) -> None:
    db = open_for_writing(database)
    db.execute("CREATE TEMP TRIGGER refuse BEFORE UPDATE ON urls WHEN new.id = 8 BEGIN SELECT RAISE(ABORT, 'no'); END")
    before = counts(db)

    with pytest.raises(StoreFailed):
        requeue_dead(SqliteDatabase(db), NOW, ORDERING.standing)

    assert counts(db) == before
    assert not db.in_transaction
    db.close()
