"""One request: the address it goes to, what is noted before and after it, and how long its host is left alone."""

import asyncio
import contextlib
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.crawl.visit.request import LOOK_AGAIN, ROBOTS_TIMEOUT, Route, port_of
from gossamer.extract.content_types import Kinds
from gossamer.fetch.dns.address_choice import UNREACHABLE_FAILURES
from gossamer.fetch.dns.cache import Addresses, StoredAnswer
from gossamer.fetch.dns.resolver import ResolveLater
from gossamer.fetch.http.headers import requested_wait
from gossamer.fetch.http.options import HostOptions, Proxy
from gossamer.fetch.ports import Request
from gossamer.frontier.breaker import HostFailures
from gossamer.frontier.politeness import GapReason
from gossamer.model.outcome import Failed, Failure, FetchOutcome, Truncation
from gossamer.model.task import Visit
from gossamer.model.units import HostId, HostKey, Instant, Origin, Seconds, Url
from tests.crawl.request_rig import A_ADDRESS, A_ID, POLITENESS, A, Rig
from tests.crawl.scripted_fetcher import HANG, failed, response
from tests.time_travel import run_travelling

ORIGIN = Origin("http://a.test")
SECOND = "192.0.2.9"
PROXY = Proxy.parse("http://proxy.test:3128")
C = HostKey("c.test")


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    rig = Rig(tmp_path)
    yield rig
    rig.close()


async def send(rig: Rig, visit: Visit, **more: object) -> tuple[Route, FetchOutcome]:
    route = await rig.route_to(visit)
    outcome = await rig.requester.send(
        visit.host_id,
        visit.host,
        visit.last_took,
        route,
        visit.task.url,
        ORIGIN,
        **more,  # type: ignore[arg-type]
    )
    return route, outcome


async def fetch_page(rig: Rig, crawl_delay: float | None = None, *, again: bool = False) -> Visit:
    """A whole request, as a visit makes it. Its end is reported at once."""
    visit = rig.wait_for_visit()
    route, outcome = await send(rig, visit)
    delay = None if crawl_delay is None else Seconds(crawl_delay)
    wait = requested_wait(outcome, rig.now)
    rig.requester.finish(visit, rig.host_context(), route, outcome, rig.now, delay, wait, again=again)
    return visit


# --- the address -----------------------------------------------------------------------------------


async def route_to(rig: Rig, host: HostKey = A, last: str | None = None) -> Route | Failed:
    return await rig.requester.route_to(host, last)


def test_a_host_is_contacted_at_its_first_address(rig: Rig) -> None:
    rig.locate(C, "192.0.2.7", "192.0.2.8")

    route = run_travelling(route_to(rig, C))

    assert isinstance(route, Route)
    assert route.address == "192.0.2.7"
    assert route.found is not None
    assert route.found.addresses == ("192.0.2.7", "192.0.2.8")


def test_a_host_is_contacted_where_it_was_contacted_last(rig: Rig) -> None:
    rig.locate(C, "192.0.2.7", "192.0.2.8")

    route = run_travelling(route_to(rig, C, "192.0.2.8"))

    assert isinstance(route, Route)
    assert route.address == "192.0.2.8"


def test_an_address_that_the_host_no_longer_has_is_not_used(rig: Rig) -> None:
    route = run_travelling(route_to(rig, A, "198.51.100.1"))

    assert isinstance(route, Route)
    assert route.address == A_ADDRESS


def test_an_ip_literal_is_its_own_address(rig: Rig) -> None:
    route = run_travelling(route_to(rig, HostKey("192.0.2.77")))

    assert isinstance(route, Route)
    assert route.address == "192.0.2.77"


def test_a_forbidden_address_is_passed_over(rig: Rig) -> None:
    rig.locate(C, "10.0.0.1", "192.0.2.8")
    rig.forbidden.add("10.0.0.1")

    route = run_travelling(route_to(rig, C, "10.0.0.1"))

    assert isinstance(route, Route)
    assert route.address == "192.0.2.8"


def test_a_host_with_forbidden_addresses_only_is_blocked_and_not_contacted(rig: Rig) -> None:
    rig.locate(C, "10.0.0.1", "10.0.0.2")
    rig.forbidden |= {"10.0.0.1", "10.0.0.2"}

    blocked = run_travelling(route_to(rig, C))

    assert isinstance(blocked, Failed)
    assert (blocked.failure, blocked.detail) == (Failure.BLOCKED_ADDRESS, "10.0.0.1, 10.0.0.2")
    assert not blocked.contacted


def test_a_name_that_no_name_server_can_know_fails_without_a_question(rig: Rig) -> None:
    no_way = run_travelling(route_to(rig, HostKey("x" * 64 + ".test")))

    assert isinstance(no_way, Failed)
    assert not isinstance(no_way, ResolveLater)
    assert not no_way.contacted
    assert rig.resolver.statistics().queries == 0


def test_a_visit_does_not_wait_for_a_slow_name_server(tmp_path: Path) -> None:
    silent = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    silent.bind(("127.0.0.1", 0))
    rig = Rig(tmp_path, name_server=f"127.0.0.1:{silent.getsockname()[1]}")

    async def look_up() -> list[Route | Failed]:
        try:
            return [await route_to(rig, C), await route_to(rig, C)]
        finally:
            await rig.resolver.close()

    with silent, contextlib.closing(rig):
        first, while_asking = run_travelling(look_up())

    for answer in (first, while_asking):
        assert isinstance(answer, ResolveLater)
        assert (answer.failure, answer.until) == (Failure.DNS_TIMEOUT, rig.now + LOOK_AGAIN)
        assert not answer.contacted


def test_a_host_behind_a_proxy_is_not_looked_up(rig: Rig) -> None:
    rig.ask_with(C, HostOptions(proxy=PROXY))

    route = run_travelling(route_to(rig, C))

    assert route == Route(None, "proxy:c.test")
    assert rig.resolver.statistics().queries == 0


# --- before the request ----------------------------------------------------------------------------


def test_a_contact_is_in_the_journal_before_the_request_is_sent(rig: Rig) -> None:
    rig.load(A)
    seen = []
    rig.fetcher.on("http://a.test/0", response())
    rig.fetcher.on_request = lambda request: seen.append(rig.journalled[A_ID])
    sent_at = rig.now

    run_travelling(fetch_page(rig))

    assert [(contact.started, contact.address) for contact in seen] == [(sent_at, A_ADDRESS)]


def test_the_journal_knows_how_slow_the_host_was_the_time_before(rig: Rig) -> None:
    rig.load(A)
    rig.fetcher.on("http://a.test/0", response(took=1.5)).on("http://a.test/1", response())
    seen = []
    rig.fetcher.on_request = lambda request: seen.append(rig.journalled[A_ID].took)

    async def two_pages() -> None:
        await fetch_page(rig)
        await fetch_page(rig)

    run_travelling(two_pages())

    assert seen == [0.0, 1.5]


def test_a_contact_is_open_and_audited_while_the_request_is_under_way(rig: Rig) -> None:
    rig.load(A)
    rig.fetcher.on("http://a.test/0", response())
    seen: list[tuple[object, int]] = []
    rig.fetcher.on_request = lambda request: seen.append((rig.requester.open_contacts[A_ID], rig.audit.requests))
    sent_at = rig.now

    run_travelling(fetch_page(rig))

    assert seen == [((sent_at, 0.0, A_ADDRESS), 1)]
    assert rig.requester.open_contacts == {}


def test_the_audit_sees_a_request_that_comes_too_early(rig: Rig) -> None:
    rig.load(A)
    rig.audit.restore(A, None, Instant(rig.now + 5.0))
    rig.fetcher.on("http://a.test/0", response())

    run_travelling(fetch_page(rig))

    assert rig.audit.violations == 1


def test_a_request_carries_what_was_asked_for(rig: Rig) -> None:
    rig.load(A)
    options = HostOptions(headers=(("X-Team", "search"),))
    rig.ask_with(A, options)
    rig.fetcher.on("http://a.test/0", response())
    wants = Kinds(["html"])
    visit = rig.wait_for_visit()
    run_travelling(send(rig, visit, wants=wants, body_bytes=99, headers=(("If-None-Match", '"1"'),)))

    assert rig.fetcher.requests == [
        Request(
            visit.task.url,
            A,
            80,
            A_ADDRESS,
            (("If-None-Match", '"1"'),),
            options,
            wants,
            None,
            99,
        )
    ]


def test_only_a_host_with_other_addresses_gets_little_time_to_connect(rig: Rig) -> None:
    rig.load(A)
    rig.fetcher.on("http://a.test/0", response(), response())
    visit = rig.wait_for_visit()
    several = Addresses((A_ADDRESS, SECOND), Instant(rig.now + 60.0))

    async def send_twice() -> None:
        route = await rig.route_to(visit)
        for found in (route.found, several):
            await rig.requester.send(A_ID, A, 0.0, Route(found, A_ADDRESS), visit.task.url, ORIGIN)

    run_travelling(send_twice())

    alone, with_others = (request.connect for request in rig.fetcher.requests)
    assert alone is None
    assert with_others is not None


def test_through_a_proxy_no_address_is_dialled(rig: Rig) -> None:
    rig.load(A)
    rig.ask_with(A, HostOptions(proxy=PROXY))
    rig.fetcher.on("http://a.test/0", response())

    run_travelling(fetch_page(rig))

    assert [(request.address, request.connect) for request in rig.fetcher.requests] == [("", None)]
    assert rig.journalled[A_ID].address == "proxy:a.test"


@pytest.mark.parametrize(
    ("origin", "port"),
    [
        ("http://a.test", 80),
        ("https://a.test", 443),
        ("ftp://a.test", 21),
        ("http://a.test:8080", 8080),
        ("https://[2001:db8::1]", 443),
        ("https://[2001:db8::1]:8443", 8443),
        ("http://192.0.2.1", 80),
        ("http://192.0.2.1:81", 81),
    ],
)
def test_the_port_is_that_of_the_origin(origin: str, port: int) -> None:
    assert port_of(Origin(origin)) == port


# --- robots.txt ------------------------------------------------------------------------------------


async def send_robots_request(rig: Rig) -> FetchOutcome:
    visit = rig.wait_for_visit()
    route = await rig.route_to(visit)
    return await rig.requester.send_robots_request(A_ID, A, 0.0, route, visit.task.url, ORIGIN)


def test_a_robots_txt_that_never_ends_is_a_timeout(rig: Rig) -> None:
    rig.load(A)
    rig.fetcher.on("http://a.test/0", HANG)

    outcome = run_travelling(send_robots_request(rig))

    assert isinstance(outcome, Failed)
    assert (outcome.failure, outcome.took, outcome.contacted) == (Failure.TOTAL_TIMEOUT, ROBOTS_TIMEOUT, True)


def test_of_a_robots_txt_no_more_is_fetched_than_is_read(rig: Rig) -> None:
    rig.load(A)
    rig.fetcher.on("http://a.test/0", response(body=b"x"))

    outcome = run_travelling(send_robots_request(rig))

    assert not isinstance(outcome, Failed)
    assert rig.fetcher.requests[0].body_bytes is not None
    assert 500 * 1024 <= rig.fetcher.requests[0].body_bytes < 1024 * 1024


# --- after the request -----------------------------------------------------------------------------


def gap_after_page(rig: Rig, outcome: FetchOutcome, crawl_delay: float | None = None) -> float:
    """How long the host is left alone after this outcome, as all who need to know it agree."""
    rig.load(A)
    rig.fetcher.on("http://a.test/0", outcome)
    run_travelling(fetch_page(rig, crawl_delay))
    ended = rig.now
    journalled = rig.journalled[A_ID]
    assert journalled.started is None
    assert journalled.next_contact == rig.batch.hosts[A_ID].next_contact
    assert rig.wait_for_visit().host == A
    assert rig.now == journalled.next_contact
    return journalled.next_contact - ended


def test_a_host_is_left_alone_for_the_minimum_delay(rig: Rig) -> None:
    assert gap_after_page(rig, response(took=0.01)) == pytest.approx(POLITENESS.min_delay)
    assert rig.batch.hosts[A_ID].rest_reason == GapReason.MIN_DELAY.value


def test_a_slow_host_is_left_alone_for_a_multiple_of_its_time(rig: Rig) -> None:
    assert gap_after_page(rig, response(took=0.5)) == pytest.approx(5.0)
    assert rig.batch.hosts[A_ID].rest_reason == GapReason.ADAPTIVE.value


def test_a_failure_is_followed_by_a_gap_like_an_answer(rig: Rig) -> None:
    assert gap_after_page(rig, failed(Failure.READ_TIMEOUT, took=0.5)) == pytest.approx(5.0)


def test_a_host_is_left_alone_for_its_crawl_delay(rig: Rig) -> None:
    assert gap_after_page(rig, response(), crawl_delay=20.0) == pytest.approx(20.0)
    assert rig.batch.hosts[A_ID].rest_reason == GapReason.CRAWL_DELAY.value


@pytest.mark.parametrize("status", [400, 404, 429, 503])
def test_a_host_is_left_alone_for_as_long_as_a_refusal_asks(rig: Rig, status: int) -> None:
    assert gap_after_page(rig, response(status, headers={"Retry-After": "77"})) == pytest.approx(77.0)
    assert rig.batch.hosts[A_ID].rest_reason == GapReason.RETRY_AFTER.value


def test_a_delay_that_the_operator_set_for_the_host_replaces_the_minimum(rig: Rig) -> None:
    rig.ask_with(A, min_delay=Seconds(9.0))

    assert gap_after_page(rig, response(took=0.01)) == pytest.approx(9.0)
    assert rig.audit.violations == 0


def test_time_that_the_fetcher_does_not_count_is_counted_by_the_clock(rig: Rig) -> None:
    def connect_slowly(request: Request) -> None:
        rig.clock.advance(Seconds(0.7))

    rig.fetcher.on_request = connect_slowly

    assert gap_after_page(rig, response(took=0.1)) == pytest.approx(8.0)
    assert rig.batch.hosts[A_ID].last_took == pytest.approx(0.8)


def test_a_rest_that_is_longer_than_the_gap_is_explained_by_the_state_of_the_host(rig: Rig) -> None:
    rig.load(A)
    rig.fetcher.on("http://a.test/0", response(500))
    until = Instant(rig.now + 60.0)
    visit = rig.wait_for_visit()

    async def fail() -> None:
        route, outcome = await send(rig, visit)
        rig.host_context().trouble = HostFailures(5, rig.now, until, "server_error")
        rig.frontier.delay(A_ID, until)
        rig.requester.finish(visit, rig.host_context(), route, outcome, rig.now, None, None)

    run_travelling(fail())

    clock = rig.batch.hosts[A_ID]
    assert (clock.next_contact, clock.rest_reason) == (until, "server_error, 5 in a row")
    assert clock.failures is not None
    assert HostFailures.from_text(clock.failures) == rig.host_context().trouble


def test_a_host_without_trouble_is_recorded_without(rig: Rig) -> None:
    gap_after_page(rig, response())

    assert rig.batch.hosts[A_ID].failures == ""


def test_a_new_answer_of_the_name_server_is_recorded_once(rig: Rig) -> None:
    rig.load(A)
    rig.fetcher.on("http://a.test/0", response()).on("http://a.test/1", response())
    kept = []

    async def two_pages() -> None:
        for _ in range(2):
            await fetch_page(rig)
            kept.append(rig.batch.hosts[A_ID].resolved)

    run_travelling(two_pages())

    first, second = kept
    assert first is not None
    stored = StoredAnswer.from_text(first)
    assert stored is not None
    assert stored.addresses == (A_ADDRESS,)
    assert second is None


def test_an_expired_answer_of_the_name_server_is_not_recorded(rig: Rig) -> None:
    rig.load(A)
    rig.fetcher.on("http://a.test/0", response())
    visit = rig.wait_for_visit()

    async def visit_by_stale_answer() -> None:
        await rig.route_to(visit)
        route = Route(Addresses((A_ADDRESS,), rig.now, stale=True), A_ADDRESS)
        outcome = await rig.requester.send(A_ID, A, 0.0, route, visit.task.url, ORIGIN)
        rig.requester.finish(visit, rig.host_context(), route, outcome, rig.now, None, None)

    run_travelling(visit_by_stale_answer())

    assert rig.batch.hosts[A_ID].resolved is None


def test_the_end_of_a_contact_is_committed_without_further_request(rig: Rig) -> None:
    rig.load(A)
    rig.fetcher.on("http://a.test/0", response())

    async def visit_and_commit() -> None:
        committing = asyncio.create_task(rig.store.run())
        await fetch_page(rig)
        async with asyncio.timeout(10.0):
            await rig.committed.wait()
        rig.store.finish()
        await committing

    run_travelling(visit_and_commit())
    rig.store.close()

    assert [list(batch.hosts) for batch in rig.commits] == [[A_ID]]


def test_a_url_that_goes_back_into_its_queue_comes_next(rig: Rig) -> None:
    rig.load(A)
    rig.fetcher.on("http://a.test/0", response())

    first = run_travelling(fetch_page(rig, again=True))

    assert rig.wait_for_visit().task == first.task


def test_no_request_of_a_crawl_comes_too_early(rig: Rig) -> None:
    rig.load(A)
    for n, took in enumerate((0.1, 2.0, 0.4, 9.0)):
        rig.fetcher.on(f"http://a.test/{n}", response(took=took))

    async def four_pages() -> None:
        for _ in range(4):
            await fetch_page(rig, crawl_delay=3.0)

    run_travelling(four_pages())

    assert (rig.audit.requests, rig.audit.violations) == (4, 0)


def test_the_five_slowest_hosts_are_remembered(rig: Rig) -> None:
    durations = {
        "1.test": 0.1,
        "2.test": 0.9,
        "3.test": 0.3,
        "4.test": 0.5,
        "5.test": 0.4,
        "6.test": 0.2,
        "7.test": 0.05,
    }

    async def contact(host_id: HostId, host: HostKey, took: float) -> None:
        url, address = Url(f"http://{host}/"), f"192.0.2.{host_id}"
        rig.fetcher.on(url, response(took=took))
        route = Route(Addresses((address,), rig.now), address)
        outcome = await rig.requester.send(host_id, host, 0.0, route, url, Origin(f"http://{host}"))
        ended = rig.requester.contact_ended(host_id, host, outcome, rig.now, None, None)
        rig.requester.record_end(host_id, host, route, ended, rig.now, None)

    for number, (name, took) in enumerate(durations.items(), 10):
        run_travelling(contact(HostId(number), HostKey(name), took))

    assert sorted(rig.requester.slowest) == ["2.test", "3.test", "4.test", "5.test", "6.test"]


def test_hf_28_the_audit_counts_what_the_fetcher_sent_and_objects_to_a_second_repeat(rig: Rig) -> None:
    async def contact(number: int, repeats: int) -> None:
        host_id, host, url = HostId(number), HostKey(f"h{number}.test"), Url(f"http://h{number}.test/")
        rig.fetcher.on(url, response()._replace(repeats=repeats))
        route = Route(Addresses((f"192.0.2.{number}",), rig.now), f"192.0.2.{number}")
        outcome = await rig.requester.send(host_id, host, 0.0, route, url, Origin(url[:-1]))
        ended = rig.requester.contact_ended(host_id, host, outcome, rig.now, None, None)
        rig.requester.record_end(host_id, host, route, ended, rig.now, None)

    for number, repeats in enumerate((0, 1, 3), 10):
        run_travelling(contact(number, repeats))

    assert (rig.audit.requests, rig.audit.violations) == (3 + 4, 2)
    assert {str(violation) for violation in rig.audit.first} == {"host asked again: h12.test"}


# --- addresses that cannot be reached ----------------------------------------------------------------


@pytest.mark.parametrize("failure", [failure for failure in Failure if failure in UNREACHABLE_FAILURES])
def test_if_an_address_cannot_be_reached_the_next_one_is_tried_at_once(rig: Rig, failure: Failure) -> None:
    rig.load(A)
    visit = rig.wait_for_visit()
    both = Addresses((A_ADDRESS, SECOND), Instant(rig.now + 60.0))
    rig.fetcher.on("http://a.test/0", failed(failure))

    async def try_first() -> bool:
        route = await rig.route_to(visit)
        outcome = await rig.requester.send(A_ID, A, 0.3, Route(both, route.address), visit.task.url, ORIGIN)
        elsewhere = rig.requester.try_other_address(A, Route(both, route.address), outcome, rig.now)
        rig.requester.finish_unreached(visit, route, rig.now)
        return elsewhere

    assert run_travelling(try_first())
    ended = rig.now
    assert rig.wait_for_visit().task == visit.task
    assert rig.now == ended  # the host saw nothing, so there is no gap
    assert rig.address_choice.choose(both, A_ADDRESS, rig.now) == SECOND
    assert rig.requester.open_contacts == {}
    assert rig.journalled[A_ID].started is None
    rig.audit.on_request_start(A, A_ADDRESS, rig.now)
    assert rig.audit.violations == 0


def test_if_the_only_address_cannot_be_reached_the_name_server_is_asked_before_the_next_try(rig: Rig) -> None:
    route = run_travelling(route_to(rig))
    assert isinstance(route, Route)

    assert not rig.requester.try_other_address(A, route, failed(Failure.CONN_REFUSED), rig.now)

    assert rig.resolver.cached(A) is None


@pytest.mark.parametrize(
    "outcome",
    [
        response(),
        response(503),
        response(truncated=Truncation.DISCONNECT),
        failed(Failure.CONNECTION_LOST),
        failed(Failure.READ_TIMEOUT),
        failed(Failure.TLS_PROTOCOL),
    ],
)
def test_an_address_that_was_reached_keeps_its_host_and_is_used_again(rig: Rig, outcome: FetchOutcome) -> None:
    both = Addresses((A_ADDRESS, SECOND), Instant(rig.now + 60.0))
    rig.address_choice.on_unreachable(A_ADDRESS, rig.now)

    assert not rig.requester.try_other_address(A, Route(both, A_ADDRESS), outcome, rig.now)

    assert rig.address_choice.choose(both, A_ADDRESS, rig.now) == A_ADDRESS
    assert rig.resolver.cached(A) is not None


def test_a_proxy_that_fails_is_waited_for_and_its_host_is_not_blamed(rig: Rig) -> None:
    rig.ask_with(A, HostOptions(proxy=PROXY))
    route = run_travelling(route_to(rig))
    assert isinstance(route, Route)

    down = failed(Failure.PROXY_FAILED, contacted=False)
    assert rig.requester.try_other_address(A, route, down, rig.now)

    assert rig.requester.proxy_failing
    assert rig.batch.counters["error:proxy_failed"] == 1
    wait = run_travelling(route_to(rig))
    assert isinstance(wait, ResolveLater)
    assert (wait.failure, wait.contacted) == (Failure.PROXY_FAILED, False)
    assert wait.until > rig.now


def test_a_proxy_that_answers_is_not_waited_for(rig: Rig) -> None:
    rig.ask_with(A, HostOptions(proxy=PROXY))
    route = run_travelling(route_to(rig))
    assert isinstance(route, Route)

    assert not rig.requester.try_other_address(A, route, response(407), rig.now)

    assert not rig.requester.proxy_failing
    assert isinstance(run_travelling(route_to(rig)), Route)


def test_an_outcome_through_a_proxy_that_was_taken_away_is_an_ordinary_one(rig: Rig) -> None:
    rig.ask_with(A, HostOptions(proxy=PROXY))
    route = run_travelling(route_to(rig))
    assert isinstance(route, Route)
    rig.ask_with(A)

    assert not rig.requester.try_other_address(A, route, failed(Failure.PROXY_FAILED, contacted=False), rig.now)


# --- Retry-After -----------------------------------------------------------------------------------


def test_the_wait_that_a_refusal_asks_for_is_its_retry_after(rig: Rig) -> None:
    assert requested_wait(response(503, headers={"Retry-After": "60"}), rig.now) == 60.0


@pytest.mark.parametrize(
    "outcome",
    [
        response(503),
        response(503, headers={"Retry-After": "soon"}),
        failed(Failure.READ_TIMEOUT),
    ],
)
def test_nothing_else_asks_for_a_wait(rig: Rig, outcome: FetchOutcome) -> None:
    assert requested_wait(outcome, rig.now) is None
