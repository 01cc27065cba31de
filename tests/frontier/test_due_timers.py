"""When is a queue of the task table read again?"""

import math

from gossamer.frontier.front_queue import DueTimers
from gossamer.model.units import HostId, Instant

A, B = HostId(1), HostId(2)


def test_queues_come_back_at_their_dates_the_nearest_first() -> None:
    later = DueTimers()
    later.set(20.0, A, 0)
    later.set(10.0, B, 2)
    later.set(15.0, None, 1)

    assert later.next == 10.0
    assert later.pop_due(Instant(9.9)) is None
    assert [later.pop_due(Instant(20.0)) for _ in range(4)] == [(B, 2), (None, 1), (A, 0), None]
    assert later.next == math.inf


def test_of_several_dates_of_a_queue_only_the_nearest_counts() -> None:
    later = DueTimers()
    later.set(20.0, A, 0)
    later.set(10.0, A, 0)
    later.set(30.0, A, 0)

    assert [later.pop_due(Instant(100.0)) for _ in range(2)] == [(A, 0), None]


def test_a_queue_without_later_urls_is_not_noted() -> None:
    later = DueTimers()
    later.set(math.inf, A, 0)

    assert len(later) == 0
    assert later.pop_due(Instant(1e12)) is None


def test_a_forgotten_host_does_not_come_back() -> None:
    later = DueTimers()
    later.set(10.0, A, 1)
    later.set(11.0, B, 1)
    later.forget(A, 3)

    assert later.next == 11.0
    assert [later.pop_due(Instant(20.0)) for _ in range(2)] == [(B, 1), None]


def test_memory_is_bounded_by_the_queues_however_often_they_are_read() -> None:
    later = DueTimers()
    for n in range(100_000):
        later.set(1e9 - n, A, 0)
        later.set(1e9, HostId(n), 1)
        later.forget(HostId(n), 3)

    assert len(later) == 1
    assert len(later._heap) < 3000
