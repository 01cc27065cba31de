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
