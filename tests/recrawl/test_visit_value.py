"""The value of a visit and when it reaches the price: against integrals, limits and a slow search."""

import random
from collections.abc import Callable
from math import exp, expm1, inf, log

import pytest

from gossamer.recrawl.estimate import Estimate
from gossamer.recrawl.price import (
    gain,
    gap_until,
    gap_until_unflagged,
    value,
    value_of_new,
    value_unflagged,
    value_when_flagged,
)


def mean_over_rates(estimate: Estimate, worth: Callable[[float], float]) -> float:
    """Of what is worth something at a known rate, over what the rate may be: by sums over a grid of log(rate)."""
    a, b = estimate
    grid = [-40 + 60 * k / 20_000 for k in range(20_001)]
    logs = [a * x - b * exp(x) for x in grid]
    most = max(logs)
    weights = [exp(value - most) for value in logs]
    return sum(w * worth(exp(x)) for w, x in zip(weights, grid, strict=True)) / sum(weights)


@pytest.mark.parametrize("gap", [0.1, 3.0, 90.0])
@pytest.mark.parametrize("estimate", [Estimate(0.5, 5.0), Estimate(1.0, 10.0), Estimate(7.0, 30.0)])
def test_the_value_is_the_mean_over_all_rates_that_may_be(estimate: Estimate, gap: float) -> None:
    def worth(rate: float) -> float:
        return 2.0 * (-expm1(-rate * gap) - rate * gap * exp(-rate * gap)) / rate

    assert value(estimate, 2.0, gap) == pytest.approx(mean_over_rates(estimate, worth), rel=1e-4)


def test_with_a_rate_that_is_well_known_the_value_is_the_textbook_one() -> None:
    rate, gap = 0.3, 4.0
    x = rate * gap

    assert value(Estimate(1e6, 1e6 / rate), 1.0, gap) == pytest.approx((1 - (1 + x) * exp(-x)) / rate, rel=1e-4)


def slow_gap(estimate: Estimate, importance: float, price: float, recall: float = 0.0) -> float:
    low, high = log(1e-12), log(1e12)
    for _ in range(100):
        middle = (low + high) / 2
        if value_unflagged(estimate, importance, exp(middle), recall) < price:
            low = middle
        else:
            high = middle
    return exp(low)


def test_the_gap_is_the_one_that_a_slow_search_finds() -> None:
    chance = random.Random(2)
    compared = 0
    for _ in range(3_000):
        estimate = Estimate(10 ** chance.uniform(-2, 3), 10 ** chance.uniform(-2, 4))
        importance, price = 10 ** chance.uniform(-6, 0), 10 ** chance.uniform(-8, 2)
        found = gap_until(estimate, importance, price)
        if found == inf or not 1e-3 * estimate.span / estimate.shape < found < 1e9:
            continue  # the slow search loses its digits there
        compared += 1
        assert found == pytest.approx(slow_gap(estimate, importance, price), rel=1e-4)
    assert compared > 1_000


def test_a_higher_price_never_shortens_the_gap_and_importance_never_lengthens_it() -> None:
    chance = random.Random(4)
    for _ in range(5_000):
        estimate = Estimate(10 ** chance.uniform(-3, 5), 10 ** chance.uniform(-3, 5))
        price, more = 10 ** chance.uniform(-8, 2), 1 + chance.random()
        gap = gap_until(estimate, 0.01, price, 1e5)

        assert gap_until(estimate, 0.01, price * more, 1e5) >= gap * (1 - 1e-6)
        assert gap_until(estimate, 0.01 * more, price, 1e5) <= gap * (1 + 1e-6)


def test_a_page_that_changes_too_fast_for_its_importance_sleeps_for_the_longest_gap() -> None:
    fast = Estimate(100.0, 1.0)

    assert gap_until(fast, 1.0, 0.02, longest=365.0) == 365.0
    assert gap_until(fast, 1.0, 0.005, longest=365.0) < 1.0


@pytest.mark.parametrize("shape", [0.2, 0.5, 1.0])
def test_a_page_of_which_little_is_known_is_always_visited_again(shape: float) -> None:
    assert gap_until(Estimate(shape, 5.0), 1.0, 20.0) < inf


@pytest.mark.parametrize("shape", [1 - 1e-12, 1.0, 1 + 1e-12])
def test_the_formulas_pass_smoothly_through_a_shape_of_one(shape: float) -> None:
    beside = Estimate(1.001, 10.0)

    assert gain(Estimate(shape, 10.0), 30.0) == pytest.approx(gain(beside, 30.0), rel=2e-3)
    assert gap_until(Estimate(shape, 10.0), 1.0, 5.0) == pytest.approx(gap_until(beside, 1.0, 5.0), rel=5e-3)


def test_free_visits_are_made_at_once_and_pages_worth_nothing_at_the_longest_gap() -> None:
    assert gap_until(Estimate(1.0, 1.0), 1.0, 0.0) == 0.0
    assert gap_until(Estimate(1.0, 1.0), 0.0, 1.0, longest=99.0) == 99.0


def test_without_reports_their_form_is_the_plain_one_and_with_all_of_them_waiting_costs_nothing() -> None:
    estimate = Estimate(3.0, 20.0)

    assert value_unflagged(estimate, 1.0, 10.0, 1e-7) == pytest.approx(value(estimate, 1.0, 10.0), rel=1e-4)
    assert value_unflagged(estimate, 1.0, 10.0, 0.999) < 0.01 * value(estimate, 1.0, 10.0)


@pytest.mark.parametrize("recall", [0.1, 0.5, 0.9])
def test_a_host_that_reports_changes_is_looked_at_less_often_by_as_much_as_the_search_says(recall: float) -> None:
    estimate = Estimate(0.8, 12.0)
    found = gap_until_unflagged(estimate, 0.5, 1.5, recall, longest=1e9)

    assert found == pytest.approx(slow_gap(estimate, 0.5, 1.5, recall), rel=1e-4)
    assert found > gap_until(estimate, 0.5, 1.5)


def test_with_reports_the_gap_is_the_one_that_a_slow_search_finds_to_a_millionth() -> None:
    chance = random.Random(8)
    compared = 0
    for _ in range(1_500):
        estimate = Estimate(10 ** chance.uniform(-2, 3), 10 ** chance.uniform(-1, 4))
        importance, price = 10 ** chance.uniform(-2, 1), 10 ** chance.uniform(-4, 2)
        recall = chance.choice([0.05, 0.3, 0.8, 0.95])
        found = gap_until_unflagged(estimate, importance, price, recall, 1e6)
        if found == 1e6 or found < 1e-4 * estimate.span:
            continue  # the slow search loses its digits there
        compared += 1
        assert found == pytest.approx(slow_gap(estimate, importance, price, recall), rel=1e-6)
    assert compared > 700


@pytest.mark.parametrize("gap", [0.1, 3.0, 90.0])
@pytest.mark.parametrize("estimate", [Estimate(0.5, 5.0), Estimate(1.0, 10.0), Estimate(7.0, 30.0)])
def test_with_reports_the_value_is_the_mean_over_all_rates_that_may_be(estimate: Estimate, gap: float) -> None:
    recall = 0.8

    def worth(rate: float) -> float:
        return (-expm1(-(1 - recall) * rate * gap) + (1 - recall) * expm1(-rate * gap)) / rate / recall

    assert value_unflagged(estimate, 1.0, gap, recall) == pytest.approx(mean_over_rates(estimate, worth), rel=1e-4)


def test_a_stale_copy_and_a_page_without_one_are_worth_more_than_any_wait() -> None:
    estimate = Estimate(0.5, 5.0)

    assert value_when_flagged(estimate, 1.0) > value_of_new(estimate, 1.0) > value(estimate, 1.0, 365.0)


def test_with_reports_the_gap_is_where_the_value_is_the_price_or_the_longest_one() -> None:
    chance = random.Random(5)
    for _ in range(2_000):
        estimate = Estimate(10 ** chance.uniform(-2, 3), 10 ** chance.uniform(-3, 5))
        importance, price = 10 ** chance.uniform(-3, 2), 10 ** chance.uniform(-4, 3)
        recall, longest = chance.choice([0.05, 0.5, 0.95]), chance.choice([1.0, 365.0])

        gap = gap_until_unflagged(estimate, importance, price, recall, longest)

        worth = value_unflagged(estimate, importance, gap, recall)
        if gap == longest:
            assert worth <= price * 1.001
        else:
            assert 0 < gap < longest
            assert worth == pytest.approx(price, rel=1e-3)
