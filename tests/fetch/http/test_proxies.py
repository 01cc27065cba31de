"""Proxies that are down: their hosts wait, one visit at a time finds out, and no host can make others wait."""

from gossamer.fetch.http.options import Proxy
from gossamer.fetch.http.proxies import Proxies, ProxyRules
from gossamer.model.outcome import Failed, Failure, Response
from gossamer.model.units import Instant, Seconds, Url

ONE, OTHER = Proxy("http", "one.test", 3128), Proxy("http", "other.test", 3128)
DOWN = Failed(Failure.PROXY_FAILED, "", Seconds(0.0), contacted=False)
REFUSED = Failed(Failure.PROXY_FAILED, "", Seconds(0.0), contacted=True)
HOST_DOWN = Failed(Failure.CONNECTION_LOST, "", Seconds(0.0), contacted=True)
ANSWER = Response(Url("http://x.test/"), 200, b"", b"", b"", {}, "", Instant(0.0), Seconds(0.0))
RULES = ProxyRules(pause=Seconds(1.0), longest_pause=Seconds(4.0), lost=Seconds(30.0))


def at(seconds: float) -> Instant:
    return Instant(1000.0 + seconds)


def test_nobody_waits_for_a_proxy_that_is_not_known_to_fail() -> None:
    proxies = Proxies(RULES)

    assert proxies.wait_for(ONE, at(0)) is None
    assert not proxies.heard(ONE, ANSWER, at(0))
    assert not proxies.heard(ONE, HOST_DOWN, at(0))
    assert proxies.wait_for(ONE, at(0)) is None
    assert not proxies.failing


def test_all_wait_for_a_proxy_that_is_down_and_nobody_for_another() -> None:
    proxies = Proxies(RULES)

    assert proxies.heard(ONE, DOWN, at(0))

    assert proxies.failing
    assert proxies.wait_for(ONE, at(0.5)) == at(1)
    assert proxies.wait_for(OTHER, at(0.5)) is None


def test_one_goes_ahead_when_the_pause_is_over_and_the_others_wait_for_it() -> None:
    proxies = Proxies(RULES)
    proxies.heard(ONE, DOWN, at(0))

    assert proxies.wait_for(ONE, at(1)) is None
    assert proxies.wait_for(ONE, at(1)) == at(2)
    assert proxies.wait_for(ONE, at(30.5)) == at(31)
    assert proxies.wait_for(ONE, at(31)) is None  # the first one was lost


def test_pauses_double_up_to_the_longest() -> None:
    proxies = Proxies(RULES)
    now, pauses = at(0), []
    for _ in range(5):
        proxies.heard(ONE, DOWN, now)
        until = proxies.wait_for(ONE, now)
        assert until is not None
        pauses.append(until - now)
        now = until

    assert pauses == [1.0, 2.0, 4.0, 4.0, 4.0]


def test_any_answer_that_came_through_it_ends_the_waiting() -> None:
    for outcome in (ANSWER, HOST_DOWN):
        proxies = Proxies(RULES)
        proxies.heard(ONE, DOWN, at(0))

        assert not proxies.heard(ONE, outcome, at(1))

        assert proxies.wait_for(ONE, at(1)) is None
        assert not proxies.failing


def test_credentials_that_were_never_taken_are_the_proxys_matter() -> None:
    assert Proxies(RULES).heard(ONE, REFUSED, at(0))


def test_a_host_that_speaks_like_a_proxy_makes_nobody_wait_for_one_that_works() -> None:
    proxies = Proxies(RULES)
    proxies.heard(ONE, ANSWER, at(0))

    assert not proxies.heard(ONE, REFUSED, at(1))
    assert proxies.wait_for(ONE, at(1)) is None
