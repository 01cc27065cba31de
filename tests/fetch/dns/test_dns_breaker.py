"""Whether the resolver itself is sick: a state machine, with time as a parameter."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.fetch.dns.breaker import BreakerRules, BreakerState, ResolverBreaker
from gossamer.model.units import HostKey, Instant

RULES = BreakerRules()


def at(seconds: float) -> Instant:
    return Instant(1000.0 + seconds)


def host(number: int) -> HostKey:
    return HostKey(f"h{number}.test")


def working() -> ResolverBreaker:
    """A breaker that has just seen an answer."""
    breaker = ResolverBreaker(RULES)
    breaker.on_answer(HostKey("good.test"), at(0))
    return breaker


def opened() -> ResolverBreaker:
    breaker = working()
    for number in range(10):
        breaker.on_no_answer(host(number), at(0), at(1))
    assert breaker.state is BreakerState.OPEN
    return breaker


def test_it_opens_when_most_of_the_last_names_went_unanswered() -> None:
    breaker = working()

    states = []
    for number in range(5):
        breaker.on_no_answer(host(number), at(0), at(1))
        states.append(breaker.state)

    assert states == [BreakerState.CLOSED] * 3 + [BreakerState.OPEN] * 2


def test_one_name_that_fails_again_and_again_does_not_open_it() -> None:
    breaker = working()

    for tenth in range(9):
        breaker.on_no_answer(host(1), at(0), at(tenth / 10))

    assert breaker.is_closed


def test_names_that_fail_among_as_many_that_do_not_leave_it_closed() -> None:
    breaker = working()

    for number in range(100):
        breaker.on_answer(host(2 * number), at(number / 10))
        breaker.on_no_answer(host(2 * number + 1), at(number / 10), at(number / 10))

    assert breaker.is_closed


def test_one_failure_is_enough_when_nothing_was_answered_yet() -> None:
    breaker = ResolverBreaker(RULES)

    breaker.on_no_answer(host(1), at(0), at(0))

    assert breaker.state is BreakerState.OPEN


def test_one_failure_is_enough_when_nothing_was_answered_while_it_waited() -> None:
    breaker = working()
    breaker.on_answer(host(7), at(6))
    breaker.on_no_answer(host(1), at(2), at(7))
    early = breaker.state

    breaker.on_no_answer(host(2), at(4), at(9))  # the last answer to anybody is three seconds old

    assert early is BreakerState.CLOSED
    assert breaker.state is BreakerState.OPEN


def test_it_opens_at_once_when_no_server_even_listens() -> None:
    breaker = working()

    breaker.on_no_answer(host(1), at(0), at(0.1), unreachable=True)

    assert breaker.state is BreakerState.OPEN


def test_old_failures_do_not_count() -> None:
    breaker = working()
    for number in range(4):
        breaker.on_no_answer(host(number), at(0), at(1))
    breaker.on_answer(HostKey("good.test"), at(62))

    breaker.on_no_answer(host(9), at(57), at(62))

    assert breaker.is_closed


def test_the_first_probe_may_go_out_at_once_and_only_one() -> None:
    breaker = opened()

    assert breaker.take_probe(at(1))
    assert breaker.state is BreakerState.PROBING
    assert not breaker.take_probe(at(1))
    assert not breaker.take_probe(at(4))


def test_after_a_failed_probe_it_waits_and_then_probes_again() -> None:
    breaker = opened()
    breaker.take_probe(at(1))

    breaker.on_probe_failure(at(6))

    assert breaker.state is BreakerState.OPEN
    assert breaker.until == at(8)
    assert not breaker.take_probe(at(7.9))
    assert breaker.take_probe(at(8))


def test_a_probe_that_is_never_reported_does_not_keep_it_open_for_ever() -> None:
    breaker = opened()
    breaker.take_probe(at(1))

    assert not breaker.take_probe(at(6.9))
    assert breaker.take_probe(at(7))


def test_an_answer_closes_it() -> None:
    breaker = opened()
    breaker.take_probe(at(1))

    breaker.on_answer(HostKey("good.test"), at(2))

    assert breaker.is_closed
    assert not breaker.take_probe(at(2))
    assert breaker.suspects() == []


def test_an_answer_to_a_question_from_before_closes_it_too() -> None:
    breaker = opened()

    breaker.on_answer(HostKey("late.test"), at(2))

    assert breaker.is_closed


def test_after_a_good_probe_the_names_are_to_blame_for_a_while() -> None:
    breaker = opened()
    breaker.take_probe(at(1))
    breaker.on_answer(HostKey("good.test"), at(2))

    for number in range(100):
        breaker.on_no_answer(host(number), at(2), at(9.9))
    calm = breaker.state
    breaker.on_no_answer(host(1000), at(2), at(10))

    assert calm is BreakerState.CLOSED
    assert breaker.state is BreakerState.OPEN


def test_the_names_that_went_unanswered_are_known() -> None:
    breaker = working()
    breaker.on_no_answer(host(1), at(0), at(1))
    breaker.on_no_answer(host(2), at(0), at(1))
    breaker.on_answer(host(1), at(1))

    assert breaker.suspects() == [host(2)]


EVENTS = st.lists(
    st.tuples(
        st.sampled_from(("answered", "unanswered", "nobody", "take", "fail")), st.integers(0, 30), st.floats(0, 5)
    ),
    max_size=200,
)


@given(EVENTS)
def test_at_most_one_probe_is_out_and_memory_is_bounded_whatever_happens(events: list[tuple[str, int, float]]) -> None:
    breaker, now, out_since = ResolverBreaker(RULES), 0.0, None

    for event, number, passed in events:
        now += passed
        if event == "answered":
            breaker.on_answer(host(number), at(now))
            out_since = None
        elif event == "take":
            if breaker.take_probe(at(now)):
                assert out_since is None or now - out_since >= RULES.lost - 1e-6
                out_since = now
        elif event == "fail" and out_since is not None:
            breaker.on_probe_failure(at(now))
            out_since = None
        elif event != "fail":
            breaker.on_no_answer(host(number), at(now - passed), at(now), unreachable=event == "nobody")

        assert len(breaker._recent) <= RULES.names
        assert (breaker.state is BreakerState.PROBING) == (out_since is not None)
        # It never stays shut off: some time later a probe is due.
        assert breaker.is_closed or breaker.until <= at(now + RULES.lost + 1e-6)


def test_a_failure_at_once_counts_only_against_what_came_after_its_question() -> None:
    breaker = working()

    breaker.on_no_answer(host(1), at(0), at(0.1))
    before = breaker.state
    breaker.on_no_answer(host(2), at(0.2), at(0.3))

    assert before is BreakerState.CLOSED
    assert breaker.state is BreakerState.OPEN


@pytest.mark.parametrize("sign", ["probe", "name"])
def test_it_has_healed_when_it_answers_after_more_than_one_name_failed(sign: str) -> None:
    breaker = ResolverBreaker(RULES)
    breaker.on_no_answer(host(1), at(0), at(5))
    assert breaker.take_probe(at(5))
    breaker.on_answer(host(2), at(5.1))
    assert breaker.recovered_at == 0.0  # it was the name

    breaker.on_no_answer(host(1), at(15), at(20))
    assert breaker.take_probe(at(20))
    if sign == "probe":
        breaker.on_probe_failure(at(21))
    else:
        breaker.on_no_answer(host(3), at(15), at(21))
    breaker.on_answer(host(2), at(24))

    assert breaker.recovered_at == at(24)
