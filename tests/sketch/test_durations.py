from hypothesis import given
from hypothesis import strategies as st

from gossamer.sketch import Durations


def noted(*microseconds: int) -> Durations:
    durations = Durations()
    for each in microseconds:
        durations.note(each)
    return durations


@given(st.lists(st.integers(0, 2**40), max_size=50))
def test_each_bound_counts_exactly_what_took_no_longer(microseconds: list[int]) -> None:
    spread = noted(*microseconds).spread()

    for seconds, number in spread.up_to(7, 30):
        assert number == sum(each <= round(seconds * 1e6) for each in microseconds)
    assert spread.number == len(microseconds)
    assert spread.total == sum(microseconds)


def test_a_bound_belongs_to_its_class() -> None:
    assert noted(1024, 1025).spread().up_to(10, 11) == [(0.001024, 1), (0.002048, 2)]


def test_a_clock_that_was_set_back_breaks_nothing() -> None:
    spread = noted(-5, 0).spread()

    assert (spread.number, spread.total) == (2, 0)
    assert spread.up_to(7, 7) == [(0.000128, 2)]


def test_seconds_are_counted_as_microseconds() -> None:
    durations = Durations()
    durations.note_seconds(0.25)

    assert durations.spread().seconds == 0.25


def test_a_snapshot_does_not_change() -> None:
    durations = noted(5)
    before = durations.spread()

    durations.note(7)

    assert (before.number, before.total) == (1, 5)
