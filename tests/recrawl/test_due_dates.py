"""When a due URL is really visited: at the price of its host, and when its backlog has a free slot."""

import pytest

from gossamer.config.sections import RecrawlRuleSection, RecrawlSection
from gossamer.model.batch import Batch
from gossamer.model.facts import DomainFacts
from gossamer.model.requeue import DueUrl, ReportedChange
from gossamer.model.states import UrlState
from gossamer.model.task import HostRecord
from gossamer.model.units import DAY, HostId, Instant, Url
from gossamer.recrawl.change_hints import HostChangeHistory, HostTrust
from gossamer.recrawl.due import MAX_BACKLOG, HostBacklogs
from gossamer.recrawl.estimate import HostRates
from gossamer.recrawl.planner import RecrawlPlanner
from gossamer.recrawl.rules import GAPS, PageStatus
from tests.recrawl.test_planner import HOST, NOW, PAGE, answer, past, recrawling, visit

A = HostId(1)
VISITED = Instant(NOW - 14 * DAY)
REPORTING = HostTrust(reports=40, confirmed=40, changes=50, reported_changes=40)


def due(**more: object) -> DueUrl:
    place = (7, A, HOST, Url("http://a.test/p"), UrlState.STORED, "text/html", VISITED)
    usual = DueUrl(*place, 14 * DAY, 2.0, 40.0, None, None, 0, None, 0.2)
    return usual._replace(**more)  # type: ignore[arg-type]


def dear(wishes: RecrawlSection | None = None, times: float = 30.0) -> RecrawlPlanner:
    """A crawl that knows a host whose visits cost so many times the price."""
    plans = recrawling(wishes)
    plans.backlogs.prices.restore(A, times * plans.price.price)
    return plans


def test_a_page_is_postponed_until_its_visit_is_worth_the_price_of_its_host() -> None:
    plans = dear()
    later = plans.dates.postpone(due(), 0, NOW)

    assert later is not None and later.planned_gap is not None
    assert later.until == VISITED + later.planned_gap
    assert later.planned_gap > 20 * DAY
    assert plans.dates.postpone(due(), 0, Instant(later.until)) is None


def test_a_page_that_is_worth_the_price_of_its_host_is_queued() -> None:
    assert dear(times=1.0).dates.postpone(due(visited=Instant(NOW - 60 * DAY)), 0, NOW) is None


@pytest.mark.parametrize(
    "what",
    [
        {"host_id": HostId(2)},  # which is not dear
        {"state": UrlState.REDIRECT},
        {"sitemap": 1},
        {"mime": "application/rss+xml"},
        {"planned_gap": GAPS[PageStatus.NEAR_DUPLICATE]},
        {"visited": None},
        {"url": Url("http://a.test/news")},  # the rule below
    ],
)
def test_pages_not_planned_by_price_are_not_postponed(what: dict[str, object]) -> None:
    rule = RecrawlRuleSection(pattern="*/news", interval=60.0)

    assert dear(RecrawlSection(rules=(rule,))).dates.postpone(due(**what), 0, NOW) is None


def test_a_page_reported_by_a_trusted_list_is_not_postponed() -> None:
    plans = dear()
    plans._hosts[A] = HostChangeHistory(trust=REPORTING)

    assert plans.dates.postpone(due(modified=Instant(NOW - DAY)), 0, NOW) is None
    assert plans.dates.postpone(due(modified=Instant(VISITED - DAY)), 0, NOW) is not None


def test_what_finds_a_full_line_comes_later_as_it_was_planned() -> None:
    dates = recrawling().dates

    assert dates.postpone(due(), MAX_BACKLOG - 1, NOW) is None
    later = dates.postpone(due(), MAX_BACKLOG, NOW)
    assert later is not None
    assert (later.until > NOW, later.planned_gap) == (True, None)


def test_postponed_pages_lower_the_demand() -> None:
    plans = recrawling()
    plans.price.on_planned(None, 2.0)

    plans.on_postponed([(2 * DAY, 8 * DAY), (2 * DAY, None)])

    assert plans.price.demand == pytest.approx(1 / 8)


@pytest.mark.parametrize(
    ("changing", "believed"),
    [
        (None, True),
        (HostChangeHistory(trust=REPORTING).to_text(), True),
        (HostChangeHistory().to_text(), False),
        ("", False),
    ],
)
def test_of_a_host_that_is_not_in_memory_its_row_says_whether_its_reports_are_believed(
    changing: str | None, believed: bool
) -> None:
    page = ReportedChange(
        *(7, HostId(9), HOST, Url("http://a.test/p"), "text/html", VISITED, Instant(NOW - DAY)),
        *(2.0, 20.0, 0.2, changing),
    )

    assert (recrawling().dates.date_of_reported(page) is not None) is believed
    assert recrawling().trusts_reports_of(HOST) is None


def test_a_late_visit_to_a_priced_host_is_planned_at_its_price_which_is_stored() -> None:
    cheap, plans = recrawling(), dear()
    before = past(rate_shape=2.0, rate_span=40.0)
    usual = cheap.plan(visit(before), PAGE, NOW, "text/html", changed=False)
    planned = plans.plan(visit(before), PAGE, NOW, "text/html", changed=False)
    batch = Batch()
    plans.before_commit(batch, NOW, 0)

    assert usual.gap is not None and planned.gap is not None
    assert planned.gap > 1.5 * usual.gap
    assert HostChangeHistory.from_text(batch.change_histories[A]).price == plans.backlogs.prices.price_for(A, 0.0) > 0


def test_a_first_visit_to_a_priced_host_is_planned_at_its_price() -> None:
    first = dear().plan_document(visit(), answer(), NOW, "text/html", b"x" * 20, None)

    assert first.gap is not None
    assert first.gap > 20 * DAY


def test_a_host_that_has_a_price_of_its_own_on_record_goes_on_with_it() -> None:
    plans = recrawling()
    text = HostChangeHistory().to_text(3 * plans.price.price)

    plans.host_loaded(HostRecord(A, HOST, 1, DomainFacts(), 1, NOW, 0.1, None, change_history=text))

    assert plans.backlogs.prices.price_for(A, plans.price.price) == 3 * plans.price.price


def test_a_visit_after_failed_tries_does_not_count_as_late() -> None:
    late = past(at=Instant(NOW - 40 * DAY))
    tried = visit(late)
    tried = tried._replace(task=tried.task._replace(tries=1))
    prices = []
    for one in (visit(late), tried):
        plans = recrawling()
        plans.backlogs = HostBacklogs(Instant(NOW - 90 * DAY))
        plans.plan(one, PAGE, NOW, "text/html", changed=False)
        prices.append(len(plans.backlogs.prices))

    assert prices == [1, 0]


def test_a_page_planned_at_a_higher_price_is_visited_sooner() -> None:
    plans = recrawling()
    sooner = plans.dates.replan(due(planned_gap=300 * DAY))

    assert sooner is not None and sooner.planned_gap is not None
    assert sooner.planned_gap < 100 * DAY
    assert sooner.until == VISITED + sooner.planned_gap
    assert plans.dates.replan(due(planned_gap=sooner.planned_gap)) is None  # as it is


def test_a_host_that_is_not_in_memory_is_known_by_its_row() -> None:
    quiet = HostChangeHistory(rates=HostRates(500, 0.05)).to_text()
    of_host, usual = (
        recrawling().dates.replan(due(planned_gap=360 * DAY, rate_shape=None, rate_span=None, change_history=changing))
        for changing in (quiet, None)
    )

    assert of_host is not None and usual is not None
    assert of_host.until > usual.until
