"""Hints of sitemaps, feeds and servers about changes are used only where they have proved right."""

import pytest

from gossamer.config.sections import RecrawlRuleSection, RecrawlSection
from gossamer.model.batch import Batch
from gossamer.model.facts import DomainFacts
from gossamer.model.http_dates import http_date
from gossamer.model.requeue import ReportedChange
from gossamer.model.task import HostRecord, PreviousVisit, Visit
from gossamer.model.units import DAY, HostId, Instant, Url
from gossamer.recrawl.change_hints import ENOUGH, HUB_WEIGHT, HostChangeHistory, HostTrust, age_of, is_hub, judge
from gossamer.recrawl.planner import RecrawlPlanner
from tests.recrawl.test_planner import HOST, NOW, TEN_DAYS, answer, past, recrawling, visit

OLD, NEW = "Mon, 01 Jan 2024 10:00:00 GMT", "Tue, 02 Jan 2024 10:00:00 GMT"
SINCE = Instant(NOW - 4 * DAY)  # between the two visits
HONEST = HostTrust(honest=50)
REPORTING = HostTrust(reports=40, confirmed=40, changes=50, reported_changes=40)


def listed(
    before: PreviousVisit | None = None, modified: Instant | None = None, changefreq: str | None = None
) -> Visit:
    asked = visit(before)
    return asked._replace(task=asked.task._replace(modified=modified, changefreq=changefreq))


def knowing(trust: HostTrust, wishes: RecrawlSection | None = None) -> RecrawlPlanner:
    """A crawl that was started again, and has known the host before."""
    plans = recrawling(wishes)
    text = HostChangeHistory(trust=trust).to_text()
    plans.host_loaded(HostRecord(HostId(1), HOST, 1, DomainFacts(), 1, NOW, 0.1, None, change_history=text))
    return plans


def stored_trust(plans: RecrawlPlanner) -> HostTrust:
    batch = Batch()
    plans.before_commit(batch, NOW, 0)
    return HostChangeHistory.from_text(batch.change_histories[HostId(1)]).trust


def gap(plans: RecrawlPlanner, asked: Visit, digest: bytes = b"d" * 20, **headers: str) -> float:
    found = plans.plan_document(asked, answer(200, **headers), NOW, "text/html", digest, None).gap
    assert found is not None
    return found


# --- what is learnt of a host ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("modified", "changed", "expected"),
    [
        (SINCE, True, HostTrust(reports=1, confirmed=1, changes=1, reported_changes=1)),
        (SINCE, False, HostTrust(reports=1)),
        (Instant(NOW - 2 * TEN_DAYS), True, HostTrust(changes=1)),
        (Instant(NOW - 2 * TEN_DAYS), False, HostTrust()),
        (Instant(NOW + DAY), True, HostTrust(changes=1)),  # a date ahead of us reports nothing
        (None, True, HostTrust()),
    ],
)
def test_every_visit_to_a_listed_page_shows_whether_the_list_was_right(
    modified: Instant | None, changed: bool, expected: HostTrust
) -> None:
    plans = recrawling()
    if changed:
        gap(plans, listed(past(), modified), b"y" * 20)
    else:
        plans.settle_unchanged(listed(past(), modified), past(), answer(), NOW, None)

    assert stored_trust(plans) == expected


def test_a_304_confirms_no_date_but_refutes_one_that_moved() -> None:
    plans = recrawling()
    before = past(last_modified=OLD)
    same, other = answer(304, last_modified=OLD), answer(304, last_modified=NEW)

    plans.settle_not_modified(visit(before), same, NOW, False)
    assert stored_trust(plans) == HostTrust()
    plans.settle_not_modified(visit(before), other, NOW, False)
    assert stored_trust(plans) == HostTrust(dishonest=1)
    plans.settle_not_modified(listed(before, SINCE), same, NOW, False)
    assert stored_trust(plans) == HostTrust(dishonest=1, reports=1)


def test_a_date_is_used_from_the_visit_after_the_one_that_proves_it() -> None:
    known = HostChangeHistory(trust=HostTrust(honest=ENOUGH - 1))
    before, task = past(last_modified=OLD, at=http_date(OLD, NOW)), visit().task

    first = judge(known, task, before, NEW, NOW, changed=True)
    second = judge(known, task, before, NEW, NOW, changed=True)

    assert (first.modified, second.modified) == (None, http_date(NEW, NOW))


# --- what it is used for --------------------------------------------------------------------------------------


def test_a_report_brings_a_visit_forward_only_where_reports_have_proved_true() -> None:
    for trust, believed in ((HostTrust(), False), (REPORTING, True), (REPORTING._replace(confirmed=10), False)):
        assert knowing(trust).trusts_reports_of(HOST) is believed
    assert not recrawling().trusts_reports_of(HOST)
    assert not knowing(REPORTING, RecrawlSection(policy="fixed")).trusts_reports_of(HOST)


def test_a_host_that_has_left_memory_is_not_believed() -> None:
    plans = knowing(REPORTING)

    plans.host_retired(HostId(1))

    assert not plans.trusts_reports_of(HOST)


def reported(**more: object) -> ReportedChange:
    usual = ReportedChange(
        7, HostId(1), HOST, Url("http://a.test/p"), "text/html", Instant(NOW - DAY), SINCE, 2.0, 20.0, 0.2
    )
    return usual._replace(**more)  # type: ignore[arg-type]


def test_a_reported_page_is_due_when_it_changed_but_not_before_its_shortest_gap() -> None:
    visited, at = Instant(NOW - DAY), Instant(NOW - DAY + 600.0)
    plans = recrawling(RecrawlSection(shortest=3600.0))

    assert plans.dates.date_of_reported(reported(modified=Instant(NOW - 60.0))) == NOW - 60.0
    assert plans.dates.date_of_reported(reported(modified=at)) == visited + 3600.0


def test_a_rule_with_an_interval_holds_whatever_is_reported() -> None:
    plans = recrawling(RecrawlSection(rules=(RecrawlRuleSection(pattern="*/p", interval=300.0),)))

    assert plans.dates.date_of_reported(reported()) is None
    assert plans.dates.date_of_reported(reported(url=Url("http://a.test/q"))) is not None


def test_a_page_that_changes_more_often_than_it_is_worth_stays_given_up() -> None:
    assert recrawling().dates.date_of_reported(reported(rate_shape=50.0, rate_span=1.0)) is None


def test_where_changes_are_reported_a_page_without_a_report_can_wait_longer() -> None:
    seen = Instant(NOW - 2 * TEN_DAYS)

    waits = gap(knowing(REPORTING), listed(past(), seen), b"y" * 20)
    usual = gap(knowing(HostTrust()), listed(past(), seen), b"y" * 20)

    assert waits > 1.3 * usual


def rate_after(visits: int, *, told: bool) -> float:
    """Of a page that changes every ten days, visited an hour later each time."""
    one, two = 0.5, 5.0
    for _ in range(visits):
        before = past(rate_shape=one, rate_span=two, at=Instant(NOW - TEN_DAYS))
        asked = listed(before, Instant(NOW - 3600.0) if told else None)
        planned = knowing(REPORTING).plan_document(asked, answer(), NOW, "text/html", b"y" * 20, None)
        assert planned.rate_shape is not None and planned.rate_span is not None
        one, two = planned.rate_shape, planned.rate_span
    return one / two


def test_visits_that_come_because_of_a_report_do_not_make_a_page_seem_to_change_more_often() -> None:
    assert rate_after(60, told=True) == pytest.approx(0.1, rel=0.4)
    assert rate_after(60, told=False) > 0.2


def test_the_age_of_a_new_page_counts_where_its_host_is_honest() -> None:
    young = recrawling()
    old = knowing(HONEST)

    unknown, known = gap(young, visit(), last_modified=OLD), gap(old, visit(), last_modified=OLD)

    assert known > 1.5 * unknown
    task = listed(modified=SINCE).task
    assert age_of(HostChangeHistory(trust=REPORTING), task, None, NOW) == SINCE
    assert age_of(HostChangeHistory(trust=HONEST), task, None, NOW) is None


def test_how_often_a_sitemap_says_a_page_changes_is_where_its_estimate_begins() -> None:
    weekly, monthly, yearly = [gap(recrawling(), listed(changefreq=word)) for word in ("weekly", "monthly", "yearly")]
    plain = gap(recrawling(), visit())

    assert weekly < plain < monthly < yearly
    assert gap(recrawling(), listed(changefreq="whenever")) == pytest.approx(plain)


def test_a_sitemap_that_changes_all_the_time_is_not_given_up() -> None:
    before = past(rate_shape=50.0, rate_span=1.0)
    page, sitemap = visit(before), visit(before)
    sitemap = sitemap._replace(task=sitemap.task._replace(sitemap=1))

    given_up, kept = gap(recrawling(), page, b"y" * 20), gap(recrawling(), sitemap, b"y" * 20)

    assert given_up == RecrawlSection().longest
    assert kept < DAY
    assert is_hub(sitemap.task, None) and is_hub(page.task, "application/rss+xml") and not is_hub(page.task, None)


def test_lists_cost_more_visits_the_lower_the_price() -> None:
    sitemap = visit(past(rate_shape=50.0, rate_span=1.0))
    sitemap = sitemap._replace(task=sitemap.task._replace(sitemap=1))
    dear, cheap = recrawling(), recrawling()
    dear.price.price *= 10

    assert gap(dear, sitemap, b"y" * 20) == pytest.approx(dear.price.price / HUB_WEIGHT * DAY, rel=0.05)
    assert gap(cheap, sitemap, b"y" * 20) == pytest.approx(cheap.price.price / HUB_WEIGHT * DAY, rel=0.05)
