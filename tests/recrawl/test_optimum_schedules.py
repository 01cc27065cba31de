"""The best schedule for known rates: the published example, and nothing near it is better."""

import random

import numpy as np
import pytest

from gossamer.lab.simulate.recrawl_compare import freshness, optimum


def test_five_pages_get_the_visits_of_the_published_example() -> None:
    best = optimum([0.2] * 5, [1.0, 2.0, 3.0, 4.0, 5.0], budget=5.0)

    assert best.visits.tolist() == pytest.approx([1.15, 1.36, 1.35, 1.14, 0.0], abs=0.01)
    assert best.visits.sum() == pytest.approx(5.0)


def test_moving_visits_from_one_page_to_another_makes_nothing_fresher() -> None:
    chance = random.Random(6)
    weights = [chance.random() for _ in range(40)]
    rates = [10 ** chance.uniform(-2, 1) for _ in range(40)]
    best = optimum(weights, rates, budget=8.0)

    for _ in range(500):
        given, taken = chance.sample(range(40), 2)
        moved = best.visits.copy()
        amount = min(moved[taken], 0.05 * chance.random())
        moved[taken] -= amount
        moved[given] += amount
        assert freshness(weights, rates, moved) <= best.freshness + 1e-9


def test_no_host_gets_more_than_it_allows_and_the_others_get_the_rest() -> None:
    chance = random.Random(8)
    rates = [10 ** chance.uniform(-2, 0) for _ in range(300)]
    hosts = [0 if page < 200 else 1 + page % 5 for page in range(300)]
    best = optimum([1 / 300] * 300, rates, 20.0, hosts, cap=5.0)

    asked = np.bincount(hosts, best.visits)
    assert asked.max() <= 5.0 * (1 + 1e-6)
    assert asked[0] == pytest.approx(5.0, rel=1e-4)
    assert asked.sum() == pytest.approx(20.0, rel=1e-4)
    assert best.prices[0] > best.prices[1:].max()


def test_pages_that_never_change_are_fresh_without_visits_to_speak_of() -> None:
    best = optimum([0.5, 0.5], [0.0, 1.0], budget=4.0)

    assert best.visits[1] == pytest.approx(4.0, rel=1e-3)
    assert best.freshness > 0.9
