"""Recent visits per day, and the freshness of the copies."""

import pytest

from gossamer.model.units import Instant
from gossamer.recrawl.budget import VisitRates
from gossamer.recrawl.change_hints import HostChangeHistory
from gossamer.recrawl.estimate import HostRates
from gossamer.recrawl.freshness import freshness_of, stored_freshness_metrics

DAY = 86_400.0
START = Instant(1.7e9)


def steady(days: float, *, refreshes: int, discoveries: int, every: float = 600.0) -> tuple[VisitRates, Instant]:
    """A crawl that goes on evenly; so many of each in every step."""
    pace, now = VisitRates(START), START
    for _ in range(int(days * DAY / every)):
        now = Instant(now + every)
        pace.refreshes += refreshes
        pace.discoveries += discoveries
        pace.fold(now)
    return pace, now


@pytest.mark.parametrize("days", [0.05, 1.0, 10.0])
def test_a_constant_rate_is_measured_at_any_age_of_the_crawl(days: float) -> None:
    pace, now = steady(days, refreshes=3, discoveries=1)

    assert pace.per_day(now) == pytest.approx((144.0, 432.0), rel=0.2 if days < 1 else 0.02)


def test_a_crawl_in_its_first_hour_is_young_also_after_a_restart() -> None:
    pace, now = steady(0.5 / 24, refreshes=3, discoveries=1)

    again = VisitRates(now, pace.to_text())

    assert again.is_young(now)
    assert not again.is_young(Instant(now + 1801.0))
    assert not steady(3.0, refreshes=3, discoveries=1)[0].is_young(Instant(START + 3 * DAY))


def test_what_lies_days_back_counts_no_more() -> None:
    pace, now = steady(5.0, refreshes=3, discoveries=0)

    assert pace.per_day(Instant(now + 10 * DAY))[1] < 1.0


def test_a_restart_changes_nothing() -> None:
    pace, now = steady(2.0, refreshes=3, discoveries=1)
    pace.budget = 500.0

    again = VisitRates(Instant(now + 60.0), pace.to_text())

    assert again.per_day(now) == pace.per_day(now)
    assert again.budget == 500.0
    assert VisitRates(now, VisitRates(now).to_text()).budget is None


def test_a_clock_that_stops_or_goes_back_still_gives_finite_rates() -> None:
    pace = VisitRates(START)
    pace.refreshes += 5
    pace.fold(START)
    pace.fold(Instant(START - DAY))

    assert pace.per_day(START) == pytest.approx((0.0, 5 * DAY))


def test_a_page_is_fresh_with_the_chance_that_its_estimate_gives() -> None:
    sample = [(1.0, 10.0, Instant(START - 10 * DAY), None), (1.0, 10.0, START, None)]

    assert freshness_of(sample, START) == pytest.approx(0.75)
    assert freshness_of([], START) is None


def test_a_page_seen_once_is_as_fresh_as_the_pages_of_its_host_let_expect() -> None:
    quiet = HostChangeHistory(HostRates(1_000, 0.1)).to_text()
    restless = HostChangeHistory(HostRates(1_000, 10_000.0)).to_text()
    week_ago = Instant(START - 7 * DAY)

    still = freshness_of([(None, None, week_ago, quiet)], START)
    moved = freshness_of([(None, None, week_ago, restless)], START)

    assert still is not None and moved is not None
    assert still > 0.95 > 0.3 > moved


def test_metrics_are_computed_from_the_stored_state() -> None:
    pace, now = steady(3.0, refreshes=3, discoveries=1)
    pace.budget = 864.0

    figures = stored_freshness_metrics(
        sample=[], price="2.5 100.0 1400 3", pace=pace.to_text(), overdue=3, waiting=4, now=now
    )
    nothing = stored_freshness_metrics(sample=[], price=None, pace=None, overdue=0, waiting=0, now=now)

    assert (figures.price, figures.demand, figures.scheduled) == (2.5, 100.0, 1_400)
    assert (figures.overdue, figures.waiting, figures.dear_hosts) == (3, 4, 3)
    assert figures.budget_used == pytest.approx(0.5, rel=0.02)
    assert (nothing.price, nothing.fresh, nothing.budget_used) == (None, None, None)
