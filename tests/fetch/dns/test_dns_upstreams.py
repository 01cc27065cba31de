"""Which name server is asked first, with time as a parameter."""

from hypothesis import given
from hypothesis import strategies as st

from gossamer.fetch.dns.lookup import UpstreamRules, Upstreams
from gossamer.model.units import Instant

RULES = UpstreamRules()


def at(seconds: float) -> Instant:
    return Instant(1000.0 + seconds)


def sick(servers: Upstreams, index: int, now: Instant) -> None:
    for _ in range(RULES.tolerated):
        servers.on_failure(index, now)


def test_servers_are_asked_in_the_order_in_which_they_were_given() -> None:
    assert Upstreams(3, RULES).order(at(0)) == [0, 1, 2]


def test_one_lost_packet_changes_nothing() -> None:
    servers = Upstreams(3, RULES)

    servers.on_failure(0, at(0))

    assert servers.order(at(0)) == [0, 1, 2]


def test_a_server_that_failed_twice_in_a_row_is_asked_last_for_a_while() -> None:
    servers = Upstreams(3, RULES)

    sick(servers, 0, at(0))

    assert servers.order(at(9.9)) == [1, 2, 0]
    assert servers.count_avoided(at(9.9)) == 1


def test_an_answer_in_between_makes_up_for_a_failure() -> None:
    servers = Upstreams(2, RULES)

    servers.on_failure(0, at(0))
    servers.on_success(0)
    servers.on_failure(0, at(0))

    assert servers.order(at(0)) == [0, 1]


def test_when_its_rest_is_over_one_question_tries_it() -> None:
    servers = Upstreams(2, RULES)
    sick(servers, 0, at(0))

    assert servers.order(at(10)) == [0, 1]
    assert servers.order(at(10)) == [1, 0]


def test_a_server_that_answers_again_is_back_in_its_place() -> None:
    servers = Upstreams(2, RULES)
    sick(servers, 0, at(0))
    servers.order(at(10))

    servers.on_success(0)

    assert servers.order(at(10)) == [0, 1]
    assert servers.order(at(10)) == [0, 1]


def test_a_server_that_fails_its_trial_rests_twice_as_long_up_to_a_bound() -> None:
    servers = Upstreams(2, RULES)
    now = 0.0
    sick(servers, 0, at(now))
    rests = []
    for _ in range(6):
        rest = 1.0
        while servers.order(at(now + rest))[0] != 0:
            rest += 1.0
        rests.append(rest)
        now += rest
        servers.on_failure(0, at(now))

    assert rests == [10.0, 20.0, 40.0, 80.0, 120.0, 120.0]


def test_many_questions_that_fail_together_count_once() -> None:
    servers = Upstreams(2, RULES)

    for _ in range(500):
        servers.on_failure(0, at(0))

    assert servers.order(at(10)) == [0, 1]


def test_when_all_are_sick_the_one_whose_rest_ends_first_is_asked_first() -> None:
    servers = Upstreams(3, RULES)
    sick(servers, 2, at(0))
    sick(servers, 0, at(1))
    sick(servers, 1, at(2))

    assert servers.order(at(3)) == [2, 0, 1]


@given(
    st.lists(st.tuples(st.sampled_from(("fail", "work", "order")), st.integers(0, 3), st.floats(0, 30)), max_size=100)
)
def test_every_server_is_always_in_the_order_once(events: list[tuple[str, int, float]]) -> None:
    servers, now = Upstreams(4, RULES), 0.0

    for event, index, passed in events:
        now += passed
        if event == "fail":
            servers.on_failure(index, at(now))
        elif event == "work":
            servers.on_success(index)

        assert sorted(servers.order(at(now))) == [0, 1, 2, 3]
