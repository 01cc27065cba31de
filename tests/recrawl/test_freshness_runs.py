"""How fresh the default policy keeps generated and recorded worlds. Full size: benchmarks/results/recrawl.md."""

from math import inf

import pytest

from gossamer.lab.simulate import time_travel as travelling
from gossamer.lab.simulate.recrawl_compare import Comparison, Freshness, compare, optimum, share_fresh
from gossamer.lab.simulate.recrawl_world import Drawn, World, drawn_world, recorded_world
from gossamer.lab.simulate.time_travel import Journey, travel
from gossamer.recrawl.policies import RECRAWL_POLICIES, Optimal
from gossamer.recrawl.policy import Memory, Plan, RecrawlPolicy, Terms, Visited
from gossamer.recrawl.price import opening_price
from tests.conformance import shared_data

PAGES, CYCLE = 1_000, 14.0


def compared(names: tuple[str, ...] = ("optimal",), **wish: float) -> Comparison:
    worlds = [drawn_world(Drawn(pages=PAGES, days=200.0, **wish))]  # type: ignore[arg-type]
    return compare("small", worlds, CYCLE, {name: RECRAWL_POLICIES[name] for name in names})


def of(comparison: Comparison, policy: str) -> Freshness:
    return next(found for found in comparison.policies if found.policy == policy)


def test_optimal_comes_close_to_the_optimum_and_leaves_the_other_rules_behind() -> None:
    comparison = compared(tuple(RECRAWL_POLICIES))

    assert of(comparison, "optimal").of_optimum > 0.98
    assert of(comparison, "optimal").used > 0.97
    assert of(comparison, "known-rates").of_optimum == pytest.approx(1.0, abs=0.012)
    for peer in ("fixed", "nutch-adaptive", "stormcrawler-adaptive"):
        assert of(comparison, peer).of_optimum < 0.9


def test_hosts_that_allow_little_are_used_nearly_as_well_as_can_be() -> None:
    comparison = compared(hosts=50, cap=0.04 * PAGES / CYCLE)

    assert of(comparison, "optimal").of_optimum > 0.955


def test_rates_that_change_during_the_crawl_are_learned_again() -> None:
    assert of(compared(redrawn=0.3), "optimal").of_optimum > 0.97


def test_recorded_changes_are_followed_as_well_as_their_mean_rates_allow() -> None:
    whole = recorded_world(shared_data("changes") / "doc-site-changes.tsv.gz")
    every = 12
    total = sum(whole.importance[::every])
    world = World(
        "part",
        whole.days,
        whole.changes[::every],
        [w / total for w in whole.importance[::every]],
        whole.rates[::every],
        whole.host_of[::every],
    )

    comparison = compare("part", [world], 120.0, {"optimal": Optimal, "fixed": RECRAWL_POLICIES["fixed"]})

    assert of(comparison, "optimal").of_optimum > 0.98
    assert of(comparison, "fixed").of_optimum < 0.96


# --- what always holds ---------------------------------------------------------------------------------------


def test_no_more_is_visited_than_the_budget_allows_and_no_host_more_often_than_it_does() -> None:
    world = drawn_world(Drawn(pages=300, days=60.0, hosts=10, cap=3.0))
    journey = travel(world, Optimal(), budget=20.0)

    assert len(journey.starts) <= 20 * 60
    last: dict[int, float] = {}
    for page, start in zip(journey.pages, journey.starts, strict=True):
        host = world.host_of[page]
        assert start - last.get(host, -inf) >= 1 / 3.0 - 1e-9
        last[host] = start


def test_the_same_world_gives_the_same_journey() -> None:
    first, second = (travel(drawn_world(Drawn(pages=200, days=30.0)), Optimal(), 15.0) for _ in range(2))

    assert (first.pages, first.starts, first.ends) == (second.pages, second.starts, second.ends)


def test_freshness_is_the_time_from_a_visit_to_the_next_change() -> None:
    class Every(RecrawlPolicy):
        name = "every-4-days"

        def after(self, visited: Visited, memory: Memory, terms: Terms) -> Plan:
            return super().after(visited, memory, terms._replace(usual=4 * 86_400.0))  # type: ignore[arg-type]

    world = World("one", 8.0, [[1.0, 2.0, 7.0]], [1.0], [0.375], [0])
    journey = travel(world, Every(), budget=1.0)

    assert journey.starts == pytest.approx([0.0, 4.0])
    assert share_fresh(journey, [1.0], 0.0, 8.0) == pytest.approx((1 + 3) / 8)


def test_a_page_without_a_copy_is_stale() -> None:
    assert share_fresh(Journey(pages=[1], starts=[0.0], ends=[10.0]), [0.75, 0.25], 0.0, 10.0) == pytest.approx(0.25)


def test_drawn_pages_change_as_often_as_pages_of_the_web_do() -> None:
    world = drawn_world(Drawn(pages=4_000, days=30.0))

    within_a_week = sum(bool(times) and times[0] < 7 for times in world.changes) / world.pages
    assert within_a_week == pytest.approx(0.35, abs=0.03)
    assert sum(world.importance) == pytest.approx(1.0)


def test_the_optimum_that_policies_are_measured_by_is_that_of_the_rates_in_the_second_half() -> None:
    world = drawn_world(Drawn(pages=200, days=40.0, redrawn=0.5))
    comparison = compare("x", [world], 14.0, {})

    assert comparison.optimum == optimum(world.importance, world.rates, 200 / 14.0).freshness


def test_a_budget_that_is_far_above_what_the_opening_price_asks_for_goes_to_all_pages(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = drawn_world(Drawn(pages=300, days=12.0, hosts=10))
    monkeypatch.setattr(travelling, "opening_price", lambda *known: 200 * opening_price(*known))

    journey = travel(world, Optimal(), 300.0, [k / 3000 for k in range(300)])

    seen_late = {page for page, start in zip(journey.pages, journey.starts, strict=True) if start > 4.0}
    assert len(seen_late) > 280
