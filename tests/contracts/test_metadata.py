"""What the store keeps of budgets and parameters, and how a cut is lifted."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from gossamer.model.batch import Batch, LearntParameter
from gossamer.model.states import UrlState
from gossamer.model.units import HostId, HostKey, Instant
from gossamer.reports.table.status import StatusQueries
from gossamer.store.table.metadata import learned_parameters, lift_cuts
from tests.backends.sqlite.sqlite_store import START, AnyTables, Store, candidate, settlement

A = HostKey("a.test")
LEARNT = LearntParameter(A, "/view?*", "ref", 20, 5, False)


@pytest.fixture
def store(tables: AnyTables) -> Iterator[Store]:
    """Two hosts of one domain and one of another, with two URLs each."""
    store = Store(tables)
    hosts = ("a.test", "www.a.test", "b.test")
    store.writer.commit(Batch(candidates=[candidate(h, n) for n, h in enumerate(hosts * 2, start=1)]), store.now)
    yield store
    store.close()


def test_budgets_come_back_with_their_host(store: Store) -> None:
    store.writer.commit(Batch(budgets={HostId(1): "old", HostId(2): "two"}, settlements=[settlement(1)]), store.now)
    store.writer.commit(
        Batch(budgets={HostId(1): "one"}, domain_budgets={1: "domain"}, settlements=[settlement(2)]), store.now
    )

    records = [store.loader.find_host(HostKey(host)) for host in ("a.test", "www.a.test", "b.test")]

    found = [(each.record.budget, each.record.domain_budget) for each in records if each and each.record]
    assert found == [("one", "domain"), ("two", "domain"), (None, None)]


def test_what_stands_for_missing_pages_comes_back_with_its_host(store: Store) -> None:
    store.writer.commit(Batch(soft_404s={1: "old", 2: "two"}, settlements=[settlement(1)]), store.now)
    store.writer.commit(Batch(soft_404s={1: "one"}, settlements=[settlement(2)]), store.now)

    records = [store.loader.find_host(HostKey(host)) for host in ("a.test", "www.a.test", "b.test")]

    assert [each.record.soft_404 for each in records if each and each.record] == ["one", "two", None]


def test_parameters_are_learnt_refuted_and_learnt_again(store: Store) -> None:
    def told(*parameters: LearntParameter) -> list[LearntParameter]:
        store.writer.commit(Batch(parameters=list(parameters), settlements=[settlement(1)]), store.now)
        return learned_parameters(store.reading)

    assert told(LEARNT) == [LEARNT]
    assert told(LEARNT._replace(pairs=0, contents=0, refuted=True)) == [LEARNT._replace(refuted=True)]
    assert told(LEARNT._replace(pairs=31)) == [LEARNT._replace(pairs=31)]


def test_lifting_gives_back_what_was_cut_on_hosts_that_are_free_and_nothing_else(store: Store) -> None:
    excluded = settlement(1, UrlState.EXCLUDED)
    cuts = [
        excluded._replace(url_id=1, host_id=HostId(1), reason="trap:same"),
        excluded._replace(url_id=4, host_id=HostId(1), reason="robots_denied"),
        excluded._replace(url_id=2, host_id=HostId(2), reason="trap:alike"),
    ]
    batch = Batch(settlements=cuts)
    batch.counters.update(f"excluded:{cut.reason}" for cut in cuts)
    store.writer.commit(batch, store.now)
    store.close()

    with closing(store.tables.open_writer()) as db:
        lifted = lift_cuts(db, lambda host: host == A, store.ordering, Instant(START + 9))

    store.open()
    assert lifted == 1
    rows = store.rows("SELECT id, state, reason FROM urls WHERE id IN (1, 2, 4) ORDER BY id")
    assert rows == [(1, 0, None), (2, 6, "trap:alike"), (4, 6, "robots_denied")]
    assert store.value("SELECT value FROM counters WHERE name = 'state:queued'") == 4
    assert store.value("SELECT value FROM counters WHERE name = 'state:excluded'") == 2
    assert (1, 0) in store.rows("SELECT host_id, front FROM fronts")
    assert StatusQueries(store.reading).totals()["excluded"] == {"robots_denied": 1, "trap:alike": 1}


def test_with_no_cut_to_lift_nothing_changes(store: Store) -> None:
    store.close()

    with closing(store.tables.open_writer()) as db:
        assert lift_cuts(db, lambda host: True, store.ordering, Instant(START)) == 0
    store.open()
