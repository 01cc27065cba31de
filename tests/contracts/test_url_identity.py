"""Which URLs are one, and which missing ones are asked again."""

from collections.abc import Iterator

import pytest

from gossamer.model.batch import Batch
from gossamer.model.states import UrlState
from gossamer.model.units import Instant, Seconds
from tests.backends.table_store import AnyTables, Store, candidate, settlement


@pytest.fixture
def store(tables: AnyTables) -> Iterator[Store]:
    store = Store(tables)
    yield store
    store.close()


def test_hosts_of_one_domain_share_identities_so_that_a_minimised_form_can_join_them(store: Store) -> None:
    first = store.writer.commit(Batch(candidates=[candidate("a.test", 7)]), store.now)
    second = store.writer.commit(Batch(candidates=[candidate("www.a.test", 7)]), store.now)

    assert (first.new_urls, second.new_urls) == (1, 0)
    assert store.value("SELECT count(*) FROM urls") == 1


def test_the_same_fingerprint_in_another_domain_is_another_url(store: Store) -> None:
    committed = store.writer.commit(Batch(candidates=[candidate("a.test", 7), candidate("b.test", 7)]), store.now)

    assert committed.new_urls == 2


def missing(store: Store, number: int, until: float) -> None:
    again = settlement(number, UrlState.MISSING)._replace(available_at=Instant(until), tries=1)
    store.writer.commit(Batch(settlements=[again]), store.now)


def test_missing_urls_whose_date_has_come_are_queued_with_the_tries_they_had(store: Store) -> None:
    store.writer.commit(Batch(candidates=[candidate("a.test", n) for n in (1, 2)]), store.now)
    missing(store, 1, store.now + 10)
    missing(store, 2, store.now + 99)
    store.clock.advance(Seconds(20.0))

    assert store.writer.requeue_missing(store.now) == 1

    assert store.rows("SELECT id, state, tries FROM urls ORDER BY id") == [
        (1, UrlState.QUEUED, 1),
        (2, UrlState.MISSING, 1),
    ]
    assert store.rows("SELECT name, value FROM counters WHERE name LIKE 'state:%' ORDER BY name") == [
        ("state:missing", 1),
        ("state:queued", 1),
    ]
    assert store.value("SELECT count(*) FROM fronts WHERE place <= ?", store.now + 1) == 1


def test_nothing_is_queued_when_nothing_is_due(store: Store) -> None:
    store.writer.commit(Batch(candidates=[candidate("a.test", 1)]), store.now)
    missing(store, 1, store.now + 10)

    assert store.writer.requeue_missing(store.now) == 0
