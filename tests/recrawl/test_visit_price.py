"""The price follows the budget: demand is brought to it and kept there."""

import random
from math import isfinite

import pytest

from gossamer.recrawl.estimate import WEIGHT, Estimate, HostRates
from gossamer.recrawl.price import MAX_PRICE, MIN_PRICE, Price, gap_until, opening_price


def test_at_the_opening_price_unknown_pages_ask_for_the_budget() -> None:
    importances = [1 / rank for rank in range(1, 101)]

    price = opening_price(importances, budget=10.0, pages=100)

    asked = sum(1 / gap_until(Estimate(0.5, 5.0), w, price) for w in importances)
    assert asked == pytest.approx(10.0, rel=1e-3)


def test_the_price_of_a_sample_is_that_of_all_pages() -> None:
    assert opening_price([1.0] * 5, 10.0, 100) == pytest.approx(opening_price([1.0] * 100, 10.0, 100), rel=1e-6)


@pytest.mark.parametrize("start", [1e-4, 1.0, 1e4])
def test_demand_comes_to_the_budget_from_any_price(start: float) -> None:
    chance = random.Random(1)
    pages = [Estimate(2.0, 10 ** chance.uniform(0, 2)) for _ in range(200)]
    price = Price(50.0, start)
    gaps: list[float | None] = [None] * len(pages)
    for visit in range(20_000):
        page = chance.randrange(len(pages)) if visit >= len(pages) else visit
        gap = gap_until(pages[page], 1.0, price.step(visit / 50.0), 365.0)
        price.on_planned(gaps[page], gap)
        gaps[page] = gap

    assert price.demand == pytest.approx(50.0, rel=0.05)
    assert price.demand == pytest.approx(sum(1 / gap for gap in gaps if gap is not None), rel=1e-6)


def test_a_budget_that_is_halved_raises_the_price_and_one_that_is_doubled_lowers_it() -> None:
    price = Price(10.0, 1.0, demand=10.0, pages=100)

    price.budget = 5.0
    dearer = price.step(1.0)
    price.budget = 40.0
    cheaper = price.step(2.0)

    assert dearer > 1.0
    assert cheaper < dearer


def test_pages_that_wait_for_their_first_visit_are_planned_for() -> None:
    alone, expecting = (Price(10.0, 1.0, demand=5.0, pages=50) for _ in range(2))

    assert alone.step(0.5) < 1.0 < expecting.step(0.5, growth=4.0)


def test_the_price_stays_a_number_whatever_is_asked_for() -> None:
    price = Price(1e-3, 1.0)
    for step in range(3_000):
        price.on_planned(None, 1e-9)
        assert MIN_PRICE <= price.step(float(step)) <= MAX_PRICE
    for step in range(3_000, 9_000):
        price.on_planned(1e-9, None)
        assert isfinite(price.step(float(step)))


def test_time_that_does_not_pass_moves_nothing() -> None:
    price = Price(1.0, 2.0, demand=50.0, pages=5)

    assert price.step(0.0) == price.step(-3.0) == 2.0


def test_a_budget_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="budget"):
        Price(0.0, 1.0)


def test_the_prior_of_a_host_goes_from_the_usual_rate_to_that_of_its_pages() -> None:
    rates = HostRates()
    assert rates.prior() == Estimate(0.5, 5.0)

    for _ in range(int(WEIGHT)):
        rates = rates.updated(None, Estimate(1.0, 1000.0))
    assert rates.prior().rate == pytest.approx((0.1 * 0.001) ** 0.5)

    for _ in range(5_000):
        rates = rates.updated(None, Estimate(1.0, 1000.0))
    assert rates.prior().rate == pytest.approx(0.001, rel=0.02)


def test_a_page_that_is_visited_again_counts_once_in_the_prior() -> None:
    once = HostRates().updated(None, Estimate(1.0, 10.0))

    again = once.updated(Estimate(1.0, 10.0), Estimate(2.0, 40.0))

    assert again == pytest.approx((1, 0.05))


def test_a_large_fall_of_the_price_with_low_demand_is_reported_until_all_pages_are_replanned() -> None:
    price = Price(100.0, 1.0)
    for _ in range(50):
        price.on_planned(None, 10.0)
    day = 0.0
    while not price.has_fallen():
        day += 0.01
        price.step(day)
    fallen = price.price
    price.start_replanning()

    assert fallen == pytest.approx(0.25, rel=0.2)
    assert not price.has_fallen()


def test_a_price_that_falls_while_most_of_the_budget_is_asked_for_says_nothing() -> None:
    price = Price(100.0, 1.0)
    for _ in range(60):
        price.on_planned(None, 1.0)
    for k in range(1, 2000):
        price.step(k / 100)

    assert price.price < 0.01
    assert not price.has_fallen()
