"""Due dates: a reported change brings a visit forward; a host that is too expensive or has a backlog postpones it."""

from collections.abc import Mapping

import pytest

from gossamer.model.requeue import DueUrl, ReportedChange
from gossamer.model.states import UrlState
from gossamer.model.units import DAY, HostId, HostKey, Instant, Seconds, Url
from gossamer.recrawl.change_hints import HostChangeHistory, HostTrust
from gossamer.recrawl.due import MAX_BACKLOG, DueDates, HostBacklogs
from gossamer.recrawl.estimate import USUAL
from gossamer.recrawl.policies import RECRAWL_POLICIES
from gossamer.recrawl.price import Price, value
from gossamer.recrawl.rules import GAPS, PageStatus, RecrawlRule, RecrawlRules

HOST, HOST_ID = HostKey("a.test"), HostId(1)
NOW = Instant(1_800_000_000.0)
VISITED = Instant(NOW - 14 * DAY)
MODIFIED = Instant(NOW - DAY)
URL = Url("http://a.test/p")
TRUSTED = HostChangeHistory(trust=HostTrust(reports=40, confirmed=40, changes=50, reported_changes=40))
FIXED = RecrawlRule("fixed", host="a.test", gap=Seconds(5 * DAY))
NO_HOSTS: Mapping[HostId, HostChangeHistory] = {}


def dates(
    *rules: RecrawlRule, hosts: Mapping[HostId, HostChangeHistory] = NO_HOSTS, backlogs: HostBacklogs | None = None
) -> DueDates:
    price = Price(1.0, value(USUAL, 1.0, 14.0))
    return DueDates(
        RECRAWL_POLICIES["optimal"](),
        RecrawlRules(rules),
        price,
        backlogs or HostBacklogs(NOW),
        lambda score: 1.0,
        hosts,
    )


def reported(**more: object) -> ReportedChange:
    usual = ReportedChange(7, HOST_ID, HOST, URL, "text/html", VISITED, MODIFIED, 2.0, 40.0, 0.2)
    return usual._replace(**more)  # type: ignore[arg-type]


def due(**more: object) -> DueUrl:
    place = (7, HOST_ID, HOST, URL, UrlState.STORED, "text/html", VISITED)
    usual = DueUrl(*place, 14 * DAY, 2.0, 40.0, None, None, 0, None, 0.2)
    return usual._replace(**more)  # type: ignore[arg-type]


def expensive(times: float = 30.0) -> HostBacklogs:
    """The host's visits cost this many times the price of the crawl."""
    backlogs = HostBacklogs(NOW)
    backlogs.prices.restore(HOST_ID, times * value(USUAL, 1.0, 14.0))
    return backlogs


# --- reported changes ------------------------------------------------------------------------------


def test_a_page_that_is_reported_to_have_changed_is_due_since_the_change() -> None:
    assert dates().date_of_reported(reported()) == MODIFIED


def test_a_report_does_not_bring_a_visit_closer_than_the_shortest_gap() -> None:
    rule = RecrawlRule("slow", shortest=Seconds(20 * DAY))

    assert dates(rule).date_of_reported(reported()) == VISITED + 20 * DAY


def test_a_page_with_a_fixed_gap_is_not_visited_for_a_report() -> None:
    assert dates(FIXED).date_of_reported(reported()) is None


def test_a_page_that_changes_all_the_time_is_not_visited_for_a_report() -> None:
    assert dates().date_of_reported(reported(rate_shape=1000.0, rate_span=0.001)) is None


def test_a_page_of_an_expensive_host_is_not_visited_for_a_report() -> None:
    assert dates(backlogs=expensive(1e6)).date_of_reported(reported()) is None


def test_a_page_of_which_nothing_is_known_yet_is_visited_for_a_report() -> None:
    assert dates().date_of_reported(reported(rate_shape=None, rate_span=None)) == MODIFIED


def test_half_an_estimate_counts_as_none() -> None:
    assert dates().date_of_reported(reported(rate_shape=1000.0, rate_span=None)) == MODIFIED


@pytest.mark.parametrize(("mime", "fixed"), [("text/html", True), ("text/plain", False), (None, False)])
def test_a_fixed_gap_may_be_that_of_a_media_type(mime: str | None, fixed: bool) -> None:
    rule = RecrawlRule("html", media_type="text/html", gap=Seconds(5 * DAY))

    assert (dates(rule).date_of_reported(reported(mime=mime)) is None) is fixed
    assert (dates(rule, backlogs=expensive()).postpone(due(mime=mime), 0, NOW) is None) is fixed


@pytest.mark.parametrize(
    ("in_memory", "on_record", "believed"),
    [
        (None, None, True),  # whoever asks has looked already
        (None, TRUSTED.to_text(), True),
        (None, HostChangeHistory().to_text(), False),
        (None, "", False),
        (TRUSTED, "", True),
        (TRUSTED, HostChangeHistory().to_text(), True),  # what is in memory is newer
        (HostChangeHistory(), TRUSTED.to_text(), False),
    ],
)
def test_reports_are_believed_of_hosts_whose_reports_were_right(
    in_memory: HostChangeHistory | None, on_record: str | None, believed: bool
) -> None:
    hosts = {} if in_memory is None else {HOST_ID: in_memory}

    found = dates(hosts=hosts).date_of_reported(reported(change_history=on_record))

    assert (found is not None) is believed


# --- dates that have come --------------------------------------------------------------------------


def test_a_due_url_of_an_ordinary_host_is_queued() -> None:
    assert dates().postpone(due(), 0, NOW) is None


def test_a_due_page_of_an_expensive_host_is_postponed_until_it_is_worth_its_price() -> None:
    judge = dates(backlogs=expensive())

    later = judge.postpone(due(), 0, NOW)

    assert later is not None
    assert later.planned_gap is not None
    assert later.until == VISITED + later.planned_gap > NOW
    assert judge.postpone(due(), 0, later.until) is None


def test_a_due_page_is_not_postponed_by_less_than_a_second() -> None:
    judge = dates(backlogs=expensive())
    later = judge.postpone(due(), 0, NOW)
    assert later is not None

    assert judge.postpone(due(), 0, Instant(later.until - 0.5)) is None


@pytest.mark.parametrize(
    "page",
    [
        due(state=UrlState.REDIRECT),
        due(state=UrlState.MISSING),
        due(visited=None),
        due(planned_gap=None),
        due(planned_gap=GAPS[PageStatus.NEAR_DUPLICATE]),
        due(sitemap=1),
        due(mime="application/rss+xml"),
    ],
)
def test_the_price_of_a_host_postpones_nothing_but_pages_that_were_planned_by_it(page: DueUrl) -> None:
    assert dates(backlogs=expensive()).postpone(page, 0, NOW) is None


def test_the_price_of_a_host_does_not_postpone_a_page_with_a_fixed_gap() -> None:
    assert dates(FIXED, backlogs=expensive()).postpone(due(), 0, NOW) is None


def test_the_price_of_a_host_does_not_postpone_a_page_that_is_reported_to_have_changed() -> None:
    judge = dates(backlogs=expensive(), hosts={HOST_ID: TRUSTED})

    assert judge.postpone(due(modified=MODIFIED), 0, NOW) is None
    assert judge.postpone(due(modified=Instant(VISITED - DAY)), 0, NOW) is not None


def test_a_report_of_a_host_that_is_not_believed_does_not_keep_a_page_from_being_postponed() -> None:
    judge = dates(backlogs=expensive(), hosts={HOST_ID: HostChangeHistory()})

    assert judge.postpone(due(modified=MODIFIED), 0, NOW) is not None


@pytest.mark.parametrize("page", [due(), due(visited=None), due(planned_gap=None), due(state=UrlState.MISSING)])
def test_a_url_with_a_full_backlog_ahead_of_it_comes_later_and_keeps_its_plan(page: DueUrl) -> None:
    assert dates().postpone(page, MAX_BACKLOG - 1, NOW) is None

    later = dates().postpone(page, MAX_BACKLOG, NOW)

    assert later is not None
    assert later.until > NOW
    assert later.planned_gap is None


def test_behind_a_backlog_a_url_that_is_overdue_waits_longer_than_one_that_has_just_become_due() -> None:
    judge = dates(backlogs=HostBacklogs(Instant(NOW - 30 * DAY)))

    just_due = judge.postpone(due(), MAX_BACKLOG, NOW)
    overdue = judge.postpone(due(planned_gap=13.5 * DAY), MAX_BACKLOG, NOW)

    assert just_due is not None
    assert overdue is not None
    assert just_due.until < overdue.until


# --- dates that were planned at a higher price -----------------------------------------------------


def test_a_page_is_planned_again_where_that_is_sooner() -> None:
    sooner = dates().replan(due(planned_gap=300 * DAY))

    assert sooner is not None
    assert sooner.planned_gap is not None
    assert sooner.planned_gap < 300 * DAY
    assert sooner.until == VISITED + sooner.planned_gap


def test_a_page_that_changes_often_is_planned_sooner_than_one_that_seldom_does() -> None:
    often, seldom = (
        dates().replan(due(planned_gap=300 * DAY, rate_shape=one, rate_span=two))
        for one, two in ((20.0, 200.0), (1.0, 200.0))
    )

    assert often is not None
    assert seldom is None or often.until < seldom.until


def test_a_page_is_not_planned_again_where_that_is_later_or_the_same() -> None:
    sooner = dates().replan(due(planned_gap=300 * DAY))
    assert sooner is not None

    assert dates().replan(due(planned_gap=sooner.planned_gap)) is None
    assert dates().replan(due(planned_gap=1 * DAY)) is None


@pytest.mark.parametrize(
    "page",
    [due(visited=None), due(planned_gap=None), due(state=UrlState.GONE), due(sitemap=1, planned_gap=300 * DAY)],
)
def test_what_has_no_date_by_price_is_not_planned_again(page: DueUrl) -> None:
    assert dates().replan(page) is None


def test_a_page_with_a_fixed_gap_is_not_planned_again() -> None:
    assert dates(FIXED).replan(due(planned_gap=300 * DAY)) is None
