"""The budget for visits to known URLs."""

import math

import pytest

from gossamer.config.sections import RecrawlSection
from gossamer.model.units import Instant
from gossamer.recrawl.budget import RefreshBudget

START = Instant(1_800_000_000.0)
KEEPING = RecrawlSection(keep_fresh=True, budget=2400.0)


def after(seconds: float) -> Instant:
    return Instant(START + seconds)


def test_without_a_budget_there_is_no_end_to_it() -> None:
    allowance = RefreshBudget(RecrawlSection(keep_fresh=True), START)

    allowance.spend(10**9)
    allowance.refill(after(1.0))

    assert (allowance.budget, allowance.tokens, allowance.to_text()) == (None, math.inf, None)


def test_one_that_keeps_fresh_saves_an_hours_worth_and_one_that_runs_once_a_days() -> None:
    keeping = RefreshBudget(KEEPING, START)
    once = RefreshBudget(RecrawlSection(budget=2400.0), START)

    assert (keeping.capacity, once.capacity) == (100.0, 2400.0)
    keeping.spend(100)
    assert keeping.next_at(START) == after(36.0)
    assert keeping.full_at(START) == after(3600.0)
    keeping.refill(after(360.0))
    assert keeping.tokens == pytest.approx(10.0)


def test_what_is_left_survives_a_restart() -> None:
    allowance = RefreshBudget(KEEPING, START)
    allowance.spend(7)

    again = RefreshBudget(KEEPING, START, allowance.to_text())

    assert again.tokens == pytest.approx(allowance.tokens)


def test_of_a_budget_that_is_new_nothing_is_saved_yet() -> None:
    allowance = RefreshBudget(RecrawlSection(keep_fresh=True), START)
    allowance.reconfigure(KEEPING, after(5.0))

    assert (allowance.budget, allowance.tokens) == (2400.0, 0.0)


def test_workers_that_own_half_and_a_quarter_have_these_shares_of_the_budget() -> None:
    half, quarter = RefreshBudget(KEEPING, START), RefreshBudget(KEEPING, START)
    half.change_share(0.5, START)
    quarter.change_share(0.25, START)

    assert (half.budget, half.capacity, half.tokens) == (1200.0, 50.0, 50.0)
    assert (quarter.budget, quarter.capacity, quarter.tokens) == (600.0, 25.0, 25.0)
    half.spend(50)
    half.refill(after(360.0))
    assert half.tokens == pytest.approx(5.0)


def test_with_partitions_a_proportional_part_of_what_is_saved_is_given_up() -> None:
    allowance = RefreshBudget(KEEPING, START)
    allowance.spend(40)

    allowance.change_share(0.25, START)
    assert allowance.tokens == pytest.approx(15.0)
    allowance.change_share(0.5, START)
    assert allowance.tokens == pytest.approx(30.0)


def test_a_share_of_what_is_left_survives_a_restart() -> None:
    allowance = RefreshBudget(KEEPING, START)
    allowance.change_share(0.5, START)
    allowance.spend(10)

    again = RefreshBudget(KEEPING, START, allowance.to_text())
    again.change_share(0.5, START)

    assert again.tokens == pytest.approx(allowance.tokens)
