"""What the story of a URL says about sitemaps."""

from dataclasses import replace

from gossamer.filter.rules import EntryRules
from gossamer.model.task import Via
from gossamer.model.units import Instant, Url
from gossamer.model.url_record import Facts, ListingFact
from gossamer.reports.explain.build import build_story
from gossamer.reports.explain.render import story_lines, story_object
from gossamer.reports.explain.story import Story
from tests.reports.explain.stories import FACTS, NOW, QUEUED, RULES, form

MAP = Url("http://h.test/map.xml")
LISTED = ListingFact(MAP, Instant(NOW - 30 * 86_400.0), "daily", 0.8)


def story_of(facts: Facts) -> Story:
    return build_story(form(), facts, RULES, now=NOW, running=True)


def listed_lines(listing: ListingFact) -> list[str]:
    lines = story_lines(story_of(replace(FACTS, listing=listing)))
    return [line[14:] for line in lines if line[2:14].strip() == "listed"]


def test_a_listed_url_tells_where_and_what_is_said_of_it() -> None:
    assert listed_lines(LISTED) == [
        "in http://h.test/map.xml: modified 2023-10-15T22:13:20Z, changes daily, priority 0.8"
    ]
    assert listed_lines(ListingFact(MAP)) == ["in http://h.test/map.xml"]
    assert listed_lines(ListingFact()) == []


def test_its_date_is_among_the_parts_of_its_priority() -> None:
    dated = replace(QUEUED, modified=LISTED.modified_at)
    with_date, without = story_of(replace(FACTS, url=dated, listing=LISTED)), story_of(FACTS)
    assert with_date.standing is not None and without.standing is not None

    assert "freshness" in with_date.standing.parts and "freshness" not in without.standing.parts
    assert abs(sum(with_date.standing.parts.values()) - with_date.standing.priority) < 1e-9


def test_a_score_that_only_time_has_changed_is_not_called_another() -> None:
    learnt = QUEUED.learnt._replace(age=29 * 86_400.0)
    yesterday = replace(QUEUED, priority=RULES.ordering.score(learnt), modified=LISTED.modified_at)
    standing = story_of(replace(FACTS, url=yesterday, listing=LISTED)).standing

    assert standing is not None and standing.queued_with is None


def test_a_sitemap_tells_who_leads_to_it_and_is_judged_by_the_rules_for_sitemaps() -> None:
    facts = replace(
        FACTS, url=replace(QUEUED, via=Via.SITEMAP), listing=ListingFact(sitemap=1, named_by="h.test other.test")
    )
    rules = replace(RULES, entry=EntryRules(excluded_extensions=frozenset({"b", ""})))
    story = build_story(form(), facts, rules, now=NOW, running=True)

    assert "  listed      it is a sitemap, which the robots.txt of h.test, other.test names or links to" in story_lines(
        story
    )
    assert any(line.startswith("  found       sitemap named by robots.txt, ") for line in story_lines(story))
    assert next(v for v in story.verdicts if v.rule == "extension").reason is None


def test_the_object_has_the_same() -> None:
    found = story_object(story_of(replace(FACTS, listing=LISTED)))

    assert found["listing"] == {
        "listed_in": MAP,
        "modified_at": "2023-10-15T22:13:20.000Z",
        "changefreq": "daily",
        "priority": 0.8,
        "sitemap": False,
        "named_by": [],
    }
    assert story_object(story_of(FACTS))["listing"] is None
