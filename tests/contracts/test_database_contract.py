"""The `Database` port: transactions, snapshots and named statements mean the same in every backend."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from threading import Barrier

import pytest

from gossamer.errors import StoreFailed
from gossamer.store.ports import Database
from tests.backends.table_store import AnyTables


@pytest.fixture
def db(tables: AnyTables) -> Iterator[Database]:
    with closing(tables.open_writer()) as opened:
        yield opened


@pytest.fixture
def reader(tables: AnyTables, db: Database) -> Iterator[Database]:
    with closing(tables.open_reader()) as opened:
        yield opened


def test_new_tables_are_empty(db: Database) -> None:
    assert db.fetch_all("seeds") == []
    assert db.fetch_one("suffix_by_name", "test") is None
    assert db.fetch_each("host_by_name", [("a.test",), ("b.test",)]) == [[], []]
    assert db.fetch_value("fact", "order") is None
    assert db.fetch_value("last_url") == 0
    assert db.read_rows("fronts_of", [(1,), (2,)]) == []


def test_a_row_that_is_inserted_has_the_next_id(db: Database) -> None:
    assert [db.insert("add_suffix", suffix) for suffix in ("com", "org", "net")] == [1, 2, 3]
    assert db.fetch_value("suffix_by_name", "org") == 2


def test_a_statement_says_how_many_rows_it_changed(db: Database) -> None:
    db.write_rows("set_fact", [("one", "1"), ("two", "2")])

    assert db.execute("forget_fact", "one") == 1
    assert db.execute("forget_fact", "one") == 0


@pytest.mark.parametrize("number", [0, 1, 3, 4, 31, 300, 1000])
def test_any_number_of_rows_is_written_in_order(db: Database, number: int) -> None:
    rows = [(f"counter {n % 7}", n) for n in range(number)]

    db.write_rows("count", rows)
    totals = dict(db.fetch_all("counters"))
    assert totals == {
        f"counter {rest}": sum(n for n in range(number) if n % 7 == rest) for rest in range(min(7, number))
    }

    assert db.write_rows("set_fact", [(f"fact {n}", str(n)) for n in range(number)]) == number
    db.write_rows("set_fact", [("last", str(n)) for n in range(number)])
    assert db.fetch_value("fact", "last") == (str(number - 1) if number else None)


def test_rows_are_read_for_many_keys_at_once(db: Database) -> None:
    host_id, domain_id = _host(db)
    urls = [f"http://a.test/{n}?ä" for n in range(1, 501)]
    db.write_rows("add_url", [_url(n, host_id, domain_id, url) for n, url in enumerate(urls, 1)])

    found = db.read_rows("hosts_of", [(n,) for n in (500, 3, 9999, 1, *range(10, 300))])

    assert {tuple(row) for row in found} == {(n, host_id) for n in (500, 3, 1, *range(10, 300))}


def test_what_is_asked_for_several_times_is_answered_in_that_order(db: Database) -> None:
    host_id, domain_id = _host(db)
    places = {n: n / 10 for n in range(1, 301)}
    urls = [_url(n, host_id, domain_id, f"http://a.test/{n}", place=place) for n, place in places.items()]
    db.write_rows("add_url", urls)

    asked = [(host_id, 0, after, 0, most) for after, most in ((29.05, 9), (0.05, 2), (99.0, 9), (1.15, 1), (0.05, 2))]
    found = db.fetch_each("host_queue", asked)

    assert [[row[0] for row in rows] for rows in found] == [[*range(291, 300)], [1, 2], [], [12], [1, 2]]
    assert found[1][0][4] == places[1]
    assert db.fetch_each("host_queue", []) == []


def test_values_come_back_as_they_were(db: Database) -> None:
    host_id, domain_id = _host(db)
    text, largest, place = "http://a.test/\N{SNOWMAN}%20'\"", 2**63 - 1, 0.1 + 0.2
    db.write_rows("add_url", [_url(1, host_id, domain_id, text, fingerprint=-largest, place=place)])
    db.write_rows("save_signature", [(1, bytes(range(256)), None, None)])

    step = db.fetch_one("step_back", 1)
    assert step is not None and step[0] == text
    assert db.read_rows("sources_of", [(1,)])[0][1] == -largest
    assert db.fetch_value("place_of", 1) == place
    assert db.fetch_all("originals_after", 0, 9)[0][2] == bytes(range(256))


def test_a_list_is_one_value(db: Database) -> None:
    host_id, domain_id = _host(db)
    db.write_rows("add_url", [_url(n, host_id, domain_id, f"http://a.test/{n}") for n in range(1, 6)])
    for number, reason in enumerate(("dropped", "scope", "scope", "robots", "it's"), 1):
        db.execute("give_up", 6, reason, number)

    assert [row[0] for row in db.fetch_all("excluded", 0, 10, ["scope", "it's"])] == [2, 3, 5]
    assert db.fetch_all("excluded", 0, 10, []) == []


def test_a_transaction_is_seen_by_others_when_it_is_committed(db: Database, reader: Database) -> None:
    with db.transaction():
        db.write_rows("set_fact", [("order", "bfs")])
    assert reader.fetch_value("fact", "order") == "bfs"


def test_a_block_that_fails_leaves_no_trace(db: Database, reader: Database) -> None:
    db.write_rows("set_fact", [("order", "bfs")])

    def fail() -> None:
        with db.transaction():
            db.write_rows("set_fact", [("order", "dfs"), ("other", "1")])
            db.insert("add_suffix", "com")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()

    for each in (db, reader):
        assert each.fetch_value("fact", "order") == "bfs"
        assert each.fetch_value("fact", "other") is None
        assert each.fetch_value("suffix_by_name", "com") is None


def test_a_statement_that_fails_takes_its_transaction_with_it(db: Database, reader: Database) -> None:
    def fail() -> None:
        with db.transaction():
            db.write_rows("set_fact", [("order", "dfs")])
            db.write_rows("count", [("pages", None)])  # not a number

    with pytest.raises(StoreFailed):
        fail()

    assert reader.fetch_value("fact", "order") is None
    with db.transaction():  # and the next one can begin
        db.write_rows("set_fact", [("order", "bfs")])
    assert reader.fetch_value("fact", "order") == "bfs"


def test_a_reader_cannot_write(reader: Database) -> None:
    with pytest.raises(StoreFailed):
        reader.write_rows("set_fact", [("order", "bfs")])


def test_a_closed_connection_fails_as_the_store_does(tables: AnyTables) -> None:
    db = tables.open_writer()
    db.close()

    with pytest.raises(StoreFailed):
        db.fetch_value("last_url")


def test_what_was_committed_is_there_when_the_tables_are_opened_again(tables: AnyTables) -> None:
    with closing(tables.open_writer()) as db:
        db.write_rows("set_fact", [("order", "bfs")])

    with closing(tables.open_writer()) as db:
        assert db.fetch_value("fact", "order") == "bfs"


def test_a_snapshot_sees_one_commit_while_another_thread_commits(tables: AnyTables, db: Database) -> None:
    """The writer changes two facts together; whoever reads both in a snapshot finds them equal."""
    db.write_rows("set_fact", [("one", "0"), ("two", "0")])
    both_run = Barrier(2)

    def write() -> None:
        both_run.wait()
        for number in range(200):
            with db.transaction():
                db.write_rows("set_fact", [("one", str(number))])
                db.write_rows("set_fact", [("two", str(number))])

    def read() -> list[tuple[str, str]]:
        found = []
        with closing(tables.open_reader()) as reader:
            both_run.wait()
            for _ in range(200):
                with reader.snapshot():
                    found.append((reader.fetch_value("fact", "one"), reader.fetch_value("fact", "two")))
        return found

    with ThreadPoolExecutor(2) as threads:
        writing, reading = threads.submit(write), threads.submit(read)
        writing.result()
        pairs = reading.result()

    assert all(one == two for one, two in pairs)
    assert [int(one) for one, _ in pairs] == sorted(int(one) for one, _ in pairs)


def _host(db: Database) -> tuple[int, int]:
    db.write_rows("add_domain", [("a.test", 1, db.insert("add_suffix", "test"))])
    ((domain_id,),) = db.fetch_each("domain_by_name", [("a.test",)])[0]
    db.write_rows("add_host", [("a.test", 0, domain_id)])
    return db.fetch_each("host_by_name", [("a.test",)])[0][0]


def _url(
    number: int, host_id: int, domain_id: int, url: str, fingerprint: int | None = None, place: float = 1.0
) -> tuple[object, ...]:
    mark = number if fingerprint is None else fingerprint
    return (number, host_id, domain_id, mark, url, 0, 1.0, place, 0.5, 1, 0, 1, 0, 1.0, 0, None, 0, 0)
