"""The story in words and as an object."""

import dataclasses
import json
from dataclasses import replace

import pytest

from gossamer.config.overrides import HostOverride
from gossamer.filter.rules import EntryRules
from gossamer.frontier.orderings import ORDERINGS
from gossamer.frontier.orderings.class_rules import PriorityClass, PriorityRule, PriorityRules
from gossamer.model.formats import LongLink
from gossamer.model.states import UrlState
from gossamer.model.task import Via
from gossamer.model.units import Instant, Seconds, Url
from gossamer.model.url_record import Bounded, Facts, FailureFact, QueueFact, RecordCheck, SeedPlace, Step
from gossamer.reports.explain.build import build_story
from gossamer.reports.explain.render import story_lines, story_object
from gossamer.reports.explain.story import Story
from tests.reports.explain.stories import FACTS, HOST, NEVER_SEEN, NOW, QUEUED, RULES, URL, VISIT, form, known, robots


def lines_of(facts: Facts, order: str = "mercator") -> list[str]:
    rules = replace(RULES, ordering=ORDERINGS[order]())
    return story_lines(build_story(form(), facts, rules, now=NOW, running=True))


def part_of(facts: Facts, label: str, order: str = "mercator") -> list[str]:
    """The lines of one part, without their label."""
    found, inside = [], False
    for line in lines_of(facts, order)[3:]:
        if line[2:14].strip():
            inside = line[2:14].strip() == label
        if inside:
            found.append(line[14:])
    return found


def test_every_line_has_its_label_in_the_first_column() -> None:
    answer, blank, head, *rest = lines_of(FACTS)

    assert answer == "Not fetched yet: it is due now"
    assert (head, blank) == ("http://h.test/a/b", "")
    labels = [line[2:14].strip() for line in rest if line[2:14].strip()]
    assert " ".join(labels) == "state canonical found filter robots.txt priority politeness attempts next"
    assert all(line.startswith("  ") and line[13] == " " for line in rest)


def test_the_answer_comes_first_and_names_what_decides() -> None:
    later = replace(QUEUED, available_at=Instant(NOW + 60), reason="server_error", tries=1)
    moved = replace(known(UrlState.REDIRECT), visit=replace(VISIT, status=301, redirect_to="http://h.test/new"))
    twin = replace(known(UrlState.DUPLICATE), visit=replace(VISIT, duplicate_of=Url("http://h.test/1")))
    dead = known(UrlState.DEAD, "conn_refused")
    assert dead.url is not None
    rules = EntryRules(excluded_extensions=frozenset({"gif"}), max_depth=1)
    cases: list[tuple[str, Facts, EntryRules, str]] = [
        (
            "http://h.test/x.gif",
            NEVER_SEEN,
            rules,
            "Not fetched: its ending .gif is on the list filter.exclude_extensions",
        ),
        (URL, NEVER_SEEN, EntryRules(), "Not found: no crawled page links to it"),
        (URL, NEVER_SEEN, EntryRules(max_depth=0), "Not fetched: its depth is 1, at most 0 (max_depth)"),
        (URL, known(UrlState.EXCLUDED, "depth_limit"), rules, "Not fetched: its depth is 2, at most 1 (max_depth)"),
        (URL, known(UrlState.EXCLUDED, "hook"), EntryRules(), "Not fetched: a user's hook excluded the link"),
        (URL, FACTS, EntryRules(), "Not fetched yet: it is due now"),
        (
            URL,
            replace(FACTS, url=later),
            EntryRules(),
            "Not fetched yet: due 2023-11-14T22:14:20Z: try 2, after server_error",
        ),
        (
            URL,
            known(UrlState.STORED),
            EntryRules(),
            "Stored: fetched at 2023-11-14T22:13:00Z with status 200",
        ),
        (
            URL,
            twin,
            EntryRules(),
            "Fetched at 2023-11-14T22:13:00Z with status 200, not stored: a duplicate of http://h.test/1",
        ),
        (
            URL,
            moved,
            EntryRules(),
            "Fetched at 2023-11-14T22:13:00Z with status 301: a redirect to http://h.test/new",
        ),
        (URL, known(UrlState.GONE), EntryRules(), "Gone: requested at 2023-11-14T22:13:00Z with status 200"),
    ]
    for tries, said in ((1, "1 try"), (2, "2 tries")):
        answer = f"Not fetched: failed after {said}: the connection was refused; gossamer dead requeue queues it again"
        cases.append((URL, replace(dead, url=replace(dead.url, tries=tries)), EntryRules(), answer))
    for text, facts, entry, answer in cases:
        story = build_story(form(text), facts, replace(RULES, entry=entry), now=NOW, running=True)

        assert story_lines(story)[0] == story_object(story)["answer"] == answer


def test_the_way_back_ends_at_the_seed() -> None:
    way = (
        Step(Url("http://h.test/a"), Via.REDIRECT, 1, None),
        Step(Url("http://h.test/old"), Via.LINK, 1, None),
        Step(Url("http://h.test/"), Via.SEED, 0, SeedPlace("seeds.txt, line 3", NOW)),
    )

    assert part_of(replace(FACTS, way=way), "found")[1:] == [
        "  http://h.test/a was found by a redirect from http://h.test/old",
        "  http://h.test/old was found on http://h.test/",
        "  http://h.test/ is a seed: seeds.txt, line 3",
    ]


def test_a_seed_has_no_way_back() -> None:
    facts = replace(FACTS, url=replace(QUEUED, via=Via.SEED), seed=SeedPlace("argument 1", NOW))

    assert part_of(facts, "found") == ["seed: argument 1, 2023-11-14T22:13:20Z"]


def test_a_count_that_was_given_up_says_so() -> None:
    queue = QueueFact(before=Bounded(12), of_class=Bounded(3_000), of_host=Bounded(10_000, True))

    assert part_of(replace(FACTS, queue=queue), "queue") == [
        "12 ahead of it; 3,000 of its class and more than 10,000 in total queued on its host"
    ]


def test_the_line_of_robots_txt_is_quoted_with_its_number_and_age() -> None:
    fact = robots("User-agent: *\nDisallow: /a\n", age=3_700.0)

    first, second = part_of(replace(FACTS, robots=fact), "robots.txt")

    assert first == "denied: line 2, Disallow: /a"
    assert second.startswith("http://h.test/robots.txt returned 200 1:01:40 ago, cached until ")


@pytest.mark.parametrize(
    ("next_contact", "said"),
    [
        (0.0, "h.test was never contacted"),
        (NOW - 10, "h.test (192.0.2.1) may be contacted now (delay ended at 2023-11-14T22:13:10Z)"),
        (
            NOW + 0.5,
            "h.test (192.0.2.1) may be contacted in 500 ms, at 2023-11-14T22:13:20Z: not recorded",
        ),
    ],
)
def test_how_the_host_stands_with_us_is_told(next_contact: float, said: str) -> None:
    facts = replace(FACTS, host=replace(HOST, next_contact=Instant(next_contact)))

    assert part_of(facts, "politeness")[0] == said


def test_a_rest_is_told_with_the_term_that_decided_it() -> None:
    host = replace(HOST, next_contact=Instant(NOW + 8), rest_reason="Retry-After")

    first, second, third = part_of(replace(FACTS, host=host), "politeness")

    assert first.endswith("may be contacted in 8.0 s, at 2023-11-14T22:13:28Z: Retry-After")
    assert second == "usual delay 1.0 s: minimum delay; last response took 50 ms"
    assert third == "7 page requests to h.test"


def test_a_priority_by_score_is_told_as_a_sum() -> None:
    queued = replace(QUEUED, front=0, priority=300.0)

    assert part_of(replace(FACTS, url=queued, order="novelty"), "priority", "novelty") == [
        "12.5000 by novelty: in order of score, depth 2",
        "the sum of novelty 9.3000, references 3.0000, domain_references 0.2000",
        "3 pages link to it, 1 of other domains; 0 visits, 0 changes",
    ]


def test_a_priority_by_classes_is_told_with_its_class() -> None:
    first, *_ = part_of(FACTS, "priority")
    assumed, *_ = part_of(NEVER_SEEN, "priority")

    assert first == f"{QUEUED.priority / 1024:.4f} by mercator: class 1 (group medium), depth 2"
    assert assumed.endswith("depth 1, assuming a link from a seed")


def test_no_links_or_visits_are_told_of_a_url_that_was_never_seen() -> None:
    lines = part_of(NEVER_SEEN, "priority")

    assert not any("to it" in line or "visit" in line for line in lines)


def test_a_rule_that_overrides_the_score_is_told() -> None:
    rule = PriorityRule("rule 2 (host h.test): high", PriorityClass.HIGH, "h.test")
    for order, first in (("mercator", "class 1 (group medium)"), ("novelty", "in order of score")):
        ordering = ORDERINGS[order]()
        ordering.use_rules(PriorityRules([rule]))
        position = ordering.standing(QUEUED.learnt)
        queued = replace(QUEUED, priority=position.priority, front=1 if order == "mercator" else 0)
        facts, rules = replace(FACTS, url=queued, order=order), replace(RULES, ordering=ordering)
        story = build_story(form(), facts, rules, now=NOW, running=True)

        text = "\n".join(story_lines(story))
        assert first in text
        assert "priority.rules overrides the score: rule 2 (host h.test): high" in text
        assert story.standing is not None
        assert story.standing.rule == rule.name and story.standing.queued_with is None


def test_a_queue_in_another_order_is_told_last() -> None:
    lines = part_of(FACTS, "priority", "balance")

    assert lines[-1] == "the queue is sorted by mercator until a crawl starts with this configuration"


def test_a_place_by_score_says_so() -> None:
    queue = QueueFact(before=Bounded(2), of_class=Bounded(7), of_host=Bounded(9))
    due, later = replace(QUEUED, front=0), replace(QUEUED, front=1)

    for queued, by in ((due, "by score"), (later, "for a date")):
        facts = replace(FACTS, url=queued, queue=queue, order="novelty")
        assert part_of(facts, "queue", "novelty") == [
            f"2 ahead of it {by}; 7 queued like it and 9 in total on its host"
        ]


def test_text_from_the_web_cannot_write_to_the_terminal() -> None:
    failure = FailureFact(NOW, "bad_header", 200, "\x1b[2Jgone\n  state       stored")

    lines = lines_of(replace(FACTS, failures=(failure,)))

    assert not any("\x1b" in line or "\n" in line for line in lines)


def test_the_object_has_every_part_and_moments_as_text() -> None:
    facts = replace(known(UrlState.STORED), seed=SeedPlace("argument 1", NOW))
    story = build_story(form(), facts, RULES, now=NOW, running=False, record=RecordCheck("cut"))

    found = json.loads(json.dumps(story_object(story)))

    assert found.keys() == {"v", *(field.name for field in dataclasses.fields(Story))}
    assert found["finding"]["seed"] == {"where": "argument 1", "added_at": "2023-11-14T22:13:20.000Z"}
    assert found["attempts"][0]["visited_at"] == "2023-11-14T22:13:00.000Z"
    assert found["archive"]["problem"] == "cut"
    assert found["place"] is None


def test_a_document_in_order_has_nothing_to_be_said_about_it() -> None:
    assert len(part_of(known(UrlState.STORED), "content")) == 2  # what it is, and its title


def test_what_is_to_be_known_about_a_document_is_told_with_it() -> None:
    marked = replace(VISIT, truncated="length", unverified=True, replaced=3, deep_links=1)
    long = (LongLink("http://h.test/aaa", bytes(32), 4000),)

    told = part_of(replace(known(UrlState.STORED), visit=marked, long_links=long), "content")[2:]

    assert told == [
        "truncated (length): longer than the size limit",
        "unverified: the certificate of the server was not checked",
        "3 characters could not be read in its encoding",
        "1 link nested deeper than 512 elements",
        f"a link of 4,000 bytes was too long: http://h.test/aaa (sha256:{'0' * 64})",
    ]


def test_what_was_ordered_for_its_host_is_a_part_of_its_own() -> None:
    ordered = HostOverride(paused=True, delay=Seconds(7.5))

    story = build_story(form(), FACTS, replace(RULES, ordered=ordered), now=NOW, running=True)

    lines = story_lines(story)
    at = lines.index("  overrides   its host is paused through the service")
    assert lines[at + 1].strip() == "its host is delayed through the service by at least 7.5 s after each response"
    assert story_object(story)["ordered"] == {"paused": True, "dropped": False, "delay": 7.5}
    assert part_of(FACTS, "ordered") == []
