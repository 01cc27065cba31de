"""How fresh the copies are and what that costs, as people and programs read it."""

import dataclasses
import json
from typing import Any

import pytest

from gossamer.observe.display import plain_line
from gossamer.observe.freshness import FreshnessMetrics, format_budget, format_rates, freshness_object
from gossamer.observe.snapshot import Rates, Snapshot, to_contract
from tests.observe.snapshots import busy_snapshot
from tests.observe.test_live_display import view

METRICS = FreshnessMetrics(
    fresh=0.877,
    price=2.31,
    scheduled=12_000,
    demand=857.1,
    budget=1_000.0,
    refreshes=810.0,
    discoveries=190.0,
    overdue=7,
    waiting=30,
)


def refreshing(**changes: Any) -> Snapshot:
    counts: dict[str, Any] = {"refreshed": 500, "not_modified": 300, "unchanged": 110, "changed": 90, "reported": 12}
    return busy_snapshot(**{**counts, "freshness": METRICS, **changes})


def test_budget_and_shares_are_those_of_late() -> None:
    assert METRICS.budget_used == pytest.approx(0.81)
    assert METRICS.refresh_share == pytest.approx(0.81)
    assert FreshnessMetrics(refreshes=5.0).budget_used is None
    assert FreshnessMetrics().refresh_share is None


def test_the_object_has_a_name_for_every_figure_and_null_for_what_is_unknown() -> None:
    found = freshness_object(METRICS)

    assert found["freshness"] == 0.877
    assert (found["budget"], found["budget_used"], found["refresh_share"]) == (1_000.0, 0.81, 0.81)
    assert (found["refreshes_a_day"], found["discoveries_a_day"]) == (810.0, 190.0)
    assert (found["overdue"], found["waiting"], found["scheduled"], found["visits_a_day"]) == (7, 30, 12_000, 857.1)
    unknown = freshness_object(FreshnessMetrics())
    assert [unknown[name] for name in ("freshness", "price", "budget", "budget_used", "refresh_share")] == [None] * 5


def test_the_words_say_what_is_used_of_a_budget_and_without_one_what_is_needed() -> None:
    assert format_budget(METRICS) == "81 % of a budget of 1,000/day"
    assert format_budget(FreshnessMetrics(demand=0.5)) == "0.5 visits/day needed"
    assert format_rates(METRICS) == "810 refreshes/day, 190 discoveries/day"


def test_nothing_is_said_of_a_day_in_the_first_hour() -> None:
    young = dataclasses.replace(METRICS, young=True)

    assert (format_rates(young), format_budget(young)) == ("", "a budget of 1,000/day")
    assert format_budget(dataclasses.replace(young, budget=None)) == ""


@pytest.mark.parametrize(("width", "height"), [(79, 40), (119, 50), (60, 50)])
def test_a_recrawl_is_shown(width: int, height: int) -> None:
    text = "\n".join(view(refreshing(), width, height))

    assert "Recrawled  500" in text
    assert "Estimated freshness  87.7 % of pages" in text
    assert "81 % of a" in text
    assert "12 reported" in text


@pytest.mark.parametrize(("width", "height"), [(79, 23), (119, 39), (200, 60), (60, 20), (40, 10), (20, 5), (1, 1)])
def test_the_view_of_a_recrawl_never_exceeds_the_terminal(width: int, height: int) -> None:
    lines = view(refreshing(), width, height)

    assert len(lines) <= height
    assert max(map(len, lines)) <= max(width, 20)


def test_a_crawl_without_recrawls_shows_nothing_of_it() -> None:
    assert "Recrawled" not in "\n".join(view(busy_snapshot(), 119, 50))


def test_a_line_and_the_report_have_it_too() -> None:
    assert "recrawled 500 (88 % fresh)" in plain_line(refreshing(), Rates())
    assert "recrawled 500  " in plain_line(refreshing(freshness=FreshnessMetrics()), Rates())
    found = json.loads(json.dumps(to_contract(refreshing())))
    assert (found["reported"], found["recrawl"]["freshness"]) == (12, 0.877)
