"""How long answers hold, with time as a parameter."""

from hypothesis import given
from hypothesis import strategies as st

from gossamer.fetch.dns.cache import Absence, Addresses, CacheLimits, DnsCache
from gossamer.model.outcome import Failure
from gossamer.model.units import HostKey, Instant, Seconds

X = HostKey("x.test")
ONE = ("192.0.2.1",)
START = Instant(1000.0)


def after(seconds: float) -> Instant:
    return Instant(START + seconds)


def test_an_answer_holds_for_its_time_to_live() -> None:
    cache = DnsCache(CacheLimits())
    cache.found(X, ONE, Seconds(100.0), START)

    assert cache.look_up(X, after(99.9)) == Addresses(ONE, after(100.0))
    assert cache.look_up(X, after(100.0)) is None


@given(st.floats(min_value=0, max_value=2**31, allow_nan=False))
def test_no_answer_holds_shorter_than_the_floor_or_longer_than_the_ceiling(ttl: float) -> None:
    found = DnsCache(CacheLimits()).found(X, ONE, Seconds(ttl), START)

    assert after(30.0) <= found.expires <= after(3600.0)


def test_absence_holds_longer_than_trouble() -> None:
    cache = DnsCache(CacheLimits())

    assert cache.missed(X, Failure.DNS_NXDOMAIN, START).expires == after(300.0)
    assert cache.missed(X, Failure.DNS_NO_ADDRESS, START).expires == after(300.0)
    assert cache.missed(X, Failure.DNS_SERVFAIL, START).expires == after(3.0)
    assert cache.missed(X, Failure.DNS_TIMEOUT, START).expires == after(3.0)


def test_an_expired_answer_stands_in_during_trouble_but_not_for_ever() -> None:
    cache = DnsCache(CacheLimits(stale=Seconds(1000.0)))
    cache.found(X, ONE, Seconds(60.0), START)

    during = cache.missed(X, Failure.DNS_TIMEOUT, after(500.0))
    too_late = cache.missed(X, Failure.DNS_TIMEOUT, after(1061.0))

    assert during == Addresses(ONE, after(530.0), stale=True)
    assert too_late == Absence(Failure.DNS_TIMEOUT, after(1064.0))


def test_a_denial_ends_the_standing_in() -> None:
    cache = DnsCache(CacheLimits())
    cache.found(X, ONE, Seconds(60.0), START)
    cache.missed(X, Failure.DNS_NXDOMAIN, after(100.0))

    assert isinstance(cache.missed(X, Failure.DNS_TIMEOUT, after(500.0)), Absence)


def test_the_least_recently_used_host_goes_first() -> None:
    cache = DnsCache(CacheLimits(hosts=3))
    for name in ("a", "b", "c"):
        cache.found(HostKey(name), ONE, Seconds(60.0), START)
    cache.look_up(HostKey("a"), after(1.0))

    cache.found(HostKey("d"), ONE, Seconds(60.0), after(2.0))

    known = {name for name in "abcd" if cache.look_up(HostKey(name), after(3.0)) is not None}
    assert known == {"a", "c", "d"}


@given(st.lists(st.tuples(st.integers(0, 30), st.booleans()), max_size=200))
def test_the_cache_never_outgrows_its_bound(events: list[tuple[int, bool]]) -> None:
    cache = DnsCache(CacheLimits(hosts=10))

    for number, good in events:
        host = HostKey(f"h{number}")
        if good:
            cache.found(host, ONE, Seconds(60.0), START)
        else:
            cache.missed(host, Failure.DNS_SERVFAIL, after(100.0))

        assert len(cache) <= 10
        assert len(cache._last_good) <= 10
