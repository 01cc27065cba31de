"""Per-host backlogs: what part of a delay is due to the host, and when is a slot free?"""

import pytest

from gossamer.model.units import DAY, HostId, Instant
from gossamer.recrawl.due import MAX_BACKLOG, HostBacklogs
from gossamer.recrawl.price import MAX_HOSTS

START = Instant(1_800_000_000.0)
A, B = HostId(1), HostId(2)
GAP = 10 * DAY


def visited(lines: HostBacklogs, date: float, now: float, host: HostId = A) -> float:
    """A page whose date was `date` is visited `now`, both in days from the start. The price; 1 is the usual one."""
    before = Instant(START + date * DAY - GAP)
    return lines.update_price(host, now=Instant(START + now * DAY), before=before, gap=GAP, usual=1.0, pages=10)


def looked(lines: HostBacklogs, up_to: float, now: float) -> None:
    lines.on_scanned(START + up_to * DAY, Instant(START + now * DAY))


def test_a_late_visit_raises_the_price_of_its_host() -> None:
    lines = HostBacklogs(START)
    looked(lines, 1.0, 1.0)

    assert visited(lines, date=1.0, now=4.0) > 1.0
    assert (A in lines.prices, B in lines.prices) == (True, False)


def test_what_was_due_before_the_crawl_began_is_late_from_then_on() -> None:
    assert visited(HostBacklogs(START), date=-30.0, now=0.1) == 1.0
    assert visited(HostBacklogs(START), date=-30.0, now=3.0) > 1.0


def test_what_the_budget_held_up_is_late_from_when_it_was_looked_at() -> None:
    lines = HostBacklogs(START)
    looked(lines, 1.0, 1.0)  # in time
    looked(lines, 2.0, 6.0)  # dates up to the second day: four days late
    looked(lines, 3.0, 7.0)

    assert visited(lines, date=1.5, now=6.1) == 1.0
    assert visited(lines, date=2.5, now=7.1) == 1.0
    assert visited(lines, date=0.5, now=6.1) > 1.0  # this one was in line


def test_the_number_of_remembered_scans_is_bounded() -> None:
    lines = HostBacklogs(START)
    for day in range(1, 1000):
        looked(lines, day, day + 5.0)

    assert visited(lines, date=2.0, now=1004.1) > 1.0
    assert visited(lines, date=999.0, now=1004.1, host=B) == 1.0


def test_urls_of_hosts_with_their_own_price_are_counted_as_blocked() -> None:
    lines = HostBacklogs(START)
    lines.on_requeued({A: 3, B: 2})
    before = lines.blocked
    visited(lines, date=0.0, now=3.0)
    dear = lines.blocked
    lines.on_visited(A, START)
    lines.on_visited(B, START)
    lines.on_requeued({A: 5})

    assert (before, dear, lines.blocked) == (0, 3, 7)
    assert lines.waiting == {A: 7, B: 1}
    lines.drop_host(A)
    assert (lines.blocked, lines.waiting) == (0, {B: 1})
    lines.clear()
    assert lines.waiting == {}


def test_a_host_that_loses_its_own_price_blocks_nothing() -> None:
    lines = HostBacklogs(START)
    lines.on_requeued({A: 4})
    visited(lines, date=0.0, now=0.5)
    for _ in range(20):
        visited(lines, date=1.0, now=1.0)

    assert (A in lines.prices, lines.blocked) == (False, 0)


def test_room_comes_when_those_before_have_been_visited() -> None:
    lines = HostBacklogs(START)
    unknown = lines.slot_free_at(A, MAX_BACKLOG, START, START)
    lines.on_requeued({A: 10})
    for k in range(9):
        lines.on_visited(A, START + 3600.0 * k)  # one in an hour

    assert START < unknown < START + 60.0
    assert lines.slot_free_at(A, MAX_BACKLOG, START, START) == pytest.approx(START + 0.8 * MAX_BACKLOG * 3600.0)


def test_a_host_without_a_backlog_does_not_count_as_slow() -> None:
    lines = HostBacklogs(START)
    for k in range(1, 20):
        lines.on_requeued({A: 2})
        lines.on_visited(A, START + 3600.0 * k)
        lines.on_visited(A, START + 3600.0 * k + 5.0)

    assert lines.slot_free_at(A, MAX_BACKLOG, START, START) < START + 60.0


def test_what_waits_for_a_host_of_which_nothing_is_known_is_looked_at_less_and_less_often() -> None:
    lines = HostBacklogs(START)
    looks, now = 0, START
    while now < START + 30 * DAY:
        now, looks = Instant(lines.slot_free_at(A, MAX_BACKLOG, now, START - 5 * DAY)), looks + 1

    assert looks < 100


def test_the_number_of_remembered_hosts_is_bounded() -> None:
    lines = HostBacklogs(START)
    for host in range(MAX_HOSTS + 100):
        lines.on_requeued({HostId(host): 2})
        lines.on_visited(HostId(host), START)

    assert len(lines._intervals) == MAX_HOSTS
