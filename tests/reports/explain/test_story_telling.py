"""Facts and rules in, the story out."""

from dataclasses import replace

import pytest

from gossamer.config.overrides import HostOverride
from gossamer.filter.host_table import UrlPattern
from gossamer.filter.rules import EntryRules
from gossamer.frontier.orderings import ORDERINGS
from gossamer.frontier.politeness import GapReason
from gossamer.model.facts import UrlFacts
from gossamer.model.states import UrlState
from gossamer.model.task import Via
from gossamer.model.units import Domain, HostKey, Instant, Seconds, Url
from gossamer.model.url_record import MAX_STEPS, DomainFact, Facts, FailureFact, RecordCheck, SeedPlace, Step
from gossamer.reports.explain.build import CrawlRules, build_story
from gossamer.reports.explain.render import story_lines
from gossamer.reports.explain.schedule import Caps
from gossamer.reports.explain.story import Priority, Story
from tests.reports.explain.stories import (
    DOMAIN,
    FACTS,
    HOST,
    LEARNT,
    NEVER_SEEN,
    NOW,
    QUEUED,
    RULES,
    URL,
    VISIT,
    form,
    known,
    robots,
)
from tests.table import table

GOOD = RecordCheck(None, "response", URL, True, True)


def story_of(facts: Facts, rules: CrawlRules = RULES, record: RecordCheck | None = None, text: str = URL) -> Story:
    return build_story(form(text), facts, rules, now=NOW, running=True, record=record)


def step(number: int, via: Via = Via.LINK) -> Step:
    seed = SeedPlace("argument 1", NOW) if via is Via.SEED else None
    return Step(Url(f"http://h.test/{number}"), via, number, seed)


# --- rules ----------------------------------------------------------------------------------------------


def test_the_verdicts_are_those_of_the_rules_in_their_order() -> None:
    rules = replace(RULES, entry=EntryRules(exclude_patterns=(UrlPattern("*/a/*"),), max_depth=1))

    verdicts = story_of(FACTS, rules).verdicts

    assert [v.rule for v in verdicts if v.reason is not None] == ["depth", "patterns"]
    assert verdicts[0].detail == "2, at most 1"
    assert next(v for v in verdicts if v.rule == "patterns").detail == "excluded by */a/*"
    assert verdicts[-1].rule == "budget"


def test_the_first_rule_that_refuses_decides_what_happens_next() -> None:
    rules = replace(RULES, entry=EntryRules(exclude_patterns=(UrlPattern("*/a/*"),), max_depth=1))

    assert story_of(FACTS, rules).next.why.startswith("it will be excluded when it is visited: depth_limit")


def test_a_visit_keeps_the_limits_in_the_order_of_the_crawl() -> None:
    denied = robots("User-agent: *\nCrawl-delay: 9000\nDisallow: /a\n")
    slow = robots("User-agent: *\nCrawl-delay: 9000\n")
    capped = replace(RULES, caps=Caps(7, Seconds(3600.0)))

    assert "domain_limit" in story_of(replace(FACTS, robots=denied), capped).next.why
    assert "robots_denied (line 3: Disallow: /a)" in story_of(replace(FACTS, robots=denied)).next.why
    assert "crawl_delay_too_long (Crawl-delay: 9000)" in story_of(replace(FACTS, robots=slow)).next.why


def test_an_answer_that_has_run_out_decides_nothing() -> None:
    old = robots("User-agent: *\nDisallow: /\n", age=100_000.0)

    story = story_of(replace(FACTS, robots=old))

    assert story.robots is not None
    assert (story.robots.allowed, story.robots.current, story.robots.age) == (False, False, 100_000.0)
    assert story.next.why == "it is due now"


@pytest.mark.parametrize(
    ("status", "body", "meaning"),
    [
        (404, "", "no file: everything is allowed"),
        (301, "", "too many redirects: treated as absent"),
        (200, "User-agent: other\nDisallow: /\n", "no group matches our user agent"),
        (200, "User-agent: *\nDisallow: /else\n", "no rule matches"),
        (200, "User-agent: *\nAllow: /a\n", "this rule matches"),
    ],
)
def test_what_allows_a_url_is_told(status: int, body: str, meaning: str) -> None:
    story = story_of(replace(FACTS, robots=robots(body, status)))

    assert story.robots is not None
    assert (story.robots.allowed, story.robots.meaning) == (True, meaning)


def test_without_an_answer_robots_txt_says_nothing() -> None:
    story = story_of(FACTS)

    assert story.robots is not None
    assert story.robots.allowed is None
    assert story.next.why == "it is due now"


# --- waiting --------------------------------------------------------------------------------------------


def test_a_host_that_rests_delays_its_urls() -> None:
    story = story_of(replace(FACTS, host=replace(HOST, next_contact=Instant(NOW + 0.5))))

    assert story.politeness is not None
    assert (story.politeness.wait, story.politeness.gap, story.politeness.longer) == (0.5, 1.0, False)
    assert (story.next.due_at, story.next.why) == (NOW + 0.5, "its host may be contacted then")


@pytest.mark.parametrize("term", GapReason)
def test_the_term_that_decided_the_rest_is_told_as_it_was_recorded(term: GapReason) -> None:
    host = replace(HOST, next_contact=Instant(NOW + 9), rest_reason=term.value)

    story = story_of(replace(FACTS, host=host))

    assert story.politeness is not None
    assert (story.politeness.contact_at, story.politeness.reason) == (NOW + 9, term.value)
    assert story.next.why == f"its host may be contacted then: {term.value}"


def test_a_rest_longer_than_the_gap_is_remarked_on() -> None:
    story = story_of(replace(FACTS, host=replace(HOST, next_contact=Instant(NOW + 60))))

    assert story.politeness is not None
    assert story.politeness.longer is True


@pytest.mark.parametrize(
    ("took", "crawl_delay", "gap", "term"),
    [
        (0.05, None, 1.0, "minimum delay"),
        (0.5, None, 5.0, "multiple of the last fetch time"),
        (0.5, 8, 8.0, "robots.txt Crawl-delay"),
    ],
)
def test_the_term_that_asks_for_the_gap_is_named(took: float, crawl_delay: int | None, gap: float, term: str) -> None:
    fact = None if crawl_delay is None else robots(f"User-agent: *\nCrawl-delay: {crawl_delay}\n")

    story = story_of(replace(FACTS, host=replace(HOST, last_took=Seconds(took)), robots=fact))

    assert story.politeness is not None
    assert (story.politeness.gap, story.politeness.term) == (gap, term)


def test_a_retry_says_which_try_it_is_and_after_what() -> None:
    waiting = replace(QUEUED, tries=2, reason="read_timeout", available_at=Instant(NOW + 30))

    assert story_of(replace(FACTS, url=waiting)).next.why == "try 3, after read_timeout"
    assert story_of(replace(FACTS, url=waiting)).next.due_at == NOW + 30


def test_nothing_is_visited_while_the_crawl_is_at_rest() -> None:
    story = build_story(form(), FACTS, RULES, now=NOW, running=False)

    assert story.next.why == "it is due now; the crawl is not running"


@pytest.mark.parametrize("state", set(UrlState) - {UrlState.QUEUED})
def test_every_state_says_what_comes_next(state: UrlState) -> None:
    story = story_of(known(state, "some_reason" if state is UrlState.EXCLUDED else None))

    assert story.state == state.word
    assert story.next.due_at is None
    assert story.next.why


def test_a_page_with_a_recrawl_date_says_so() -> None:
    again = replace(known(UrlState.STORED), url=replace(QUEUED, state=UrlState.STORED, available_at=Instant(NOW + 99)))

    assert (story_of(again).next.due_at, story_of(again).next.why) == (
        NOW + 99,
        "next recrawl",
    )


# --- priority -------------------------------------------------------------------------------------------


def page_status(facts: Facts, order: str) -> Priority:
    standing = story_of(facts, replace(RULES, ordering=ORDERINGS[order]())).standing
    assert standing is not None
    return standing


@pytest.mark.parametrize(
    ("order", "parts"),
    [
        ("bfs", {"score": 2.0}),
        ("dfs", {"entry": 9.0}),
        ("novelty", {"novelty": 9.3, "references": 3.0, "domain_references": 0.2}),
        ("balance", {"domain_visits": -47 * 7, "domain_links_from_others": 13 * 4, "suffix_visits": -29.0 * 11}),
        ("importance", {"credit": 0.25, "domain_visits": 0.125}),
    ],
)
def test_the_priority_is_the_sum_of_the_parts_that_the_formula_names(order: str, parts: dict[str, float]) -> None:
    standing = page_status(FACTS, order)

    assert standing.parts == pytest.approx(parts)
    assert standing.priority == pytest.approx(sum(parts.values()))
    assert standing.order == order


def test_the_priority_of_the_default_is_what_picks_the_class() -> None:
    standing = page_status(FACTS, "mercator")

    assert standing.priority == RULES.ordering.score(LEARNT) / 1024
    assert (standing.by_score, standing.name, standing.front) == (False, "medium", 1)
    assert (standing.links, standing.links_from_others, standing.credit) == (3, 1, 0.25)
    assert (standing.queued_with, standing.queued_by) == (None, None)


def test_a_url_never_seen_has_the_parts_of_its_domain_and_suffix() -> None:
    newcomer = replace(NEVER_SEEN, domain=DomainFact(Domain("new.test"), suffix_visits=2))

    assert page_status(NEVER_SEEN, "dfs").priority == 10
    assert page_status(NEVER_SEEN, "balance").parts["suffix_visits"] == -29.0 * 11
    assert page_status(newcomer, "balance").priority == -29.0 * 2
    assert page_status(newcomer, "novelty").priority == 10 + 1
    assert page_status(newcomer, "importance").priority == 0.15 + 1


def test_a_score_that_has_changed_since_is_told_beside_the_one_on_record() -> None:
    queued = replace(QUEUED, priority=100.0, front=0)

    standing = page_status(replace(FACTS, url=queued, order="novelty"), "novelty")

    assert (standing.queued_with, standing.parts["references"]) == (1.0, 3.0)
    assert standing.name == "due"


def test_a_queue_that_stands_in_another_order_is_told_as_such() -> None:
    queued = replace(QUEUED, priority=0.8, front=2)

    standing = page_status(replace(FACTS, url=queued, order="mercator"), "importance")

    assert (standing.queued_by, standing.queued_with) == ("mercator", None)
    assert (standing.front, standing.name) == (0, "due")


# --- the past -------------------------------------------------------------------------------------------


def test_the_way_back_is_cut_only_where_it_goes_on() -> None:
    long = tuple(step(n) for n in range(MAX_STEPS))
    whole = (*long[1:], step(0, Via.SEED))

    for way, cut in ((long, True), (whole, False), (long[:3], False)):
        finding = story_of(replace(FACTS, way=way)).finding
        assert finding is not None
        assert finding.cut is cut


def test_an_answer_that_was_a_failure_is_one_attempt() -> None:
    failures = (
        FailureFact(Instant(NOW - 60), "read_timeout", None, "after 20 s"),
        FailureFact(VISIT.at, "x", 500, None),
    )

    story = story_of(replace(known(UrlState.DEAD, "x"), failures=failures))

    assert [(a.outcome, a.status, a.took) for a in story.attempts] == [("read_timeout", None, None), ("x", 500, 0.05)]


def test_an_answer_before_the_last_failure_is_only_an_answer() -> None:
    failures = (FailureFact(Instant(NOW - 5), "conn_refused", None, None),)

    story = story_of(replace(known(UrlState.DEAD, "conn_refused"), failures=failures))

    assert [a.outcome for a in story.attempts] == ["answered", "conn_refused"]


@table(
    ("record", "problem"),
    [
        (GOOD, None),
        (replace(GOOD, payload_ok=None), None),
        (None, "the record was not read"),
        (RecordCheck("x.warc.gz at byte 100: cut"), "x.warc.gz at byte 100: cut"),
        (replace(GOOD, block_ok=False), "its digest is wrong"),
        (replace(GOOD, block_ok=None), "it has no digest"),
        (replace(GOOD, payload_ok=False), "its payload's digest is wrong"),
        (replace(GOOD, target="http://h.test/else"), "there is a response record of http://h.test/else"),
        (replace(GOOD, kind="request"), f"there is a request record of {URL}"),
    ],
)
def test_a_record_is_sound_only_if_all_about_it_is_right(record: RecordCheck | None, problem: str | None) -> None:
    archive = story_of(known(UrlState.STORED), record=record).archive

    assert archive is not None
    assert (archive.sound, archive.problem) == (problem is None, problem)


def test_a_record_that_cannot_be_reached_is_not_called_damaged() -> None:
    story = story_of(known(UrlState.STORED), record=RecordCheck("the storage does not answer", away=True))

    assert story.archive is not None and story.archive.sound is None
    assert any("cannot be checked: the storage does not answer" in line for line in story_lines(story))


def test_a_duplicate_has_no_place_in_the_archive() -> None:
    facts = replace(
        known(UrlState.DUPLICATE),
        visit=replace(VISIT, duplicate_of=Url("http://h.test/first"), warc_file=None, warc_offset=None),
    )

    story = story_of(facts)

    assert story.archive is None
    assert story.content is not None
    assert (story.content.verdict, story.content.duplicate_of) == ("duplicate", "http://h.test/first")


# --- identity and never seen ------------------------------------------------------------------------------


def test_a_url_known_by_its_minimised_form_is_judged_as_the_one_on_record() -> None:
    host = replace(HOST, host=HostKey("www.h.test"))
    spelt = LEARNT._replace(url=Url("https://www.h.test/a/b/"))
    facts = Facts(url=replace(QUEUED, learnt=spelt), host=host, domain=DOMAIN)

    story = story_of(facts)

    assert story.identity is not None and story.robots is not None
    assert (story.identity.minimised, story.identity.known_as) == (True, "https://www.h.test/a/b/")
    assert story.robots.origin == "https://www.h.test"


def test_a_url_never_seen_stands_where_a_link_of_a_seed_would() -> None:
    story = story_of(NEVER_SEEN)

    assert story.standing is not None
    assert story.standing.assumed is True
    assert story.standing.priority == ORDERINGS["mercator"]().score(UrlFacts(10, URL, 1, links=1)) / 1024
    assert (story.state, story.finding, story.place, story.politeness) == (None, None, None, None)


def test_a_class_that_the_ordering_does_not_have_is_told_by_its_number() -> None:
    story = story_of(replace(FACTS, order="bfs"), replace(RULES, ordering=ORDERINGS["bfs"]()))

    assert story.standing is not None
    assert story.standing.name == "class 1"


def test_text_without_canonical_form_has_a_short_story() -> None:
    story = story_of(NEVER_SEEN, text="mailto:someone@h.test")

    assert (story.form.url, story.form.refused, story.verdicts) == (None, "bad_scheme", ())


# --- what was ordered for its host -------------------------------------------------------------------


def test_a_url_of_a_paused_host_waits_for_the_host_to_be_resumed() -> None:
    rules = replace(RULES, ordered=HostOverride(paused=True))

    queued, stored = story_of(FACTS, rules), story_of(known(UrlState.STORED), rules)

    assert queued.next.due_at is None and "paused through the service" in queued.next.why
    assert queued.ordered == stored.ordered == HostOverride(paused=True)
    assert "paused" not in stored.next.why
    assert story_of(FACTS).ordered is None


def test_a_dropped_host_excludes_a_url_before_any_rule_does() -> None:
    rules = replace(RULES, ordered=HostOverride(dropped=True), entry=EntryRules(max_depth=1))

    assert "will be excluded when it is visited: host_dropped (" in story_of(FACTS, rules).next.why
    assert "would be queued, and excluded when it is visited: host_dropped" in story_of(NEVER_SEEN, rules).next.why


def test_a_url_that_would_not_enter_is_told_by_the_rule_though_its_host_is_dropped() -> None:
    rules = replace(RULES, ordered=HostOverride(dropped=True), entry=EntryRules(max_depth=0))

    assert story_of(NEVER_SEEN, rules).next.why.startswith("it would be excluded: depth_limit")
