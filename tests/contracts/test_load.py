"""Reading what the frontier asks for: everything once, by an index."""

import math
import random
from collections.abc import Iterator

import pytest

from gossamer.backends.sqlite.driver import named_queries
from gossamer.errors import StoreFailed
from gossamer.model.batch import Batch, RetiredHost
from gossamer.model.facts import DomainFacts
from gossamer.model.loads import FrontLoaded, FrontRequest, HostLoaded, HostRequest, LoadRequest
from gossamer.model.states import UrlState
from gossamer.model.units import HostId, Instant, Seconds
from gossamer.store.table.loader import TableLoader
from tests.backends.sqlite.sqlite_store import START, AnyTables, Store, candidate, settlement, sqlite_only

READS = [
    *("front_window", "host_record", "host_robots", "host_queue", "resting_addresses", "content_owner"),
    *("fingerprints_after", "digests_after", "host_by_name", "domain_by_name", "front_truth", "last_url"),
    *("due_missing", "fact", "counters", "counter", "warc_files", "host_clock", "suffix_by_name", "place_of"),
    *("queued_after", "uncounted_pages", "urls_since", "resting_hosts_with_reasons"),
]
OF_MANY_ROWS = [
    *("settle_url", "fronts_of", "ask_again", "links_of", "sources_of", "count_links", "count_domain_links"),
    *("waiting_of", "move_url", "join_front", "set_host_clock", "count_accesses", "count_suffix_visits"),
    "count_moves",
]


@pytest.fixture
def store(tables: AnyTables) -> Iterator[Store]:
    store = Store(tables)
    yield store
    store.close()


def read_host(
    store: Store, cursor: tuple[float, int], count: int, *, host_id: int = 1, front: int = 0, due_by: float = math.inf
) -> HostLoaded:
    wanted = HostRequest(HostId(host_id), False, ((front, cursor, count),), Instant(due_by))
    return store.loader.load(LoadRequest((), (wanted,))).hosts[0]


def read_front(
    store: Store, cursor: tuple[float, int], count: int, *, front: int = 0, due_by: float = math.inf
) -> FrontLoaded:
    return store.loader.load(LoadRequest((FrontRequest(front, cursor, count, Instant(due_by)),), ())).fronts[0]


@sqlite_only  # the plans are those of the same engine
@pytest.mark.parametrize("name", READS)
@pytest.mark.parametrize("analysed", [False, True])
def test_every_query_of_a_reader_follows_an_index(store: Store, name: str, analysed: bool) -> None:
    found = [candidate(f"h{n % 50}.test", n, n % 3) for n in range(2000)]
    store.writer.commit(Batch(candidates=found), store.now)
    if analysed:
        store.writer_db.execute("ANALYZE")
    sql = named_queries("queries.sql")[name]

    plan = [str(row[3]) for row in store.rows("EXPLAIN QUERY PLAN " + sql, *[0] * sql.count("?"))]

    # These are read whole, once per start or commit; they have a few rows.
    whole = ("counters", "warc_files", "uncounted_pages")
    scans = [] if name in whole else [step for step in plan if step.startswith("SCAN")]
    assert plan
    assert scans == []
    assert [step for step in plan if "TEMP B-TREE" in step] == []


@sqlite_only
@pytest.mark.parametrize("name", OF_MANY_ROWS)
@pytest.mark.parametrize("analysed", [False, True])
def test_a_statement_of_many_rows_looks_each_row_up_by_an_index(store: Store, name: str, analysed: bool) -> None:
    found = [candidate(f"h{n % 50}.test", n, n % 3) for n in range(2000)]
    store.writer.commit(Batch(candidates=found), store.now)
    if analysed:
        store.writer_db.execute("ANALYZE")
    head, row, tail = named_queries("queries.sql")[name].split("(/*rows*/)")
    sql = head + ", ".join([row] * 20) + tail

    plan = [str(step[3]) for step in store.writer_db.execute("EXPLAIN QUERY PLAN " + sql, [0] * sql.count("?"))]

    # There are few suffixes, and a batch has few of them: which of the two is looked up in the other does not matter.
    scanned = [step for step in plan if step.startswith("SCAN")]
    assert [s for s in scanned if s not in ("SCAN new", "SCAN had", "SCAN suffixes", "SCAN 20 CONSTANT ROWS")] == []
    assert any(step.startswith("SEARCH") for step in plan)


@sqlite_only
def test_everything_of_a_load_is_of_one_commit_whatever_is_committed_meanwhile(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.writer.commit(Batch(candidates=[candidate("a.test", 1)]), store.now)
    read_front = TableLoader._front

    def commit_then_read(loader: TableLoader, wanted: FrontRequest) -> FrontLoaded:
        store.writer.commit(Batch(candidates=[candidate("a.test", 2), candidate("b.test", 3)]), store.now)
        return read_front(loader, wanted)

    monkeypatch.setattr(TableLoader, "_front", commit_then_read)
    order = LoadRequest(
        (FrontRequest(0, (-1.0, 0), 9, Instant(math.inf)),),
        (HostRequest(HostId(1), False, ((0, (-1.0, 0), 9),), Instant(math.inf)),),
    )

    loaded = store.loader.load(order)

    assert loaded.number == 1
    assert [host_id for _, host_id in loaded.fronts[0].entries] == [1]
    assert [task.url_id for _, tasks, _ in loaded.hosts[0].classes for task in tasks] == [1]
    assert store.loader.load(LoadRequest((), ())).number == 2


def test_a_queue_is_read_in_order_page_by_page(store: Store) -> None:
    for start in range(0, 50, 10):
        store.writer.commit(Batch(candidates=[candidate("a.test", n) for n in range(start, start + 10)]), store.now)

    pages = []
    cursor = (-1.0, 0)
    while True:
        ((_, tasks, next_due),) = read_host(store, cursor, 7).classes
        pages += [task.url_id for task in tasks]
        if next_due is not None:
            break
        cursor = (tasks[-1].place, tasks[-1].url_id)

    assert pages == list(range(1, 51))
    assert next_due == math.inf


def test_a_queue_is_read_without_a_gap_or_a_repetition_while_writes_go_on(store: Store) -> None:
    chance = random.Random(5)
    store.writer.commit(Batch(candidates=[candidate("a.test", n) for n in range(40)]), store.now)
    cursor, read, found = (-1.0, 0), [], 40

    for _ in range(200):
        ((_, tasks, next_due),) = read_host(store, cursor, 5, due_by=store.now).classes
        read += [task.url_id for task in tasks]
        if tasks:
            cursor = (tasks[-1].place, tasks[-1].url_id)
        store.clock.advance(Seconds(0.1))
        batch = Batch()
        for _ in range(chance.randrange(4) if found < 300 else 0):
            batch.candidates.append(candidate("a.test", found, chance.choice((0, 0, 1))))
            found += 1
        for url_id in chance.sample(read, min(2, len(read))):
            batch.settle(settlement(url_id, UrlState.STORED))
        if batch:
            store.writer.commit(batch, store.now)

    assert next_due is not None
    expected = [int(str(row[0])) for row in store.rows("SELECT id FROM urls WHERE front = 0 ORDER BY id")]
    assert read == expected


def test_what_is_not_due_is_not_read_but_its_date_is(store: Store) -> None:
    store.writer.commit(Batch(candidates=[candidate("a.test", n) for n in range(4)]), store.now)
    batch = Batch()
    for url_id, wait in ((1, 500.0), (2, 300.0)):
        batch.settle(settlement(url_id, UrlState.QUEUED)._replace(available_at=Instant(START + wait)))
    store.writer.commit(batch, store.now)

    ((_, tasks, next_due),) = read_host(store, (-1.0, 0), 10, due_by=START + 1).classes
    assert [task.url_id for task in tasks] == [3, 4]
    assert next_due == START + 300.0

    last = (tasks[-1].place, tasks[-1].url_id)
    ((_, tasks, next_due),) = read_host(store, last, 10, due_by=START + 300).classes
    assert [task.url_id for task in tasks] == [2]
    assert next_due == START + 500.0


def test_a_page_that_is_exactly_full_may_not_be_the_last(store: Store) -> None:
    store.writer.commit(Batch(candidates=[candidate("a.test", n) for n in range(3)]), store.now)

    ((_, tasks, next_due),) = read_host(store, (-1.0, 0), 3).classes
    assert (len(tasks), next_due) == (3, None)

    last = (tasks[-1].place, tasks[-1].url_id)
    assert read_host(store, last, 3).classes == [(0, [], math.inf)]


def test_a_host_without_a_url_of_the_class_has_nothing_to_wait_for(store: Store) -> None:
    store.writer.commit(Batch(candidates=[candidate("a.test", 1, front=1)]), store.now)

    assert read_host(store, (-1.0, 0), 3, front=2).classes == [(2, [], math.inf)]


def test_front_queues_are_read_in_order_window_by_window(store: Store) -> None:
    for n in range(25):
        store.clock.advance(Seconds(1.0))
        store.writer.commit(Batch(candidates=[candidate(f"h{n}.test", n, n % 2)]), store.now)

    window = read_front(store, (-1.0, 0), 8, front=1)
    assert [host_id for _, host_id in window.entries] == [2, 4, 6, 8, 10, 12, 14, 16]
    assert window.next_due is None

    rest = read_front(store, window.entries[-1], 8, front=1)
    assert [host_id for _, host_id in rest.entries] == [18, 20, 22, 24]
    assert rest.next_due == math.inf


def test_a_front_queue_says_when_its_next_entry_is_due(store: Store) -> None:
    store.writer.commit(Batch(candidates=[candidate("a.test", 1), candidate("b.test", 2)]), store.now)
    store.writer.commit(Batch(retired=[RetiredHost(HostId(1), Instant(START + 60))]), store.now)

    window = read_front(store, (-1.0, 0), 8, due_by=START + 1)

    assert [host_id for _, host_id in window.entries] == [2]
    assert window.next_due == START + 60


def test_a_record_is_read_when_it_is_asked_for(store: Store) -> None:
    store.writer.commit(Batch(candidates=[candidate("www.a.test", 1)]), store.now)
    wanted = HostRequest(HostId(1), True, (), store.now)

    loaded = store.loader.load(LoadRequest((), (wanted,))).hosts[0]

    assert loaded.record is not None
    assert loaded.record.host == "www.a.test"
    assert (loaded.record.next_contact, loaded.record.address, loaded.record.domain) == (0.0, None, DomainFacts())
    assert read_host(store, (-1.0, 0), 1).record is None


def test_all_fingerprints_and_digests_are_read_in_chunks(store: Store) -> None:
    numbers = [n * 7 - 300 for n in range(100)]
    store.writer.commit(Batch(candidates=[candidate("a.test", n) for n in numbers]), store.now)
    batch = Batch()
    for url_id in range(1, 31):
        batch.settle(settlement(url_id, body=b"%d" % url_id))
    store.writer.commit(batch, store.now)

    chunks = list(store.loader.fingerprints(chunk=33))
    assert [len(chunk) for chunk in chunks] == [33, 33, 33, 1]
    assert sorted(n for chunk in chunks for n in chunk) == numbers
    assert {d for chunk in store.loader.digests(chunk=7) for d in chunk} == {b"%d" % n for n in range(1, 31)}


def test_a_reader_cannot_write(store: Store) -> None:
    with pytest.raises(Exception, match="readonly"):
        store.db.execute("DELETE FROM urls")


def test_a_reader_whose_database_is_gone_is_a_failure_of_the_store(store: Store) -> None:
    store.writer.commit(Batch(candidates=[candidate("a.test", 1)]), store.now)
    broken = TableLoader(store.tables.open_reader())
    store.writer_db.execute("DROP TABLE fronts")

    with pytest.raises(StoreFailed):
        broken.load(LoadRequest((FrontRequest(0, (-1.0, 0), 1, store.now),), ()))
    broken.close()
