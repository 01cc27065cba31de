import random
from collections.abc import Callable

import pytest

from gossamer.model.units import HostKey, Instant, Seconds
from gossamer.observe.audit import PolitenessAudit, Violation

A, B = HostKey("a.test"), HostKey("b.test")
ADDRESS = "127.0.0.1"


def an_audit(remembered: int = 50_000, domain_of: Callable[[HostKey], str] | None = None) -> PolitenessAudit:
    return PolitenessAudit(
        min_delay=Seconds(1.0),
        factor=10.0,
        max_adaptive_delay=Seconds(30.0),
        max_retry_after=Seconds(100.0),
        remembered=remembered,
        domain_of=domain_of,
    )


def visit(
    audit: PolitenessAudit,
    host: HostKey,
    start: float,
    took: float = 0.01,
    crawl_delay: float | None = None,
    retry_after: float | None = None,
    address: str | None = None,
) -> None:
    audit.on_request_start(host, address, Instant(start))
    audit.on_request_end(
        host,
        address,
        Instant(start + took),
        Seconds(took),
        None if crawl_delay is None else Seconds(crawl_delay),
        None if retry_after is None else Seconds(retry_after),
    )


@pytest.mark.parametrize(
    ("took", "crawl_delay", "retry_after", "gap"),
    [
        (0.01, None, None, 1.0),  # the minimum delay
        (0.5, None, None, 5.0),  # ten times as long as it took
        (9.0, None, None, 30.0),  # capped
        (0.01, 7.0, None, 7.0),
        (0.01, 7.0, 20.0, 20.0),
        (0.01, None, 5000.0, 100.0),  # capped
        (1.0, 2.0, 3.0, 10.0),
    ],
)
def test_the_gap_is_the_largest_that_anything_asks_for(
    took: float, crawl_delay: float | None, retry_after: float | None, gap: float
) -> None:
    in_time, early = an_audit(), an_audit()
    for audit in (in_time, early):
        visit(audit, A, 100.0, took, crawl_delay, retry_after)

    visit(in_time, A, 100.0 + took + gap)
    visit(early, A, 100.0 + took + gap - 0.01)

    assert in_time.violations == 0
    assert early.violations == 1


def test_the_last_digits_of_floats_are_no_violation() -> None:
    audit = an_audit()
    visit(audit, A, 1_700_000_000.1, 0.1)

    visit(audit, A, 1_700_000_000.1 + 0.1 + 1.0 - 0.0005)

    assert audit.violations == 0


def test_two_requests_at_once_to_a_host_are_a_violation() -> None:
    audit = an_audit()
    audit.on_request_start(A, None, Instant(0.0))

    audit.on_request_start(A, None, Instant(50.0))

    assert [violation.kind for violation in audit.first] == ["host busy"]


def test_hosts_on_one_address_share_its_gap() -> None:
    audit = an_audit()
    visit(audit, A, 0.0, 0.2, address=ADDRESS)

    visit(audit, B, 2.1, address=ADDRESS)
    visit(audit, HostKey("c.test"), 3.11, address=ADDRESS)

    assert [(v.kind, v.key) for v in audit.first] == [("address too soon", ADDRESS)]


def test_hosts_of_one_domain_are_checked_as_one_host_if_the_gap_is_per_domain() -> None:
    audit = an_audit(domain_of=lambda host: "example.test")

    visit(audit, A, 0.0, crawl_delay=5.0, address="127.0.0.1")
    visit(audit, B, 3.0, address="127.0.0.2")
    audit.restore(HostKey("c.test"), None, Instant(50.0))
    visit(audit, HostKey("d.test"), 49.0)
    audit.on_request_start(A, None, Instant(90.0))
    audit.on_request_start(B, None, Instant(90.0))

    kinds = ["domain too soon", "domain too soon", "domain busy"]
    assert [(found.kind, found.key) for found in audit.first] == [(kind, "example.test") for kind in kinds]


def test_two_requests_at_once_to_an_address_are_a_violation() -> None:
    audit = an_audit()
    audit.on_request_start(A, ADDRESS, Instant(0.0))

    audit.on_request_start(B, ADDRESS, Instant(9.0))

    assert [violation.kind for violation in audit.first] == ["address busy"]


def test_a_sites_own_wishes_do_not_bind_its_neighbours() -> None:
    audit = an_audit()
    visit(audit, A, 0.0, crawl_delay=60.0, retry_after=90.0, address=ADDRESS)

    visit(audit, B, 1.02, address=ADDRESS)

    assert audit.violations == 0


def test_a_request_that_never_reached_the_host_starts_no_gap_and_ends_none() -> None:
    audit = an_audit()
    visit(audit, A, 0.0)
    audit.on_request_start(A, None, Instant(2.0))
    audit.on_request_end(A, None, Instant(3.0), Seconds(1.0), contacted=False)

    visit(audit, A, 3.0)

    assert audit.violations == 0


def test_what_is_known_from_before_a_restart_binds() -> None:
    audit = an_audit()
    audit.restore(A, ADDRESS, Instant(100.0))

    visit(audit, A, 99.0)
    visit(audit, B, 99.5, address=ADDRESS)

    assert [violation.kind for violation in audit.first] == ["host too soon", "address too soon"]


def test_the_first_violations_are_kept_with_their_details_and_all_are_counted() -> None:
    audit = an_audit()

    for number in range(1, 51):
        visit(audit, A, number * 0.5)

    assert audit.violations == 49
    assert len(audit.first) == 10
    assert audit.first[0] == Violation("host too soon", A, Instant(1.0), Instant(1.51))
    assert str(audit.first[0]) == "host too soon by 0.510 s: a.test"


def test_memory_is_bounded_and_hosts_at_rest_are_not_forgotten() -> None:
    audit = an_audit(remembered=100)
    visit(audit, A, 0.0, crawl_delay=10_000.0)

    for number in range(5000):
        visit(audit, HostKey(f"h{number}.test"), 2.0 * number)

    assert len(audit) <= 100
    visit(audit, A, 9_999.0)
    assert audit.violations == 1
    assert audit.unwatched == 0


def test_even_hosts_that_all_rest_for_hours_are_bounded_and_what_is_forgotten_is_counted() -> None:
    audit = an_audit(remembered=100)

    for number in range(5000):
        visit(audit, HostKey(f"h{number}.test"), float(number), crawl_delay=1e6)

    assert len(audit) <= 800
    assert audit.unwatched >= 5000 - 800


def test_it_finds_every_planted_violation_among_random_polite_visits() -> None:
    chance = random.Random(42)
    audit = an_audit()
    free = dict.fromkeys([HostKey(f"h{n}.test") for n in range(50)], 0.0)
    planted = 0
    for _ in range(3000):
        host = chance.choice(list(free))
        took, delay = chance.uniform(0.0, 0.5), chance.choice([None, 3.0])
        early = free[host] > 0 and chance.random() < 0.05
        start = free[host] + (-chance.uniform(0.01, 0.9) if early else chance.uniform(0.0, 2.0))
        planted += early

        visit(audit, host, start, took, delay)

        free[host] = max(free[host], start + took + max(1.0, 10 * took, delay or 0.0))

    assert planted > 50
    assert audit.violations == planted
    assert audit.requests == 3000


@pytest.mark.parametrize(
    ("own", "host_free", "address_free"),
    [(20.0, 20.0, 1.0), (0.2, 0.2, 0.2), (1.0, 1.0, 1.0)],
)
def test_a_delay_of_the_hosts_own_is_watched_and_a_longer_one_is_not_its_neighbours(
    own: float, host_free: float, address_free: float
) -> None:
    for host, free in ((A, host_free), (B, address_free)):
        for early in (0.01, -0.01):
            audit = an_audit()
            audit.on_request_start(A, ADDRESS, Instant(0.0))
            audit.on_request_end(A, ADDRESS, Instant(0.0), Seconds(0.0), min_delay=Seconds(own))

            audit.on_request_start(host, ADDRESS, Instant(free - early))

            assert bool(audit.violations) is (early > 0)
