"""Why the next visit is when it is: told from what is on record."""

from dataclasses import replace

import pytest

from gossamer.config.load import Config
from gossamer.config.policies import PolicyCache, recrawl_policy_for
from gossamer.config.sections import RecrawlRuleSection, RecrawlSection
from gossamer.model.states import UrlState
from gossamer.model.units import DAY, Instant, Seconds
from gossamer.model.url_record import Facts, ListingFact, RecrawlFact
from gossamer.recrawl.change_hints import HostChangeHistory, HostTrust
from gossamer.recrawl.estimate import HostRates
from gossamer.recrawl.price import Price, price_text
from gossamer.reports.explain.build import build_story
from gossamer.reports.explain.render import story_lines, story_object
from gossamer.reports.explain.schedule import RecrawlTerms
from gossamer.reports.explain.story import Recrawl, Story
from gossamer.reports.queries import _basis
from tests.reports.explain.stories import NOW, RULES, VISIT, form, known

TRUSTED = HostTrust(honest=48, dishonest=2, reports=40, confirmed=38, changes=50, reported_changes=40)
WEEK = Seconds(7 * DAY)
OPTIMAL = Config(recrawl=RecrawlSection(policy="optimal"))


def story_of(
    trust: HostTrust | None = None, listing: ListingFact | None = None, config: Config | None = None, **more: object
) -> Story:
    """Of a stored page that was visited four times, and is due a week after that."""
    config = config or OPTIMAL
    changing = HostChangeHistory(HostRates(20, 2.0), trust or HostTrust()).to_text()
    fact = RecrawlFact(WEEK, 2.0, 60.0, changing, price_text(Price(1.0, 2.5)))._replace(**more)  # type: ignore[arg-type]
    facts: Facts = known(UrlState.STORED)
    assert facts.url is not None
    url = replace(
        facts.url, available_at=Instant(VISIT.at + WEEK), learnt=facts.url.learnt._replace(visits=4, changes=1)
    )
    facts = replace(facts, url=url, recrawl=fact, listing=listing or ListingFact())
    rules = replace(
        RULES,
        recrawl=RecrawlTerms(
            recrawl_policy_for(config), lambda known, facts: _basis(PolicyCache(config), known, facts)
        ),
    )
    return build_story(form(), facts, rules, now=NOW, running=False)


def recrawl_of(story: Story) -> Recrawl:
    assert story.recrawl is not None
    return story.recrawl


def text_of(story: Story) -> str:
    return "\n".join(story_lines(story))


def test_the_estimate_is_told_with_its_uncertainty_and_what_it_rests_on() -> None:
    story = story_of()
    told = recrawl_of(story)

    assert (told.visits, told.changes, told.assumed) == (4, 1, False)
    assert told.change_interval == pytest.approx(30 * DAY)
    assert told.uncertainty == pytest.approx(0.5**0.5)
    assert "changes about every 30 days (within a factor of 1.7; based on 4 visits, 1 of which" in text_of(story)


def test_without_an_estimate_the_pages_of_its_host_are_what_it_rests_on() -> None:
    story = story_of(rate_shape=None, rate_span=None)

    assert recrawl_of(story).assumed
    assert recrawl_of(story).host_pages == 20
    assert recrawl_of(story).host_interval == pytest.approx(10 * DAY, rel=0.2)
    assert "based on its host and sitemap, or defaults" in text_of(story)
    assert "20 pages of its host with estimates" in text_of(story)


def test_dates_and_reports_are_told_with_whether_they_are_used() -> None:
    used = text_of(story_of(TRUSTED))
    unused = text_of(
        story_of(HostTrust(honest=1, dishonest=9, reports=20, confirmed=3, changes=20, reported_changes=3))
    )

    assert "Last-Modified of its host is used: 48 of 50 were right" in used
    assert "of its host are used: 38 of 40 were right, and 80 % of the changes are reported" in used
    assert "Last-Modified of its host is not used: 1 of 10 were right" in unused
    assert "of its host are not used: 3 of 20 were right" in unused
    assert "Last-Modified" not in text_of(story_of())


def test_a_visit_that_was_brought_forward_says_by_what() -> None:
    listing = ListingFact(modified_at=Instant(VISIT.at + DAY), changefreq="daily")
    told = story_of(TRUSTED, listing)
    sooner = story_of(TRUSTED, listing, planned_gap=Seconds(30 * DAY))

    assert not recrawl_of(told).signals.forwarded
    assert recrawl_of(sooner).signals.forwarded
    assert "brought forward: a sitemap or feed says that it was modified at" in text_of(sooner)
    assert "80 % of its changes would be reported" in text_of(told)
    assert "its sitemap says that it changes daily" in text_of(told)


def test_a_sitemap_is_told_to_be_one_that_is_not_given_up() -> None:
    assert "it lists other pages: visited about every" in text_of(story_of(listing=ListingFact(sitemap=1)))


def test_limits_and_rules_are_told() -> None:
    near = Config(recrawl=RecrawlSection(policy="optimal", longest=2 * DAY))
    ruled = Config(recrawl=RecrawlSection(rules=(RecrawlRuleSection(pattern="*", interval=WEEK),)))

    assert "limited to the longest interval" in text_of(story_of(config=near))
    assert "interval of rule 1; the page changes about every 30 days (within" in text_of(story_of(config=ruled))


def test_the_reason_for_visiting_a_volatile_page_less_often_is_told() -> None:
    calm, volatile, abandoned = (text_of(story_of(rate_shape=20.0, rate_span=days)) for days in (600.0, 7.0, 0.01))

    reason = "a page that changes less often is visited sooner, because its copy stays fresh for longer"
    assert [reason in text for text in (calm, volatile, abandoned)] == [False, True, True]


def test_without_a_budget_the_time_between_changes_is_told() -> None:
    known, new = story_of(config=Config()), story_of(config=Config(), rate_shape=None, rate_span=None)

    assert recrawl_of(known).policy == "adaptive"
    assert recrawl_of(known).change_interval == pytest.approx(30 * DAY)
    assert ": about the time between its changes, 30 days, from 4 visits, 1 of which" in text_of(known)
    assert recrawl_of(new).assumed
    assert ": default interval (no change history yet)" in text_of(new)


def test_the_same_is_told_as_an_object() -> None:
    told = story_object(story_of(TRUSTED))["recrawl"]

    assert isinstance(told, dict)
    assert told["signals"] == {
        "dates_believed": True,
        "dates_true": 48,
        "dates_judged": 50,
        "reports_believed": True,
        "reports_true": 38,
        "reports_judged": 40,
        "recall": 0.8,
        "changefreq": None,
        "reported_at": None,
        "forwarded": False,
    }


def test_the_price_of_a_host_that_allows_too_few_visits_is_told_beside_the_usual_one() -> None:
    budget = Config(recrawl=RecrawlSection(budget=100.0))
    dear = story_of(config=budget, change_history=HostChangeHistory().to_text(5.0))
    usual = story_of(config=budget)

    assert (recrawl_of(dear).price, recrawl_of(dear).usual_price) == (5.0, 2.5)
    assert "this minimum is higher than elsewhere (2.5), because its host allows too few visits" in text_of(dear)
    assert (recrawl_of(usual).price, recrawl_of(usual).usual_price) == (2.5, None)
    assert "higher than elsewhere" not in text_of(usual)
