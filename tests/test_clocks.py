"""Clocks: processes that share one agree, and a fast clock is fast only while its owner waits."""

import time
from pathlib import Path

import pytest

from gossamer.clock import CLOCK_FILE, Clock, FastClock, ServerClock, SharedClock, SteadyClock, boot_time, clock_of
from gossamer.model.units import Seconds

DAY = 86_400.0


def assert_between(first: Clock, clock: Clock, last: Clock, ahead: float = 0.0) -> None:
    """One clock says what others say before and after it, and as much more. Each began at a moment of its own."""
    before, found, after = first.now(), clock.now(), last.now()

    assert before - 1.0 <= found - ahead <= after + 1.0


def test_all_who_have_the_file_agree_also_those_who_come_later(tmp_path: Path) -> None:
    mine, theirs = SharedClock(tmp_path / "clock"), SharedClock(tmp_path / "clock")

    mine.advance(Seconds(30 * DAY))
    later = SharedClock(tmp_path / "clock", read_only=True)

    for other in (theirs, later):
        assert_between(mine, other, mine)
    world = SteadyClock()
    assert_between(world, mine, world, ahead=30 * DAY)


def test_time_does_not_run_backwards(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="cannot advance"):
        SharedClock(tmp_path / "clock").advance(Seconds(-1.0))


def test_durations_stay_those_of_the_world(tmp_path: Path) -> None:
    clock = SharedClock(tmp_path / "clock")
    before = clock.monotonic()

    clock.advance(Seconds(DAY))

    assert clock.monotonic() - before < DAY / 2


def test_a_fast_clock_runs_in_real_time_while_its_owner_works(tmp_path: Path) -> None:
    clock = FastClock(tmp_path / "clock", speed=1e6)
    before = clock.now()

    clock.wake()
    time.sleep(0.01)

    assert clock.now() - before < 1_000


def test_a_wait_is_shorter_in_the_world_and_lasts_at_least_as_long_as_is_said(tmp_path: Path) -> None:
    clock = FastClock(tmp_path / "clock", speed=1_000.0)

    assert clock.rest(Seconds(500.0), Seconds(0.001)) == pytest.approx(0.5)
    assert clock.rest(Seconds(0.5), Seconds(0.001)) == pytest.approx(0.001)


def test_who_wakes_late_has_not_slept_through_more_than_was_said(tmp_path: Path) -> None:
    clock = FastClock(tmp_path / "clock", speed=1e6)
    start = clock.now()

    real = clock.rest(Seconds(600.0), Seconds(0.0001))
    time.sleep(20 * real)
    clock.wake()

    assert 600.0 - 1e-3 <= clock.now() - start < 1_200.0  # all of the wait, and what the world took


def test_who_is_woken_early_has_waited_for_a_part(tmp_path: Path) -> None:
    clock = FastClock(tmp_path / "clock", speed=1e5)
    start = clock.now()

    clock.rest(Seconds(1e9), Seconds(0.0))
    time.sleep(0.002)
    clock.wake()
    first = clock.now()
    clock.wake()  # nothing is waited for any more

    assert 200.0 <= first - start < 1e9
    assert clock.now() - first < 100.0


def test_a_directory_without_a_clock_of_its_own_goes_by_the_world(tmp_path: Path) -> None:
    assert not isinstance(clock_of(tmp_path), SharedClock)

    SharedClock(tmp_path / CLOCK_FILE).advance(Seconds(DAY))

    world = SteadyClock()
    assert_between(world, clock_of(tmp_path), world, ahead=DAY)


def test_a_server_clock_is_the_servers_as_of_the_fastest_answer_and_then_runs_by_itself() -> None:
    now = 100.0
    answers = iter([(5.0, 2_000.0), (0.25, 3_000.0), (1.0, 4_000.0), (7.0, 5_000.0), (2.0, 6_000.0)])

    def ask() -> float:
        nonlocal now
        took, answer = next(answers)
        now += took
        return answer

    clock = ServerClock(ask, lambda: now)

    # The second answer came when the clock stood between 105 and 105.25, and ten seconds have passed since then.
    assert clock.now() == 3_000.0 + (115.25 - 105.125)
    now += 60.0
    assert clock.now() == 3_060.0 + (115.25 - 105.125)
    assert clock.monotonic() == 175.25


def test_the_clock_of_leases_does_not_go_back() -> None:
    readings = [boot_time() for _ in range(100)]

    assert readings == sorted(readings)
