"""The signals that are added to a score: their range and direction."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.frontier.orderings import signals
from gossamer.frontier.orderings.signals import TrustedDomains
from tests.frontier.url_samples import HOSTS
from tests.table import table


@given(age=st.floats(0, 1e12), older=st.floats(0, 1e12))
def test_an_older_page_is_never_fresher(age: float, older: float) -> None:
    assert 0.0 <= signals.freshness(age + older) <= signals.freshness(age) <= 1.0


def test_freshness_is_a_half_after_thirty_days_and_1_for_a_date_in_the_future() -> None:
    assert signals.freshness(30 * 86_400.0) == 0.5
    assert signals.freshness(-5.0) == signals.freshness(0.0) == 1.0


@given(visits=st.integers(2, 10**6), changes=st.integers(0, 10**6))
def test_more_changes_in_as_many_visits_never_lower_the_signal_of_change(visits: int, changes: int) -> None:
    assert 0.0 <= signals.change(visits, changes) <= signals.change(visits, changes + 1) <= 1.0


def test_change_gets_surer_with_every_visit() -> None:
    assert [signals.change(visits, visits - 1) for visits in (2, 5, 99)] == [2 / 3, 5 / 6, 0.99]
    assert [signals.change(visits, 0) for visits in (2, 5, 99)] == [1 / 3, 1 / 6, 0.01]


# --- trusted domains ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "trusted", "others"),
    [
        ("example.org", ("example.org", "www.example.org", "a.b.example.org"), ("anexample.org", "org", "example.com")),
        ("*.gov", ("nasa.gov", "www.nasa.gov"), ("gov", "gov.example", "nasagov", "a.gov.uk")),
        ("*.example.org", ("www.example.org", "a.b.example.org"), ("example.org", "example.com")),
        ("news.*", ("news.example", "news.example.co.uk"), ("news", "www.news.example", "newsy.example")),
        ("Example.ORG", ("example.org",), ("example.net",)),
        ("127.0.0.1", ("127.0.0.1",), ("127.0.0.2",)),
    ],
)
def test_a_pattern_covers_what_it_says_and_nothing_else(
    pattern: str, trusted: tuple[str, ...], others: tuple[str, ...]
) -> None:
    domains = TrustedDomains([pattern])

    for port in ("", ":8080"):
        assert all(domains.of_host(f"{host}{port}") for host in trusted)
        assert not any(domains.of_host(f"{host}{port}") for host in others)


@given(host=HOSTS, patterns=st.lists(st.tuples(st.sampled_from(("{}", "*.{}", "{}.*")), HOSTS), max_size=6))
def test_trust_is_what_asking_every_pattern_in_turn_would_say(host: str, patterns: list[tuple[str, str]]) -> None:
    texts = [form.format(name.split(".")[0] if form == "{}.*" else name) for form, name in patterns]

    def covers(pattern: str) -> bool:
        if pattern.startswith("*."):
            return host.endswith(pattern[1:])
        if pattern.endswith(".*"):
            return host.startswith(pattern[:-1])
        return host == pattern or host.endswith("." + pattern)

    assert TrustedDomains(texts).of_host(host) == any(map(covers, texts))


@table("pattern", ["", "*", "*.*", "a.*.b", "*a.org", "a.b.*", "http://a.org/", "a..b", ".a", "ä.org"])
def test_a_pattern_that_is_none_is_refused_by_name(pattern: str) -> None:
    with pytest.raises(ValueError, match="is not a domain") as refusal:
        TrustedDomains([pattern])

    assert repr(pattern) in str(refusal.value)


def test_no_more_hosts_are_remembered_than_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gossamer.frontier.orderings.signals.HOSTS_KEPT", 100)
    domains = TrustedDomains(["*.test"])

    answers = [domains.of_host(f"h{n % 150}.test") for n in range(1000)]

    assert all(answers)
    assert domains.remembered <= 100


def test_an_ip_literal_with_colons_is_not_cut_at_its_last_one() -> None:
    assert not TrustedDomains(["example.org"]).of_host("[::1]")
    assert not TrustedDomains(["example.org"]).of_host("[::1]:80")
