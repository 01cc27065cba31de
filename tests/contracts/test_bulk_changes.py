"""Orders: URLs go where they say, and every counter is right afterwards, online and at rest."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from gossamer.backends.sqlite.driver import SqliteDatabase, open_for_writing
from gossamer.crawl.visit.settle import Counters
from gossamer.model.batch import Batch, BulkChange
from gossamer.model.states import UrlState
from gossamer.model.units import HostId, Instant
from gossamer.reports.records import Json
from gossamer.reports.table.status import StatusQueries
from gossamer.store.table.bulk_changes import apply_changes
from tests.backends.sqlite.sqlite_store import START, AnyTables, Store, candidate, settlement, sqlite_only

REASONS = ("depth_limit", "depth_limit", "host_dropped")


@pytest.fixture
def store(tables: AnyTables) -> Iterator[Store]:
    """URLs 1 and 2 are excluded because of their depth, 3 with its host, 4 is dead, 5 is queued."""
    store = Store(tables)
    store.writer.commit(Batch(candidates=[candidate("a.test", n) for n in range(1, 6)]), store.now)
    batch = Batch(settlements=[settlement(4, UrlState.DEAD)._replace(reason="conn_refused", tries=3)])
    for url_id, reason in enumerate(REASONS, start=1):
        batch.settle(settlement(url_id, UrlState.EXCLUDED)._replace(reason=reason))
        batch.counters["excluded:" + reason] += 1
    store.writer.commit(batch, store.now)
    yield store
    store.close()


def states_of(store: Store) -> dict[str, int]:
    """The counters of the states ought to say this."""
    rows = store.rows("SELECT state, count(*) FROM urls GROUP BY state")
    return {UrlState(int(str(state))).word: int(str(n)) for state, n in rows}


def check_counters(store: Store) -> Json:
    found = StatusQueries(store.reading).totals()
    states = found["states"]
    assert isinstance(states, dict)
    assert {state: n for state, n in states.items() if n} == states_of(store)
    return found


def test_what_is_given_back_is_not_counted_as_excluded_any_more(store: Store) -> None:
    tally = Counters(dict(store.db.execute("SELECT name, value FROM counters")))
    order = BulkChange((1, 2, 3, 5), UrlState.EXCLUDED, UrlState.QUEUED, reasons=("depth_limit",))

    committed = store.writer.commit(Batch(bulk_changes=[order]), store.now)
    tally.committed(committed)

    assert order.changed == 2
    assert committed.restored_hosts == {HostId(1)}
    assert check_counters(store)["excluded"] == {"host_dropped": 1} == tally.by_reason("excluded")
    assert tally.total["state:queued"] == 3


def test_what_is_dropped_is_counted_with_its_reason(store: Store) -> None:
    tally = Counters(dict(store.db.execute("SELECT name, value FROM counters")))

    committed = store.writer.commit(
        Batch(bulk_changes=[BulkChange((4,), UrlState.DEAD, UrlState.EXCLUDED, (), "dropped")]), store.now
    )
    tally.committed(committed)

    expected = {"depth_limit": 2, "host_dropped": 1, "dropped": 1}
    assert check_counters(store)["excluded"] == expected == tally.by_reason("excluded")


@sqlite_only
def test_an_order_at_rest_does_what_one_does_while_the_crawl_runs(store: Store, tmp_path: Path) -> None:
    columns = "SELECT id, state, tries, available_at, front, place, priority, reason FROM urls ORDER BY id"
    counters = "SELECT name, value FROM counters WHERE name <> 'commits' AND value <> 0 ORDER BY name"
    fronts = "SELECT host_id, front FROM fronts"

    def orders() -> list[BulkChange]:
        return [
            BulkChange((1, 2, 3), UrlState.EXCLUDED, UrlState.QUEUED, reasons=("depth_limit",)),
            BulkChange((4,), UrlState.DEAD, UrlState.QUEUED),
        ]

    store.close()
    copy = tmp_path / "copy.db"
    copy.write_bytes(store.path.read_bytes())
    store.open()
    stamp = store.writer.commit(Batch(bulk_changes=orders()), Instant(START + 9)) and store.value(
        "SELECT max(place) FROM urls"
    )
    with closing(open_for_writing(copy)) as db:
        database = SqliteDatabase(db)
        with database.transaction():
            done = apply_changes(database, orders(), store.ordering.standing, Instant(float(str(stamp))))

        assert done == 3
        for rows in (columns, counters, fronts):
            assert db.execute(rows).fetchall() == store.rows(rows)
    check_counters(store)


def test_an_order_that_no_url_may_follow_is_refused(store: Store) -> None:
    with pytest.raises(ValueError, match="no order may move a URL from excluded to dead"):
        store.writer.commit(Batch(bulk_changes=[BulkChange((1,), UrlState.EXCLUDED, UrlState.DEAD)]), store.now)
