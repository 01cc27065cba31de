"""How long names are left alone that get no answer, with time and chance as parameters."""

import random

from hypothesis import given
from hypothesis import strategies as st

from gossamer.fetch.dns.backoff import BackoffRules, NameBackoff
from gossamer.model.units import Domain, HostKey, Instant, Seconds

X = HostKey("x.example.test")
DOMAIN = Domain("example.test")
START = Instant(1000.0)


def setbacks(rules: BackoffRules | None = None, seed: int = 7) -> NameBackoff:
    return NameBackoff(rules or BackoffRules(), random.Random(seed))


def waits(kept: NameBackoff, times: int, host: HostKey = X) -> list[float]:
    return [kept.on_failure(host, None, START) - START for _ in range(times)]


def test_the_wait_doubles_with_every_failure_in_a_row() -> None:
    found = waits(setbacks(BackoffRules(jitter=0.0)), 5)

    assert found == [30.0, 60.0, 120.0, 240.0, 480.0]


@given(st.integers(1, 200), st.integers(0, 2**32))
def test_no_wait_is_longer_than_the_longest_nor_shorter_than_the_first(times: int, seed: int) -> None:
    assert all(30.0 <= wait <= 3600.0 for wait in waits(setbacks(seed=seed), times))


def test_what_failed_together_does_not_come_back_together() -> None:
    kept = setbacks()

    found = {kept.on_failure(HostKey(f"h{number}.test"), None, START) for number in range(20)}

    assert len(found) == 20


def test_an_answer_ends_the_growing() -> None:
    kept = setbacks(BackoffRules(jitter=0.0))
    waits(kept, 5)

    kept.on_success(X, None)

    assert waits(kept, 1) == [30.0]
    assert len(kept) == 1


def test_a_domain_rests_when_several_of_its_names_fail_in_a_row() -> None:
    kept = setbacks(BackoffRules(jitter=0.0))

    rests = []
    for number in range(3):
        kept.on_failure(HostKey(f"h{number}.example.test"), DOMAIN, START)
        rests.append(kept.domain_blocked_until(DOMAIN, START))

    assert rests == [None, None, START + 30.0]
    assert kept.domain_blocked_until(DOMAIN, Instant(START + 30.0)) is None


def test_one_name_that_fails_again_and_again_does_not_stop_its_domain() -> None:
    kept = setbacks()

    for _ in range(20):
        kept.on_failure(X, DOMAIN, START)

    assert kept.domain_blocked_until(DOMAIN, START) is None


def test_a_domain_that_fails_after_its_rest_rests_twice_as_long() -> None:
    kept = setbacks(BackoffRules(jitter=0.0))
    for number in range(3):
        kept.on_failure(HostKey(f"h{number}.example.test"), DOMAIN, START)
    back = Instant(START + 30.0)

    kept.on_failure(HostKey("h0.example.test"), DOMAIN, back)

    assert kept.domain_blocked_until(DOMAIN, back) == back + 60.0


def test_failures_during_a_rest_do_not_lengthen_it() -> None:
    kept = setbacks(BackoffRules(jitter=0.0))
    for number in range(50):
        kept.on_failure(HostKey(f"h{number}.example.test"), DOMAIN, START)

    assert kept.domain_blocked_until(DOMAIN, START) == START + 30.0


def test_a_name_that_is_answered_frees_its_domain() -> None:
    kept = setbacks()
    for number in range(5):
        kept.on_failure(HostKey(f"h{number}.example.test"), DOMAIN, START)

    kept.on_success(HostKey("other.example.test"), DOMAIN)

    assert kept.domain_blocked_until(DOMAIN, START) is None


@given(st.lists(st.integers(0, 60), max_size=300))
def test_the_memory_is_bounded(numbers: list[int]) -> None:
    kept = setbacks(BackoffRules(names=10, first=Seconds(1.0)))

    for number in numbers:
        kept.on_failure(HostKey(f"h{number}.test"), Domain(f"d{number}.test"), START)

        assert len(kept) <= 20
