"""How long answers hold, with time as a parameter."""

from hypothesis import given
from hypothesis import strategies as st

from gossamer.fetch.dns.cache import Absence, Addresses, CacheLimits, DnsCache, StoredAnswer
from gossamer.model.outcome import Failure
from gossamer.model.units import HostKey, Instant, Seconds

X = HostKey("x.test")
ONE = ("192.0.2.1",)
START = Instant(1000.0)


def after(seconds: float) -> Instant:
    return Instant(START + seconds)


def test_an_answer_holds_for_its_time_to_live() -> None:
    cache = DnsCache(CacheLimits())
    cache.store_addresses(X, ONE, Seconds(100.0), START)

    assert cache.look_up(X, after(99.9)) == Addresses(ONE, after(100.0))
    assert cache.look_up(X, after(100.0)) is None


@given(st.floats(min_value=0, max_value=2**31, allow_nan=False))
def test_no_answer_holds_shorter_than_the_floor_or_longer_than_the_ceiling(ttl: float) -> None:
    found = DnsCache(CacheLimits()).store_addresses(X, ONE, Seconds(ttl), START)

    assert after(30.0) <= found.expires <= after(3600.0)


def test_a_denial_holds_for_five_minutes_and_trouble_as_long_as_it_is_told() -> None:
    cache = DnsCache(CacheLimits())

    assert cache.store_absence(X, Failure.DNS_NXDOMAIN, START).expires == after(300.0)
    assert cache.store_absence(X, Failure.DNS_NO_ADDRESS, START).expires == after(300.0)
    assert cache.store_failure(X, Failure.DNS_SERVFAIL, after(16.0), START).expires == after(16.0)
    assert cache.look_up(X, after(15.0)) == Absence(Failure.DNS_SERVFAIL, after(16.0))
    assert cache.look_up(X, after(16.0)) is None


def test_an_expired_answer_stands_in_during_trouble_but_not_for_ever() -> None:
    cache = DnsCache(CacheLimits(stale=Seconds(1000.0)))
    cache.store_addresses(X, ONE, Seconds(60.0), START)

    during = cache.store_failure(X, Failure.DNS_TIMEOUT, after(515.0), after(500.0))
    too_late = cache.store_failure(X, Failure.DNS_TIMEOUT, after(1076.0), after(1061.0))

    assert during == Addresses(ONE, after(530.0), stale=True)
    assert too_late == Absence(Failure.DNS_TIMEOUT, after(1076.0))


def test_what_stands_in_is_asked_for_again_within_five_minutes() -> None:
    cache = DnsCache(CacheLimits())
    cache.store_addresses(X, ONE, Seconds(60.0), START)

    during = cache.store_failure(X, Failure.DNS_TIMEOUT, after(4000.0), after(400.0))

    assert during.expires == after(700.0)


def test_a_denial_ends_the_standing_in() -> None:
    cache = DnsCache(CacheLimits())
    cache.store_addresses(X, ONE, Seconds(60.0), START)
    cache.store_absence(X, Failure.DNS_NXDOMAIN, after(100.0))

    assert isinstance(cache.store_failure(X, Failure.DNS_TIMEOUT, after(515.0), after(500.0)), Absence)
    assert cache.last_good(X) is None


def test_a_recalled_answer_holds_as_long_as_before_and_then_stands_in() -> None:
    before = DnsCache(CacheLimits())
    before.store_addresses(X, ONE, Seconds(60.0), START)
    stored = before.last_good(X)
    assert stored is not None
    cache = DnsCache(CacheLimits())

    cache.restore(X, stored, after(50.0))

    assert cache.look_up(X, after(59.0)) == Addresses(ONE, after(60.0))
    assert cache.look_up(X, after(60.0)) is None
    assert cache.stale(X, after(3600.0)) == Addresses(ONE, after(60.0), stale=True)
    assert cache.stale(X, after(25 * 3600.0)) is None


def test_an_answer_recalled_too_late_is_not_taken() -> None:
    cache = DnsCache(CacheLimits())

    cache.restore(X, StoredAnswer(ONE, after(0.0)), after(25 * 3600.0))

    assert cache.last_good(X) is None


def test_an_answer_from_the_future_holds_no_longer_than_the_ceiling() -> None:
    cache = DnsCache(CacheLimits())

    cache.restore(X, StoredAnswer(ONE, after(10**9)), START)

    assert cache.look_up(X, after(3599.0)) is not None
    assert cache.look_up(X, after(3600.0)) is None


def test_what_is_known_already_is_not_overwritten_by_what_is_recalled() -> None:
    cache = DnsCache(CacheLimits())
    cache.store_addresses(X, ("192.0.2.9",), Seconds(60.0), START)

    cache.restore(X, StoredAnswer(ONE, after(500.0)), START)

    assert cache.look_up(X, after(1.0)) == Addresses(("192.0.2.9",), after(60.0))


@given(st.lists(st.ip_addresses().map(str), min_size=1, max_size=10), st.integers(0, 10**11))
def test_a_stored_answer_survives_its_text_form(addresses: list[str], expires: int) -> None:
    stored = StoredAnswer(tuple(addresses), Instant(float(expires)))

    assert StoredAnswer.from_text(stored.to_text()) == stored


@given(st.text() | st.from_regex(r"\d{0,13}:[0-9a-f:.,]*", fullmatch=True))
def test_no_text_makes_reading_a_stored_answer_raise(text: str) -> None:
    stored = StoredAnswer.from_text(text)

    assert stored is None or StoredAnswer.from_text(stored.to_text()) == stored


def test_the_least_recently_used_host_goes_first() -> None:
    cache = DnsCache(CacheLimits(hosts=3))
    for name in ("a", "b", "c"):
        cache.store_addresses(HostKey(name), ONE, Seconds(60.0), START)
    cache.look_up(HostKey("a"), after(1.0))

    cache.store_addresses(HostKey("d"), ONE, Seconds(60.0), after(2.0))

    known = {name for name in "abcd" if cache.look_up(HostKey(name), after(3.0)) is not None}
    assert known == {"a", "c", "d"}


@given(st.lists(st.tuples(st.integers(0, 30), st.booleans()), max_size=200))
def test_the_cache_never_outgrows_its_bound(events: list[tuple[int, bool]]) -> None:
    cache = DnsCache(CacheLimits(hosts=10))

    for number, good in events:
        host = HostKey(f"h{number}")
        if good:
            cache.store_addresses(host, ONE, Seconds(60.0), START)
        else:
            cache.store_failure(host, Failure.DNS_SERVFAIL, after(200.0), after(100.0))
        cache.restore(HostKey(f"r{number}"), StoredAnswer(ONE, after(50.0 * number)), after(100.0))

        assert len(cache) <= 10
        assert len(cache._last_good) <= 10
