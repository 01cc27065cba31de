"""What may be spent on visits to known URLs."""

import math

import pytest

from gossamer.crawl.allowance import MOST_A_SECOND, Allowance
from gossamer.model.units import Instant
from gossamer.sections import RecrawlSection

START = Instant(1_800_000_000.0)
DAY = 86_400.0
FIFTH = RecrawlSection(keep_fresh=True, capacity_share=0.2)


def after(seconds: float) -> Instant:
    return Instant(START + seconds)


def test_without_a_budget_there_is_no_end_to_it() -> None:
    allowance = Allowance(RecrawlSection(keep_fresh=True), START, 80)

    allowance.spend(10**9)
    allowance.refill(after(1.0))

    assert (allowance.budget, allowance.tokens, allowance.to_text()) == (None, math.inf, None)


def test_one_that_keeps_fresh_saves_an_hours_worth_and_one_that_runs_once_a_days() -> None:
    keeping = Allowance(RecrawlSection(keep_fresh=True, budget=2400.0), START, 80)
    once = Allowance(RecrawlSection(budget=2400.0), START, 80)

    assert (keeping.most, once.most) == (100.0, 2400.0)
    keeping.spend(100)
    assert keeping.next_at(START) == after(36.0)
    assert keeping.full_at(START) == after(3600.0)
    keeping.refill(after(360.0))
    assert keeping.tokens == pytest.approx(10.0)


def test_a_share_of_capacity_is_that_share_of_the_slots() -> None:
    allowance = Allowance(FIFTH, START, concurrency=50)
    before = allowance.budget
    for _ in range(2000):
        allowance.took(4.0)

    assert allowance.reckon()
    assert before == pytest.approx(0.2 * 50 * DAY)  # a second each, before any was seen
    assert allowance.budget == pytest.approx(0.2 * 50 * DAY / 4.0)
    assert allowance.most == pytest.approx(0.2 * 50 * 3600 / 4.0)
    assert not allowance.reckon()  # nothing is new


def test_however_soon_visits_are_answered_a_process_makes_only_so_many() -> None:
    allowance = Allowance(FIFTH, START, concurrency=80)
    allowance.took(0.001)
    allowance.reckon()

    assert allowance.budget == pytest.approx(0.2 * MOST_A_SECOND * DAY)


def test_a_budget_that_is_stated_is_not_moved_by_how_long_visits_take() -> None:
    allowance = Allowance(RecrawlSection(budget=100.0), START, 80)
    allowance.took(100.0)

    assert not allowance.reckon()
    assert allowance.budget == 100.0


def test_what_the_share_came_to_and_what_is_left_survive_a_restart() -> None:
    allowance = Allowance(FIFTH, START, concurrency=50)
    allowance.took(3.0)
    allowance.reckon()
    allowance.spend(7)

    again = Allowance(FIFTH, START, 50, allowance.to_text(), allowance.budget)

    assert again.budget == pytest.approx(allowance.budget)
    assert again.tokens == pytest.approx(allowance.tokens)


def test_of_a_budget_that_is_new_nothing_is_saved_yet() -> None:
    allowance = Allowance(RecrawlSection(keep_fresh=True), START, 80)
    allowance.change_to(FIFTH, after(5.0))

    assert (allowance.budget, allowance.tokens) == (0.2 * 80 * DAY, 0.0)


@pytest.mark.parametrize(
    "wishes", [{"capacity_share": 0.0}, {"capacity_share": 1.5}, {"capacity_share": 0.5, "budget": 5.0}]
)
def test_a_share_that_cannot_be_is_refused(wishes: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="capacity_share"):
        RecrawlSection(**wishes)  # type: ignore[arg-type]
