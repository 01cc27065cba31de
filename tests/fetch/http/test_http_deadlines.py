"""Is an exchange late? Decided with time as a parameter."""

import pytest

from gossamer.fetch.http.failures import Progress, SweepState, overdue, sweep_interval
from gossamer.fetch.ports import FetchLimits
from gossamer.model.outcome import Failure
from gossamer.model.units import Seconds

LIMITS = FetchLimits()
CONNECTING = Progress(secure=True, connected=False, sent_after=None, head_complete=False, body_bytes=0)
SHAKING_HANDS = Progress(secure=True, connected=True, sent_after=None, head_complete=False, body_bytes=0)
ASKED = Progress(secure=True, connected=True, sent_after=Seconds(6.0), head_complete=False, body_bytes=0)


def reading(body_bytes: int) -> Progress:
    return Progress(secure=False, connected=False, sent_after=Seconds(0.1), head_complete=True, body_bytes=body_bytes)


@pytest.mark.parametrize(
    ("progress", "just_in_time", "expected"),
    [(CONNECTING, 10.0, Failure.CONNECT_TIMEOUT), (ASKED, 26.0, Failure.READ_TIMEOUT)],
)
def test_connecting_and_waiting_for_the_head_have_their_deadlines(
    progress: Progress, just_in_time: float, expected: Failure
) -> None:
    pace = SweepState(started=1000.0)

    assert overdue(LIMITS, pace, progress, 1000.0 + just_in_time) is None
    assert overdue(LIMITS, pace, progress, 1000.1 + just_in_time) is expected


def test_the_handshake_has_its_own_time_from_the_moment_it_is_seen() -> None:
    pace = SweepState(started=1000.0)

    assert overdue(LIMITS, pace, CONNECTING, 1009.0) is None
    assert overdue(LIMITS, pace, SHAKING_HANDS, 1010.0) is None
    assert overdue(LIMITS, pace, SHAKING_HANDS, 1020.0) is None
    assert overdue(LIMITS, pace, SHAKING_HANDS, 1020.1) is Failure.TLS_HANDSHAKE_TIMEOUT


def test_silence_within_a_body_is_a_read_timeout() -> None:
    pace = SweepState(started=0.0)

    assert overdue(LIMITS, pace, reading(100_000), 1.0) is None
    assert overdue(LIMITS, pace, reading(100_000), 20.9) is None
    assert overdue(LIMITS, pace, reading(100_000), 21.1) is Failure.READ_TIMEOUT


def test_a_byte_now_and_then_does_not_hold_off_the_minimum_rate() -> None:
    pace = SweepState(started=0.0)

    verdicts = [overdue(LIMITS, pace, reading(second // 5), float(second)) for second in range(1, 40)]

    assert verdicts.index(Failure.TOO_SLOW) == 31  # the window opens at the first look and is 30 s long


def test_a_steady_body_is_only_ended_by_the_total() -> None:
    pace = SweepState(started=0.0)

    verdicts = [overdue(LIMITS, pace, reading(300 * second), float(second)) for second in range(1, 122)]

    assert verdicts[:-1] == [None] * 120
    assert verdicts[-1] is Failure.TOTAL_TIMEOUT


def test_the_sweep_is_fine_enough_for_the_shortest_deadline() -> None:
    assert sweep_interval(LIMITS) == 1.0
    assert sweep_interval(FetchLimits(idle=Seconds(0.4))) == pytest.approx(0.05)


@pytest.mark.parametrize("name", ["connect", "total", "body_bytes"])
def test_a_limit_of_nothing_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=name):
        FetchLimits(**{name: 0})  # type: ignore[arg-type]
