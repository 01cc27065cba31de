"""What the store keeps of budgets and parameters."""

from collections.abc import Iterator

import pytest

from gossamer.model.batch import Batch, LearntParameter
from gossamer.model.units import HostId, HostKey
from gossamer.store.table.metadata import learned_parameters
from tests.backends.sqlite.sqlite_store import AnyTables, Store, candidate, settlement

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
