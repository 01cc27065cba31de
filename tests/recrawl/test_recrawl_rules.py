"""Rules: which gaps and limits hold for which page."""

import re

import pytest

from gossamer.errors import UsageError
from gossamer.model.units import Instant, Seconds
from gossamer.recrawl.estimate import USUAL, Estimate
from gossamer.recrawl.policies import RECRAWL_POLICIES
from gossamer.recrawl.policy import DAY, NOTHING, Visited, Why
from gossamer.recrawl.rules import GAPS, PageFacts, RecrawlRule, RecrawlRules, Standing, prior_of
from gossamer.recrawl.turns import Floors, Turn, counted_turn, whose_turn

NEWS = RecrawlRule("news", host="*.news.test", gap=Seconds(300.0))
IMAGES = RecrawlRule("images", media_type="image/*", shortest=Seconds(30 * DAY))
DAILY = RecrawlRule("daily", pattern=re.compile(r"/today/"), longest=Seconds(DAY))
RULES = RecrawlRules((NEWS, IMAGES, DAILY))


@pytest.mark.parametrize(
    ("page", "rule"),
    [
        (PageFacts("news.test", "http://news.test/"), "news"),
        (PageFacts("a.news.test", "http://a.news.test/"), "news"),
        (PageFacts("fakenews.test", "http://fakenews.test/"), None),
        (PageFacts("x.test", "http://x.test/i", "image/PNG"), "images"),
        (PageFacts("x.test", "http://x.test/today/i", "image/png"), "images"),
        (PageFacts("x.test", "http://x.test/today/", "text/html"), "daily"),
        (PageFacts("x.test", "http://x.test/", standing=Standing.GONE), "gone"),
    ],
)
def test_the_first_rule_that_fits_decides(page: PageFacts, rule: str | None) -> None:
    assert RULES.ruling(page).rule == rule


def test_a_rule_by_standing_fits_only_what_stands_so() -> None:
    rules = RecrawlRules((RecrawlRule("missing", standing=Standing.NOT_FOUND, gap=Seconds(5 * DAY)),))

    assert rules.ruling(PageFacts("x.test", "", standing=Standing.NOT_FOUND)).fixed == 5 * DAY
    assert rules.ruling(PageFacts("x.test", "")).fixed is None


def test_everything_that_is_no_page_has_a_gap_and_a_page_has_none() -> None:
    assert GAPS.keys() == set(Standing) - {Standing.PAGE}


def test_a_rule_with_limits_leaves_a_missing_page_its_own_gap() -> None:
    ruling = RULES.ruling(PageFacts("x.test", "http://x.test/today/", standing=Standing.NOT_FOUND))

    assert ruling.fixed == GAPS[Standing.NOT_FOUND]


@pytest.mark.parametrize("name", RECRAWL_POLICIES)
def test_no_policy_overrides_a_fixed_gap(name: str) -> None:
    ruling = RULES.ruling(PageFacts("news.test", "http://news.test/"))
    terms = RULES.terms(ruling, importance=1e-6, price=100.0, prior=USUAL)

    plan = RECRAWL_POLICIES[name]().after(Visited(Instant(0.0)), NOTHING, terms)

    assert (plan.next_visit, plan.why) == (300.0, Why.RULE)


def test_limits_that_cross_are_the_shortest_gap() -> None:
    rules = RecrawlRules((RecrawlRule("odd", shortest=Seconds(9 * DAY), longest=Seconds(DAY)),))

    ruling = rules.ruling(PageFacts("x.test", ""))

    assert ruling.shortest == ruling.longest == 9 * DAY


def test_what_a_sitemap_says_of_frequency_is_half_of_the_prior() -> None:
    host = Estimate(0.5, 50.0)

    assert prior_of(None, host) == prior_of("sometimes", host) == host
    assert prior_of("daily", host).rate == pytest.approx((0.01 * 1.0) ** 0.5)
    assert prior_of(" Yearly ", host).rate == pytest.approx((0.01 / 365) ** 0.5)


@pytest.mark.parametrize(
    ("new", "due", "discovered", "turn"),
    [
        (None, None, 0.5, None),
        (1.0, None, 1.0, Turn.DISCOVERY),
        (None, 1.0, 0.0, Turn.REFRESH),
        (2.0, 1.0, 0.5, Turn.DISCOVERY),
        (1.0, 2.0, 0.5, Turn.REFRESH),
        (2.0, 1.0, 0.95, Turn.REFRESH),
        (1.0, 2.0, 0.05, Turn.DISCOVERY),
    ],
)
def test_the_more_valuable_goes_first_unless_the_other_has_had_less_than_its_floor(
    new: float | None, due: float | None, discovered: float, turn: Turn | None
) -> None:
    assert whose_turn(Floors(0.1, 0.1), new=new, due=due, discovered=discovered) is turn


def test_each_gets_its_floor_in_the_long_run() -> None:
    floors, discovered, turns = Floors(0.2, 0.3), 0.5, []
    for _ in range(5_000):
        turn = whose_turn(floors, new=100.0, due=1.0, discovered=discovered)
        assert turn is not None
        turns.append(turn)
        discovered = counted_turn(discovered, turn)

    assert turns[1_000:].count(Turn.REFRESH) / 4_000 == pytest.approx(0.3, abs=0.01)


def test_floors_that_are_more_than_the_whole_are_refused() -> None:
    with pytest.raises(UsageError, match=r"0\.7 and 0\.6"):
        Floors(0.7, 0.6)
