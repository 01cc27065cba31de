"""Putting the whole queue in order for another ordering."""

import pytest

from gossamer.errors import StoreFailed
from gossamer.frontier.orderings import ORDERINGS, Ordering
from gossamer.frontier.orderings.mercator import Mercator
from gossamer.frontier.orderings.ordering import Importance, Novelty
from gossamer.model.batch import Batch
from gossamer.model.facts import UrlFacts
from gossamer.model.states import UrlState
from gossamer.model.units import Instant, Seconds
from gossamer.store.table import priorities
from gossamer.store.table.metadata import Metadata
from gossamer.store.table.writer import TableWriter
from tests.backends.table_store import (
    AnyTables,
    Rows,
    Store,
    candidate,
    domain_of,
    links_of,
    reorder_tables,
    settlement,
)

HOSTS = ["a.x.test", "b.x.test", "y.test"]


@pytest.fixture
def store(tables: AnyTables) -> Store:
    """A crawl by score with links between its URLs; some are fetched, one waits for a date."""
    store = Store(tables, Novelty())
    for number in range(1, 61):
        store.clock.advance(Seconds(1.0))
        batch = Batch(candidates=[candidate(HOSTS[number % 3], number, front=number % 3)])
        if number > 20:
            page = number - 20
            links = [(HOSTS[n % 3], n) for n in (number, number - 1, number - 7)]
            batch.settle(settlement(page, UrlState.STORED, 1 + (page - 1) % 3))
            batch.links.append(links_of(page, 1 + page % 3 // 2, *links))
        store.writer.commit(batch, store.now)
    store.clock.advance(Seconds(1.0))
    later = settlement(60, UrlState.QUEUED, 1)._replace(available_at=Instant(store.now + 99), reason="slow")
    store.writer.commit(Batch(settlements=[later]), store.now)
    store.close()
    reorder_tables(store.tables, "novelty", Novelty(), store.now)
    return store


def queue(tables: AnyTables) -> list[tuple[object, ...]]:
    db = Rows(tables.open_writer())
    columns = "id, url, depth, links, links_from_others, credit, visits, changes, link_sum, steps, ordinal"
    columns += ", front, place, priority, available_at"
    rows = db.execute(f"SELECT {columns} FROM urls WHERE state = 0 ORDER BY id")
    db.close()
    return rows


def entries(tables: AnyTables) -> list[tuple[object, ...]]:
    db = Rows(tables.open_writer())
    rows = db.execute("SELECT host_id, front, place FROM fronts ORDER BY 1, 2")
    truth = "SELECT host_id, front, min(place) FROM urls WHERE state = 0 GROUP BY 1, 2 ORDER BY 1, 2"
    assert rows == db.execute(truth)
    db.close()
    return rows


@pytest.mark.parametrize("name", list(ORDERINGS))
def test_every_queued_url_stands_where_the_new_ordering_wants_it(store: Store, name: str) -> None:
    ordering = ORDERINGS[name]()

    changed = reorder_tables(store.tables, name, ordering, store.now)

    assert changed is (name != "novelty")
    rows = queue(store.tables)
    assert len(rows) == 20
    for *learnt, front, place, priority, available_at in rows:
        facts = UrlFacts(*learnt)  # type: ignore[arg-type]
        wanted = ordering.standing(facts)
        assert priority == wanted.priority
        if facts.url_id == 60:
            assert (front, place) == (ordering.front_until_due(wanted.front), store.now + 99)
        else:
            assert (front, place) == (wanted.front, available_at if wanted.place is None else wanted.place)
    assert entries(store.tables)


def test_there_and_back_again_changes_nothing(store: Store) -> None:
    before = (queue(store.tables), entries(store.tables))

    reorder_tables(store.tables, "mercator", Mercator(), store.now)
    assert (queue(store.tables), entries(store.tables)) != before
    reorder_tables(store.tables, "novelty", Novelty(), store.now)

    assert (queue(store.tables), entries(store.tables)) == before


def test_progress_is_told_until_all_are_done(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(priorities, "CHUNK", 7)
    told: list[tuple[int, int]] = []

    reorder_tables(store.tables, "bfs", Ordering(), store.now, lambda done, total: told.append((done, total)))

    assert told == [(7, 20), (14, 20), (20, 20)]


class Killed(BaseException):
    """Stands for the end of the process."""


@pytest.mark.parametrize("chunks", [1, 2, 3])
def test_a_reordering_that_was_cut_short_is_done_again_whatever_the_next_ordering_is(
    store: Store, monkeypatch: pytest.MonkeyPatch, chunks: int
) -> None:
    before = (queue(store.tables), entries(store.tables))
    monkeypatch.setattr(priorities, "CHUNK", 7)

    def kill(done: int, total: int) -> None:
        if done >= min(7 * chunks, total):
            raise Killed

    with pytest.raises(Killed):
        reorder_tables(store.tables, "mercator", Mercator(), store.now, kill)

    db = store.tables.open_writer()
    assert Metadata(db).order() is None
    db.close()
    assert reorder_tables(store.tables, "novelty", Novelty(), store.now)
    assert (queue(store.tables), entries(store.tables)) == before


def test_a_writer_goes_on_under_the_new_ordering(store: Store) -> None:
    reorder_tables(store.tables, "importance", Importance(), store.now)
    writer = TableWriter(store.tables.open_writer(), store.captures, domain_of, Importance(), store.clock)

    done = settlement(45, UrlState.STORED, 1)
    committed = writer.commit(Batch(settlements=[done], links=[links_of(45, 1, ("y.test", 59))]), store.now)
    writer.close()

    ((_, url_id, front, place, priority),) = committed.moved
    row = next(row for row in queue(store.tables) if row[0] == url_id)
    assert row[11:14] == (front, place, priority) == (0, -priority, priority)


def test_urls_whose_date_has_come_join_the_order(store: Store) -> None:
    reorder_tables(store.tables, "importance", Importance(), Instant(store.now + 100))

    assert {row[11] for row in queue(store.tables)} == {0}


def test_an_empty_crawl_takes_any_ordering(tables: AnyTables) -> None:
    told: list[tuple[int, int]] = []

    assert reorder_tables(tables, "bfs", Ordering(), Instant(1.0), lambda *n: told.append(n))
    assert not reorder_tables(tables, "bfs", Ordering(), Instant(1.0))
    assert told == []


def test_what_the_database_refuses_is_a_failure_of_the_store(store: Store) -> None:
    db = Rows(store.tables.open_writer())
    db.execute("DROP TABLE fronts")
    db.close()

    with pytest.raises(StoreFailed):
        reorder_tables(store.tables, "bfs", Ordering(), store.now)


def test_other_weights_put_the_queue_in_order_anew(tables: AnyTables) -> None:
    store = Store(tables, Mercator())
    store.writer.commit(Batch(candidates=[candidate("a.test", n) for n in range(20)]), store.now)
    store.close()
    usual, flat = Mercator(), Mercator(bounds=(-99,))
    reorder_tables(store.tables, "mercator", usual, store.now, settings=usual.settings)

    assert not reorder_tables(store.tables, "mercator", usual, store.now, settings=usual.settings)
    assert reorder_tables(store.tables, "mercator", flat, store.now, settings=flat.settings)

    store.open()
    assert store.rows("SELECT DISTINCT front FROM urls") == [(0,)]
    store.close()
