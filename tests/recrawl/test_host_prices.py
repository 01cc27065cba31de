"""A host that allows fewer visits than its pages demand has its own price, which rises while visits are late."""

from math import log

import pytest

from gossamer.lab.simulate.recrawl_compare import share_fresh
from gossamer.lab.simulate.recrawl_world import Drawn, drawn_world
from gossamer.lab.simulate.time_travel import travel
from gossamer.recrawl.policies import Optimal
from gossamer.recrawl.price import LATE, HostPrices

USUAL = 2.0


def visits(prices: HostPrices, number: int, late: float, *, gap: float = 10.0) -> float:
    """So many visits to host 1; the price after the last one."""
    price = USUAL
    for _ in range(number):
        price = prices.update(1, gap=gap, late=late, usual=USUAL, pages=100)
    return price


def test_a_host_whose_visits_are_in_time_has_the_price_of_the_crawl_and_is_not_kept() -> None:
    prices = HostPrices()

    assert visits(prices, 50, late=LATE * 10.0) == USUAL
    assert (len(prices), 1 in prices, prices.price_for(1, USUAL)) == (0, False, USUAL)


def test_the_price_rises_by_the_stretch_within_half_as_many_visits_as_there_are_pages() -> None:
    prices = HostPrices()

    price = visits(prices, 50, late=5.0)

    assert log(price / USUAL) == pytest.approx(log(1.5))
    assert prices.price_for(1, USUAL) == price
    assert prices.price_for(2, USUAL) == USUAL


def test_it_falls_back_and_is_forgotten_when_visits_come_in_time_again() -> None:
    prices = HostPrices()
    high = visits(prices, 50, late=5.0)

    lower = visits(prices, 10, late=0.0)
    visits(prices, 200, late=0.0)

    assert USUAL < lower < high
    assert len(prices) == 0


def test_it_is_never_below_that_of_the_crawl() -> None:
    prices = HostPrices()
    visits(prices, 5, late=5.0)

    assert prices.price_for(1, 1000.0) == 1000.0
    assert prices.update(1, gap=10.0, late=5.0, usual=1000.0, pages=100) > 1000.0


def test_pages_of_very_short_gaps_do_not_decide_it_alone() -> None:
    assert visits(HostPrices(), 1, late=5.0, gap=1e-6) < USUAL * 1.02
    assert visits(HostPrices(), 1, late=5.0, gap=0.0) < USUAL * 1.02


def test_no_more_hosts_are_kept_than_allowed() -> None:
    prices = HostPrices(max_hosts=3)
    for host in range(10):
        prices.update(host, gap=1.0, late=1.0, usual=USUAL, pages=1)

    assert len(prices) == 3
    assert [host for host in range(10) if host in prices] == [7, 8, 9]


def test_a_price_from_before_a_restart_goes_on_from_there() -> None:
    prices = HostPrices()
    prices.restore(1, 5.0)
    prices.restore(1, 99.0)  # it is known already
    prices.restore(2, 0.0)  # it had none

    assert (prices.price_for(1, USUAL), len(prices)) == (5.0, 1)
    assert prices.update(1, gap=1.0, late=1.0, usual=USUAL, pages=1) > 5.0


def test_hosts_with_caps_are_used_better_with_prices_of_their_own() -> None:
    world = drawn_world(Drawn(pages=600, days=150.0, hosts=20, cap=3.0))
    fresh = [
        share_fresh(travel(world, Optimal(), 43.0, host_prices=own), world.importance, 75.0, 150.0)
        for own in (True, False)
    ]

    assert fresh[0] > fresh[1] + 0.02
