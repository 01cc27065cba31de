"""Committing batches: all or nothing, and what is true afterwards."""

import random
import sqlite3
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.clock import VirtualClock
from gossamer.errors import DiskFull, StoreFailed
from gossamer.frontier.orderings import Ordering
from gossamer.frontier.orderings.ordering import DepthFirst
from gossamer.model.batch import Batch, HostClock, RetiredHost, RobotsRecord, SeedRecord
from gossamer.model.loads import LoadRequest
from gossamer.model.states import UrlState
from gossamer.model.units import HostId, HostKey, Instant, Origin, Seconds, Url
from gossamer.store.table.writer import TableWriter
from tests.backends.table_store import (
    FILE,
    START,
    AnyTables,
    Store,
    candidate,
    domain_of,
    reorder_tables,
    settlement,
)


@pytest.fixture
def store(tables: AnyTables) -> Iterator[Store]:
    store = Store(tables)
    yield store
    store.close()


def everything(store: Store) -> dict[str, list[tuple[object, ...]]]:
    """All rows of all tables."""
    return {table: sorted(store.rows(f"SELECT * FROM {table}"), key=repr) for table in store.table_names()}


def unanswerable(new_seeds: frozenset[Url]) -> str:
    """The answer to an order that makes its transaction fail."""
    raise StoreFailed("nobody is there")


def fronts(store: Store) -> dict[tuple[object, object], float]:
    return {(host, front): float(str(at)) for host, front, at in store.rows("SELECT host_id, front, place FROM fronts")}


def full_batch(bodies: int) -> Batch:
    """Something for every table."""
    batch = Batch(candidates=[candidate("b.other.test", n, front=n % 3) for n in range(10, 15)])
    for number in range(1, bodies + 1):
        batch.settle(settlement(number, body=b"body %d" % number))
    batch.settle(settlement(7, UrlState.DEAD)._replace(reason="too_slow", detail="a snail"))
    batch.seeds = [SeedRecord(Url("http://c.test/"), HostKey("c.test"), "c.test", "argument 2")]
    batch.hosts = {HostId(1): HostClock(HostId(1), Instant(START + 9), 0.9, "10.0.0.1")}
    batch.robots = [RobotsRecord(Origin("http://a.test"), HostId(1), 200, Instant(START), Instant(START + 10), b"#")]
    batch.retired = [RetiredHost(HostId(1), Instant(START + 9))]
    batch.page_requests[1] += 5
    batch.counters["fetched"] += 5
    return batch


@pytest.mark.parametrize("appends", range(5))
def test_a_full_disk_at_any_record_leaves_nothing_on_record_and_the_next_commit_works(
    store: Store, appends: int
) -> None:
    store.writer.commit(Batch(candidates=[candidate("a.test", n) for n in range(1, 9)]), store.now)
    before = everything(store)

    store.captures.full_after = appends
    with pytest.raises(DiskFull):
        store.writer.commit(full_batch(5), store.now)

    assert everything(store) == before
    assert store.captures.records == []

    store.captures.full_after = None
    committed = store.writer.commit(full_batch(5), store.now)
    assert committed.new_urls == 5
    assert committed.new_hosts == 1
    assert store.value("SELECT committed FROM warc_files WHERE name = ?", FILE) == store.captures.length
    assert store.value("SELECT count(*) FROM urls WHERE state = 1") == 5
    assert store.value("SELECT count(*) FROM urls u JOIN hosts h ON h.id = u.host_id") == 13


def test_a_flush_that_fails_leaves_nothing_on_record(store: Store) -> None:
    store.writer.commit(Batch(candidates=[candidate("a.test", n) for n in range(1, 9)]), store.now)
    before = everything(store)

    store.captures.flush_fails = True
    with pytest.raises(DiskFull):
        store.writer.commit(full_batch(3), store.now)

    assert everything(store) == before


def test_a_transaction_that_fails_is_tried_again_with_the_records_that_are_there(store: Store) -> None:
    store.writer.commit(Batch(candidates=[candidate("a.test", n) for n in range(1, 9)]), store.now)
    before = everything(store)
    batch = full_batch(5)
    batch.answers[1] = unanswerable

    for _ in range(3):
        with pytest.raises(StoreFailed):
            store.writer.commit(batch, store.now)
        with pytest.raises(StoreFailed):
            store.writer.run(lambda db: unanswerable(frozenset()))
    assert everything(store) == before
    assert len(store.captures.records) == 5

    batch.answers.clear()
    committed = store.writer.commit(batch, store.now)
    assert [offset for _, _, offset, _ in committed.captured] == [6 * n for n in range(5)]
    assert store.value("SELECT committed FROM warc_files WHERE name = ?", FILE) == store.captures.length == 30
    assert store.captures.safe == 5


def test_the_records_of_a_batch_that_is_given_up_are_taken_back(store: Store) -> None:
    store.writer.commit(Batch(candidates=[candidate("a.test", n) for n in range(1, 9)]), store.now)
    failing = full_batch(5)
    failing.answers[1] = unanswerable
    with pytest.raises(StoreFailed):
        store.writer.commit(failing, store.now)

    store.writer.commit(Batch(settlements=[settlement(1, body=b"another")]), store.now)

    assert store.captures.records == [b"another"]
    assert store.value("SELECT committed FROM warc_files WHERE name = ?", FILE) == len(b"another")


def test_hosts_met_in_a_failed_transaction_are_met_anew_even_if_the_files_cannot_be_rolled_back(store: Store) -> None:
    store.captures.full_after = 0
    store.captures.roll_back_fails = True
    batch = Batch(candidates=[candidate("new.test", 1)])
    batch.settle(settlement(1, body=b"x"))
    with pytest.raises(DiskFull):
        store.writer.commit(batch, store.now)

    store.captures.full_after = None
    assert store.writer.commit(Batch(candidates=[candidate("new.test", 1)]), store.now).new_hosts == 1
    assert store.value("SELECT count(*) FROM urls u JOIN hosts h ON h.id = u.host_id") == 1


def test_a_value_that_no_column_takes_spoils_its_batch_but_not_the_writer(store: Store) -> None:
    spoilt = Batch(candidates=[candidate("a.test", 1), candidate("a.test", 2**70)])

    with pytest.raises(OverflowError):
        store.writer.commit(spoilt, store.now)

    assert store.value("SELECT count(*) FROM hosts") == 0
    assert store.writer.commit(Batch(candidates=[candidate("a.test", 1)]), store.now).new_urls == 1


def test_a_database_that_somebody_else_holds_is_a_failure_of_the_store(tmp_path: Path) -> None:
    store = Store(tmp_path / "crawl.db")
    store.writer_db.execute("PRAGMA busy_timeout = 1")
    intruder = sqlite3.connect(store.path, isolation_level=None)
    intruder.execute("BEGIN IMMEDIATE")

    with pytest.raises(StoreFailed, match="locked"):
        store.writer.commit(Batch(candidates=[candidate("a.test", 1)]), store.now)
    with pytest.raises(StoreFailed, match="locked"):
        store.writer.requeue_missing(store.now)

    intruder.execute("ROLLBACK")
    intruder.close()
    assert store.writer.commit(Batch(candidates=[candidate("a.test", 1)]), store.now).new_urls == 1
    store.close()


def test_known_urls_are_ignored_and_counted_exactly(store: Store) -> None:
    first = store.writer.commit(Batch(candidates=[candidate("a.test", n) for n in (1, 2, 2, 3, 1)]), store.now)
    assert (first.new_urls, first.new_hosts) == (3, 1)

    again = [candidate("a.test", n, front=2) for n in (3, 4, 4, 5)] + [candidate("b.test", 4)]
    second = store.writer.commit(Batch(candidates=again), store.now)

    assert (second.new_urls, second.new_hosts) == (3, 1)
    assert [(host_id, front) for host_id, front, _ in sorted(second.touched)] == [(1, 2), (2, 0)]
    assert store.loader.counters() == {"commits": 2, "discovered": 6, "hosts": 2, "state:queued": 6}
    assert store.rows("SELECT fingerprint, front FROM urls WHERE host_id = 1 ORDER BY fingerprint") == [
        (1, 0), (2, 0), (3, 0), (4, 2), (5, 2),
    ]  # fmt: skip


def test_a_batch_of_known_urls_only_touches_nothing(store: Store) -> None:
    store.writer.commit(Batch(candidates=[candidate("a.test", 1)]), store.now)

    committed = store.writer.commit(Batch(candidates=[candidate("a.test", 1)]), store.now)

    assert (committed.new_urls, committed.touched) == (0, [])


@pytest.mark.parametrize("size", [1, 3, 4, 5, 31, 33, 255, 256, 257, 600])
def test_batches_of_any_size_are_written_whole(store: Store, size: int) -> None:
    committed = store.writer.commit(Batch(candidates=[candidate("a.test", n) for n in range(size)]), store.now)
    assert committed.new_urls == size

    batch = Batch()
    for number in range(1, size + 1):
        batch.settle(settlement(number, body=b"%d" % number))
    store.writer.commit(batch, store.now)

    assert store.value("SELECT count(*) FROM urls WHERE state = 1") == size
    assert store.value("SELECT count(DISTINCT warc_offset) FROM visits") == size
    assert store.value("SELECT count(*) FROM contents") == size


def test_the_counters_equal_a_recount_after_random_batches(store: Store) -> None:
    chance = random.Random(7)
    states: dict[int, tuple[int, UrlState]] = {}
    for step in range(60):
        batch = Batch()
        for _ in range(chance.randrange(12)):
            batch.candidates.append(
                candidate(f"h{chance.randrange(9)}.test", chance.randrange(150), chance.randrange(3))
            )
        for url_id in chance.sample(sorted(states), min(len(states), chance.randrange(8))):
            host_id, was = states[url_id]
            state = chance.choice(list(UrlState))
            states[url_id] = (host_id, state)
            batch.settle(settlement(url_id, state, host_id)._replace(previous_state=was))
        if step % 5 == 4:
            batch.answers[1] = unanswerable
            with pytest.raises(StoreFailed):
                store.writer.commit(batch, store.now)
            batch.answers.clear()
        store.writer.commit(batch, store.now)
        for row in store.rows("SELECT id, host_id FROM urls"):
            states.setdefault(int(str(row[0])), (int(str(row[1])), UrlState.QUEUED))

    counted = store.loader.counters()
    recount = Counter(f"state:{UrlState(int(str(state))).word}" for (state,) in store.rows("SELECT state FROM urls"))
    assert {name: n for name, n in counted.items() if name.startswith("state:") and n} == dict(recount)
    assert counted["discovered"] == store.value("SELECT count(*) FROM urls")
    assert counted["hosts"] == store.value("SELECT count(*) FROM hosts")


def test_stamps_never_fall_although_the_clock_does(store: Store) -> None:
    for step, now in enumerate((START, START + 5, START - 3600, START - 3600, START + 5)):
        store.writer.commit(Batch(candidates=[candidate("a.test", step)]), Instant(now))

    stamps = [float(str(at)) for (at,) in store.rows("SELECT available_at FROM urls ORDER BY id")]
    assert stamps == sorted(set(stamps))
    assert all(at - START < 5.001 for at in stamps)


def test_stamps_do_not_fall_over_a_restart_either(tables: AnyTables) -> None:
    store = Store(tables)
    store.clock.advance(Seconds(10.0))
    store.writer.commit(Batch(candidates=[candidate("a.test", 1)]), store.now)
    store.close()

    clock = VirtualClock(START + 11.0)
    db = store.tables.open_writer()
    writer = TableWriter(db, store.captures, domain_of, store.ordering, clock)
    writer.commit(Batch(candidates=[candidate("a.test", 2)]), Instant(START + 10.0))
    stamps = [at for (at,) in db.connection.execute("SELECT available_at FROM urls ORDER BY id")]
    writer.close()

    assert stamps[0] < stamps[1]


def test_a_retry_is_queued_for_its_date_and_never_before_the_present(store: Store) -> None:
    store.writer.commit(Batch(candidates=[candidate("a.test", n) for n in (1, 2)]), store.now)
    store.clock.advance(Seconds(100.0))
    batch = Batch()
    batch.settle(settlement(1, UrlState.QUEUED)._replace(available_at=Instant(store.now + 50), tries=1, reason="slow"))
    batch.settle(settlement(2, UrlState.QUEUED)._replace(available_at=Instant(store.now - 50), tries=1))

    committed = store.writer.commit(batch, store.now)

    later, due = (float(str(at)) for (at,) in store.rows("SELECT available_at FROM urls ORDER BY id"))
    assert later == store.now + 50
    assert store.now < due < store.now + 0.001
    assert committed.touched == [(1, 0, due)], "the first of the two"
    assert store.rows("SELECT url_id, reason FROM failures") == [(1, "slow")]


def test_a_retired_host_has_one_entry_per_class_that_still_has_urls(store: Store) -> None:
    found = [candidate("a.test", 1, 0), candidate("a.test", 2, 1), candidate("a.test", 3, 2), candidate("b.test", 4, 0)]
    store.writer.commit(Batch(candidates=found), store.now)
    store.clock.advance(Seconds(10.0))
    batch = Batch(retired=[RetiredHost(HostId(1), Instant(store.now + 30))])
    batch.settle(settlement(1, UrlState.STORED))
    batch.settle(settlement(3, UrlState.QUEUED, front=2)._replace(available_at=Instant(store.now + 500)))

    committed = store.writer.commit(batch, store.now)

    entries = fronts(store)
    assert entries.pop((2, 0)) < store.now
    assert entries == {(1, 1): store.now + 30, (1, 2): store.now + 500}
    assert committed.retired == [1]
    touched = {(1, 1, store.now + 30), (1, 2, store.now + 500)}
    assert set(committed.touched) == touched, "whoever waits for entries must hear of these"


def test_a_host_that_retires_with_nothing_left_leaves_the_front_queues(store: Store) -> None:
    store.writer.commit(Batch(candidates=[candidate("a.test", 1)]), store.now)
    batch = Batch(retired=[RetiredHost(HostId(1), Instant(0.0))])
    batch.settle(settlement(1, UrlState.STORED))

    committed = store.writer.commit(batch, store.now)

    assert fronts(store) == {}
    assert committed.touched == []


def test_a_retired_host_keeps_its_rest_although_a_new_url_brings_its_entry_forward(store: Store) -> None:
    store.writer.commit(Batch(candidates=[candidate("a.test", 1)]), store.now)
    until = Instant(store.now + 3600)
    store.writer.commit(Batch(retired=[RetiredHost(HostId(1), until)]), store.now)

    store.writer.commit(Batch(candidates=[candidate("a.test", 2)]), store.now)

    assert fronts(store)[1, 0] < store.now + 1
    assert store.value("SELECT next_contact FROM hosts WHERE id = 1") == until


def test_the_entries_of_all_hosts_are_true_after_random_retirements(store: Store) -> None:
    chance = random.Random(3)
    for _ in range(40):
        store.clock.advance(Seconds(1.0))
        batch = Batch()
        batch.candidates = [
            candidate(f"h{chance.randrange(6)}.test", chance.randrange(80), chance.randrange(3)) for _ in "abc"
        ]
        for url_id, host_id, front in store.rows("SELECT id, host_id, front FROM urls WHERE state = 0"):
            if chance.random() < 0.2:
                again = chance.random() < 0.3
                done = settlement(int(str(url_id)), UrlState.STORED, int(str(host_id)), int(str(front)))
                later = done._replace(state=UrlState.QUEUED, available_at=Instant(store.now + 20))
                batch.settle(later if again else done)
        store.writer.commit(batch, store.now)
    hosts = [HostId(int(str(host_id))) for (host_id,) in store.rows("SELECT id FROM hosts")]

    store.writer.commit(Batch(retired=[RetiredHost(host_id, Instant(0.0)) for host_id in hosts]), store.now)

    sql = "SELECT host_id, front, min(available_at) FROM urls WHERE state = 0 GROUP BY host_id, front"
    truth = {(host, front): float(str(at)) for host, front, at in store.rows(sql)}
    entries = fronts(store)
    assert entries.keys() == truth.keys()
    for key, at in truth.items():
        assert entries[key] >= at
        assert entries[key] == at or entries[key] < store.now + 0.001


def test_the_domain_of_a_host_is_made_once_and_its_accesses_add_up(store: Store) -> None:
    found = [candidate("a.x.test", 1), candidate("b.x.test", 2), candidate("c.y.test", 3)]
    store.writer.commit(Batch(candidates=found), store.now)
    for _ in range(2):
        batch = Batch(counters=Counter(fetched=1))
        batch.page_requests.update({1: 3, 2: 1})
        store.writer.commit(batch, store.now)

    assert store.rows("SELECT domain, accesses FROM domains ORDER BY id") == [("x.test", 6), ("y.test", 2)]
    assert store.rows("SELECT host, domain_id FROM hosts ORDER BY id") == [
        ("a.x.test", 1), ("b.x.test", 1), ("c.y.test", 2),
    ]  # fmt: skip


def test_the_first_url_with_a_document_owns_it(store: Store) -> None:
    store.writer.commit(Batch(candidates=[candidate("a.test", n) for n in (1, 2)]), store.now)
    batch = Batch()
    batch.settle(settlement(1, body=b"same"))
    batch.settle(settlement(2, body=b"same"))
    store.writer.commit(batch, store.now)

    assert store.loader.content_owners([b"same", b"other"]) == [1, None]


def test_the_clock_of_a_host_and_its_robots_come_back_with_its_record(store: Store) -> None:
    store.writer.commit(Batch(candidates=[candidate("a.test", 1)]), store.now)
    batch = Batch(hosts={HostId(1): HostClock(HostId(1), Instant(START + 9), 0.9, "10.0.0.1")})
    batch.robots = [RobotsRecord(Origin("http://a.test"), HostId(1), 200, Instant(START), Instant(START + 10), b"#")]
    store.writer.commit(batch, store.now)

    assert store.loader.resting_addresses(store.now) == [("10.0.0.1", START + 9)]
    assert store.loader.resting_addresses(Instant(START + 9)) == []
    assert store.rows("SELECT next_contact, last_took, address FROM hosts") == [(START + 9, 0.9, "10.0.0.1")]


def test_closing_the_writer_closes_the_files(store: Store) -> None:
    store.writer.close()

    assert store.captures.closed


def test_an_id_is_never_given_twice(store: Store) -> None:
    store.writer.commit(Batch(candidates=[candidate("a.test", n) for n in (1, 2, 2, 1, 3)]), store.now)
    assert store.rows("SELECT id, fingerprint FROM urls ORDER BY id") == [(1, 1), (2, 2), (5, 3)]

    with pytest.raises(StoreFailed):
        store.writer.commit(
            Batch(candidates=[candidate("a.test", n) for n in (4, 5)], answers={1: unanswerable}), store.now
        )
    store.writer.commit(Batch(candidates=[candidate("a.test", 6)]), store.now)
    assert store.rows("SELECT id FROM urls WHERE fingerprint > 3") == [(8,)]

    store.close()
    store.open()
    store.writer.commit(Batch(candidates=[candidate("a.test", 7)]), store.now)
    assert store.rows("SELECT id FROM urls WHERE fingerprint = 7") == [(9,)]


def test_commits_are_numbered_without_a_gap_over_failures_and_restarts(store: Store) -> None:
    numbers = [store.writer.commit(Batch(candidates=[candidate("a.test", 1)]), store.now).number]
    with pytest.raises(StoreFailed):
        store.writer.commit(Batch(candidates=[candidate("a.test", 2)], answers={1: unanswerable}), store.now)
    numbers.append(store.writer.commit(Batch(candidates=[candidate("a.test", 2)]), store.now).number)
    store.close()
    store.open()
    numbers.append(store.writer.commit(Batch(candidates=[candidate("a.test", 3)]), store.now).number)

    assert numbers == [1, 2, 3]
    assert store.loader.load(LoadRequest((), ())).number == 3


def test_visits_count_answers_and_changes_count_other_content_than_before(store: Store) -> None:
    store.writer.commit(Batch(candidates=[candidate("a.test", 1)]), store.now)
    seen = []
    for body in (b"one", b"one", b"two", None, b"two", b"one"):
        store.writer.commit(Batch(settlements=[settlement(1, body=body)]), store.now)
        seen += store.rows("SELECT visits, changes FROM urls")

    assert seen == [(1, 0), (2, 0), (3, 1), (3, 1), (4, 1), (5, 2)]


def test_requests_count_for_the_domain_and_its_suffix(store: Store) -> None:
    found = [candidate("a.x.test", 1), candidate("y.test", 2), candidate("z.org", 3)]
    store.writer.commit(Batch(candidates=found), store.now)
    for _ in range(2):
        batch = Batch(counters=Counter(fetched=1), page_requests=Counter({1: 3, 2: 1, 3: 5}))
        store.writer.commit(batch, store.now)

    assert store.loader.suffix_visits() == {1: 8, 2: 10}
    assert store.rows("SELECT suffix FROM suffixes ORDER BY id") == [("test",), ("org",)]


def test_by_score_the_entry_of_a_retired_host_is_as_good_as_its_best_url(tables: AnyTables) -> None:
    store = Store(tables, DepthFirst())
    store.writer.commit(Batch(candidates=[candidate("a.test", n) for n in (1, 2, 3)]), store.now)
    assert fronts(store) == {(1, 0): -3.0}

    later = settlement(2, UrlState.QUEUED)._replace(available_at=Instant(store.now + 5))
    batch = Batch(settlements=[settlement(3, UrlState.STORED), later], retired=[RetiredHost(HostId(1), store.now)])
    committed = store.writer.commit(batch, store.now)

    assert fronts(store) == {(1, 0): -1.0, (1, 1): store.now + 5}
    assert sorted(committed.touched) == [(1, 0, -1.0), (1, 1, store.now + 5)]
    store.close()


def test_by_score_a_retired_host_that_rests_waits_for_its_date(tables: AnyTables) -> None:
    store = Store(tables, DepthFirst())
    store.writer.commit(Batch(candidates=[candidate("a.test", n) for n in (1, 2)]), store.now)
    until = Instant(store.now + 30)

    committed = store.writer.commit(Batch(retired=[RetiredHost(HostId(1), until)]), store.now)

    assert fronts(store) == {(1, 1): until}
    assert committed.touched == [(1, 1, until)]
    assert store.value("SELECT next_contact FROM hosts") == until
    store.close()


def test_by_score_stamps_are_not_taken_for_scores_on_opening(tables: AnyTables) -> None:
    store = Store(tables, Ordering())
    store.writer.commit(Batch(candidates=[candidate("a.test", 1)]), store.now)
    store.close()
    ordering = DepthFirst()
    reorder_tables(store.tables, ordering.name, ordering, Instant(store.now + 1))
    clock = VirtualClock(START - 3600)

    writer = TableWriter(store.tables.open_writer(), store.captures, domain_of, ordering, clock)
    writer.commit(Batch(candidates=[candidate("a.test", 2)]), clock.now())
    writer.close()

    store.open()
    assert store.rows("SELECT place FROM urls ORDER BY id") == [(-1.0,), (-2.0,)]
    assert START - 3600 < float(str(store.value("SELECT available_at FROM urls WHERE id = 2"))) < START - 3599
    store.close()
