"""The bounded exact cache."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.seen import Recent

BATCHES = st.lists(st.lists(st.integers(0, 60), max_size=12), max_size=40)


@given(BATCHES, st.integers(2, 30))
def test_yes_is_always_true_and_the_latest_are_remembered(batches: list[list[int]], limit: int) -> None:
    recent = Recent(limit)
    added: list[int] = []

    for batch in batches:
        held, fresh = recent.admit(batch)
        assert sorted(held + fresh) == list(range(len(batch)))
        assert all(batch[index] in added + batch[:index] for index in held)
        added += batch

    assert all(value in recent for value in added[len(added) - limit // 2 :])
    assert not any(value in recent for value in set(range(61)) - set(added))


@given(BATCHES, st.integers(2, 30))
def test_memory_is_bounded(batches: list[list[int]], limit: int) -> None:
    recent = Recent(limit)

    for batch in batches:
        recent.admit(batch)

        assert len(recent) <= limit + 2 * 12


def test_a_fingerprint_met_twice_in_a_batch_is_held_the_second_time() -> None:
    assert Recent(100).admit([1, 2, 1]) == ([2], [0, 1])


def test_what_is_met_again_outlives_what_is_not() -> None:
    recent = Recent(20)
    recent.update([1, 2])

    for value in range(100, 200):
        recent.admit([value, 1])

    assert (1 in recent, 2 in recent) == (True, False)


def test_a_memory_for_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 2 fingerprints, not 1"):
        Recent(1)
