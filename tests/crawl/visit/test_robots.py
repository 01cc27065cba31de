"""robots.txt: when it is asked for, where its redirects lead, and what its answer means for the host's URLs."""

import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.crawl.visit.host_context import is_current
from gossamer.crawl.visit.robots import UNREACHABLE, RobotsFetcher
from gossamer.fetch.robots import MAX_REDIRECTS, RobotsAnswer, RobotsPolicy
from gossamer.frontier.breaker import HostFailures, Silence
from gossamer.frontier.retries import RETRY_RULES
from gossamer.model.batch import RobotsRecord
from gossamer.model.loads import HostLoaded
from gossamer.model.outcome import Failure, Truncation
from gossamer.model.task import Visit
from gossamer.model.units import HostId, HostKey, Instant, Origin, Seconds
from tests.crawl.request_rig import (
    A_ADDRESS,
    A_ID,
    B_ADDRESS,
    B_ID,
    BREAKER,
    MAX_CRAWL_DELAY,
    ROBOTS,
    A,
    B,
    Rig,
    record_of,
)
from tests.crawl.scripted_fetcher import HANG, Step, failed, redirect, response
from tests.time_travel import run_travelling

ORIGIN = Origin("http://a.test")
FILE = "http://a.test/robots.txt"
B_FILE = "http://b.test/robots.txt"
RULES = b"User-agent: *\nDisallow: /private\n"
DAY = 86_400.0
C, C_ADDRESS = HostKey("c.test"), "192.0.2.3"

HOPELESS = [rule for rule in Failure if RETRY_RULES[rule].max_tries == 1]
TEMPORARY = [rule for rule in Failure if RETRY_RULES[rule].max_tries > 1 and rule is not Failure.TLS_PROTOCOL]


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    rig = Rig(tmp_path)
    yield rig
    rig.close()


async def visit_robots(rig: Rig, robots_fetcher: RobotsFetcher | None = None) -> tuple[Visit, str | None]:
    """The next visit asks for robots.txt, of its own host or where that was redirected to."""
    robots_fetcher = robots_fetcher or rig.robots_fetcher
    visit = rig.wait_for_visit()
    context = rig.host_context(visit.host_id)
    hop = context.hops.get(ORIGIN)
    if hop is not None and hop.host != visit.host:
        return visit, await robots_fetcher.fetch_redirected(visit, context, ORIGIN, hop)
    return visit, await robots_fetcher.fetch(visit, context, ORIGIN, await rig.route_to(visit))


def ask(rig: Rig, *steps: Step, robots_fetcher: RobotsFetcher | None = None) -> str | None:
    """Ask `a.test` once, with these answers in the script. The reason for which the host is given up, if it is."""
    if not rig.fetcher.requests and not len(rig.host_contexts):
        rig.load(A)
    rig.fetcher.on(FILE, *steps)
    return run_travelling(visit_robots(rig, robots_fetcher))[1]


def answer_of(rig: Rig) -> RobotsAnswer:
    return rig.host_context().robots[ORIGIN]


def recorded(rig: Rig) -> RobotsRecord:
    return rig.batch.robots[-1]


def knows(body: bytes = RULES, *, age: float, expired: bool = True) -> RobotsRecord:
    """A file that is on record since `age` seconds."""
    at = Instant(1_700_000_000.0 - age)
    expires = Instant(1_700_000_000.0 - 1.0 if expired else at + DAY)
    return RobotsRecord(ORIGIN, A_ID, 200, at, expires, body)


# --- answers ---------------------------------------------------------------------------------------


def test_rules_that_were_fetched_hold_for_a_day(rig: Rig) -> None:
    assert ask(rig, response(200, RULES)) is None

    answer = answer_of(rig)
    assert answer.verdict("/public").allowed
    assert not answer.verdict("/private/x").allowed
    assert is_current(answer, Instant(rig.now + DAY - 1.0))
    assert not is_current(answer, Instant(rig.now + DAY))


def test_the_url_of_the_visit_waits_for_its_own_turn(rig: Rig) -> None:
    rig.load(A)
    rig.fetcher.on(FILE, response(200, RULES))

    asked, _ = run_travelling(visit_robots(rig))

    assert rig.fetcher.urls == [FILE]
    assert rig.wait_for_visit().task == asked.task


def test_a_request_for_robots_txt_is_followed_by_a_gap(rig: Rig) -> None:
    ask(rig, response(200, RULES, took=0.4))
    ended = rig.now

    rig.wait_for_visit()

    assert rig.now - ended == pytest.approx(4.0)
    assert rig.journalled[A_ID].next_contact == rig.now


def test_the_crawl_delay_in_the_file_holds_from_this_request_on(rig: Rig) -> None:
    ask(rig, response(200, b"User-agent: *\nCrawl-delay: 50"))
    ended = rig.now

    rig.wait_for_visit()

    assert rig.now - ended == pytest.approx(50.0)


def test_the_longest_crawl_delay_that_is_accepted_is_waited_for(rig: Rig) -> None:
    ask(rig, response(200, b"User-agent: *\nCrawl-delay: %d" % MAX_CRAWL_DELAY))
    ended = rig.now

    rig.wait_for_visit()

    assert rig.now - ended == pytest.approx(MAX_CRAWL_DELAY)


def test_a_crawl_delay_that_excludes_the_host_is_not_waited_for(rig: Rig) -> None:
    ask(rig, response(200, b"User-agent: *\nCrawl-delay: %d" % (MAX_CRAWL_DELAY + 1)))
    ended = rig.now

    rig.wait_for_visit()

    assert rig.now < ended + 10.0


def test_a_file_is_recorded_as_it_was_received(rig: Rig) -> None:
    ask(rig, response(200, RULES))

    assert recorded(rig) == RobotsRecord(ORIGIN, A_ID, 200, rig.now, Instant(rig.now + DAY), RULES)
    assert rig.batch.counters["robots_fetched"] == 1


def test_a_file_with_a_content_coding_is_decoded(rig: Rig) -> None:
    ask(rig, response(200, gzip.compress(RULES), {"Content-Encoding": "gzip"}))

    assert not answer_of(rig).verdict("/private").allowed
    assert recorded(rig).body == RULES


def test_a_long_file_is_kept_only_as_far_as_it_is_read(rig: Rig) -> None:
    ask(rig, response(200, RULES + b"#" * 600_000, truncated=Truncation.LENGTH))

    assert not answer_of(rig).verdict("/private").allowed
    assert len(recorded(rig).body) == 512_000


def test_the_last_line_of_a_file_that_was_cut_off_is_not_a_rule(rig: Rig) -> None:
    ask(rig, response(200, b"User-agent: *\nDisallow: /a\nDisallow: /", truncated=Truncation.LENGTH))

    assert not answer_of(rig).verdict("/a").allowed
    assert answer_of(rig).verdict("/b").allowed


@pytest.mark.parametrize(("max_age", "kept"), [(3600.0, 3600.0), (0.0, ROBOTS.shortest_kept), (10 * DAY, DAY)])
def test_a_file_is_kept_for_its_max_age_within_bounds(rig: Rig, max_age: float, kept: float) -> None:
    ask(rig, response(200, RULES, {"Cache-Control": f"max-age={max_age:.0f}"}))

    assert answer_of(rig).expires_at == rig.now + kept


def test_the_sitemaps_that_a_file_names_are_passed_on(rig: Rig) -> None:
    ask(rig, response(200, b"Sitemap: http://a.test/s.xml\nSitemap: /t.xml"))

    assert rig.sitemaps == [(ORIGIN, ("http://a.test/s.xml", "/t.xml"))]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 407, 410, 418, 451])
def test_without_a_file_everything_is_allowed(rig: Rig, status: int) -> None:
    assert ask(rig, response(status, b"<h1>Disallow: /</h1>")) is None

    assert answer_of(rig).verdict("/private").allowed
    assert answer_of(rig).expires_at == rig.now + DAY
    assert recorded(rig).status == status


@pytest.mark.parametrize("status", [401, 403])
def test_an_operator_may_read_a_forbidden_file_as_a_closed_host(rig: Rig, status: int) -> None:
    robots_fetcher = rig.robots_fetcher_with(RobotsPolicy(forbidden_closes=True))

    ask(rig, response(status), robots_fetcher=robots_fetcher)

    assert answer_of(rig).closed
    assert not answer_of(rig).verdict("/private").allowed


def test_an_answer_ends_the_trouble_of_a_host(rig: Rig) -> None:
    rig.load(A)
    rig.host_context().trouble = HostFailures(3, rig.now, rig.now, "conn_refused")

    ask(rig, response(404))

    assert rig.host_context().trouble is None
    assert rig.batch.hosts[A_ID].failures == ""


# --- rules that cannot be had ----------------------------------------------------------------------


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504, 599])
def test_a_server_error_closes_the_host_until_the_file_is_asked_for_again(rig: Rig, status: int) -> None:
    assert ask(rig, response(status)) is None

    answer, trouble = answer_of(rig), rig.host_context().trouble
    assert answer.closed
    assert trouble is not None
    assert (trouble.failures, trouble.reason, trouble.silence) == (1, UNREACHABLE, Silence.NONE)
    assert answer.expires_at == trouble.until > rig.now
    rig.wait_for_visit()
    assert rig.now == trouble.until


def test_a_closed_host_is_recorded_without_status_and_body(rig: Rig) -> None:
    ask(rig, response(503, b"busy"))

    record = recorded(rig)
    assert (record.status, record.body, record.unreachable_since) == (None, b"", rig.now)
    assert record.expires_at == answer_of(rig).expires_at


def test_a_closed_host_rests_longer_with_every_failure(rig: Rig) -> None:
    rests = []
    for _ in range(3):
        ask(rig, response(503))
        rests.append(answer_of(rig).expires_at - rig.now)

    assert rests[0] <= BREAKER.first_rest < rests[1] <= 2 * BREAKER.first_rest < rests[2]
    assert rig.audit.violations == 0


def test_retry_after_decides_how_long_a_closed_host_rests(rig: Rig) -> None:
    ask(rig, response(503, headers={"Retry-After": "300"}))

    assert answer_of(rig).expires_at == rig.now + 300.0
    ended = rig.now
    rig.wait_for_visit()
    assert rig.now == ended + 300.0


@pytest.mark.parametrize("failure", TEMPORARY)
def test_a_failure_that_may_pass_closes_the_host_for_now(rig: Rig, failure: Failure) -> None:
    assert ask(rig, failed(failure)) is None

    assert answer_of(rig).closed
    assert rig.batch.counters["error:" + failure.value] == 1
    trouble = rig.host_context().trouble
    assert trouble is not None
    assert (trouble.reason, trouble.silence) == (UNREACHABLE, Silence.NEVER_ANSWERED)
    rig.wait_for_visit()
    assert rig.now == trouble.until


def test_a_file_that_never_ends_closes_the_host(rig: Rig) -> None:
    assert ask(rig, HANG) is None

    assert answer_of(rig).closed
    assert rig.batch.counters["error:total_timeout"] == 1


def test_a_host_opens_with_the_first_answer(rig: Rig) -> None:
    ask(rig, failed(Failure.READ_TIMEOUT))
    ask(rig, response(200, RULES))

    assert answer_of(rig).verdict("/public").allowed
    assert answer_of(rig).unreachable_since is None
    assert rig.host_context().trouble is None


@pytest.mark.parametrize("failure", HOPELESS)
def test_a_failure_that_will_not_pass_gives_the_host_up_at_once(rig: Rig, failure: Failure) -> None:
    reason = ask(rig, failed(failure))

    assert reason == failure.value
    assert rig.health.is_given_up(rig.host_context(), rig.now)
    assert answer_of(rig).expires_at == rig.now  # whatever comes next asks for the file first


def test_the_url_of_a_host_that_is_given_up_does_not_go_back_into_its_queue(rig: Rig) -> None:
    rig.load(A)
    rig.fetcher.on(FILE, failed(Failure.TLS_EXPIRED))

    visit, reason = run_travelling(visit_robots(rig))

    assert reason is not None
    assert rig.wait_for_visit().task != visit.task


def test_a_server_that_does_not_speak_tls_with_us_is_asked_twice(rig: Rig) -> None:
    assert ask(rig, failed(Failure.TLS_PROTOCOL)) is None
    trouble = rig.host_context().trouble
    assert trouble is not None
    assert trouble.reason == Failure.TLS_PROTOCOL.value

    assert ask(rig, failed(Failure.TLS_PROTOCOL)) == Failure.TLS_PROTOCOL.value


def test_a_host_that_never_answered_is_given_up_when_nothing_else_is_left(rig: Rig) -> None:
    rig.nothing_else_left = True
    reasons: list[str | None] = []
    while not any(reasons):
        assert len(reasons) < 20
        reasons.append(ask(rig, failed(Failure.CONNECTION_LOST)))

    assert reasons[-1] == UNREACHABLE
    assert len(reasons) >= 3


def test_a_host_that_answered_before_is_not_given_up_for_want_of_others(rig: Rig) -> None:
    rig.nothing_else_left = True
    rig.load(A, robots=[knows(age=2 * DAY)])
    for _ in range(6):
        assert ask(rig, failed(Failure.CONNECTION_LOST)) is None


def test_a_host_that_stays_out_of_reach_for_longer_than_our_patience_is_given_up(rig: Rig) -> None:
    began = rig.now
    reasons: list[str | None] = []
    while not any(reasons):
        assert len(reasons) < 50
        reasons.append(ask(rig, response(503)))

    assert reasons[-1] == UNREACHABLE
    assert rig.now - began >= BREAKER.patience


# --- rules that have expired -----------------------------------------------------------------------


def test_a_new_file_replaces_an_expired_one(rig: Rig) -> None:
    rig.load(A, robots=[knows(age=DAY + 1.0)])
    assert not is_current(answer_of(rig), rig.now)

    ask(rig, response(200, b"User-agent: *\nDisallow: /other"))

    assert answer_of(rig).verdict("/private").allowed
    assert not answer_of(rig).verdict("/other").allowed
    assert is_current(answer_of(rig), rig.now)


def test_304_keeps_the_rules_for_another_day(rig: Rig) -> None:
    rig.load(A, robots=[knows(age=2 * DAY)])

    ask(rig, response(304))

    assert not answer_of(rig).verdict("/private").allowed
    assert answer_of(rig).expires_at == rig.now + DAY


def test_304_without_known_rules_closes_the_host(rig: Rig) -> None:
    ask(rig, response(304))

    assert answer_of(rig).closed


def test_rules_of_the_last_day_hold_on_while_the_file_cannot_be_had(rig: Rig) -> None:
    rig.load(A, robots=[knows(age=3600.0)])

    assert ask(rig, response(503)) is None

    answer = answer_of(rig)
    assert not answer.closed
    assert not answer.verdict("/private").allowed
    assert answer.verdict("/public").allowed
    asked_at = rig.now
    rig.wait_for_visit()
    assert rig.now < asked_at + 5.0  # the host answers, so its pages go on


def test_known_rules_do_not_keep_a_host_from_resting_that_does_not_answer(rig: Rig) -> None:
    rig.load(A, robots=[knows(age=3600.0)])

    ask(rig, failed(Failure.CONNECTION_LOST))

    assert not answer_of(rig).closed
    trouble = rig.host_context().trouble
    assert trouble is not None
    assert trouble.silence is Silence.NONE
    rig.wait_for_visit()
    assert rig.now == trouble.until


def test_rules_are_not_used_beyond_their_day_however_long_the_host_rests(rig: Rig) -> None:
    rig.load(A, robots=[knows(age=DAY - 20.0)])

    ask(rig, response(503, headers={"Retry-After": "3600"}))

    assert not answer_of(rig).closed
    assert answer_of(rig).expires_at == pytest.approx(rig.now + 20.0, abs=1.0)


def test_rules_older_than_a_day_close_the_host_while_the_file_cannot_be_had(rig: Rig) -> None:
    rig.load(A, robots=[knows(age=DAY + 1.0)])

    ask(rig, response(503))

    assert answer_of(rig).closed


def test_known_rules_are_not_forgotten_when_the_file_cannot_be_had(rig: Rig) -> None:
    rig.load(A, robots=[knows(age=3600.0)])

    ask(rig, failed(Failure.READ_TIMEOUT))

    # The store keeps the body that is on record where a record says "unreachable".
    assert (recorded(rig).status, recorded(rig).body) == (None, b"")
    assert recorded(rig).unreachable_since == rig.now


def test_a_file_out_of_reach_for_a_month_counts_as_absent(rig: Rig) -> None:
    since = Instant(rig.now - 31 * DAY)
    gone = RobotsRecord(ORIGIN, A_ID, None, Instant(rig.now - DAY), Instant(rig.now - 1.0), b"", since)
    rig.load(A, robots=[gone])

    assert ask(rig, failed(Failure.READ_TIMEOUT)) is None

    assert not answer_of(rig).closed
    assert answer_of(rig).verdict("/private").allowed


def test_failures_with_known_rules_do_not_name_sitemaps_again(rig: Rig) -> None:
    rig.load(A, robots=[knows(b"Sitemap: http://a.test/s.xml", age=3600.0)])

    ask(rig, response(503))

    assert rig.sitemaps == []


# --- redirects within the host ---------------------------------------------------------------------


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_followed_by_the_next_visit(rig: Rig, status: int) -> None:
    rig.fetcher.on("http://a.test/r", response(200, RULES))
    rig.load(A)
    rig.fetcher.on(FILE, redirect("/r", status))

    run_travelling(visit_robots(rig))
    assert ORIGIN not in rig.host_context().robots
    assert rig.batch.robots == []
    run_travelling(visit_robots(rig))

    assert rig.fetcher.urls == [FILE, "http://a.test/r"]
    assert not answer_of(rig).verdict("/private").allowed
    assert rig.host_context().hops == {}
    assert rig.audit.violations == 0


def test_after_five_redirects_there_is_no_file(rig: Rig) -> None:
    rig.load(A)
    rig.fetcher.on(FILE, redirect("/1"))
    for n in range(1, MAX_REDIRECTS + 1):
        rig.fetcher.on(f"http://a.test/{n}", redirect(f"/{n + 1}"))

    for _ in range(MAX_REDIRECTS):
        run_travelling(visit_robots(rig))
        assert ORIGIN not in rig.host_context().robots
    run_travelling(visit_robots(rig))

    assert len(rig.fetcher.urls) == MAX_REDIRECTS + 1
    assert answer_of(rig).verdict("/private").allowed
    assert recorded(rig).status == 301


def test_a_redirect_loop_ends_after_five_redirects(rig: Rig) -> None:
    for _ in range(MAX_REDIRECTS + 1):
        ask(rig, redirect(FILE))

    assert answer_of(rig).verdict("/private").allowed
    assert rig.fetcher.urls == [FILE] * (MAX_REDIRECTS + 1)


@pytest.mark.parametrize("target", ["mailto:x@a.test", "ftp://a.test/robots.txt", "http://", "http://a.test:99999/"])
def test_a_redirect_that_leads_nowhere_means_that_there_is_no_file(rig: Rig, target: str) -> None:
    assert ask(rig, redirect(target)) is None

    assert answer_of(rig).verdict("/private").allowed
    assert rig.host_context().hops == {}


def test_a_redirect_without_a_location_means_that_there_is_no_file(rig: Rig) -> None:
    assert ask(rig, response(302)) is None

    assert rig.fetcher.urls == [FILE]
    assert answer_of(rig).verdict("/private").allowed


def test_a_failure_on_the_way_begins_again_at_the_host_itself(rig: Rig) -> None:
    rig.load(A)
    rig.fetcher.on(FILE, redirect("/r"), response(200, RULES))
    rig.fetcher.on("http://a.test/r", response(500))

    for _ in range(3):
        run_travelling(visit_robots(rig))

    assert rig.fetcher.urls == [FILE, "http://a.test/r", FILE]
    assert not answer_of(rig).verdict("/private").allowed


def test_an_address_that_cannot_be_reached_does_not_close_a_host_that_has_another(tmp_path: Path) -> None:
    rig = Rig(tmp_path, a_addresses=(A_ADDRESS, "192.0.2.9"))
    rig.load(A)
    rig.fetcher.on(FILE, failed(Failure.CONN_REFUSED), redirect("/r"))
    rig.fetcher.on("http://a.test/r", failed(Failure.CONN_REFUSED), response(200, RULES))

    async def visits() -> None:
        await visit_robots(rig)
        assert rig.host_context().trouble is None
        rig.clock.advance(Seconds(61.0))  # the first address may be dialled again
        await visit_robots(rig)
        await visit_robots(rig)
        await visit_robots(rig)

    run_travelling(visits())
    rig.close()

    assert rig.fetcher.urls == [FILE, FILE, "http://a.test/r", "http://a.test/r"]
    assert not answer_of(rig).verdict("/private").allowed
    assert rig.host_context().trouble is None


# --- redirects to another host ---------------------------------------------------------------------


def follow_to_b(rig: Rig, *steps: Step) -> tuple[Visit, str | None]:
    """robots.txt of a.test is redirected to b.test, which answers with these steps."""
    rig.load(A)
    rig.fetcher.on(FILE, redirect(B_FILE))
    rig.fetcher.on(B_FILE, *steps)

    async def visits() -> tuple[Visit, str | None]:
        await visit_robots(rig)
        return await visit_robots(rig)

    return run_travelling(visits())


def stored_b(rig: Rig, next_contact: float = 0.0, robots: bytes | None = None) -> None:
    """b.test has a row in the store."""
    files = []
    if robots is not None:
        files = [RobotsRecord(Origin("http://b.test"), B_ID, 200, rig.now, Instant(rig.now + DAY), robots)]
    record = record_of(B, next_contact=Instant(next_contact), last_took=0.25)
    rig.stored[B] = HostLoaded(B_ID, record, files, [])


def test_rules_that_another_host_has_are_those_of_the_host_that_was_asked_first(rig: Rig) -> None:
    visit, reason = follow_to_b(rig, response(200, RULES))

    assert reason is None
    assert [(request.host, request.address) for request in rig.fetcher.requests] == [(A, A_ADDRESS), (B, B_ADDRESS)]
    assert not answer_of(rig).verdict("/private").allowed
    assert (recorded(rig).origin, recorded(rig).host_id) == (ORIGIN, A_ID)
    assert rig.wait_for_visit().task == visit.task
    assert rig.batch.counters["robots_fetched"] == 2


def test_the_other_host_is_left_alone_afterwards_and_the_own_one_need_not_wait(rig: Rig) -> None:
    stored_b(rig)
    follow_to_b(rig, response(200, RULES, took=0.6))
    ended = rig.now

    rig.wait_for_visit()

    assert rig.now == ended
    assert rig.journalled[B_ID].next_contact - ended == pytest.approx(6.0)
    assert rig.batch.hosts[B_ID].next_contact - ended == pytest.approx(6.0)
    assert rig.audit.violations == 0


def test_the_other_host_is_owed_the_crawl_delay_of_its_own_rules(rig: Rig) -> None:
    stored_b(rig, robots=b"User-agent: *\nCrawl-delay: 40")

    follow_to_b(rig, response(200, RULES))

    assert rig.batch.hosts[B_ID].next_contact - rig.now == pytest.approx(40.0)


def test_the_retry_after_of_the_other_host_is_respected(rig: Rig) -> None:
    stored_b(rig)

    follow_to_b(rig, response(503, headers={"Retry-After": "90"}))

    assert rig.batch.hosts[B_ID].next_contact - rig.now == pytest.approx(90.0)
    assert answer_of(rig).closed


def test_a_contact_with_a_host_without_a_row_is_in_the_journal_by_its_address(rig: Rig) -> None:
    seen = []
    rig.fetcher.on_request = lambda request: seen.append({c.address for c in rig.journalled.values()})

    follow_to_b(rig, response(200, RULES))

    assert seen == [{A_ADDRESS}, {A_ADDRESS, B_ADDRESS}]
    assert B_ID not in rig.journalled  # a number that no row has
    assert rig.requester.open_contacts == {}


def test_an_other_host_that_rests_is_waited_for(rig: Rig) -> None:
    until = Instant(rig.now + 30.0)
    stored_b(rig, next_contact=until)
    early, _ = follow_to_b(rig, response(200, RULES))
    assert rig.fetcher.urls == [FILE]

    visit, _ = run_travelling(visit_robots(rig))

    assert visit.task == early.task
    assert rig.fetcher.urls == [FILE, B_FILE]
    assert rig.now >= until
    assert not answer_of(rig).verdict("/private").allowed


def test_a_busy_address_of_the_other_host_is_waited_for(rig: Rig) -> None:
    rig.load(A, B)
    rig.fetcher.on(FILE, redirect("http://c.test/robots.txt")).on("http://c.test/robots.txt", response(200, RULES))
    rig.locate(C, B_ADDRESS)
    first, second = rig.wait_for_visit(), rig.wait_for_visit()
    of_a, of_b = (first, second) if first.host == A else (second, first)

    async def both() -> None:
        route = await rig.route_to(of_a)
        await rig.robots_fetcher.fetch(of_a, rig.host_context(), ORIGIN, route)
        await rig.route_to(of_b)  # b.test is being visited at the address of c.test
        await visit_robots(rig)
        assert rig.fetcher.urls == [FILE]
        rig.frontier.finish(of_b, None, rig.now)
        await visit_robots(rig)

    run_travelling(both())

    assert rig.fetcher.urls == [FILE, "http://c.test/robots.txt"]
    assert not answer_of(rig).verdict("/private").allowed


def test_redirects_are_followed_from_host_to_host(rig: Rig) -> None:
    rig.fetcher.on("http://c.test/r", redirect("http://a.test/r"))
    rig.fetcher.on("http://a.test/r", response(200, RULES))
    rig.locate(C, C_ADDRESS)
    visits = [follow_to_b(rig, redirect("http://c.test/r"))[0]]
    visits += [run_travelling(visit_robots(rig))[0] for _ in range(2)]

    assert len({visit.task for visit in visits}) == 1  # its turn has not come yet
    assert [request.host for request in rig.fetcher.requests] == [A, B, C, A]
    assert not answer_of(rig).verdict("/private").allowed
    assert rig.audit.violations == 0


@pytest.mark.parametrize("status", [404, 403])
def test_without_a_file_at_the_other_host_everything_is_allowed(rig: Rig, status: int) -> None:
    follow_to_b(rig, response(status))

    assert answer_of(rig).verdict("/private").allowed


@pytest.mark.parametrize("step", [response(500), failed(Failure.READ_TIMEOUT), failed(Failure.TLS_EXPIRED)])
def test_trouble_of_the_other_host_closes_the_own_one_without_giving_it_up(rig: Rig, step: Step) -> None:
    _, reason = follow_to_b(rig, step)

    assert reason is None
    assert answer_of(rig).closed
    trouble = rig.host_context().trouble
    assert trouble is not None
    assert trouble.silence is Silence.NONE  # the own host did answer
    assert rig.host_context().hops == {}
    rig.wait_for_visit()
    assert rig.now == trouble.until


def test_another_host_at_a_forbidden_address_is_not_contacted(rig: Rig) -> None:
    rig.forbidden.add(B_ADDRESS)

    visit, reason = follow_to_b(rig)

    assert reason is None
    assert rig.fetcher.urls == [FILE]
    assert rig.wait_for_visit().task == visit.task
    assert answer_of(rig).closed
    assert rig.host_context().hops == {}
    assert rig.batch.counters["error:blocked_address"] == 1


def test_another_host_that_is_being_looked_up_is_waited_for(rig: Rig) -> None:
    rig.load(A)
    rig.fetcher.on(FILE, redirect("http://c.test/robots.txt"))

    async def visits() -> None:
        await visit_robots(rig)
        await visit_robots(rig)
        await rig.resolver.close()

    run_travelling(visits())
    asked_at = rig.now

    assert ORIGIN not in rig.host_context().robots
    assert rig.host_context().hops[ORIGIN].host == C
    assert rig.host_context().trouble is None
    rig.wait_for_visit()
    assert rig.now > asked_at


def test_another_address_of_the_other_host_is_tried_after_its_gap(tmp_path: Path) -> None:
    rig = Rig(tmp_path, b_addresses=(B_ADDRESS, "192.0.2.8"))
    stored_b(rig)

    follow_to_b(rig, failed(Failure.CONNECT_TIMEOUT), response(200, RULES))
    assert ORIGIN not in rig.host_context().robots
    run_travelling(visit_robots(rig))  # too early
    run_travelling(visit_robots(rig))
    rig.close()

    assert [request.address for request in rig.fetcher.requests] == [A_ADDRESS, B_ADDRESS, "192.0.2.8"]
    assert not answer_of(rig).verdict("/private").allowed
    assert rig.host_context().trouble is None
    assert rig.audit.violations == 0


def test_a_host_number_that_no_row_has_is_larger_than_any_row(rig: Rig) -> None:
    follow_to_b(rig, response(200, RULES))

    without_row = [host_id for host_id in rig.journalled if host_id != A_ID]

    assert len(without_row) == 1
    assert without_row[0] > HostId(1 << 61)
