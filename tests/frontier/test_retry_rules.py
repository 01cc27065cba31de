"""What happens after a failure?"""

import random

from gossamer.frontier.retries import (
    RETRY_RULES,
    RetryPolicy,
    StatusClass,
    after_bad_status,
    after_failure,
    back_off,
    status_class,
)
from gossamer.model.outcome import Failure
from gossamer.model.units import Seconds
from tests.table import table

POLICY = RetryPolicy()


def test_every_failure_has_a_retry_rule() -> None:
    assert RETRY_RULES.keys() == set(Failure)


def test_every_rule_ends_after_a_few_tries_and_waits_before_each() -> None:
    for failure, rule in RETRY_RULES.items():
        assert 1 <= rule.max_tries <= 5, failure
        assert rule.max_tries == 1 or rule.base > 0, failure


@table("failure", list(Failure))
def test_a_url_that_keeps_failing_is_dead_after_the_tries_of_its_rule(failure: Failure) -> None:
    chance = random.Random(1)
    delays = [after_failure(POLICY, failure, tries, chance) for tries in range(1, 7)]

    allowed = min(RETRY_RULES[failure].max_tries, POLICY.max_tries)
    assert [delay is None for delay in delays] == [tries >= allowed for tries in range(1, 7)]


def test_the_policy_may_allow_fewer_tries_than_a_rule() -> None:
    assert after_failure(RetryPolicy(max_tries=1), Failure.READ_TIMEOUT, 1, random.Random(1)) is None


def test_delays_double_with_a_little_jitter_up_to_the_longest() -> None:
    chance = random.Random(1)

    for failures in range(1, 40):
        delay = back_off(POLICY, Seconds(10.0), failures, chance)
        exact = 10.0 * 2.0 ** (failures - 1)
        assert min(exact, POLICY.max_delay) <= delay <= min(exact * 1.2, POLICY.max_delay)


def test_a_bad_status_is_tried_again_as_often_as_the_policy_says() -> None:
    chance = random.Random(1)

    delays = [after_bad_status(POLICY, failures, chance) for failures in (1, 2, 3)]

    assert delays[0] is not None and 10.0 <= delays[0] <= 12.0
    assert delays[1] is not None and 20.0 <= delays[1] <= 24.0
    assert delays[2] is None


def test_every_status_has_a_class() -> None:
    classes = {status: status_class(status) for status in range(100, 600)}

    assert set(classes.values()) == set(StatusClass)
    by_class = {kind: [s for s, found in classes.items() if found is kind] for kind in StatusClass}
    assert by_class[StatusClass.DOCUMENT] == list(range(200, 301))
    assert by_class[StatusClass.REDIRECT] == [301, 302, 303, 307, 308]
    assert by_class[StatusClass.NOT_MODIFIED] == [304]
    assert by_class[StatusClass.RATE_LIMITED] == [429]
    assert by_class[StatusClass.GONE] == [410]
    assert by_class[StatusClass.MISSING] == [s for s in range(400, 500) if s not in (408, 410, 425, 429)]


@table("status", [0, 99, 100, 199, 305, 306, 399, 600, 999])
def test_a_status_that_no_standard_lets_stand_alone_is_tried_again(status: int) -> None:
    assert status_class(status) is StatusClass.RETRY
