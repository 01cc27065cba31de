"""Rules: which gaps and limits apply to which page."""

import re
from math import inf

import pytest

from gossamer.model.units import DAY, Instant, Seconds
from gossamer.recrawl.estimate import USUAL, Estimate
from gossamer.recrawl.policies import RECRAWL_POLICIES
from gossamer.recrawl.policy import EMPTY_MEMORY, Visited, Why
from gossamer.recrawl.price import share_of_refresh
from gossamer.recrawl.rules import GAPS, PageFacts, PageStatus, RecrawlRule, RecrawlRules, prior_of

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
        (PageFacts("x.test", "http://x.test/", status=PageStatus.GONE), "gone"),
    ],
)
def test_the_first_rule_that_fits_decides(page: PageFacts, rule: str | None) -> None:
    assert RULES.ruling(page).rule == rule


def test_a_rule_with_a_status_matches_only_that_status() -> None:
    rules = RecrawlRules((RecrawlRule("missing", status=PageStatus.NOT_FOUND, gap=Seconds(5 * DAY)),))

    assert rules.ruling(PageFacts("x.test", "", status=PageStatus.NOT_FOUND)).fixed == 5 * DAY
    assert rules.ruling(PageFacts("x.test", "")).fixed is None


def test_everything_that_is_no_page_has_a_gap_and_a_page_has_none() -> None:
    assert GAPS.keys() == set(PageStatus) - {PageStatus.PAGE}


def test_a_rule_with_limits_leaves_a_missing_page_its_own_gap() -> None:
    ruling = RULES.ruling(PageFacts("x.test", "http://x.test/today/", status=PageStatus.NOT_FOUND))

    assert ruling.fixed == GAPS[PageStatus.NOT_FOUND]


@pytest.mark.parametrize("name", RECRAWL_POLICIES)
def test_no_policy_overrides_a_fixed_gap(name: str) -> None:
    ruling = RULES.ruling(PageFacts("news.test", "http://news.test/"))
    terms = RULES.terms(ruling, importance=1e-6, price=100.0, prior=USUAL)

    plan = RECRAWL_POLICIES[name]().after(Visited(Instant(0.0)), EMPTY_MEMORY, terms)

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


def test_visits_go_to_those_that_are_worth_more_but_for_the_floor_of_the_others() -> None:
    floors = {"discovery_floor": 0.2, "refresh_floor": 0.1}

    assert share_of_refresh(new=2.0, due=1.0, **floors) == 0.1
    assert share_of_refresh(new=1.0, due=2.0, **floors) == 0.8


@pytest.mark.parametrize("standing", [PageStatus.NOT_FOUND, PageStatus.GONE])
def test_how_often_pages_are_wanted_says_nothing_of_what_is_not_there(standing: PageStatus) -> None:
    absent = PageFacts("news.test", "http://news.test/a", "text/html", standing)
    news = RecrawlRule("news", host="news.test", gap=Seconds(300.0))
    named = RecrawlRule("named", host="news.test", status=standing, gap=Seconds(600.0))
    never = RecrawlRule("never", host="news.test", gap=Seconds(inf))

    assert RecrawlRules([news]).ruling(absent).rule == standing.value
    assert RecrawlRules([news, named]).ruling(absent).fixed == 600.0
    assert RecrawlRules([never]).ruling(absent).fixed == inf
    assert RecrawlRules([news]).ruling(PageFacts("news.test", "http://news.test/a")).fixed == 300.0
