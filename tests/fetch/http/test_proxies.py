"""Proxies that are down: their hosts wait, one visit at a time finds out, and no host can make others wait."""

from gossamer.fetch.http.options import Proxy
from gossamer.fetch.http.proxies import Proxies, ProxyRules
from gossamer.model.outcome import Failed, Failure, Response
from gossamer.model.units import HostKey, Instant, Seconds, Url

HOST = HostKey("x.test")
ONE, OTHER = Proxy("http", "one.test", 3128), Proxy("http", "other.test", 3128)
DOWN = Failed(Failure.PROXY_FAILED, "", Seconds(0.0), contacted=False)
REFUSED = Failed(Failure.PROXY_FAILED, "", Seconds(0.0), contacted=True)
HOST_DOWN = Failed(Failure.CONNECTION_LOST, "", Seconds(0.0), contacted=True)
SILENT = Failed(Failure.READ_TIMEOUT, "", Seconds(20.0), contacted=True)
ANSWER = Response(Url("http://x.test/"), 200, b"", b"", b"", {}, "", Instant(0.0), Seconds(0.0))
RULES = ProxyRules(pause=Seconds(1.0), longest_pause=Seconds(4.0), lost=Seconds(30.0))


def at(seconds: float) -> Instant:
    return Instant(1000.0 + seconds)


def test_nobody_waits_for_a_proxy_that_is_not_known_to_fail() -> None:
    proxies = Proxies(RULES)

    assert proxies.wait_for(ONE, at(0)) is None
    assert not proxies.on_outcome(ONE, HOST, ANSWER, at(0))
    assert not proxies.on_outcome(ONE, HOST, HOST_DOWN, at(0))
    assert proxies.wait_for(ONE, at(0)) is None
    assert not proxies.failing


def test_all_wait_for_a_proxy_that_is_down_and_nobody_for_another() -> None:
    proxies = Proxies(RULES)

    assert proxies.on_outcome(ONE, HOST, DOWN, at(0))

    assert proxies.failing
    assert proxies.wait_for(ONE, at(0.5)) == at(1)
    assert proxies.wait_for(OTHER, at(0.5)) is None


def test_one_goes_ahead_when_the_pause_is_over_and_the_others_wait_for_it() -> None:
    proxies = Proxies(RULES)
    proxies.on_outcome(ONE, HOST, DOWN, at(0))

    assert proxies.wait_for(ONE, at(1)) is None
    assert proxies.wait_for(ONE, at(1)) == at(2)
    assert proxies.wait_for(ONE, at(30.5)) == at(31)
    assert proxies.wait_for(ONE, at(31)) is None  # the first one was lost


def test_pauses_double_up_to_the_longest() -> None:
    proxies = Proxies(RULES)
    now, pauses = at(0), []
    for _ in range(5):
        proxies.on_outcome(ONE, HOST, DOWN, now)
        until = proxies.wait_for(ONE, now)
        assert until is not None
        pauses.append(until - now)
        now = until

    assert pauses == [1.0, 2.0, 4.0, 4.0, 4.0]


def test_any_answer_that_came_through_it_ends_the_waiting() -> None:
    for outcome in (ANSWER, HOST_DOWN):
        proxies = Proxies(RULES)
        proxies.on_outcome(ONE, HOST, DOWN, at(0))

        assert not proxies.on_outcome(ONE, HOST, outcome, at(1))

        assert proxies.wait_for(ONE, at(1)) is None
        assert not proxies.failing


def test_credentials_that_were_never_taken_are_the_proxys_matter() -> None:
    assert Proxies(RULES).on_outcome(ONE, HOST, REFUSED, at(0))


def test_a_host_that_speaks_like_a_proxy_makes_nobody_wait_for_one_that_works() -> None:
    proxies = Proxies(RULES)
    proxies.on_outcome(ONE, HOST, ANSWER, at(0))

    assert not proxies.on_outcome(ONE, HOST, REFUSED, at(1))
    assert proxies.wait_for(ONE, at(1)) is None


def hosts(count: int) -> list[HostKey]:
    return [HostKey(f"h{n}.test") for n in range(count)]


def test_a_proxy_through_which_several_hosts_in_a_row_are_silent_is_down() -> None:
    proxies = Proxies(RULES)

    blamed = [not proxies.on_outcome(ONE, host, SILENT, at(0)) for host in hosts(5)]

    assert blamed == [True, True, False, False, False]
    assert proxies.failing
    assert proxies.wait_for(ONE, at(0)) is not None
    assert proxies.wait_for(OTHER, at(0)) is None


def test_one_silent_host_is_not_the_proxys_however_often() -> None:
    proxies = Proxies(RULES)

    assert not any(proxies.on_outcome(ONE, HOST, SILENT, at(n)) for n in range(20))
    assert not proxies.failing


def test_an_answer_to_anybody_ends_the_suspicion() -> None:
    proxies = Proxies(RULES)
    first, second, third, *others = hosts(6)
    for host in (first, second):
        proxies.on_outcome(ONE, host, SILENT, at(0))

    proxies.on_outcome(ONE, third, ANSWER, at(0))

    assert not any(proxies.on_outcome(ONE, host, SILENT, at(1)) for host in others[:2])
    assert not proxies.failing


def test_a_silent_proxy_is_up_again_with_the_first_answer() -> None:
    proxies = Proxies(RULES)
    for host in hosts(4):
        proxies.on_outcome(ONE, host, SILENT, at(0))

    assert proxies.wait_for(ONE, at(10)) is None  # one goes ahead
    assert not proxies.on_outcome(ONE, HOST, ANSWER, at(10))

    assert not proxies.failing
    assert proxies.wait_for(ONE, at(10)) is None


def test_hosts_that_never_answer_are_blamed_in_the_end() -> None:
    proxies = Proxies(RULES)
    told = [proxies.on_outcome(ONE, host, SILENT, at(n)) for n in range(10) for host in hosts(3)]

    assert sum(told) > 3  # at first they wait
    assert not any(told[-12:])


def test_what_is_remembered_of_silent_hosts_is_bounded() -> None:
    proxies = Proxies(RULES)

    for host in hosts(5_000):
        proxies.on_outcome(ONE, host, SILENT, at(0))

    assert len(proxies._known[ONE].silent) <= 1000
