"""Disposition: what an answer that is no document, or a failure, means for its URL."""

import random

import pytest

from gossamer.crawl.visit.disposition import MAX_RATE_LIMITED, Disposition, FailureScope
from gossamer.dedup import MANY_REDIRECTS, SOFT_404, Soft404Detector
from gossamer.frontier.retries import RETRY_RULES, RetryPolicy, StatusClass, status_class
from gossamer.model.outcome import Failed, Failure, Truncation
from gossamer.model.states import UrlState
from gossamer.model.task import Task
from gossamer.model.units import Fingerprint, HostId, Instant, Seconds, Url
from tests.crawl.scripted_fetcher import failed, redirect, response
from tests.table import table

HOST = HostId(3)
NOW = Instant(1_700_000_000.0)
LATER = Instant(NOW + 500.0)
POLICY = RetryPolicy()
JITTER = 1.2  # retry delays are lengthened by up to 20 %

NO_RETRY = [failure for failure in Failure if RETRY_RULES[failure].max_tries == 1]
RETRIED = [failure for failure in Failure if RETRY_RULES[failure].max_tries > 1]
MISSING = [400, 401, 402, 403, 404, 405, 406, 407, 409, 411, 412, 413, 414, 415, 416, 421, 422, 426, 431, 451, 499]
SERVER_ERRORS = [408, 425, 500, 501, 502, 503, 504, 505, 507, 511, 520, 599, 600, 999]


def task(tries: int = 0, url: str = "http://a.test/p") -> Task:
    return Task(7, Fingerprint(1), Url(url), 2, 0.0, 0.2, 1, tries, 0)


def disposition(policy: RetryPolicy = POLICY, soft: Soft404Detector | None = None) -> Disposition:
    return Disposition(policy, random.Random(1), soft)


def wait_of(available_at: Instant | None) -> float:
    assert available_at is not None
    return available_at - NOW


# --- failures --------------------------------------------------------------------------------------


@table("failure", RETRIED)
def test_a_first_failure_is_retried_after_its_base_delay(failure: Failure) -> None:
    settled = disposition().on_failure(HOST, task(), failed(failure), NOW)

    assert (settled.state, settled.tries, settled.reason) == (UrlState.QUEUED, 1, failure.value)
    assert RETRY_RULES[failure].base <= wait_of(settled.available_at) <= JITTER * RETRY_RULES[failure].base


@table("failure", NO_RETRY)
def test_a_failure_that_would_happen_again_makes_the_url_dead_at_once(failure: Failure) -> None:
    settled = disposition().on_failure(HOST, task(), failed(failure), NOW)

    assert (settled.state, settled.available_at, settled.reason) == (UrlState.DEAD, None, failure.value)


@table("failure", list(Failure))
def test_the_last_try_of_every_failure_makes_the_url_dead(failure: Failure) -> None:
    last = RETRY_RULES[failure].max_tries - 1

    settled = disposition().on_failure(HOST, task(tries=last), failed(failure), NOW)

    assert (settled.state, settled.available_at, settled.tries) == (UrlState.DEAD, None, last + 1)


@table("failure", [failure for failure in RETRIED if RETRY_RULES[failure].max_tries > 2])
def test_the_second_failure_waits_twice_as_long(failure: Failure) -> None:
    settled = disposition().on_failure(HOST, task(tries=1), failed(failure), NOW)

    assert settled.state is UrlState.QUEUED
    assert 2 * RETRY_RULES[failure].base <= wait_of(settled.available_at) <= 2 * JITTER * RETRY_RULES[failure].base


def test_no_retry_delay_exceeds_the_longest_one() -> None:
    policy = RetryPolicy(base_scale=1000.0, max_delay=Seconds(77.0))

    settled = disposition(policy).on_failure(HOST, task(), failed(Failure.READ_TIMEOUT), NOW)

    assert settled.available_at == NOW + 77.0


def test_an_operator_may_allow_fewer_tries_than_the_table() -> None:
    settled = disposition(RetryPolicy(max_tries=1)).on_failure(HOST, task(), failed(Failure.READ_TIMEOUT), NOW)

    assert settled.state is UrlState.DEAD


def test_a_failure_is_recorded_with_its_detail_and_duration_and_without_a_status() -> None:
    lost = Failed(Failure.CONNECTION_LOST, "reset by peer", Seconds(1.5), contacted=True)

    settled = disposition().on_failure(HOST, task(), lost, NOW)

    assert (settled.reason, settled.detail) == ("connection_lost", "reset by peer")
    assert (settled.took, settled.status) == (1.5, None)
    assert (settled.host_id, settled.url_id, settled.front, settled.at) == (HOST, 7, 2, NOW)


@pytest.mark.parametrize("tries", [0, 2, 50])
def test_while_its_host_is_down_a_url_waits_for_it_and_loses_no_try(tries: int) -> None:
    settled = disposition().on_failure(HOST, task(tries), failed(Failure.CONN_REFUSED), NOW, LATER)

    assert (settled.state, settled.tries, settled.available_at) == (UrlState.QUEUED, tries, LATER)


def test_a_host_whose_rest_is_over_already_is_tried_again_at_once() -> None:
    settled = disposition().on_failure(HOST, task(), failed(Failure.CONN_REFUSED), NOW, Instant(NOW - 5.0))

    assert (settled.state, settled.available_at) == (UrlState.QUEUED, NOW)


def test_a_url_is_dead_with_its_host_however_few_tries_it_had() -> None:
    settled = disposition().on_failure(HOST, task(), failed(Failure.CONN_REFUSED), NOW, FailureScope.GIVEN_UP)

    assert (settled.state, settled.tries, settled.available_at) == (UrlState.DEAD, 1, None)


# --- server errors ---------------------------------------------------------------------------------


@table("status", SERVER_ERRORS)
def test_a_server_error_is_retried_after_a_short_delay(status: int) -> None:
    settled = disposition().on_bad_status(HOST, task(), response(status), None, 0, NOW)

    assert (settled.state, settled.tries) == (UrlState.QUEUED, 1)
    assert (settled.reason, settled.status) == ("server_error", status)
    assert POLICY.status_base <= wait_of(settled.available_at) <= JITTER * POLICY.status_base


@table("status", SERVER_ERRORS)
def test_a_server_error_at_the_last_try_makes_the_url_dead(status: int) -> None:
    settled = disposition().on_bad_status(HOST, task(POLICY.max_tries - 1), response(status), None, 0, NOW)

    assert (settled.state, settled.tries, settled.available_at) == (UrlState.DEAD, POLICY.max_tries, None)
    assert (settled.reason, settled.status) == ("server_error", status)


def test_retry_after_lengthens_the_delay_after_a_server_error() -> None:
    settled = disposition().on_bad_status(HOST, task(), response(503), Seconds(120.0), 0, NOW)

    assert settled.available_at == NOW + 120.0


def test_retry_after_does_not_shorten_the_delay_after_a_server_error() -> None:
    settled = disposition().on_bad_status(HOST, task(), response(503), Seconds(1.0), 0, NOW)

    assert wait_of(settled.available_at) >= POLICY.status_base


def test_retry_after_does_not_bring_a_dead_url_back() -> None:
    settled = disposition().on_bad_status(HOST, task(POLICY.max_tries - 1), response(503), Seconds(120.0), 0, NOW)

    assert (settled.state, settled.available_at) == (UrlState.DEAD, None)


def test_a_server_error_of_a_sick_host_costs_the_url_no_try() -> None:
    settled = disposition().on_bad_status(HOST, task(2), response(500), None, 0, NOW, LATER)

    assert (settled.state, settled.tries, settled.available_at) == (UrlState.QUEUED, 2, LATER)


def test_retry_after_lengthens_the_rest_of_a_sick_host() -> None:
    settled = disposition().on_bad_status(HOST, task(), response(503), Seconds(900.0), 0, NOW, LATER)

    assert settled.available_at == NOW + 900.0


def test_a_server_error_of_a_host_that_is_given_up_makes_the_url_dead() -> None:
    settled = disposition().on_bad_status(HOST, task(), response(500), Seconds(60.0), 0, NOW, FailureScope.GIVEN_UP)

    assert (settled.state, settled.available_at, settled.reason) == (UrlState.DEAD, None, "server_error")


# --- 429 -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tries", [0, 2, 50])
def test_a_rate_limited_url_waits_as_long_as_it_was_asked_to_and_loses_no_try(tries: int) -> None:
    settled = disposition().on_bad_status(HOST, task(tries), response(429), Seconds(33.0), 1, NOW)

    assert (settled.state, settled.tries, settled.available_at) == (UrlState.QUEUED, tries, NOW + 33.0)
    assert (settled.reason, settled.status) == ("rate_limited", 429)


@pytest.mark.parametrize(("in_row", "factor"), [(1, 1), (2, 2), (3, 4), (8, 128), (9, 128)])
def test_without_retry_after_the_delay_doubles_with_each_429_in_a_row_up_to_a_bound(in_row: int, factor: int) -> None:
    settled = disposition().on_bad_status(HOST, task(), response(429), None, in_row, NOW)

    expected = factor * POLICY.status_base
    assert min(expected, POLICY.max_delay) <= wait_of(settled.available_at) <= JITTER * expected


def test_a_host_that_answers_429_for_ever_loses_its_urls() -> None:
    judge = disposition()

    patient = judge.on_bad_status(HOST, task(), response(429), Seconds(33.0), MAX_RATE_LIMITED - 1, NOW)
    final = judge.on_bad_status(HOST, task(), response(429), Seconds(33.0), MAX_RATE_LIMITED, NOW)

    assert patient.state is UrlState.QUEUED
    assert (final.state, final.available_at, final.reason) == (UrlState.DEAD, None, "rate_limited")


# --- 4xx -------------------------------------------------------------------------------------------


@table("status", MISSING)
def test_a_missing_page_is_asked_for_again_after_a_day(status: int) -> None:
    settled = disposition().on_bad_status(HOST, task(), response(status, b"sorry"), None, 0, NOW)

    assert (settled.state, settled.tries, settled.available_at) == (UrlState.MISSING, 1, NOW + POLICY.missing_delay)
    assert (settled.status, settled.reason) == (status, None)


@table("status", MISSING)
def test_a_page_that_was_missing_three_times_is_gone(status: int) -> None:
    settled = disposition().on_bad_status(HOST, task(POLICY.missing_tries - 1), response(status), None, 0, NOW)

    assert (settled.state, settled.tries, settled.available_at) == (UrlState.GONE, POLICY.missing_tries, None)


def test_410_is_believed_at_once() -> None:
    settled = disposition().on_bad_status(HOST, task(), response(410), None, 0, NOW)

    assert (settled.state, settled.tries, settled.available_at, settled.status) == (UrlState.GONE, 1, None, 410)


def test_a_missing_page_is_recorded_with_its_size_and_type() -> None:
    answer = response(404, b"12345", {"Content-Type": "text/html"}, took=0.7, unverified=True)

    settled = disposition().on_bad_status(HOST, task(), answer, None, 0, NOW)

    assert (settled.size, settled.mime, settled.took, settled.unverified) == (5, "text/html", 0.7, True)


def test_the_state_of_its_host_does_not_matter_for_a_missing_page() -> None:
    settled = disposition().on_bad_status(HOST, task(), response(404), None, 0, NOW, FailureScope.GIVEN_UP)

    assert settled.state is UrlState.MISSING


@pytest.mark.parametrize("status", [100, 103, 199, 300, 304, 305, 306, 399])
def test_an_answer_that_makes_no_sense_counts_as_a_server_error(status: int) -> None:
    settled = disposition().on_bad_status(HOST, task(), response(status), None, 0, NOW)

    assert (settled.state, settled.reason, settled.status) == (UrlState.QUEUED, "server_error", status)


def test_a_body_that_was_cut_off_does_not_change_what_a_status_means() -> None:
    for status in (404, 410, 429, 503):
        whole = disposition().on_bad_status(HOST, task(), response(status), None, 1, NOW)
        cut = disposition().on_bad_status(HOST, task(), response(status, truncated=Truncation.LENGTH), None, 1, NOW)

        assert cut == whole


def test_every_status_has_a_disposition() -> None:
    judge = disposition()
    allowed = {UrlState.QUEUED, UrlState.MISSING, UrlState.GONE}

    others = [
        status
        for status in range(100, 1000)
        if status_class(status) not in (StatusClass.DOCUMENT, StatusClass.REDIRECT)
    ]

    assert {judge.on_bad_status(HOST, task(), response(status), None, 1, NOW).state for status in others} == allowed


# --- redirects -------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_settled_with_its_target(status: int) -> None:
    answer = redirect("http://b.test/new", status)._replace(unverified=True)

    settled = disposition().on_redirect(HOST, task(tries=2), answer, "http://b.test/new", NOW)

    assert (settled.state, settled.redirect_to, settled.status) == (UrlState.REDIRECT, "http://b.test/new", status)
    assert (settled.reason, settled.tries, settled.available_at) == (None, 0, None)
    assert (settled.size, settled.took, settled.unverified) == (0, answer.took, True)


def test_a_redirect_that_is_not_followed_is_settled_with_the_reason() -> None:
    settled = disposition().on_redirect(HOST, task(), redirect("ftp://x"), "ftp://x", NOW, "redirect_bad_scheme")

    assert (settled.state, settled.reason) == (UrlState.REDIRECT, "redirect_bad_scheme")


def test_redirects_of_many_pages_to_the_home_page_are_soft_404s() -> None:
    judge = disposition()
    answer = redirect("http://a.test/")

    reasons = [
        judge.on_redirect(HOST, task(url=f"http://a.test/{n}"), answer, "http://a.test/", NOW).reason
        for n in range(MANY_REDIRECTS + 2)
    ]

    assert reasons == [None] * MANY_REDIRECTS + [SOFT_404] * 2


def test_the_soft_404_evidence_that_is_passed_in_is_the_one_that_is_used() -> None:
    soft = Soft404Detector()
    for n in range(MANY_REDIRECTS):
        soft.leads_home(HOST, f"http://a.test/{n}", "http://a.test/")

    settled = disposition(soft=soft).on_redirect(HOST, task(), redirect("/"), "http://a.test/", NOW)

    assert settled.reason == SOFT_404


def test_a_redirect_that_is_refused_is_no_evidence_of_soft_404s() -> None:
    judge = disposition()
    for _ in range(2 * MANY_REDIRECTS):
        judge.on_redirect(HOST, task(), redirect("/"), "http://a.test/", NOW, "url_too_long")

    assert judge.on_redirect(HOST, task(), redirect("/"), "http://a.test/", NOW).reason is None


# --- rules, dead letters ---------------------------------------------------------------------------


def test_an_excluded_url_keeps_its_tries_and_gets_no_date() -> None:
    settled = disposition().exclude(HOST, task(tries=1), "robots_denied", NOW, "line 2: Disallow: /p")

    assert (settled.state, settled.tries, settled.available_at) == (UrlState.EXCLUDED, 1, None)
    assert (settled.reason, settled.detail, settled.status) == ("robots_denied", "line 2: Disallow: /p", None)
    assert (settled.host_id, settled.url_id, settled.front, settled.at) == (HOST, 7, 2, NOW)


def test_a_redirect_loop_is_dead_with_the_answer_on_record() -> None:
    answer = redirect("http://a.test/p")._replace(took=Seconds(0.4), unverified=True)

    settled = disposition().give_up(HOST, task(), "redirect_loop", NOW, answer, "http://a.test/p")

    assert (settled.state, settled.tries, settled.available_at) == (UrlState.DEAD, 1, None)
    assert (settled.reason, settled.redirect_to) == ("redirect_loop", "http://a.test/p")
    assert (settled.status, settled.took, settled.unverified) == (301, 0.4, True)


def test_a_url_that_dies_without_an_answer_has_no_status() -> None:
    settled = disposition().give_up(HOST, task(tries=1), "robots_unreachable", NOW)

    assert (settled.state, settled.tries, settled.reason) == (UrlState.DEAD, 2, "robots_unreachable")
    assert (settled.status, settled.took, settled.unverified, settled.redirect_to) == (None, None, False, None)
