"""Address gates between workers: one worker at a time contacts an address, and none before its rest is over.

A refusal without a reason is allowed, so these tests ask again when they are told to.
"""

import random

from gossamer.frontier.ports import OtherWorkers
from gossamer.model.units import Instant

NOW = Instant(1_000.0)
ADDRESS, ANOTHER = "192.0.2.1", "2001:db8::1"
PATIENCE = 20.0


def later(seconds: float) -> Instant:
    return Instant(NOW + seconds)


def acquired(gates: OtherWorkers, address: str, now: Instant) -> Instant | None:
    """When the address was acquired, asking from `now` on for some time; None: never."""
    end = now + PATIENCE
    while now < end:
        again = gates.acquire(address, now)
        if again is None:
            return now
        assert again > now
        now = again
    return None


def test_one_worker_at_a_time_has_an_address(gates: tuple[OtherWorkers, OtherWorkers]) -> None:
    one, two = gates
    assert acquired(one, ADDRESS, NOW) is not None

    assert acquired(two, ADDRESS, NOW) is None
    assert acquired(two, ANOTHER, NOW) is not None
    one.release(ADDRESS, NOW)
    assert acquired(two, ADDRESS, later(1)) is not None


def test_an_address_rests_for_all_workers(gates: tuple[OtherWorkers, OtherWorkers]) -> None:
    one, two = gates
    acquired(one, ADDRESS, NOW)
    one.release(ADDRESS, later(9))

    for worker in (one, two):
        at = acquired(worker, ADDRESS, later(1))
        assert at is not None and at >= later(9)
        worker.release(ADDRESS, later(9))


def test_rests_from_before_are_known_to_all(gates: tuple[OtherWorkers, OtherWorkers]) -> None:
    one, two = gates
    one.close_until(ADDRESS, later(9), NOW)
    one.close_until(ADDRESS, later(3), NOW)

    at = acquired(two, ADDRESS, later(4))

    assert at is not None and at >= later(9)


def test_a_rest_does_not_free_an_address_that_is_held(gates: tuple[OtherWorkers, OtherWorkers]) -> None:
    one, two = gates
    acquired(one, ADDRESS, NOW)
    two.close_until(ADDRESS, later(2), NOW)

    assert acquired(two, ADDRESS, later(3)) is None
    one.release(ADDRESS, later(1))
    assert acquired(two, ADDRESS, later(3)) is not None


def test_a_worker_cannot_release_what_another_holds(gates: tuple[OtherWorkers, OtherWorkers]) -> None:
    one, two = gates
    acquired(one, ADDRESS, NOW)
    two.release(ADDRESS, later(50))

    assert acquired(two, ADDRESS, later(1)) is None
    one.release(ADDRESS, NOW)
    assert acquired(two, ADDRESS, later(1)) == later(1)  # and the rest of 50 seconds was not taken


def test_whatever_two_workers_do_no_contacts_overlap_and_every_rest_is_kept(
    gates: tuple[OtherWorkers, OtherWorkers],
) -> None:
    chance = random.Random(11)
    now = NOW
    holder: dict[str, int] = {}
    rests: dict[str, float] = {}
    contacts = 0
    for _ in range(2_000):
        now = Instant(now + chance.random())
        worker, address = chance.randrange(2), chance.choice((ADDRESS, ANOTHER))
        if holder.get(address) == worker:
            rests[address] = now + chance.random() * 3
            gates[worker].release(address, Instant(rests[address]))
            del holder[address]
        elif gates[worker].acquire(address, now) is None:
            assert address not in holder
            assert now >= rests.get(address, 0.0)
            holder[address] = worker
            contacts += 1

    assert contacts > 200
