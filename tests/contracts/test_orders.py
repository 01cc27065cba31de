"""Orders, settings and live status: what processes tell each other through the store."""

import json
from collections.abc import Iterator
from contextlib import closing

import pytest

from gossamer.errors import DiskFull, NotThisCrawl, StoreFailed
from gossamer.model.batch import Batch, SeedRecord
from gossamer.model.task import Via
from gossamer.model.units import HostKey, Instant, Url
from gossamer.store.table.orders import Answer, LiveRow, Order, OrderState, OrderTable, Settings
from gossamer.store.threads import ConnectionThread
from tests.backends.table_store import AnyTables, Store, candidate, not_in_memory, settlement, sqlite_only

NOW = Instant(1_700_000_000.0)


@pytest.fixture
def store(tables: AnyTables) -> Iterator[Store]:
    made = Store(tables)
    yield made
    made.close()


@pytest.fixture
def orders(store: Store, tables: AnyTables) -> Iterator[OrderTable]:
    with closing(tables.open_steering()) as db:
        yield OrderTable(db)


def test_orders_are_found_in_the_order_in_which_they_came_until_they_are_answered(
    store: Store, orders: OrderTable
) -> None:
    first, second = (orders.add(kind, json.dumps([kind]), NOW) for kind in ("seeds", "dead"))
    assert orders.new(10) == [Order(first, "seeds", '["seeds"]'), Order(second, "dead", '["dead"]')]
    assert orders.new(1) == orders.new(10)[:1] and orders.answer(first) is None

    store.writer.commit(Batch(answers={first: lambda _: "7"}), store.now)

    assert orders.new(10) == [Order(second, "dead", '["dead"]')]
    assert orders.answer(first) == Answer(OrderState.APPLIED, "7") and orders.answer(second) is None


def test_an_answer_may_tell_which_seeds_of_its_batch_are_new(store: Store, orders: OrderTable) -> None:
    def commit(order_id: int) -> object:
        url = Url("http://a.test/0/1")
        seeds = [SeedRecord(url, HostKey("a.test"), str(url), "here")]
        answers = {order_id: lambda new: json.dumps(sorted(new))}
        found = [candidate("a.test", 1)._replace(via=Via.SEED)]
        store.writer.commit(Batch(seeds=seeds, candidates=found, answers=answers), store.now)
        answer = orders.answer(order_id)
        return None if answer is None else json.loads(answer.text)

    assert commit(orders.add("seeds", "[]", NOW)) == ["http://a.test/0/1"]
    assert commit(orders.add("seeds", "[]", NOW)) == []


def test_an_order_stays_new_if_the_commit_with_its_effect_fails(store: Store, orders: OrderTable) -> None:
    store.writer.commit(Batch(candidates=[candidate("a.test", 1)]), store.now)
    order_id = orders.add("seeds", "[]", NOW)
    store.captures.flush_fails = True

    with pytest.raises(DiskFull):
        store.writer.commit(
            Batch(settlements=[settlement(1)], candidates=[candidate("a.test", 2)], answers={order_id: lambda _: "1"}),
            store.now,
        )

    assert [order.id for order in orders.new(10)] == [order_id]
    assert store.value("SELECT count(*) FROM urls") == 1


def test_a_worker_finds_the_orders_of_its_partitions(orders: OrderTable) -> None:
    ids = [orders.add("seeds", "[]", NOW, part=part) for part in (3, 5, 3, None)]

    assert [order.id for order in orders.new(10, [3])] == [ids[0], ids[2]]
    assert [order.id for order in orders.new(10, [5, 7])] == [ids[1]] and orders.new(10, []) == []
    assert [order.id for order in orders.new(10)] == ids


def test_an_order_is_withdrawn_unless_it_has_an_answer(store: Store, orders: OrderTable) -> None:
    late, done = orders.add("seeds", "[]", NOW), orders.add("seeds", "[]", NOW)
    store.writer.commit(Batch(answers={done: lambda _: "1"}), store.now)

    assert orders.withdraw(late) and not orders.withdraw(done)
    store.writer.commit(Batch(answers={late: lambda _: "1"}), store.now)

    assert orders.new(10) == [] and orders.answer(late) is None and orders.answer(done) is not None


def test_orders_whose_answers_were_read_or_are_old_are_removed_and_ids_are_not_given_again(
    store: Store, orders: OrderTable
) -> None:
    read, unread = orders.add("seeds", "[]", NOW), orders.add("seeds", "[]", NOW)
    store.writer.commit(Batch(answers={read: lambda _: "1", unread: lambda _: "1"}), store.now)

    new = orders.add("seeds", "[]", NOW, read=[read])
    assert orders.answer(read) is None and orders.answer(unread) is not None
    orders.clear(NOW)
    assert orders.answer(unread) is not None
    orders.clear(Instant(NOW + 1))

    assert orders.answer(unread) is None and [order.id for order in orders.new(10)] == [new]
    assert new > unread and orders.add("seeds", "[]", NOW) > new


def test_every_change_of_the_settings_has_a_higher_version_and_comes_with_its_orders(
    store: Store, tables: AnyTables
) -> None:
    with closing(tables.open_steering()) as db, closing(tables.open_reader(small=True)) as reading:
        settings, seen = Settings(db), Settings(reading)
        assert seen.read("limits") == (0, None)

        first = settings.change("limits", lambda old: f"{old}+", {}, NOW)
        second = settings.change("limits", lambda old: f"{old}+", {"readmit": '"a.test"'}, NOW)

        (order,) = OrderTable(reading).new(10)
        assert (first, second) == ((1, []), (2, [order.id])) and order.kind == "readmit"
        assert seen.read("limits") == (2, "None++")


def test_a_change_of_the_settings_that_fails_changes_nothing(store: Store, tables: AnyTables) -> None:
    def fails(old: str | None) -> str:
        raise ValueError("no such limit")

    with closing(tables.open_steering()) as db:
        with pytest.raises(ValueError, match="no such limit"):
            Settings(db).change("limits", fails, {"readmit": "1"}, NOW)
        assert Settings(db).read("limits") == (0, None) and OrderTable(db).new(10) == []


@not_in_memory
def test_two_processes_change_the_settings_one_after_the_other(store: Store, tables: AnyTables) -> None:
    with closing(tables.open_steering()) as one, closing(tables.open_steering()) as other:
        for turn in range(6):
            Settings(other if turn % 2 else one).change("limits", lambda old: f"{old or ''}x", {}, NOW)

        assert Settings(one).read("limits") == Settings(other).read("limits") == (6, "xxxxxx")


@not_in_memory
def test_orders_are_added_while_the_writer_has_its_connection_open(store: Store, orders: OrderTable) -> None:
    for number in range(5):
        store.writer.commit(Batch(candidates=[candidate("a.test", number)]), store.now)
        orders.add("seeds", "[]", NOW)

    assert len(orders.new(10)) == store.value("SELECT count(*) FROM urls") == 5


def test_a_live_status_is_replaced_read_and_cleared(store: Store, tables: AnyTables) -> None:
    first, second = (ConnectionThread(tables.open_steering, "live") for _ in range(2))
    with closing(LiveRow(first, "one")) as live, closing(LiveRow(second, "two")) as other:
        assert live.read() == []
        for status in (b'{"process": 1}', b"\xff\x00"):
            live.write(status)
            assert live.read() == other.read() == [status]
        other.write(b"its own")
        assert live.read() == other.read() == [b"\xff\x00", b"its own"]
        live.clear()

        assert live.read() == [b"its own"]


def test_a_live_status_that_cannot_be_kept_is_lost_without_an_error() -> None:
    def fails() -> None:
        raise StoreFailed("the server is gone")

    live = LiveRow(ConnectionThread(fails, "live"), "one")  # type: ignore[arg-type]

    live.write(b"status")
    live.clear()
    assert live.read() == []


@sqlite_only
def test_no_connection_for_steering_creates_tables(tables: AnyTables) -> None:
    with pytest.raises(NotThisCrawl, match="no crawl here"):
        tables.open_steering()
    assert not tables.exist()
