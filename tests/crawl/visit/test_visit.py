"""One visit: every way in which it can end, and what the host sees of it."""

import asyncio
from itertools import pairwise
from pathlib import Path

import pytest

from gossamer.config.overrides import HOST_DROPPED
from gossamer.crawl.visit.disposition import MAX_RATE_LIMITED
from gossamer.fetch.robots import MAX_REDIRECTS
from gossamer.model.outcome import Failure, Truncation
from gossamer.model.units import HostKey, Seconds
from tests.crawl.scripted_crawl import ADDRESSES, HOME, ScriptedCrawl, crawled, html, opened, page, run_in_step
from tests.crawl.scripted_fetcher import Step, failed, redirect, response

ROBOTS = HOME + "robots.txt"
B = "http://b.test/"
LOST = failed(Failure.CONNECTION_LOST)
REFUSED = failed(Failure.CONN_REFUSED, contacted=False)
CUT_OFF = response(200, b"<p>the beg", {"Content-Type": "text/html"}, truncated=Truncation.DISCONNECT)


def rules(*lines: str) -> Step:
    return response(200, "\n".join(["User-agent: *", *lines]).encode(), {"Content-Type": "text/plain"})


# --- robots.txt ------------------------------------------------------------------------------------


def test_robots_txt_is_fetched_before_the_first_page_of_a_host_and_once(tmp_path: Path) -> None:
    crawl = crawled(tmp_path, {HOME: html("/x"), HOME + "x": html(title="x")})

    assert crawl.fetcher.urls == [ROBOTS, HOME, HOME + "x"]


def test_the_request_for_robots_txt_is_followed_by_the_gap_of_the_host(tmp_path: Path) -> None:
    crawl = crawled(tmp_path, {HOME: html()}, delay=7.0)

    (page_at,) = crawl.request_times[HOME]
    assert page_at >= 0.1 + 7.0  # robots.txt took a tenth of a second


def test_a_url_that_robots_txt_disallows_is_excluded_without_a_request(tmp_path: Path) -> None:
    crawl = crawled(tmp_path, {ROBOTS: rules("Disallow: /private"), HOME: html("/private/x")})

    assert crawl.requests == [HOME]
    assert crawl.committed[-1] == (HOME + "private/x", "excluded", "robots_denied")


def test_a_crawl_delay_is_kept(tmp_path: Path) -> None:
    crawl = crawled(tmp_path, {ROBOTS: rules("Crawl-delay: 20"), HOME: html("/x"), HOME + "x": html(title="x")})

    times = crawl.request_times
    assert times[HOME][0] >= 20.0
    assert times[HOME + "x"][0] - times[HOME][0] >= 20.0


def test_a_host_that_asks_for_too_long_a_crawl_delay_is_not_crawled(tmp_path: Path) -> None:
    crawl = crawled(tmp_path, {ROBOTS: rules("Crawl-delay: 100")}, politeness={"max_crawl_delay": 99.0})

    assert crawl.requests == []
    assert crawl.committed == [(HOME, "excluded", "crawl_delay_too_long")]


def test_while_robots_txt_cannot_be_fetched_pages_wait_and_lose_no_try(tmp_path: Path) -> None:
    crawl = crawled(tmp_path, {ROBOTS: [response(503), response(503), rules()], HOME: html()})

    assert crawl.fetcher.urls == [ROBOTS, ROBOTS, ROBOTS, HOME]
    assert crawl.committed == [(HOME, "stored", None)]
    assert crawl.rows()[HOME].tries == 0


def test_rules_that_have_expired_are_fetched_again_before_the_next_page(tmp_path: Path) -> None:
    def wait_two_days(crawl: ScriptedCrawl) -> None:
        crawl.when(lambda: crawl.requests == [HOME], lambda: crawl.clock.advance(Seconds(2 * 86_400.0)))

    crawl = crawled(tmp_path, {ROBOTS: [rules(), rules("Disallow: /x")], HOME: html("/x")}, wait_two_days)

    assert crawl.fetcher.urls == [ROBOTS, HOME, ROBOTS]
    assert crawl.committed[-1] == (HOME + "x", "excluded", "robots_denied")


def test_a_redirect_of_robots_txt_is_followed_and_each_request_keeps_the_gap(tmp_path: Path) -> None:
    crawl = crawled(tmp_path, {ROBOTS: redirect("/rules"), HOME + "rules": rules("Disallow: /x"), HOME: html("/x")})

    assert crawl.fetcher.urls == [ROBOTS, HOME + "rules", HOME]
    times = [crawl.request_times[url][0] for url in crawl.fetcher.urls]
    assert times[1] - times[0] >= 1.0 and times[2] - times[1] >= 1.0
    assert crawl.committed[-1] == (HOME + "x", "excluded", "robots_denied")


def test_robots_txt_that_is_redirected_to_another_host_is_fetched_there(tmp_path: Path) -> None:
    crawl = crawled(
        tmp_path,
        {ROBOTS: redirect(B + "rules"), B + "rules": rules("Disallow: /x"), HOME: html("/x", "/y"), HOME + "y": html()},
    )

    assert crawl.fetcher.urls == [ROBOTS, B + "rules", HOME, HOME + "y"]
    assert crawl.rows()[HOME + "x"][:2] == ("excluded", "robots_denied")


def test_robots_txt_that_is_redirected_too_often_counts_as_absent(tmp_path: Path) -> None:
    hops = [HOME + f"hop-{number}" for number in range(MAX_REDIRECTS + 1)]
    script = {ROBOTS: redirect(hops[0]), **{hop: redirect(then) for hop, then in pairwise(hops)}}
    crawl = crawled(tmp_path, {**script, HOME: html()})

    assert crawl.fetcher.urls == [ROBOTS, *hops[:-1], HOME]
    assert crawl.states() == {HOME: "stored"}


# --- rules, caps and orders ------------------------------------------------------------------------


def test_a_url_that_the_rules_exclude_when_its_turn_comes_is_not_requested(tmp_path: Path) -> None:
    crawl = crawled(tmp_path, {}, filter={"exclude": ("*a.test*",)})

    assert crawl.fetcher.urls == []
    assert crawl.committed == [(HOME, "excluded", "pattern")]


def test_a_domain_gets_no_more_page_requests_than_its_cap(tmp_path: Path) -> None:
    script = {HOME: html("/x", "/y"), HOME + "x": html(title="x"), HOME + "y": html(title="y")}
    crawl = crawled(tmp_path, script, politeness={"max_per_domain": 2})

    assert len(crawl.requests) == 2
    assert sorted(crawl.states().values()) == ["excluded", "stored", "stored"]
    assert crawl.committed[-1][2] == "domain_limit"


def test_urls_of_a_dropped_host_are_excluded_without_a_request(tmp_path: Path) -> None:
    crawl = crawled(tmp_path, {}, lambda crawl: crawl.crawl.hosts.overrides.drop(HostKey("a.test")))

    assert crawl.fetcher.urls == []
    assert crawl.committed == [(HOME, "excluded", HOST_DROPPED)]


def test_a_paused_host_is_not_contacted_until_it_is_resumed(tmp_path: Path) -> None:
    def pause_for_a_minute(crawl: ScriptedCrawl) -> None:
        overrides = crawl.crawl.hosts.overrides
        overrides.pause(HostKey("a.test"))
        asyncio.get_running_loop().call_later(60.0, overrides.resume, HostKey("a.test"))

    crawl = crawled(tmp_path, {HOME: html()}, pause_for_a_minute)

    assert crawl.request_times[ROBOTS][0] >= 60.0
    assert crawl.states() == {HOME: "stored"}


def test_a_trap_is_cut_when_its_budget_is_spent(tmp_path: Path) -> None:
    """A calendar whose pages are all the same and link to more of themselves."""
    days = [HOME + f"calendar/{number}" for number in range(1, 60)]
    script: dict[str, Step] = {HOME: html(*days), **{day: html(*days, title="calendar") for day in days}}
    crawl = crawled(tmp_path, script, traps={"patience": 5})

    excluded = [reason for _, state, reason in crawl.committed if state == "excluded"]
    assert len(excluded) + len(crawl.requests) == 60
    assert set(excluded) == {"trap:same"}
    assert len(crawl.requests) < 30


# --- no way to the host ----------------------------------------------------------------------------


def test_a_host_whose_name_does_not_exist_is_given_up_without_a_request(tmp_path: Path) -> None:
    nowhere = "http://nowhere.test/"
    crawl = crawled(tmp_path, {}, seeds=[nowhere])

    assert crawl.fetcher.urls == []
    assert crawl.rows()[nowhere][:2] == ("dead", Failure.DNS_NXDOMAIN.value)


def test_a_host_at_a_private_address_is_excluded_without_a_request(tmp_path: Path) -> None:
    crawl = crawled(tmp_path, {}, addresses={"a.test": "10.0.0.1"})

    assert crawl.fetcher.urls == []
    assert crawl.committed == [(HOME, "excluded", Failure.BLOCKED_ADDRESS.value)]


def test_visits_wait_for_a_proxy_that_is_down_and_lose_no_try(tmp_path: Path) -> None:
    down = failed(Failure.PROXY_FAILED, contacted=False)
    script: dict[str, Step | list[Step]] = {ROBOTS: [down, down, response(404)], HOME: [down, html()]}
    crawl = crawled(tmp_path, script, fetch={"proxy": "http://proxy.test:3128"})

    assert crawl.fetcher.urls == [ROBOTS, ROBOTS, ROBOTS, HOME, HOME]
    assert {request.address for request in crawl.fetcher.requests} == {""}
    assert crawl.committed == [(HOME, "stored", None)]


# --- failures and retries --------------------------------------------------------------------------


def test_a_failed_connection_is_tried_again_after_a_wait(tmp_path: Path) -> None:
    crawl = crawled(tmp_path, {HOME: [LOST, html()]}, retry={"delay": 30.0})

    first, second = crawl.request_times[HOME]
    assert second - first >= 15.0
    assert crawl.committed == [(HOME, "queued", "connection_lost"), (HOME, "stored", None)]


def test_a_url_is_dead_when_its_tries_are_used_up(tmp_path: Path) -> None:
    crawl = crawled(tmp_path, {HOME: [LOST] * 3}, retry={"max_tries": 3})

    assert crawl.requests == [HOME] * 3
    assert crawl.rows()[HOME][:3] == ("dead", "connection_lost", 3)


def test_a_server_error_is_tried_again(tmp_path: Path) -> None:
    crawl = crawled(tmp_path, {HOME: [response(500), html()]})

    assert crawl.committed == [(HOME, "queued", "server_error"), (HOME, "stored", None)]


def test_a_retry_after_is_kept(tmp_path: Path) -> None:
    crawl = crawled(tmp_path, {HOME: [response(429, headers={"Retry-After": "500"}), html()]})

    first, second = crawl.request_times[HOME]
    assert second - first >= 500.0
    assert crawl.rows()[HOME][:3] == ("stored", None, 0)


def test_missing_pages_are_settled_with_their_status(tmp_path: Path) -> None:
    script = {HOME: html("/missing", "/gone"), HOME + "missing": response(404), HOME + "gone": response(410)}
    crawl = crawled(tmp_path, script)

    assert crawl.states() == {HOME: "stored", HOME + "missing": "missing", HOME + "gone": "gone"}
    assert {outcome.status for outcome in crawl.outcomes} == {200, 404, 410}


def test_a_host_that_keeps_failing_is_left_alone_and_its_urls_lose_no_try_meanwhile(tmp_path: Path) -> None:
    """Five failures in a row open the breaker; the first answer closes it."""
    urls = [HOME + str(number) for number in range(8)]
    script: dict[str, Step | list[Step]] = {HOME: html(*urls)}
    script |= {url: [LOST, LOST, html(title=url)] for url in urls[:4]}
    script |= {url: [LOST, html(title=url)] for url in urls[4:]}
    crawl = crawled(tmp_path, script, retry={"max_tries": 3}, order="bfs")

    assert set(crawl.states().values()) == {"stored"}
    failures = [at for url, at in zip(crawl.fetcher.urls, crawl.times, strict=True) if url in urls]
    assert max(later - earlier for earlier, later in pairwise(failures)) >= 8.0


def test_the_urls_of_a_host_that_stays_down_are_given_up_with_it(tmp_path: Path) -> None:
    urls = [HOME + str(number) for number in range(8)]
    script: dict[str, Step | list[Step]] = {HOME: html(*urls), **{url: [LOST] * 100 for url in urls}}
    crawl = crawled(tmp_path, script, retry={"max_tries": 3})

    states = crawl.states()
    assert states.pop(HOME) == "stored"
    assert set(states.values()) == {"dead"}
    assert len(crawl.requests) < 60


def test_a_host_that_never_answers_is_given_up_when_nothing_else_is_left(tmp_path: Path) -> None:
    crawl = crawled(tmp_path, {ROBOTS: [REFUSED] * 20})

    assert 2 < len(crawl.fetcher.requests) < 20
    assert crawl.rows()[HOME].state == "dead"


# --- redirects -------------------------------------------------------------------------------------


def test_the_target_of_a_redirect_is_queued_at_the_same_depth(tmp_path: Path) -> None:
    crawl = crawled(tmp_path, {HOME: redirect("/new"), HOME + "new": html()})

    assert crawl.requests == [HOME, HOME + "new"]
    assert crawl.outcomes[0].redirect_to == HOME + "new"
    assert {url: (row.state, row.depth) for url, row in crawl.rows().items()} == {
        HOME: ("redirect", 0),
        HOME + "new": ("stored", 0),
    }


def test_the_target_of_a_redirect_to_another_host_obeys_the_robots_txt_of_that_host(tmp_path: Path) -> None:
    crawl = crawled(tmp_path, {HOME: redirect(B + "x"), B + "robots.txt": rules("Disallow: /x")})

    assert crawl.requests == [HOME]
    assert crawl.rows()[B + "x"][:2] == ("excluded", "robots_denied")


def test_a_redirect_to_itself_is_a_loop(tmp_path: Path) -> None:
    crawl = crawled(tmp_path, {HOME: redirect(HOME)})

    assert crawl.committed == [(HOME, "dead", "redirect_loop")]


def test_a_redirect_to_where_it_came_from_is_a_loop(tmp_path: Path) -> None:
    crawl = crawled(tmp_path, {HOME: redirect("/x"), HOME + "x": redirect("/")})

    assert crawl.requests == [HOME, HOME + "x"]
    assert crawl.committed[-1] == (HOME + "x", "dead", "redirect_loop")


def test_a_redirect_to_a_known_page_that_did_not_lead_here_is_no_loop(tmp_path: Path) -> None:
    crawl = crawled(tmp_path, {HOME: html("/x"), HOME + "x": redirect("/")})

    assert crawl.rows()[HOME + "x"].state == "redirect"


def test_a_chain_of_redirects_ends_at_its_limit(tmp_path: Path) -> None:
    script = {HOME: redirect("/1"), HOME + "1": redirect("/2"), HOME + "2": redirect("/3")}
    crawl = crawled(tmp_path, script, fetch={"max_redirects": 2})

    assert crawl.requests == [HOME, HOME + "1", HOME + "2"]
    assert crawl.committed[-1] == (HOME + "2", "dead", "too_many_redirects")


@pytest.mark.parametrize(
    ("target", "reason"),
    [("gopher://a.test/", "redirect_bad_scheme"), (B, "out_of_scope"), ("/" + 3000 * "x", "url_too_long")],
)
def test_a_redirect_to_where_the_crawl_may_not_go_is_recorded_and_not_followed(
    tmp_path: Path, target: str, reason: str
) -> None:
    crawl = crawled(tmp_path, {HOME: redirect(target)}, scope="host")

    assert crawl.requests == [HOME]
    assert crawl.committed == [(HOME, "redirect", reason)]


def test_a_redirect_without_a_target_is_stored_as_the_document_it_is(tmp_path: Path) -> None:
    crawl = crawled(tmp_path, {HOME: response(301, b"moved", {"Content-Type": "text/plain"})})

    assert crawl.committed == [(HOME, "stored", "redirect_no_location")]


# --- documents -------------------------------------------------------------------------------------


def test_a_document_is_stored_and_its_links_are_queued_one_level_deeper(tmp_path: Path) -> None:
    crawl = crawled(tmp_path, {HOME: html("/x", title="home"), HOME + "x": html(title="x")})

    assert crawl.committed == [(HOME, "stored", None), (HOME + "x", "stored", None)]
    assert [outcome.title for outcome in crawl.outcomes] == ["home", "x"]
    assert [row.depth for row in crawl.rows().values()] == [0, 1]


def test_a_document_of_an_unwanted_type_is_excluded(tmp_path: Path) -> None:
    pdf = response(200, b"%PDF-1.7", {"Content-Type": "application/pdf"})
    crawl = crawled(tmp_path, {HOME: html("/file"), HOME + "file": pdf}, fetch={"kinds": ("html",)})

    assert crawl.committed[-1] == (HOME + "file", "excluded", "unwanted_type")


def test_a_body_that_breaks_off_is_fetched_again(tmp_path: Path) -> None:
    crawl = crawled(tmp_path, {HOME: [CUT_OFF, html()]})

    assert crawl.committed == [(HOME, "queued", "incomplete_body"), (HOME, "stored", None)]


def test_what_there_is_of_a_body_that_always_breaks_off_is_stored(tmp_path: Path) -> None:
    crawl = crawled(tmp_path, {HOME: [CUT_OFF] * 5})

    assert len(crawl.requests) < 5
    assert crawl.committed[-1][:2] == (HOME, "stored")


# --- recrawls --------------------------------------------------------------------------------------


def test_a_known_page_is_requested_conditionally_and_304_keeps_what_is_stored(tmp_path: Path) -> None:
    tagged = response(200, page(title="home"), {"Content-Type": "text/html", "ETag": '"one"'})
    unchanged = response(304, headers={"ETag": '"one"'})
    recrawl = {"keep_fresh": True, "policy": "fixed", "interval": 1000.0}

    async def main() -> ScriptedCrawl:
        async with opened(tmp_path, {HOME: [tagged, unchanged]}, recrawl=recrawl) as crawl:
            crawl.when(lambda: len(crawl.requests) == 2, crawl.crawl.engine.stop)
            await crawl.crawl.engine.run()
            return crawl

    crawl = run_in_step(main())

    first, second = (dict(request.headers) for request in crawl.fetcher.requests if request.url == HOME)
    assert "If-None-Match" not in first
    assert second["If-None-Match"] == '"one"'
    assert crawl.states() == {HOME: "stored"}
    assert crawl.crawl.counters.total["not_modified"] == 1
    earlier, later = crawl.request_times[HOME]
    assert later - earlier >= 1000.0


def test_a_host_that_answers_429_again_and_again_is_given_up(tmp_path: Path) -> None:
    busy = response(429, headers={"Retry-After": "1"})
    urls = [HOME + str(number) for number in range(MAX_RATE_LIMITED + 2)]
    crawl = crawled(tmp_path, {url: [busy] * MAX_RATE_LIMITED for url in urls}, seeds=urls)

    assert {row[:3] for row in crawl.rows().values()} == {("dead", "rate_limited", 0)}
    assert len(crawl.requests) < len(urls) + MAX_RATE_LIMITED


def test_an_answer_ends_the_series_of_429s(tmp_path: Path) -> None:
    busy = response(429, headers={"Retry-After": "1"})
    urls = [HOME + str(number) for number in range(MAX_RATE_LIMITED + 2)]
    crawl = crawled(tmp_path, {url: [busy, html(title=url)] for url in urls}, seeds=urls, concurrency=1, order="dfs")

    assert set(crawl.states().values()) == {"stored"}


def test_an_answer_ends_the_series_of_failures_that_opens_the_breaker(tmp_path: Path) -> None:
    """Failures of different URLs count against their host only while nothing is answered in between."""
    urls = [HOME + str(number) for number in range(12)]
    script = {url: LOST if number % 2 else html(title=url) for number, url in enumerate(urls)}
    crawl = crawled(tmp_path, script, seeds=urls, retry={"max_tries": 1}, order="bfs")

    times = sorted(crawl.times)
    assert max(later - earlier for earlier, later in pairwise(times)) < 5.0
    assert sorted(crawl.states().values()) == ["dead"] * 6 + ["stored"] * 6


def test_a_host_with_two_addresses_is_asked_at_the_second_when_the_first_cannot_be_reached(tmp_path: Path) -> None:
    addresses = {**ADDRESSES, "a.test": "93.184.216.1 93.184.216.9"}
    crawl = crawled(tmp_path, {ROBOTS: [REFUSED, response(404)], HOME: html()}, addresses=addresses)

    first, second, third = (request.address for request in crawl.fetcher.requests)
    assert {first, second} == {"93.184.216.1", "93.184.216.9"}
    assert third == second
    assert crawl.request_times[ROBOTS][1] < 1.0  # the host saw nothing of the first
