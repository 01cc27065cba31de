"""What an answer to the request for robots.txt means."""

import pytest

from gossamer.fetch.robots import RobotsAnswer, RobotsPolicy, max_age_of, remembered_answer, rules_from_answer
from gossamer.model.units import Instant, Seconds

NOW = Instant(1_000_000.0)
DAY = 86_400.0


def answer_to(status: int | None, body: bytes = b"", now: float = NOW, **more: object) -> RobotsAnswer:
    return rules_from_answer(status, body, agent="gossamer", now=Instant(now), **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("status", [500, 503, 599, None, 301, 304, 100])
def test_rb_01_and_06_without_a_readable_file_the_host_is_closed(status: int | None) -> None:
    answer = answer_to(status, b"<html>sorry</html>")

    assert answer.closed
    assert answer.verdict("/page") == (False, None, None)
    assert answer.reason_against("/page") == "robots_unreachable"
    assert answer.verdict("/robots.txt").allowed and answer.reason_against("/robots.txt") is None


def test_rb_01_it_is_asked_again_after_ever_longer_waits() -> None:
    waits: list[float] = []
    answer: RobotsAnswer | None = None
    now = NOW
    for _ in range(10):
        answer = answer_to(500, now=now, previous=answer)
        waits.append(answer.expires_at - now)
        now = answer.expires_at

    assert waits == [60.0, 120.0, 240.0, 480.0, 960.0, 1920.0, 3600.0, 3600.0, 3600.0, 3600.0]


def test_a_file_that_can_be_read_again_ends_the_count_of_failures() -> None:
    failed = answer_to(None, previous=answer_to(None))

    answer = answer_to(200, previous=failed)

    assert (answer.closed, answer.failures, answer.unreachable_since) == (False, 0, None)


@pytest.mark.parametrize("status", [404, 410, 401, 403, 400, 451])
def test_rb_02_without_a_file_everything_is_allowed(status: int) -> None:
    answer = answer_to(status, b"User-agent: *\nDisallow: /\n")

    assert not answer.closed
    assert answer.verdict("/page").allowed
    assert answer.expires_at == NOW + DAY


@pytest.mark.parametrize("status", [401, 403])
def test_rb_02_forbidden_may_be_read_as_keep_out(status: int) -> None:
    assert answer_to(status, policy=RobotsPolicy(forbidden_closes=True)).closed


def test_rb_03_too_many_requests_closes_for_as_long_as_was_asked() -> None:
    answer = answer_to(429, retry_after=Seconds(30.0))

    assert answer.closed
    assert answer.expires_at == NOW + 30.0


def test_retry_after_is_obeyed_up_to_a_day_and_never_becomes_a_loop() -> None:
    assert answer_to(503, retry_after=Seconds(1e9)).expires_at == NOW + DAY
    assert answer_to(503, retry_after=Seconds(0.0)).expires_at > NOW


def test_rb_04_too_many_redirects_are_as_no_file_and_flagged() -> None:
    answer = answer_to(302, redirects_exhausted=True)

    assert answer.verdict("/page").allowed
    assert answer.flag == "too_many_redirects"


@pytest.mark.parametrize(
    "page", [b"<!DOCTYPE html><html>", b" \n<html><body>", b"\xef\xbb\xbf<HTML>", b"<?xml version='1.0'?><html>"]
)
def test_rb_05_a_web_page_has_no_rules_and_is_flagged(page: bytes) -> None:
    answer = answer_to(200, page + b"<p>Welcome</p><a href='/next'>next</a>\n</body></html>")

    assert answer.verdict("/next").allowed
    assert answer.flag == "robots_not_text"


def test_rules_wrapped_in_a_page_are_obeyed_all_the_same() -> None:
    answer = answer_to(200, b"<html><pre>\nUser-agent: *\nDisallow: /private\n</pre></html>")

    assert answer.reason_against("/private") == "robots_denied"
    assert answer.flag == "robots_not_text"


def test_a_plain_file_is_not_flagged() -> None:
    answer = answer_to(200, b"User-agent: *\nDisallow: /private\n")

    assert answer.flag is None
    assert answer.reason_against("/private") == "robots_denied"
    assert answer.reason_against("/public") is None


def test_rb_08_a_file_that_was_cut_loses_its_last_line() -> None:
    answer = answer_to(200, b"User-agent: *\nDisallow: /a\nDisallow: /", truncated=True)

    assert not answer.verdict("/a").allowed
    assert answer.verdict("/b").allowed


@pytest.mark.parametrize(
    ("max_age", "kept"), [(None, DAY), (3600.0, 3600.0), (10 * DAY, DAY), (0.0, 300.0), (1e300, DAY)]
)
def test_a_file_is_kept_for_its_max_age_but_a_day_at_most(max_age: float | None, kept: float) -> None:
    assert answer_to(200, max_age=max_age).expires_at == NOW + kept


def test_a_file_that_has_not_changed_keeps_its_rules() -> None:
    known = answer_to(200, b"User-agent: *\nDisallow: /private\n")

    answer = answer_to(304, now=NOW + DAY, previous=known)

    assert answer.rules is known.rules
    assert (answer.fetched_at, answer.expires_at) == (NOW + DAY, NOW + 2 * DAY)


@pytest.mark.parametrize(("status", "closed"), [(None, False), (503, False), (429, True)])
def test_a_file_unreachable_for_thirty_days_counts_as_absent(status: int | None, closed: bool) -> None:
    first = answer_to(status)

    nearly = answer_to(status, now=NOW + 30 * DAY - 1, previous=first)
    then = answer_to(status, now=NOW + 30 * DAY, previous=nearly)

    assert nearly.closed
    assert then.closed == closed
    assert then.expires_at - (NOW + 30 * DAY) <= 3600.0, "it is still asked for"


def test_the_rule_of_thirty_days_can_be_switched_off() -> None:
    first = answer_to(None)

    assert answer_to(None, now=NOW + 999 * DAY, previous=first, policy=RobotsPolicy(absent_after=None)).closed


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("max-age=60", 60.0),
        ("public, Max-Age = 60, immutable", 60.0),
        ('max-age="60"', 60.0),
        ("s-maxage=60", None),
        ("max-age=-1", None),
        ("no-store", None),
        ("", None),
    ],
)
def test_the_max_age_of_a_header_is_found(header: str, seconds: float | None) -> None:
    assert max_age_of(header) == seconds


KNOWN = b"User-agent: *\nDisallow: /private\n"


@pytest.mark.parametrize("status", [None, 503, 429])
def test_rules_that_are_known_hold_on_for_a_day_while_the_file_cannot_be_had(status: int | None) -> None:
    known = answer_to(200, KNOWN, max_age=Seconds(600.0))

    later = answer_to(status, now=NOW + 700, previous=known)
    much_later = answer_to(status, now=NOW + DAY, previous=later)

    assert not later.closed
    assert not later.verdict("/private").allowed
    assert (later.fetched_at, later.unreachable_since, later.flag) == (NOW, NOW + 700, "robots_unreachable")
    assert later.expires_at <= NOW + DAY
    assert much_later.closed


def test_what_was_stored_means_what_it_meant() -> None:
    def stored(status: int | None, body: bytes, expires: float, since: float | None = None) -> RobotsAnswer:
        return remembered_answer(
            status,
            body,
            agent="gossamer",
            fetched_at=NOW,
            expires_at=Instant(expires),
            unreachable_since=None if since is None else Instant(since),
        )

    assert not stored(200, KNOWN, NOW + 60).verdict("/private").allowed
    assert stored(301, b"", NOW + 60).verdict("/private").allowed  # one redirect too many
    assert stored(None, b"", NOW + 60, NOW).closed
    kept = stored(200, KNOWN, NOW + 900, NOW + 800)
    assert (kept.closed, kept.unreachable_since) == (False, NOW + 800)
    assert stored(200, KNOWN, NOW + 2 * DAY, NOW + DAY).closed  # asked again later than its rules may be used
    long_gone = stored(None, b"", NOW + 60, NOW - 30 * DAY)
    assert not answer_to(None, previous=long_gone).closed
