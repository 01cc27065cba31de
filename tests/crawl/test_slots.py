"""Fetch slots: late visits overflow, unproven hosts have a share, and everything is bounded."""

import random

import pytest

from gossamer.crawl.slots import FILES_FOR_OTHERS, LATE_AFTER, RETRY_AFTER, RETRY_SPACING, Slots, overflow_capacity
from gossamer.model.units import Instant

NOW = Instant(1_700_000_000.0)


def later(seconds: float) -> Instant:
    return Instant(NOW + seconds)


def full_of(visits: int, most: int, overflow: int, *, unproven: bool = False, took: float = 0.01) -> Slots[int]:
    slots: Slots[int] = Slots(most, overflow)
    for visit in range(visits):
        slots.take(visit, NOW, took, unproven=unproven)
    return slots


def test_a_late_visit_gives_its_slot_to_another_and_goes_on() -> None:
    slots = full_of(3, 3, 6)
    assert slots.is_full
    assert slots.overflow_late(later(LATE_AFTER - 0.01)) == 0

    assert slots.overflow_late(later(LATE_AFTER)) == 3

    assert (slots.is_full, slots.busy, len(slots)) == (False, 0.0, 3)
    assert sorted(slots.all) == [0, 1, 2]


def test_no_visit_overflows_while_slots_are_free() -> None:
    slots = full_of(2, 3, 6)

    assert slots.overflow_late(later(60.0)) == 0
    assert slots.busy == pytest.approx(2 / 3)


def test_a_slow_host_is_late_by_its_own_measure_but_not_one_in_doubt() -> None:
    slow, unproven = full_of(1, 1, 2, took=5.0), full_of(1, 1, 2, took=5.0, unproven=True)

    assert slow.overflow_late(later(14.0)) == 0
    assert slow.overflow_late(later(15.0)) == 1
    assert unproven.overflow_late(later(1.0)) == 1  # what it took to time out says nothing


def test_the_overflow_is_bounded() -> None:
    slots = full_of(4, 4, 6)
    assert slots.overflow_late(later(2.0)) == 4
    for visit in range(4, 8):
        slots.take(visit, later(2.0), 0.01, unproven=False)

    assert slots.overflow_late(later(9.0)) == 2
    for visit in range(8, 10):
        slots.take(visit, later(9.0), 0.01, unproven=False)
    assert slots.overflow_late(later(99.0)) == 0
    assert (slots.is_full, len(slots)) == (True, 10)


def test_unproven_hosts_may_use_every_slot_until_visits_are_late_and_half_of_them_then() -> None:
    slots = full_of(8, 8, 16, unproven=True)
    assert not slots.has_room_for_unproven()  # there is none for anybody
    slots.release(7)
    assert slots.has_room_for_unproven()

    slots.take(7, NOW, 0.0, unproven=True)
    slots.overflow_late(later(2.0))

    for visit in range(8, 12):
        assert slots.has_room_for_unproven()
        slots.take(visit, later(2.0), 0.0, unproven=True)
    assert not slots.has_room_for_unproven()
    assert not slots.is_full  # the other half is for those who answer


def test_hosts_without_room_come_back_in_turn_and_not_all_at_once() -> None:
    slots = full_of(0, 2, 4)

    first, second, third = (slots.retry_at(NOW) for _ in range(3))

    assert first == later(RETRY_AFTER)
    assert second - first == third - second == pytest.approx(RETRY_SPACING, abs=1e-6)
    assert slots.retry_at(later(60.0)) == later(60.0 + RETRY_AFTER)


@pytest.mark.parametrize(
    ("most", "files", "room"),
    [(80, 1_000_000, 160), (80, 1024, 160), (80, FILES_FOR_OTHERS + 100, 20), (80, 128, 0), (1, 1_000_000, 0)],
)
def test_the_overflow_is_bounded_by_open_files_and_empty_for_a_single_slot(most: int, files: int, room: int) -> None:
    assert overflow_capacity(most, files) == room


@pytest.mark.parametrize("seed", range(20))
def test_bounds_hold_whatever_comes(seed: int) -> None:
    chance, slots, out, now = random.Random(seed), Slots[int](6, 9), list[int](), 0.0
    for visit in range(500):
        now += chance.expovariate(2.0)
        unproven = chance.random() < 0.6
        if not slots.is_full and (not unproven or slots.has_room_for_unproven()):
            slots.take(visit, later(now), chance.choice((0.0, 0.1, 1.0)), unproven=unproven)
            out.append(visit)
        if out and chance.random() < 0.3:
            slots.release(out.pop(chance.randrange(len(out))))
        slots.overflow_late(later(now))
        assert sorted(slots.all) == sorted(out)
        assert slots.busy <= 1.0
        assert len(slots) <= 6 + 9
    for visit in out:
        slots.release(visit)
    assert (len(slots), slots.busy, slots.has_room_for_unproven()) == (0, 0.0, True)


def web_in_virtual_time(
    silent: int, healthy: int, *, known: bool = False, most: int = 80, seconds: int = 120
) -> list[int]:
    """Hosts that never answer and hosts that answer at once, one visit a second each. Pages had of each healthy host.

    The silent ones are as tiresome as they can be: always first, for twenty seconds, and back at once. `known`: the
    healthy ones have answered before.
    """
    slots: Slots[int] = Slots(most, overflow_capacity(most, 4096))
    hosts = silent + healthy
    due, pages, ends = [0.0] * hosts, [0] * hosts, dict[int, float]()
    for tick in range(seconds * 20):
        now = tick / 20
        for host in [host for host, end in ends.items() if end <= now]:
            slots.release(host)
            due[host] = max(now, due[host])
            del ends[host]
        if tick % 5 == 0:
            slots.overflow_late(later(now))
        for host in range(hosts):
            if slots.is_full:
                break
            if due[host] > now or host in ends:
                continue
            unproven = host < silent or not (known or pages[host])
            if unproven and not slots.has_room_for_unproven():
                due[host] = slots.retry_at(later(now)) - NOW
                continue
            slots.take(host, later(now), 0.0 if unproven else 0.01, unproven=unproven)
            ends[host] = now + (20.0 if host < silent else 0.05)
            due[host] = now + 1.0
            pages[host] += host >= silent
    return pages[silent:]


def test_healthy_hosts_keep_their_rate_among_twice_as_many_silent_hosts_as_slots() -> None:
    alone = web_in_virtual_time(0, 50)
    among = web_in_virtual_time(160, 50)

    assert min(alone) == 120
    assert sum(among) >= 0.9 * sum(alone)


def test_healthy_hosts_that_have_answered_keep_their_rate_among_any_number_of_silent_hosts() -> None:
    assert min(web_in_virtual_time(400, 50, known=True)) >= 0.9 * 120
