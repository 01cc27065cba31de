"""When is a host failing, and how long is it left alone?"""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.frontier.breaker import (
    BreakerPolicy,
    HostFailures,
    Silence,
    after_failure,
    is_given_up,
    is_open,
    should_stop_waiting,
)
from gossamer.model.units import Instant, Seconds

POLICY = BreakerPolicy()
NOW = Instant(1_000_000.0)


def failing(times: int, *, unreached: bool, now: Instant = NOW, policy: BreakerPolicy = POLICY) -> HostFailures:
    """So many failures, each as soon as the host may be asked again."""
    chance = random.Random(1)
    trouble: HostFailures | None = None
    for _ in range(times):
        trouble = after_failure(policy, trouble, "conn_refused", now, chance, unreached=unreached)
        now = trouble.until
    assert trouble is not None
    return trouble


def test_a_host_is_sick_after_five_failures_in_a_row() -> None:
    assert [is_open(POLICY, failing(n, unreached=False)) for n in range(1, 8)] == [False] * 4 + [True] * 3
    assert not is_open(POLICY, None)


def test_a_host_that_answers_badly_goes_on_until_it_counts_as_sick() -> None:
    assert [failing(n, unreached=False).until > NOW for n in (1, 4, 5)] == [False, False, True]


def test_a_host_that_is_not_reached_rests_from_the_first_failure_on() -> None:
    assert 8.0 <= failing(1, unreached=True).until - NOW <= 10.0


@pytest.mark.parametrize("unreached", [True, False])
def test_rt_06_a_host_that_is_down_for_ten_minutes_is_asked_at_most_twenty_times(unreached: bool) -> None:
    chance, now, asked = random.Random(1), NOW, 0
    trouble: HostFailures | None = None
    while now < NOW + 600.0:
        asked += 1
        trouble = after_failure(POLICY, trouble, "x", now, chance, unreached=unreached)
        assert not is_given_up(POLICY, trouble, now)
        now = max(trouble.until, Instant(now + 1.0))

    assert 5 < asked <= 20


@given(st.integers(1, 40), st.booleans(), st.floats(0, 600), st.integers(0, 99))
def test_rt_05_a_host_that_is_back_within_ten_minutes_is_noticed_within_one(
    failures: int, unreached: bool, age: float, seed: int
) -> None:
    before = HostFailures(failures, NOW, NOW, "x")
    now = Instant(NOW + age)

    trouble = after_failure(POLICY, before, "x", now, random.Random(seed), unreached=unreached)

    assert trouble.until - now <= 60.0


def test_trouble_that_has_lasted_long_is_looked_at_ever_more_rarely_up_to_an_hour() -> None:
    def rest(age: float) -> float:
        now = Instant(NOW + age)
        return (
            after_failure(POLICY, HostFailures(9, NOW, NOW, "x"), "x", now, random.Random(1), unreached=True).until
            - now
        )

    assert 8 * 60 * 0.8 <= rest(4800.0) <= 480.0
    assert 0.8 * 3600 <= rest(1e6) <= 3600.0


def test_a_host_that_says_how_long_is_left_alone_for_that_long() -> None:
    trouble = after_failure(POLICY, None, "x", NOW, random.Random(1), unreached=True, asked=Seconds(300.0))

    assert trouble.until == NOW + 300.0


def test_a_host_is_given_up_when_it_has_been_sick_for_longer_than_our_patience() -> None:
    sick, seldom = HostFailures(5, NOW, NOW, "x"), HostFailures(4, NOW, NOW, "x")

    assert not is_given_up(POLICY, sick, Instant(NOW + 899.0))
    assert is_given_up(POLICY, sick, Instant(NOW + 900.0))
    assert not is_given_up(POLICY, seldom, Instant(NOW + 900.0))
    assert not is_given_up(POLICY, None, NOW)


@given(st.integers(1, 10**6), st.floats(0, 1e10), st.floats(0, 1e10), st.sampled_from(["conn_refused", "server_error"]))
def test_trouble_survives_a_restart_as_text(failures: int, since: float, until: float, reason: str) -> None:
    trouble = HostFailures(failures, Instant(since), Instant(until), reason)

    assert HostFailures.from_text(trouble.to_text()) == trouble


@pytest.mark.parametrize("text", ["", "x", "1:2:3", "a:1:2:x", "1:x:2:y", "::::"])
def test_what_is_no_trouble_is_none(text: str) -> None:
    assert HostFailures.from_text(text) is None


# --- hosts that have never answered ----------------------------------------------------------------------


def asked_until_in_vain(takes: float, *, answers_badly_at: int = 0) -> tuple[float, int]:
    """When a host that never answers has been waited for in vain, and how often it was asked until then."""
    chance, now, trouble, asked = random.Random(1), NOW, None, 0
    while now < NOW + 900.0:
        now = Instant(now + takes)
        asked += 1
        unanswered = asked != answers_badly_at
        trouble = after_failure(POLICY, trouble, "x", now, chance, unreached=True, unanswered=unanswered)
        if should_stop_waiting(POLICY, trouble, now):
            break
        now = trouble.until
    return now - NOW, asked


@pytest.mark.parametrize("takes", [0.01, 10.0, 20.0, 30.0])
def test_waiting_for_a_host_that_never_answers_stops_after_about_a_minute(takes: float) -> None:
    after, asked = asked_until_in_vain(takes)

    assert 50.0 <= after <= 70.0 + 3 * takes
    assert asked in (3, 4)


@pytest.mark.parametrize("at", [1, 2])
def test_a_host_that_has_answered_at_all_is_worth_waiting_for(at: int) -> None:
    after, _ = asked_until_in_vain(0.01, answers_badly_at=at)

    assert after >= 900.0


def test_a_host_that_was_given_up_is_given_up_again_when_it_fails_the_next_time() -> None:
    before = HostFailures(4, NOW, NOW, "x", Silence.GIVEN_UP)

    again = after_failure(POLICY, before, "x", NOW, random.Random(1), unreached=True, unanswered=True)
    answered = after_failure(POLICY, before, "x", NOW, random.Random(1), unreached=True)

    assert is_given_up(POLICY, before, NOW) and is_given_up(POLICY, again, NOW)
    assert not is_given_up(POLICY, answered, NOW)


@pytest.mark.parametrize("silence", Silence)
def test_silence_survives_a_restart(silence: Silence) -> None:
    trouble = HostFailures(3, NOW, Instant(NOW + 7.5), "robots_unreachable", silence)

    assert HostFailures.from_text(trouble.to_text()) == trouble


def test_trouble_that_was_noted_before_silence_was_is_read() -> None:
    assert HostFailures.from_text("5:1.0:2.0:conn_refused") == HostFailures(
        5, Instant(1.0), Instant(2.0), "conn_refused"
    )
    assert HostFailures.from_text("5:1.0:2.0:conn_refused:nonsense") is None
