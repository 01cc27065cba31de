"""After a visit: the date of the next, its conditional request, and what is learned about the host."""

import random

import pytest

from gossamer.config.policies import recrawl_rules_for
from gossamer.config.sections import RecrawlRuleSection, RecrawlSection
from gossamer.model.batch import Batch
from gossamer.model.facts import DomainFacts
from gossamer.model.outcome import Response
from gossamer.model.settlement import Settlement
from gossamer.model.states import UrlState
from gossamer.model.task import HostRecord, PreviousVisit, Task, Visit
from gossamer.model.units import DAY, Fingerprint, HostId, HostKey, Instant, Seconds, Url
from gossamer.recrawl.change_hints import HostChangeHistory
from gossamer.recrawl.estimate import USUAL
from gossamer.recrawl.planner import PROBE, RecrawlPlanner
from gossamer.recrawl.policies import RECRAWL_POLICIES, Adaptive, Optimal
from gossamer.recrawl.price import price_from, price_text, value
from gossamer.recrawl.rules import PageStatus

HOST = HostKey("a.test")
NOW = Instant(1_800_000_000.0)
LONG_AGO = "Mon, 01 Jan 2024 10:00:00 GMT"
TEN_DAYS = 10 * DAY
PAGE = PageStatus.PAGE


def recrawling(wishes: RecrawlSection | None = None) -> RecrawlPlanner:
    """A planner with `optimal`, unless the settings name another policy."""
    wishes = wishes or RecrawlSection()
    policy = Optimal() if wishes.policy == "auto" else RECRAWL_POLICIES[wishes.policy]()
    price = price_from(None, wishes, value(USUAL, 1.0, wishes.interval / DAY), NOW)
    return RecrawlPlanner(wishes, policy, recrawl_rules_for(wishes), price)


def past(**more: object) -> PreviousVisit:
    usual = PreviousVisit(
        1, 0, UrlState.STORED, None, Instant(NOW - TEN_DAYS), b"d" * 20, "text/html", planned_gap=TEN_DAYS
    )
    return usual._replace(**more)  # type: ignore[arg-type]


def visit(before: PreviousVisit | None = None, url: str = "http://a.test/p") -> Visit:
    task = Task(7, Fingerprint(1), Url(url), 0, 0.0, 0.2, 1, 0, 0, previous=before)
    return Visit(HostId(1), HOST, 1, task, None, 0.1)


def answer(status: int = 200, **headers: str) -> Response:
    fields = {name.replace("_", "-"): text for name, text in headers.items()}
    return Response(Url("http://a.test/p"), status, b"", b"", b"", fields, "127.0.0.1", NOW, Seconds(0.1))


@pytest.mark.parametrize("policy", RECRAWL_POLICIES)
def test_a_page_that_changed_is_visited_again_no_later_than_one_that_did_not(policy: str) -> None:
    plans = recrawling(RecrawlSection(policy=policy))
    first = plans.plan(visit(), PAGE, Instant(NOW - TEN_DAYS), "text/html")
    again = visit(past(rate_shape=first.rate_shape, rate_span=first.rate_span))

    stayed = plans.plan(again, PAGE, NOW, "text/html", changed=False)
    changed = plans.plan(again, PAGE, NOW, "text/html", changed=True)

    assert stayed.gap is not None and changed.gap is not None
    assert changed.gap <= stayed.gap


def test_only_what_we_have_is_asked_for_with_conditions() -> None:
    validators = {"etag": '"1"', "last_modified": LONG_AGO}
    asked = [("If-None-Match", '"1"'), ("If-Modified-Since", LONG_AGO)]
    plans = recrawling()

    assert plans.conditions(visit(past(**validators))) == tuple(asked)
    assert plans.conditions(visit()) == ()
    assert plans.conditions(visit(past())) == ()
    assert plans.conditions(visit(past(state=UrlState.MISSING, **validators))) == ()
    assert plans.conditions(visit(past(digest=None, **validators))) == ()
    assert plans.conditions(visit(past(whole=False, **validators))) == ()


@pytest.mark.parametrize("etag", ["\x01", '"\xe9"', "", "x" * 600, "a\r\nX: y"])
def test_a_validator_that_is_no_header_field_is_not_sent(etag: str) -> None:
    assert recrawling().conditions(visit(past(etag=etag))) == ()


@pytest.mark.parametrize("date", ["yesterday", "Mon, 01 Jan 2060 10:00:00 GMT", "0"])
def test_a_date_that_is_none_or_lies_ahead_is_not_sent(date: str) -> None:
    assert recrawling().conditions(visit(past(last_modified=date))) == ()


def test_every_tenth_visit_asks_without_conditions() -> None:
    plans = recrawling()

    plain = [n for n in range(1, 41) if not plans.conditions(visit(past(visits=n, etag='"1"')))]

    assert plain == [n for n in range(1, 41) if n % PROBE == PROBE - 1]


def test_a_host_whose_validator_stays_when_its_document_changes_is_not_asked_by_it_again() -> None:
    plans = recrawling()
    before = past(etag='"1"')

    plans.plan_document(visit(before), answer(etag='"1"'), NOW, "text/html", b"y" * 20, None)

    assert plans.conditions(visit(before)) == ()
    batch = Batch()
    plans.before_commit(batch, NOW, 0)
    again = recrawling()
    again.host_loaded(
        HostRecord(
            HostId(1), HOST, 1, DomainFacts(), 1, NOW, 0.1, None, change_history=batch.change_histories[HostId(1)]
        )
    )
    assert again.conditions(visit(before)) == ()


def test_a_page_of_which_only_a_clock_differs_has_not_changed() -> None:
    one, other = recrawling(), recrawling()
    before = past(signature=b"s" * 64)

    noise = one.plan_document(visit(before), answer(), NOW, "text/html", b"y" * 20, b"s" * 63 + b"t")
    changed = other.plan_document(visit(before), answer(), NOW, "text/html", b"y" * 20, b"t" * 64)

    assert noise.gap is not None and changed.gap is not None
    assert noise.gap > changed.gap
    assert (noise.signature, changed.signature) == (before.signature, None)


def test_a_rule_with_an_interval_overrides_every_policy() -> None:
    rule = RecrawlRuleSection(pattern="*/news/*", interval=300.0)
    plans = recrawling(RecrawlSection(rules=(rule,)))
    news = visit(past(), "http://a.test/news/1")

    assert plans.plan(news, PAGE, NOW, "text/html", changed=False).gap == 300.0
    assert plans.plan(visit(past()), PAGE, NOW, "text/html", changed=False).gap != 300.0


def settlement(state: UrlState, **more: object) -> Settlement:
    return Settlement(HostId(1), 7, 0, state, NOW, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(("status", "days"), [(301, 90), (302, 14)])
def test_a_redirect_is_followed_again_later_the_more_final_it_is(status: int, days: float) -> None:
    settled = recrawling().plan_settlement(visit(), settlement(UrlState.REDIRECT, status=status))

    assert settled.available_at == NOW + days * DAY


def test_what_is_missing_has_the_date_of_the_retry_policy_and_what_is_gone_none_unless_a_rule_says_so() -> None:
    later = Instant(NOW + 77.0)

    missing = recrawling().plan_settlement(visit(), settlement(UrlState.MISSING, status=404, available_at=later))
    gone = settlement(UrlState.GONE, status=410)
    by_rule = recrawling(RecrawlSection(rules=(RecrawlRuleSection(state="gone", interval=99.0),)))

    assert (missing.available_at, missing.planned_gap) == (later, 77.0)
    assert recrawling().plan_settlement(visit(), gone).available_at is None
    assert by_rule.plan_settlement(visit(), gone).available_at == NOW + 99.0


def test_a_page_that_cannot_be_had_stays_what_it_was_and_is_asked_for_later_each_time() -> None:
    dead = settlement(UrlState.DEAD, reason="conn_refused", tries=3)

    first = recrawling().plan_settlement(visit(past()), dead)
    second = recrawling().plan_settlement(visit(past(planned_gap=first.planned_gap)), dead)

    assert (first.state, first.kept, first.tries) == (UrlState.STORED, True, 0)
    assert first.planned_gap == 2 * TEN_DAYS
    assert second.planned_gap == 4 * TEN_DAYS


def test_a_url_that_was_never_had_dies_as_before() -> None:
    dead = settlement(UrlState.DEAD, reason="conn_refused", tries=3)

    assert recrawling().plan_settlement(visit(), dead) == dead
    assert recrawling().plan_settlement(visit(past(digest=None, state=UrlState.QUEUED)), dead) == dead


def test_a_page_that_a_rule_forbids_is_excluded_even_if_we_have_it() -> None:
    denied = settlement(UrlState.EXCLUDED, reason="robots_denied")

    assert recrawling().plan_settlement(visit(past()), denied) == denied


def test_the_demand_is_always_the_sum_over_what_is_planned() -> None:
    plans = recrawling(RecrawlSection(budget=100.0))
    chance = random.Random(5)
    pages: dict[int, PreviousVisit] = {}
    now = NOW
    for _ in range(2_000):
        now = Instant(now + chance.uniform(1.0, 5_000.0))
        number = chance.randrange(100)
        before = pages.get(number)
        asked = visit(before)
        if before is not None and chance.random() < 0.05:
            plans.plan_settlement(asked, settlement(UrlState.EXCLUDED, reason="robots_denied"))
            del pages[number]
            continue
        digest = chance.choice([b"x" * 20, b"y" * 20])
        planned = plans.plan_document(asked, answer(), now, "text/html", digest, None)
        visits = 1 if before is None else before.visits + 1
        pages[number] = past(
            visits=visits,
            at=now,
            digest=digest,
            planned_gap=planned.gap,
            rate_shape=planned.rate_shape,
            rate_span=planned.rate_span,
        )
        plans.before_commit(Batch(settlements=[settlement(UrlState.STORED)]), now, 0)

    asked_for = sum(DAY / (page.planned_gap or 0.0) for page in pages.values())
    assert plans.price.demand == pytest.approx(asked_for, rel=1e-6)
    assert plans.price.pages == len(pages)


def test_with_a_budget_the_price_moves_until_no_more_is_asked_for() -> None:
    plans = recrawling(RecrawlSection(budget=5.0))
    now = NOW
    known: dict[int, PreviousVisit] = {}
    due = [(Instant(NOW + 0.2 * DAY * number), number) for number in range(100)]
    for _ in range(4_000):
        due.sort()
        at, number = due.pop(0)
        now = Instant(max(now, at))
        before = known.get(number)
        planned = plans.plan_document(visit(before), answer(), now, "text/html", b"x" * 20, None)
        assert planned.at is not None
        known[number] = past(
            at=now,
            digest=b"x" * 20,
            planned_gap=planned.gap,
            rate_shape=planned.rate_shape,
            rate_span=planned.rate_span,
        )
        due.append((planned.at, number))
        plans.before_commit(Batch(settlements=[settlement(UrlState.STORED)]), now, 0)

    assert plans.price.demand == pytest.approx(5.0, rel=0.25)


def test_the_price_survives_a_restart_and_is_the_opening_one_without_a_budget() -> None:
    price = price_from(None, RecrawlSection(budget=10.0), 3.0, NOW)
    price.on_planned(None, 2.0)
    price.price = 4.5

    again = price_from(price_text(price), RecrawlSection(budget=10.0), 3.0, NOW)
    without = price_from(price_text(price), RecrawlSection(), 3.0, NOW)

    assert (again.price, again.demand, again.pages) == (4.5, 0.5, 1)
    assert (without.price, without.demand) == (3.0, 0.5)


def test_what_is_known_of_a_host_survives_being_written_down() -> None:
    plans = recrawling()
    plans.plan(visit(past()), PAGE, NOW, "text/html", changed=True)
    batch = Batch()
    plans.before_commit(batch, NOW, 0)

    known = HostChangeHistory.from_text(batch.change_histories[HostId(1)])

    assert known.rates.pages == 1
    assert known.to_text() == batch.change_histories[HostId(1)]


def test_new_settings_apply_to_later_plans() -> None:
    plans = recrawling()
    before = plans.plan(visit(), PAGE, NOW, "text/html").gap
    wishes = RecrawlSection(interval=2 * DAY)
    ruled = RecrawlSection(rules=(RecrawlRuleSection(pattern="*", interval=300.0),))

    plans.reconfigure(wishes, Optimal(), recrawl_rules_for(wishes), value(USUAL, 1.0, 2.0))
    shorter = plans.plan(visit(), PAGE, NOW, "text/html").gap
    plans.reconfigure(ruled, Optimal(), recrawl_rules_for(ruled), 1.0)

    assert before == pytest.approx(14 * DAY, rel=0.01)
    assert shorter == pytest.approx(2 * DAY, rel=0.01)
    assert plans.plan(visit(), PAGE, NOW, "text/html").gap == 300.0


def test_a_new_budget_moves_the_price_from_where_it_is() -> None:
    plans = recrawling(RecrawlSection(budget=100.0))
    plans.price.price = 7.0
    wishes = RecrawlSection(budget=50.0)

    plans.reconfigure(wishes, Optimal(), recrawl_rules_for(wishes), 1.0)
    assert (plans.price.price, plans.price.budget) == (7.0, 50.0)
    plans.reconfigure(RecrawlSection(), Adaptive(), recrawl_rules_for(RecrawlSection()), 1.0)
    assert plans.price.price == 1.0
