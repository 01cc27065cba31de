"""The table of addresses that workers share: its leases and its size. `tests/contracts/test_gates_contract.py` has the
rest."""

import os
from collections.abc import Iterator

import pytest

from gossamer.model.units import Instant
from gossamer.workers.shared_gates import ASK_AGAIN, BUCKETS, LEASE, SLOTS, SharedGates, make_table

NOW = Instant(1_000.0)


def later(seconds: float) -> Instant:
    return Instant(NOW + seconds)


@pytest.fixture
def table() -> Iterator[int]:
    made = make_table()
    yield made
    os.close(made)


def test_what_a_dead_worker_held_is_free_and_rests(table: int) -> None:
    one, two, supervisor = SharedGates(table, 1), SharedGates(table, 2), SharedGates(table, 0)
    one.acquire("192.0.2.1", NOW)
    one.acquire("192.0.2.2", later(1))
    two.acquire("192.0.2.3", NOW)

    assert supervisor.release_worker(1, lambda began: Instant(began + 10)) == 2
    assert two.acquire("192.0.2.1", later(2)) == later(10)
    assert two.acquire("192.0.2.2", later(2)) == later(11)
    assert one.acquire("192.0.2.3", later(2)) == later(2) + ASK_AGAIN


def test_an_address_that_is_never_released_is_free_after_its_lease(table: int) -> None:
    one, two = SharedGates(table, 1), SharedGates(table, 2)
    one.acquire("192.0.2.1", NOW)

    assert two.acquire("192.0.2.1", later(LEASE - 1)) is not None
    assert two.acquire("192.0.2.1", later(LEASE)) is None


def test_with_more_addresses_than_slots_some_have_to_wait(table: int) -> None:
    one, two = SharedGates(table, 1), SharedGates(table, 2)
    addresses = [f"2001:db8::{n:x}" for n in range(2 * BUCKETS * SLOTS)]
    held = [address for address in addresses if one.acquire(address, NOW) is None]
    waiting = sorted(set(addresses) - set(held))

    assert 0.9 * BUCKETS * SLOTS < len(held) <= BUCKETS * SLOTS
    assert [address for address in held if two.acquire(address, NOW) is None] == []
    for address in held:
        one.release(address, NOW)
    assert two.acquire(waiting[0], NOW) is None


def test_slots_are_used_again_when_they_say_nothing_any_more(table: int) -> None:
    one = SharedGates(table, 1)
    for n in range(3 * BUCKETS):
        moment = later(n)
        address = f"198.51.100.{n}"
        assert one.acquire(address, moment) is None
        one.release(address, Instant(moment + 1))
        assert one.acquire(address, Instant(moment + 0.5)) == moment + 1
