"""The policies: what each plans after a visit, what it stores, and how it explains the plan."""

import random
from importlib.metadata import EntryPoint, EntryPoints

import pytest

from gossamer.config import plugins
from gossamer.errors import UsageError
from gossamer.model.units import DAY, Instant, Seconds
from gossamer.recrawl.estimate import USUAL, Estimate, changed, unchanged
from gossamer.recrawl.policies import (
    RECRAWL_POLICIES,
    NutchAdaptive,
    Optimal,
    RecrawlPolicy,
    StormCrawlerAdaptive,
    estimate_of,
)
from gossamer.recrawl.policy import EMPTY_MEMORY, Memory, Plan, Terms, Visited, Why
from gossamer.recrawl.price import value
from tests.aged_crawls import aged

START = 1_700_000_000.0


def at(day: float, gap: float | None = None, **shown: object) -> Visited:
    since = None if gap is None else Seconds(gap * DAY)
    return Visited(Instant(START + day * DAY), since)._replace(**shown)  # type: ignore[arg-type]


def days(plan: Plan, visited: Visited) -> float:
    return plan.gap(visited.now) / DAY


def test_fixed_comes_again_after_the_usual_gap_whatever_it_sees() -> None:
    fixed = RecrawlPolicy()
    terms = Terms(usual=Seconds(3 * DAY))

    for visited in (at(0), at(9, 9), at(9, 9, changed=True)):
        assert days(fixed.after(visited, EMPTY_MEMORY, terms), visited) == pytest.approx(3.0)


def test_a_page_seen_once_is_planned_by_its_prior_and_writes_no_estimate_down() -> None:
    plan = Optimal().after(at(0), EMPTY_MEMORY, Terms(price=3.0))

    assert plan.memory == Memory(0.0, 0.0, visits=1, changes=0)
    assert value(USUAL, 1.0, days(plan, at(0))) == pytest.approx(3.0, rel=1e-4)
    assert plan.why is Why.WORTH


def test_the_second_visit_starts_from_the_prior_of_that_time() -> None:
    better = Estimate(0.5, 200.0)

    plan = Optimal().after(at(10, 10), Memory(visits=1), Terms(prior=better))

    assert estimate_of(plan.memory) == unchanged(better, 10.0)


def test_the_next_visit_is_when_it_is_worth_the_price() -> None:
    plan = Optimal(memory_days=1e12).after(at(10, 10, changed=True), Memory(2.0, 30.0, 4, 1), Terms(0.3, 0.5))

    learnt = changed(Estimate(2.0, 30.0), 10.0)
    assert estimate_of(plan.memory) == pytest.approx(learnt, rel=1e-6)
    assert plan.memory[2:] == (5, 2)
    assert value(learnt, 0.3, days(plan, at(10))) == pytest.approx(0.5, rel=1e-4)


def test_a_first_visit_with_a_date_of_the_last_change_is_an_observation_already() -> None:
    plan = Optimal().after(at(0, changed_at=Instant(START - 100 * DAY)), EMPTY_MEMORY, Terms())

    assert estimate_of(plan.memory) == unchanged(USUAL, 100.0)


def test_a_known_time_of_change_is_used() -> None:
    visited = at(10, 10, changed=True, changed_at=Instant(START + 8 * DAY))

    plan = Optimal(memory_days=1e12).after(visited, Memory(2.0, 30.0, 4, 1), Terms())

    assert estimate_of(plan.memory) == pytest.approx((3.0, 32.0))


def test_a_visit_that_a_report_caused_is_counted_as_a_report_and_not_as_one_bit() -> None:
    visited = at(10, 10, changed=True, flagged_after=Seconds(6 * DAY))

    plan = Optimal(memory_days=1e12).after(visited, Memory(2.0, 30.0, 4, 1), Terms(recall=0.5))

    assert estimate_of(plan.memory) == pytest.approx((3.0, 33.0))


def test_limits_hold_and_are_named() -> None:
    terms = Terms(price=1e-9, shortest=Seconds(3600.0), longest=Seconds(20 * DAY))
    often = Optimal().after(at(0), EMPTY_MEMORY, terms)
    seldom = Optimal().after(at(0), EMPTY_MEMORY, terms._replace(price=1e9))
    ruled = Optimal().after(at(0), EMPTY_MEMORY, terms._replace(shortest=terms.longest))

    assert (often.gap(at(0).now), often.why) == (3600.0, Why.SHORTEST)
    assert (seldom.gap(at(0).now), seldom.why) == (20 * DAY, Why.LONGEST)
    assert (ruled.gap(at(0).now), ruled.why) == (20 * DAY, Why.RULE)


def test_nutch_is_a_fifth_faster_after_a_change_and_two_fifths_slower_without() -> None:
    nutch = NutchAdaptive()
    first = nutch.after(at(0), EMPTY_MEMORY, Terms())
    same = nutch.after(at(30, 30), first.memory, Terms())
    new = nutch.after(at(30, 30, changed=True), first.memory, Terms())

    assert days(first, at(0)) == pytest.approx(30.0)
    assert same.memory.rate_shape == pytest.approx(42 * DAY)
    assert days(same, at(30)) == pytest.approx(42 - 0.3 * 30)  # nearer to the last known change
    assert days(new, at(30)) == pytest.approx(24.0)


def test_nutch_retries_everything_after_ninety_days() -> None:
    plan = NutchAdaptive().after(at(400, 90), Memory(300 * DAY, START + 400 * DAY, 5, 0), Terms())

    assert days(plan, at(400)) == pytest.approx(90.0)


def test_stormcrawler_grows_to_two_weeks_and_falls_half_way_to_an_hour() -> None:
    storm = StormCrawlerAdaptive()
    plan = storm.after(at(0), EMPTY_MEMORY, Terms())
    gaps = [days(plan, at(0))]
    for _ in range(8):
        plan = storm.after(at(0, 1), plan.memory, Terms())
        gaps.append(days(plan, at(0)))

    assert gaps[:3] == pytest.approx([1.0, 1.5, 2.25])
    assert gaps[-1] == pytest.approx(14.0)
    assert days(storm.after(at(0, 1, changed=True), plan.memory, Terms()), at(0)) == pytest.approx(7 + 1 / 48)


@pytest.mark.parametrize("name", RECRAWL_POLICIES)
def test_every_policy_keeps_the_limits_over_any_history_and_has_words_for_it(name: str) -> None:
    chance = random.Random(9)
    policy, memory = RECRAWL_POLICIES[name](), EMPTY_MEMORY
    terms = Terms(0.01, 0.1, shortest=Seconds(60.0), longest=Seconds(100 * DAY))
    gap: float | None = None
    day = 0.0
    for _ in range(500):
        visited = at(day, gap, changed=gap is not None and chance.random() < 0.4)
        plan = policy.after(visited, memory, terms)
        assert terms.shortest * 0.999 <= plan.gap(visited.now) <= terms.longest * 1.001
        memory, gap = plan.memory, days(plan, visited)
        day += gap

    assert memory.visits == 500
    assert policy.words(memory, terms)


def test_optimal_tells_interval_evidence_and_price() -> None:
    words = Optimal().words(Memory(4.0, 40.0, visits=12, changes=3), Terms(price=2.0))

    assert "about every 10 days" in words
    assert "12 visits, 3 of which found a change" in words
    assert "the price is 2" in words


def test_optimal_tells_that_it_knows_nothing_of_the_page_itself() -> None:
    assert "based on its host and sitemap" in Optimal().words(Memory(visits=1), Terms())


class Monthly(RecrawlPolicy):
    """A policy of a user."""

    name = "monthly"


def test_a_policy_of_a_user_is_found_by_its_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = EntryPoint("monthly", f"{__name__}:Monthly", plugins.RECRAWL_GROUP)
    monkeypatch.setattr(plugins, "entry_points", lambda group: EntryPoints([entry]).select(group=group))

    found = plugins.recrawl_policies()

    assert type(found["monthly"]()).__name__ == "Monthly"
    assert found.keys() > RECRAWL_POLICIES.keys()


@pytest.mark.parametrize(("name", "where"), [("weekly", "Monthly"), ("monthly", "START"), ("monthly", "Missing")])
def test_an_entry_point_that_is_no_such_policy_is_named(name: str, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = EntryPoint(name, f"{__name__}:{where}", plugins.RECRAWL_GROUP)
    monkeypatch.setattr(plugins, "entry_points", lambda group: EntryPoints([entry]).select(group=group))

    with pytest.raises(UsageError, match=f"the recrawl policy '{name}'"):
        plugins.recrawl_policies()[name]()


def test_optimal_learns_from_an_unchanged_page_what_the_estimator_says() -> None:
    chance = random.Random(3)
    policy = Optimal(memory_days=50.0)
    for _ in range(500):
        memory = Memory(10 ** chance.uniform(-2, 3), 10 ** chance.uniform(-3, 4), 3, 1)
        gap = 10 ** chance.uniform(-4, 3)
        terms = Terms(prior=Estimate(0.5, 20.0), recall=chance.choice([0.0, 0.7]))

        learnt = policy.updated_estimate(Visited(Instant(1e9), Seconds(gap * DAY)), memory, terms)

        assert learnt == pytest.approx(
            unchanged(aged(Estimate(memory.rate_shape, memory.rate_span), gap, 50.0, terms.prior), gap)
        )


def test_a_policy_that_tells_nothing_is_not_said_to_do_what_fixed_does() -> None:
    class Silent(RecrawlPolicy):
        name = "silent"

        def after(self, visited: Visited, memory: Memory, terms: Terms) -> Plan:
            return super().after(visited, memory, terms)

    assert Silent().words(Memory(visits=3, changes=1), Terms()) == (
        "as it plans after 3 visits, 1 of which found a change"
    )
    assert RecrawlPolicy().words(EMPTY_MEMORY, Terms()) == "every page again after 14 days"
