"""Whether the resolver itself is down: a state machine, with time as a parameter."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.fetch.dns.backoff import BreakerRules, BreakerState, ResolverBreaker
from gossamer.model.units import Instant

RULES = BreakerRules()


def at(seconds: float) -> Instant:
    return Instant(1000.0 + seconds)


def working() -> ResolverBreaker:
    """A breaker that has just seen an answer."""
    breaker = ResolverBreaker(RULES)
    breaker.on_answer(at(0))
    return breaker


def opened() -> ResolverBreaker:
    breaker = working()
    breaker.on_no_answer(at(6))
    assert breaker.state is BreakerState.OPEN
    return breaker


def test_it_opens_when_no_name_was_answered_for_five_seconds() -> None:
    breaker = working()

    states = []
    for seconds in (1.0, 4.9, 5.0):
        breaker.on_no_answer(at(seconds))
        states.append(breaker.state)

    assert states == [BreakerState.CLOSED] * 2 + [BreakerState.OPEN]


def test_any_number_of_names_that_fail_leaves_it_closed_while_others_are_answered() -> None:
    breaker = working()

    for number in range(100):
        breaker.on_answer(at(4 * number))
        for _ in range(50):
            breaker.on_no_answer(at(4 * number + 3))

    assert breaker.is_closed


def test_one_failure_is_enough_when_nothing_was_answered_yet() -> None:
    breaker = ResolverBreaker(RULES)

    breaker.on_no_answer(at(0))

    assert breaker.state is BreakerState.OPEN


def test_it_opens_at_once_when_no_server_even_listens() -> None:
    breaker = working()

    breaker.on_no_answer(at(0.1), unreachable=True)

    assert breaker.state is BreakerState.OPEN


def test_the_first_probe_may_go_out_at_once_and_only_one() -> None:
    breaker = opened()

    assert breaker.take_probe(at(6))
    assert breaker.state is BreakerState.PROBING
    assert not breaker.take_probe(at(6))
    assert not breaker.take_probe(at(9))


def test_after_a_failed_probe_it_waits_and_then_probes_again() -> None:
    breaker = opened()
    breaker.take_probe(at(6))

    breaker.on_probe_failure(at(11))

    assert breaker.state is BreakerState.OPEN
    assert breaker.until == at(13)
    assert not breaker.take_probe(at(12.9))
    assert breaker.take_probe(at(13))


def test_a_probe_that_is_never_reported_does_not_keep_it_open_for_ever() -> None:
    breaker = opened()
    breaker.take_probe(at(6))

    assert not breaker.take_probe(at(11.9))
    assert breaker.take_probe(at(12))


def test_an_answer_closes_it_whoever_asked() -> None:
    for probing in (True, False):
        breaker = opened()
        if probing:
            breaker.take_probe(at(6))

        breaker.on_answer(at(7))

        assert breaker.is_closed
        assert not breaker.take_probe(at(7))


def test_after_a_good_probe_the_names_are_to_blame_for_five_seconds() -> None:
    breaker = opened()
    breaker.take_probe(at(6))
    breaker.on_answer(at(7))

    breaker.on_no_answer(at(11.9))
    calm = breaker.state
    breaker.on_no_answer(at(12))

    assert (calm, breaker.state) == (BreakerState.CLOSED, BreakerState.OPEN)


EVENTS = st.lists(
    st.tuples(st.sampled_from(("answered", "unanswered", "unreachable", "take", "fail")), st.floats(0, 5)), max_size=200
)


@given(EVENTS)
def test_at_most_one_probe_is_out_whatever_happens(events: list[tuple[str, float]]) -> None:
    breaker, now, out_since = ResolverBreaker(RULES), 0.0, None

    for event, passed in events:
        now += passed
        if event == "answered":
            breaker.on_answer(at(now))
            out_since = None
        elif event == "take":
            if breaker.take_probe(at(now)):
                assert out_since is None or now - out_since >= RULES.lost - 1e-6
                out_since = now
        elif event == "fail" and out_since is not None:
            breaker.on_probe_failure(at(now))
            out_since = None
        elif event != "fail":
            breaker.on_no_answer(at(now), unreachable=event == "unreachable")

        assert (breaker.state is BreakerState.PROBING) == (out_since is not None)
        assert not (breaker.is_closed and breaker.confirmed)
        # It never stays shut off: some time later a probe is due.
        assert breaker.is_closed or breaker.until <= at(now + RULES.lost + 1e-6)


@pytest.mark.parametrize("sign", ["probe", "name"])
def test_an_outage_is_confirmed_when_more_than_one_query_failed(sign: str) -> None:
    breaker = ResolverBreaker(RULES)
    breaker.on_no_answer(at(5))
    assert breaker.take_probe(at(5))
    breaker.on_answer(at(5.1))
    assert (breaker.confirmed, breaker.recovered_at) == (False, 0.0)  # it was the name

    breaker.on_no_answer(at(20))
    assert breaker.take_probe(at(20))
    if sign == "probe":
        breaker.on_probe_failure(at(21))
    else:
        breaker.on_no_answer(at(21))
    assert breaker.confirmed
    breaker.on_answer(at(24))

    assert (breaker.confirmed, breaker.recovered_at) == (False, at(24))
