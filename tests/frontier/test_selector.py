"""Which class is served next?"""

import random
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.frontier.selector import Load, Selector, SelectorRatios

ALL = (0, 1, 2)


@pytest.mark.parametrize(("load", "shares"), [(Load.NORMAL, (60, 30, 10)), (Load.HIGH, (80, 15, 5))])
def test_the_shares_are_exact_over_a_hundred_thousand_draws(load: Load, shares: tuple[int, ...]) -> None:
    selector = Selector(SelectorRatios())
    selector.set_load(load)

    for _ in range(100_000):
        selector.draw(ALL)

    assert selector.drawn == [share * 1000 for share in shares]


def test_more_classes_than_groups_divide_the_last_share_and_leave_the_groups_as_they_were() -> None:
    for load, (high, medium, low) in ((Load.NORMAL, (60, 30, 10)), (Load.HIGH, (80, 15, 5))):
        for fronts in (3, 4, 8, 12):
            shares = SelectorRatios().for_classes(fronts).for_load(load)

            assert len(shares) == fronts
            assert shares[:2] == (high, medium) and sum(shares[2:]) == pytest.approx(low)
            assert all(a == pytest.approx(4 * b) for a, b in pairwise(shares[2:]))
    assert SelectorRatios().for_classes(2).normal == (60, 30)
    assert len(SelectorRatios().for_classes(1).normal) == 1

    selector = Selector(SelectorRatios().for_classes(8))
    for _ in range(100_000):
        selector.draw(range(8))
    assert [*selector.drawn[:2], sum(selector.drawn[2:])] == pytest.approx([60_000, 30_000, 10_000], abs=8)
    assert min(selector.drawn) > 0


@pytest.mark.parametrize("load", list(Load))
def test_the_shares_are_right_to_within_one_draw_at_all_times(load: Load) -> None:
    ratios = SelectorRatios()
    selector = Selector(ratios)
    selector.set_load(load)

    for draws in range(1, 2001):
        selector.draw(ALL)
        for drawn, share in zip(selector.drawn, ratios.for_load(load), strict=True):
            assert abs(drawn - draws * share / 100) <= 1.0


@given(weights=st.lists(st.integers(1, 1000), min_size=2, max_size=6))
def test_every_class_is_served_within_its_fair_interval(weights: list[int]) -> None:
    shares = tuple(float(weight) for weight in weights)
    selector = Selector(SelectorRatios(shares, shares))
    last = dict.fromkeys(range(len(weights)), 0)
    total = sum(weights)
    draws = min(4 * total // min(weights) + 10, 5000)

    for draw in range(1, draws):
        last[selector.draw(range(len(weights)))] = draw
        for front, weight in enumerate(weights):
            assert draw - last[front] <= 2 * total / weight + len(weights)


@settings(max_examples=50)
@given(seed=st.integers(0, 2**32))
def test_no_class_waits_long_whichever_others_come_and_go(seed: int) -> None:
    chance = random.Random(seed)
    selector = Selector(SelectorRatios())
    waited = [0, 0, 0]

    for _ in range(1000):
        if chance.random() < 0.1:
            selector.set_load(chance.choice(list(Load)))
        waiting = sorted(chance.sample(ALL, chance.randint(1, 3)))
        chosen = selector.draw(waiting)
        assert chosen in waiting
        waited[chosen] = 0
        for front in waiting:
            waited[front] += front != chosen
        # The smallest share is 5 %: a class passed over this often has been cheated.
        assert max(waited) <= 3 * 20


@pytest.mark.parametrize("subset", [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2)])
def test_a_subset_is_served_in_proportion_to_its_own_shares(subset: tuple[int, ...]) -> None:
    selector = Selector(SelectorRatios())
    shares = {front: (60, 30, 10)[front] for front in subset}
    total = sum(shares.values())

    for _ in range(100 * total):
        assert selector.draw(subset) in subset

    assert {front: selector.drawn[front] for front in subset} == {f: 100 * share for f, share in shares.items()}


def test_a_run_can_be_repeated() -> None:
    one, other = Selector(SelectorRatios()), Selector(SelectorRatios())

    assert [one.draw(ALL) for _ in range(500)] == [other.draw(ALL) for _ in range(500)]


@pytest.mark.parametrize("shares", [(0.0, 1.0), (-1.0, 1.0), (float("inf"), 1.0), (float("nan"), 1.0)])
def test_a_share_that_is_no_positive_number_is_refused(shares: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="a share must be a positive number"):
        SelectorRatios(shares, (1.0, 1.0))


def test_the_two_modes_must_have_the_same_classes() -> None:
    with pytest.raises(ValueError, match="2 normal shares but 3 under load"):
        SelectorRatios((1.0, 1.0), (1.0, 1.0, 1.0))
