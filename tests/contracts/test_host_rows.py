"""What is kept of a host over a restart beside its clock: where it was, how it fails, and the state of its rules."""

from collections.abc import Iterator

import pytest

from gossamer.model.batch import Batch, HostClock, RobotsRecord
from gossamer.model.task import HostRecord, Via
from gossamer.model.units import HostId, HostKey, Instant, Origin
from tests.backends.table_store import START, AnyTables, Store, candidate

A = HostId(1)
ORIGIN = Origin("http://a.test")


@pytest.fixture
def store(tables: AnyTables) -> Iterator[Store]:
    store = Store(tables)
    store.writer.commit(Batch(candidates=[candidate("a.test", 1)]), store.now)
    yield store
    store.close()


def record(store: Store) -> HostRecord:
    found = store.loader.find_host(HostKey("a.test"))
    assert found is not None and found.record is not None
    return found.record


def contact(store: Store, resolved: str | None = None, trouble: str | None = None) -> None:
    clock = HostClock(A, Instant(START + 9), 0.9, "10.0.0.1", "minimum delay", resolved, trouble)
    store.writer.commit(Batch(hosts={A: clock}), store.now)


def test_a_host_that_nobody_has_met_is_not_found(store: Store) -> None:
    assert store.loader.find_host(HostKey("b.test")) is None


def test_a_host_is_found_by_its_name_with_its_clock(store: Store) -> None:
    contact(store)

    found = record(store)

    assert (found.host_id, found.next_contact, found.last_took) == (A, START + 9, 0.9)
    assert (found.resolved, found.failures) == (None, None)


def test_what_a_contact_does_not_say_stays_as_it_was(store: Store) -> None:
    contact(store, "1700000000:10.0.0.1", "2:1.0:2.0:conn_refused")
    contact(store)

    found = record(store)
    assert (found.resolved, found.failures) == ("1700000000:10.0.0.1", "2:1.0:2.0:conn_refused")


def test_trouble_ends_when_a_contact_says_so(store: Store) -> None:
    contact(store, trouble="2:1.0:2.0:conn_refused")
    contact(store, trouble="")

    assert record(store).failures is None


def robots(store: Store, status: int | None, body: bytes, at: float, since: float | None = None) -> RobotsRecord:
    unreachable = None if since is None else Instant(since)
    saved = RobotsRecord(ORIGIN, A, status, Instant(at), Instant(at + 60), body, unreachable)
    store.writer.commit(Batch(robots=[saved]), store.now)
    found = store.loader.find_host(HostKey("a.test"))
    assert found is not None
    return found.robots[0]


def test_a_file_that_cannot_be_had_leaves_what_was_known_of_it(store: Store) -> None:
    first = robots(store, 200, b"rules", START)
    then = robots(store, None, b"", START + 100, since=START + 100)
    again = robots(store, 404, b"", START + 200)

    assert first == RobotsRecord(ORIGIN, A, 200, Instant(START), Instant(START + 60), b"rules")
    assert then == RobotsRecord(ORIGIN, A, 200, Instant(START), Instant(START + 160), b"rules", Instant(START + 100))
    assert again == RobotsRecord(ORIGIN, A, 404, Instant(START + 200), Instant(START + 260), b"")


def test_the_redirects_that_led_to_a_url_are_told_back_to_where_they_began(store: Store) -> None:
    chain = [candidate("a.test", n, found_on=n - 1)._replace(via=Via.REDIRECT, hops=n) for n in (2, 3, 4)]
    for each in chain:
        store.writer.commit(Batch(candidates=[each]), store.now)

    assert store.loader.redirects_to(4, 10) == [3, 2, 1]
    assert store.loader.redirects_to(4, 2) == [3, 2]
    assert store.loader.redirects_to(1, 10) == []
