"""The politeness heap: which hosts rest, for how long, and which may yield their back queue."""

import math
import random
from itertools import pairwise

import pytest

from gossamer.frontier.back_queue import HostQueue, HostState
from gossamer.frontier.politeness_heap import PolitenessHeap
from gossamer.model.units import HostId, Instant, Seconds
from tests.frontier.frontier_world import noted_in

NOW = Instant(1000.0)


def resting(host_id: int, seconds: float) -> HostQueue:
    host = HostQueue(HostId(host_id), 3)
    host.not_before = Instant(NOW + seconds)
    return host


def heap_of(*hosts: HostQueue) -> PolitenessHeap:
    heap = PolitenessHeap(Seconds(60.0))
    for host in hosts:
        heap.push(host, host.not_before, NOW)
    return heap


def popped(heap: PolitenessHeap, now: float) -> int | None:
    host = heap.pop_due(Instant(now))
    return None if host is None else host.host_id


def test_hosts_come_back_when_their_rest_is_over_the_first_first() -> None:
    heap = heap_of(resting(1, 9.0), resting(2, 3.0), resting(3, 6.0))

    assert heap.next == NOW + 3.0
    assert popped(heap, NOW + 2.9) is None
    assert [popped(heap, NOW + 9.0) for _ in range(4)] == [2, 3, 1, None]
    assert (len(heap), heap.next) == (0, math.inf)


def test_rests_of_one_length_end_in_the_order_in_which_they_began() -> None:
    heap = heap_of(*[resting(host_id, 3.0) for host_id in (5, 1, 4)])

    assert [popped(heap, NOW + 3.0) for _ in range(4)] == [5, 1, 4, None]


def test_a_host_that_rests_later_but_shorter_is_ready_first() -> None:
    heap = heap_of(resting(1, 0.03), resting(2, 3.0))
    assert heap.next == NOW + 0.03

    for host in (resting(3, 0.02), resting(4, 0.03), resting(5, 0.01)):
        heap.push(host, host.not_before, NOW)

    assert heap.next == NOW + 0.01
    assert [popped(heap, NOW + 9.0) for _ in range(6)] == [5, 3, 1, 4, 2, None]


@pytest.mark.parametrize("ages", [1e301, 1e308, math.inf])
def test_a_host_may_ask_for_ages(ages: float) -> None:
    heap = heap_of(resting(1, ages), resting(2, 3.0))

    assert [popped(heap, NOW + 1e300) for _ in range(2)] == [2, None]
    assert heap.next == NOW + ages


@pytest.mark.parametrize("asked", [0.02, 0.5])
def test_any_mix_of_rests_comes_back_in_order(asked: float) -> None:
    chance = random.Random(7)
    heap, waiting, now = PolitenessHeap(Seconds(60.0)), {}, 1000.0
    for host_id in range(1, 5000):
        host = resting(host_id, now - NOW + chance.choice((0.001, 0.05, 1.0, chance.uniform(0, 90), 1e4, 1e301)))
        heap.push(host, host.not_before, Instant(now))
        waiting[host_id] = host
        if chance.random() < 0.3:
            gone = waiting.pop(chance.choice(list(waiting)))
            heap.leave(gone)
        if chance.random() < 0.1:
            now += chance.expovariate(2.0)
            due = sorted((host.not_before, host.host_id) for host in waiting.values() if host.not_before <= now)
            assert [popped(heap, now) for _ in range(len(due) + 1)] == [*(n for _, n in due), None]
            for _, number in due:
                del waiting[number]
        assert len(heap) == len(waiting)
        if chance.random() < asked:
            assert heap.next == min((host.not_before for host in waiting.values()), default=math.inf)


def test_a_host_that_left_does_not_come_back() -> None:
    gone = resting(1, 3.0)
    heap = heap_of(gone, resting(2, 5.0))
    assert gone.state is HostState.WAITING

    heap.leave(gone)

    assert heap.next == NOW + 5.0
    assert [popped(heap, NOW + 9.0) for _ in range(2)] == [2, None]


def test_a_host_that_rests_long_may_be_sent_away_the_first_to_rest_first() -> None:
    heap = heap_of(resting(1, 59.0), resting(2, 500.0), resting(3, 400.0))

    for expected in (2, 3):
        host = heap.long_resting(NOW)
        assert host is not None and host.host_id == expected
        heap.leave(host)
    assert heap.long_resting(NOW) is None


def test_a_host_whose_long_rest_is_nearly_over_is_not_sent_away() -> None:
    heap = heap_of(resting(1, 500.0))

    assert heap.long_resting(Instant(NOW + 450.0)) is None


def test_a_host_with_something_under_way_is_not_sent_away_until_that_has_ended() -> None:
    host = resting(1, 500.0)
    host.unsettled.append(7)
    heap = heap_of(host)

    assert heap.long_resting(NOW) is None
    host.unsettled.clear()
    host.loading = True
    assert heap.long_resting(NOW) is None
    host.loading = False
    assert heap.long_resting(NOW) is host


def test_a_long_rest_that_was_asked_about_does_not_gather_the_short_ones() -> None:
    heap = heap_of(resting(1, 86_400.0))
    assert heap.next == NOW + 86_400.0

    for host_id in range(2, 100):
        host = resting(host_id, 1.0)
        heap.push(host, host.not_before, NOW)
        assert heap.next == NOW + 1.0

    assert len(heap._open) == 98
    assert [popped(heap, NOW + 1.0) for _ in range(98)] == list(range(2, 100))
    assert heap.next == NOW + 86_400.0


def test_a_host_delayed_again_and_again_leaves_no_trail() -> None:
    host = resting(1, 500.0)
    heap = heap_of(host)

    for _ in range(50_000):
        heap.leave(host)
        host.not_before = Instant(host.not_before + 1.0)
        heap.push(host, host.not_before, NOW)

    assert len(heap) == 1
    assert len(noted_in(heap)) + len(heap._long) < 5000
    assert heap.next == host.not_before


def test_hosts_are_counted_by_how_long_they_still_rest() -> None:
    gone, back = resting(6, 0.5), resting(7, 2.0)
    heap = heap_of(*[resting(n, rest) for n, rest in enumerate((0.5, 1.0, 1.5, 30.0, 1e9), 1)], gone, back)
    heap.leave(gone)
    heap.leave(back)
    heap.push(back, Instant(NOW + 2.0), NOW)

    assert heap.histogram(NOW, (1.0, 5.0, 60.0)) == [2, 2, 1, 1]
    assert heap.histogram(Instant(NOW + 1.0), (1.0, 5.0, 60.0)) == [4, 0, 1, 1]
    assert sum(heap.histogram(NOW, ())) == len(heap) == 6


def test_counting_rests_gives_what_counting_one_by_one_gives() -> None:
    for seed in range(30):
        chance = random.Random(seed)
        rests = [chance.choice((0.1, 3.0, 70.0, 5000.0)) * chance.random() for _ in range(200)]
        heap = heap_of(*[resting(n, rest) for n, rest in enumerate(rests)])
        bounds = sorted(chance.uniform(0.0, 100.0) for _ in range(4))
        come_back = 0
        while heap.pop_due(Instant(NOW + 1.0)) is not None:
            come_back += 1
        left = [rest - 1.0 for rest in rests if rest > 1.0]

        counted = [sum(low < rest <= high for rest in left) for low, high in pairwise((-1.0, *bounds, math.inf))]
        assert heap.histogram(Instant(NOW + 1.0), bounds) == counted, f"seed {seed}"
        assert come_back == len(rests) - len(left), f"seed {seed}"
