"""The judge of politeness, shown crimes and innocence."""

import random

import pytest

from gossamer.lab.simweb.audit import Offence, Violation, audit, forbidden_requests, ground_truth
from gossamer.lab.simweb.config import SimWebConfig
from gossamer.lab.simweb.server import Request
from gossamer.lab.simweb.web import SimWeb
from gossamer.model.units import HostKey, Instant, Seconds

NOW = 1_700_000_000.0


def asked(
    start: float,
    end: float,
    host: str = "a.test",
    target: str = "/",
    *,
    address: str = "",
    retry_after: float = 0.0,
) -> Request:
    return Request(
        HostKey(host),
        target,
        200,
        Instant(NOW + start),
        Instant(NOW + end),
        1,
        address or f"address of {host}",
        Seconds(retry_after),
    )


def judged(
    requests: list[Request],
    *,
    min_delay: float = 1.0,
    factor: float = 0.0,
    cap: float = 30.0,
    crawl_delay: float = 0.0,
    tolerance: float = 0.0,
) -> list[Violation]:
    return audit(
        requests,
        min_delay=Seconds(min_delay),
        delay_factor=factor,
        max_adaptive_delay=Seconds(cap),
        crawl_delays={HostKey("a.test"): Seconds(crawl_delay)} if crawl_delay else {},
        tolerance=tolerance,
    )


def offences(violations: list[Violation]) -> list[Offence]:
    return [violation.offence for violation in violations]


def test_a_polite_crawl_is_clean() -> None:
    requests = [asked(i * 1.5, i * 1.5 + 0.5, host) for i in range(20) for host in ("a.test", "b.test", "c.test")]

    assert judged(requests) == []


def test_a_gap_counts_from_the_end_of_the_response() -> None:
    [violation] = judged([asked(0, 2), asked(2.9, 3)])

    assert violation.offence is Offence.TOO_SOON
    assert violation.gap == pytest.approx(0.9)
    assert violation.required == 1.0
    assert "a.test/ 0.9000 s after" in str(violation)


def test_two_requests_at_once_are_found() -> None:
    assert offences(judged([asked(0, 2), asked(1, 3)], min_delay=0.0)) == [Offence.AT_ONCE]


def test_a_short_request_within_a_long_one_does_not_hide_what_follows() -> None:
    requests = [asked(0, 10), asked(1, 2), asked(9, 9.5)]

    assert offences(judged(requests, min_delay=0.0)) == [Offence.AT_ONCE, Offence.AT_ONCE]


def test_a_slow_answer_demands_a_longer_gap_up_to_the_cap() -> None:
    requests = [asked(0, 0.5), asked(3, 3.1)]

    assert offences(judged(requests, factor=10.0)) == [Offence.TOO_SOON]
    assert judged(requests, factor=10.0, cap=2.0) == []
    assert judged(requests, factor=5.0) == []


def test_a_crawl_delay_counts_once_robots_txt_has_been_answered() -> None:
    before = [asked(0, 0.1, target="/"), asked(1.2, 1.3, target="/b")]
    after = [asked(0, 0.1, target="/robots.txt"), asked(1.2, 1.3, target="/b")]

    assert judged(before, crawl_delay=5.0) == []
    assert offences(judged(after, crawl_delay=5.0)) == [Offence.TOO_SOON]


def test_retry_after_is_a_promise_to_keep() -> None:
    assert offences(judged([asked(0, 0.1, retry_after=3.0), asked(3, 3.1)])) == [Offence.TOO_SOON]
    assert judged([asked(0, 0.1, retry_after=3.0), asked(3.2, 3.3)]) == []


def test_hosts_at_one_address_share_the_minimum_delay_and_nothing_else() -> None:
    def at_one(start: float, host: str) -> Request:
        return asked(start, start + 0.5, host, address="127.1.0.1")

    assert offences(judged([at_one(0, "a.test"), at_one(1.2, "b.test")])) == [Offence.ADDRESS_TOO_SOON]
    assert judged([at_one(0, "a.test"), at_one(1.6, "b.test")], factor=10.0) == []
    assert judged([asked(0, 0.5, "a.test"), asked(0.1, 0.6, "b.test")]) == []


def test_a_tolerance_is_taken_off_the_required_gap() -> None:
    requests = [asked(0, 1), asked(1.95, 2)]

    assert offences(judged(requests, tolerance=0.01)) == [Offence.TOO_SOON]
    assert judged(requests, tolerance=0.1) == []


@pytest.mark.parametrize("seed", range(5))
def test_one_hasty_request_is_found_in_a_shuffled_record(seed: int) -> None:
    rng = random.Random(seed)
    requests = [asked(i * 2.0, i * 2.0 + 0.5, f"h{h}.test") for i in range(50) for h in range(8)]
    victim = rng.choice(requests)
    hasty = asked(victim.written_at - NOW + 0.4, victim.written_at - NOW + 0.45, victim.host)
    rng.shuffle(requests)

    assert judged(requests) == []
    assert hasty in [violation.later for violation in judged([*requests, hasty])]


def test_requests_for_what_robots_txt_denies_are_found() -> None:
    web = SimWeb(SimWebConfig(hosts=30, pages=900, disallowed_rate=0.2))
    truth = ground_truth(web)
    denied = sorted(truth.forbidden)[0]
    host, _, path = denied.removeprefix("http://").partition("/")
    crime = asked(0, 1, host.partition(":")[0], f"/{path}")

    assert forbidden_requests([asked(2, 3, web.hosts[0].name), crime], truth) == [crime]
