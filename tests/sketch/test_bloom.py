"""The growing Bloom filter: no false negatives, the stated error rate, nothing new before it is ready."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.sketch import Bloom

KEYS = st.lists(st.integers(-(2**63), 2**63 - 1), max_size=200)


def random_keys(seed: int, count: int) -> list[int]:
    rng = random.Random(seed)
    return [rng.getrandbits(64) - 2**63 for _ in range(count)]


@given(KEYS, st.integers(1, 50), st.floats(0.001, 0.9))
def test_a_key_that_was_added_is_never_called_surely_new(keys: list[int], capacity: int, error_rate: float) -> None:
    one_by_one = Bloom(capacity, error_rate, ready=True)
    in_bulk = Bloom(capacity, error_rate, ready=True)
    in_turn = Bloom(capacity, error_rate, ready=True)

    for key in keys:
        one_by_one.add(key)
    in_bulk.update(keys)
    in_turn.add_each(keys)

    assert all(key in bloom for bloom in (one_by_one, in_bulk, in_turn) for key in keys)


@given(KEYS, st.integers(1, 50), st.floats(0.001, 0.9))
def test_adding_each_says_what_looking_first_would_have_said(keys: list[int], capacity: int, error_rate: float) -> None:
    slow, fast = Bloom(capacity, error_rate, ready=True), Bloom(capacity, error_rate, ready=True)

    expected = []
    for key in keys:
        expected.append(key not in slow)
        slow.add(key)

    assert fast.add_each(keys) == expected
    assert fast.statistics() == slow.statistics()


@pytest.mark.parametrize("error_rate", [0.1, 0.01, 0.001])
@pytest.mark.parametrize("outgrown", [1, 16])
def test_the_stated_error_rate_holds_however_far_the_capacity_is_outgrown(error_rate: float, outgrown: int) -> None:
    bloom = Bloom(2_000, error_rate, ready=True)
    bloom.update(random_keys(1, 2_000 * outgrown))

    expected = 100_000 * error_rate
    wrong = sum(key in bloom for key in random_keys(2, 100_000))

    assert wrong <= expected + 2 * expected**0.5


def test_until_it_is_complete_no_key_is_surely_new() -> None:
    bloom = Bloom(100, 0.01)

    assert 7 in bloom
    assert bloom.add_each([1, 2]) == [False, False]

    bloom.declare_complete()

    assert bloom.ready
    assert [key in bloom for key in (1, 2, 7)] == [True, True, False]


def test_it_grows_in_stages_and_tells_its_size() -> None:
    bloom = Bloom(1_000, 0.01, ready=True)
    small = bloom.statistics()

    bloom.update(random_keys(3, 6_999))
    large = bloom.statistics()

    assert (small.keys, small.capacity, small.filters) == (0, 1_000, 1)
    assert (large.keys, large.capacity, large.filters) == (6_999, 7_000, 3)
    assert 1_000 < small.approximate_bytes < 2_000
    assert large.approximate_bytes > 7 * small.approximate_bytes


def test_a_key_added_again_takes_no_room() -> None:
    bloom = Bloom(10, 0.01, ready=True)

    for _ in range(100):
        bloom.add(5)
        bloom.add_each([5, 6])

    assert bloom.statistics().keys == 2


@pytest.mark.parametrize(("capacity", "error_rate"), [(0, 0.1), (10, 0.0), (10, 1.0)])
def test_an_impossible_filter_is_refused(capacity: int, error_rate: float) -> None:
    with pytest.raises(ValueError, match=r"capacity|error_rate"):
        Bloom(capacity, error_rate)
