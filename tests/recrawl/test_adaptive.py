"""`adaptive`, the policy of crawls without a budget, over random histories."""

import random
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import exp

from gossamer.config.load import Config
from gossamer.config.policies import recrawl_policy_for
from gossamer.config.sections import RecrawlSection
from gossamer.crawl.run.assemble import recrawl_planner_for
from gossamer.model.units import DAY, Instant, Seconds
from gossamer.recrawl.estimate import HostRates
from gossamer.recrawl.planner import Planned, RecrawlPlanner
from gossamer.recrawl.policies import Adaptive, Optimal
from gossamer.recrawl.policy import EMPTY_MEMORY, Memory, Terms, Visited
from gossamer.recrawl.rules import CHANGEFREQ, prior_of
from tests.recrawl.test_planner import NOW, answer, past, visit

SHORTEST, LONGEST = 300.0, 365 * DAY
ADAPTIVE = Adaptive()


def planner() -> RecrawlPlanner:
    """As a crawl without any configuration has it."""
    return recrawl_planner_for(Config(), None, NOW)


def first_gap(changefreq: str | None = None, plans: RecrawlPlanner | None = None) -> float | None:
    asked = visit()
    asked = asked._replace(task=asked.task._replace(changefreq=changefreq))
    return (plans or planner()).plan_document(asked, answer(), NOW, "text/html", b"x" * 20, None).gap


def random_history(chance: random.Random) -> tuple[list[float], list[float], list[float]]:
    """Days of visits, of changes, and of some of these changes."""
    scale = 10 ** chance.uniform(-3, 2)
    visits = [0.0]
    for _ in range(chance.randrange(2, 40)):
        visits.append(visits[-1] + scale * 10 ** chance.uniform(-1.5, 1.5) * chance.choice([1, 1, 1, 0]))
    changes = sorted(chance.uniform(0, visits[-1]) for _ in range(chance.choice([0, 3, 30, 300])))
    kept = chance.random()
    return visits, changes, [change for change in changes if chance.random() < kept]


def planned_gaps(visits: Sequence[float], changes: Sequence[float], *, dated: bool, terms: Terms) -> Iterator[float]:
    """What the policy plans after each of the visits."""
    memory = EMPTY_MEMORY
    last: float | None = None
    for day in visits:
        k = bisect_right(changes, day)
        changed = last is not None and k > 0 and changes[k - 1] > last
        date = Instant(changes[k - 1] * DAY) if dated and k > 0 and (changed or last is None) else None
        gap = None if last is None else Seconds((day - last) * DAY)
        plan = ADAPTIVE.after(Visited(Instant(day * DAY), gap, changed, date), memory, terms)
        memory, last = plan.memory, day
        yield plan.gap(Instant(day * DAY))


def test_more_change_never_means_a_later_visit_and_limits_hold_over_any_history() -> None:
    chance = random.Random(5)
    for _ in range(400):
        visits, many, few = random_history(chance)
        changefreq, dated = chance.choice([None, *CHANGEFREQ]), chance.random() < 0.3
        usual = Seconds(chance.choice([14 * DAY, DAY, 3600.0]))
        terms = Terms(prior=prior_of(changefreq, ADAPTIVE.prior(HostRates(), usual)), usual=usual)

        often = list(planned_gaps(visits, many, dated=dated, terms=terms))
        seldom = list(planned_gaps(visits, few, dated=dated, terms=terms))

        for sooner, later in zip(often, seldom, strict=True):
            assert SHORTEST * 0.999 <= sooner <= later * 1.000001, (visits, many, few)
            assert later <= LONGEST * 1.000001


def kept_pages(digests: Sequence[bytes], days: Sequence[float], *, restarted: bool) -> list[Planned]:
    """The plans of the whole planner for one page that was visited on these days with these contents."""
    plans, found, before = planner(), [], None
    for k, (digest, day) in enumerate(zip(digests, days, strict=True)):
        if restarted:
            plans = planner()
        now = Instant(NOW + day * DAY)
        planned = plans.plan_document(visit(before), answer(), now, "text/html", digest, None)
        found.append(planned)
        before = past(
            visits=k + 1,
            changes=sum(a != b for a, b in pairwise(digests[: k + 1])),
            at=now,
            digest=digest,
            planned_gap=planned.gap,
            rate_shape=planned.rate_shape,
            rate_span=planned.rate_span,
        )
    return found


def test_a_restart_after_every_visit_gives_the_same_plans() -> None:
    chance = random.Random(6)
    for _ in range(30):
        days = sorted(chance.uniform(0, 300) for _ in range(25))
        digests = [b"%020d" % (k // chance.choice([1, 1, 4])) for k in range(25)]

        assert kept_pages(digests, days, restarted=True) == kept_pages(digests, days, restarted=False)


def test_a_page_that_changed_in_nearly_all_visits_is_visited_before_one_that_changed_in_half_of_them() -> None:
    days = [5.0 * k for k in range(42)]
    nearly_all = [b"%020d" % max(k, 1) for k in range(42)]
    half = [b"%020d" % (k // 2) for k in range(42)]
    none = [b"%020d" % 0] * 42

    gaps = [kept_pages(digests, days, restarted=False)[-1].gap or 0.0 for digests in (nearly_all, half, none)]

    assert gaps[0] < gaps[1] < 14 * DAY < gaps[2]


def test_the_first_revisit_is_exactly_two_weeks_ahead_when_nothing_is_known() -> None:
    plans = planner()
    changed = visit(past())
    for k in range(50):  # whatever is learned about the other pages of its host
        plans.plan_document(changed, answer(), NOW, "text/html", b"%020d" % k, None)

    assert first_gap() == first_gap(plans=plans) == 14 * DAY


def test_the_more_often_a_sitemap_says_a_page_changes_the_sooner_is_its_first_revisit() -> None:
    gaps = [first_gap(word) or 0.0 for word in ("hourly", "daily", "weekly", "monthly", "yearly", "never")]

    assert gaps == sorted(set(gaps))
    assert gaps[2] < 14 * DAY < gaps[3]
    assert first_gap("always") == gaps[0] < DAY


def test_the_interval_moves_to_the_time_between_changes_and_grows_while_nothing_changes() -> None:
    chance = random.Random(7)
    terms = Terms(prior=ADAPTIVE.prior(HostRates(), Terms().usual))
    for between in (1 / 1440, 1 / 24, 1.0, 60.0):
        plan = ADAPTIVE.after(Visited(Instant(0.0)), EMPTY_MEMORY, terms)
        memory, gap, now, gaps = plan.memory, plan.gap(Instant(0.0)), plan.next_visit, []
        for _ in range(200):
            changed = chance.random() < 1 - exp(-gap / DAY / between)
            plan = ADAPTIVE.after(Visited(now, gap, changed), memory, terms)
            memory, gap, now = plan.memory, plan.gap(now), plan.next_visit
            gaps.append(gap / DAY)
        assert 0.3 * between < sorted(gaps[50:])[75] < max(1.5 * between, 1.001 * SHORTEST / DAY)

        for _ in range(40):
            quiet = ADAPTIVE.after(Visited(now, gap), memory, terms)
            growth = 1.3 if gap > 1.001 * SHORTEST else 1.0
            assert quiet.gap(now) >= min(growth * gap, LONGEST) * 0.999
            memory, gap, now = quiet.memory, quiet.gap(now), quiet.next_visit
        assert gap > 0.999 * LONGEST


def test_auto_is_adaptive_without_a_budget_and_optimal_with_one() -> None:
    plain, limited = RecrawlSection(), RecrawlSection(budget=100.0)

    assert [type(recrawl_policy_for(Config(recrawl=recrawl))) for recrawl in (plain, limited)] == [Adaptive, Optimal]


def test_what_either_policy_has_learned_serves_the_other() -> None:
    adaptive = ADAPTIVE.after(Visited(NOW, Seconds(14 * DAY), changed=True), Memory(visits=1), Terms())
    optimal = Optimal().after(Visited(NOW, Seconds(DAY), changed=True), adaptive.memory, Terms())
    again = ADAPTIVE.after(Visited(NOW, Seconds(DAY)), Memory(50.0, 100.0, 90, 60), Terms())

    assert ADAPTIVE.memory_format == Optimal().memory_format
    assert optimal.memory.changes == 2
    assert again.gap(NOW) == 2.5 * DAY  # two days between changes, and another day without one
