"""The signals one by one: their range, their direction, and None for unknown."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.frontier.orderings import signals
from gossamer.frontier.orderings.signals import ARTICLE, ASSET, HOME, INDEX, SIGNALS, TrustedDomains
from gossamer.model.facts import BIRTH_CREDIT, CREDIT_UNIT, UrlFacts
from gossamer.model.units import Url
from tests.frontier.url_samples import COUNTS, CREDITS, HOSTS, url_facts


@given(url=url_facts())
def test_every_signal_that_is_known_lies_between_0_and_1(url: UrlFacts) -> None:
    for name, signal in SIGNALS.items():
        value = signal(url)
        assert value is None or 0.0 <= value <= 1.0, (name, value)
    trusted = TrustedDomains(["a", "*.b", "c.*"]).value(url.url)
    assert trusted is None or trusted in (0.0, 1.0)


@given(url=url_facts())
def test_what_a_graph_without_urls_cannot_know_is_left_out_and_the_rest_is_known(url: UrlFacts) -> None:
    nameless = url._replace(url=Url(""), visits=0, age=None)

    unknown = {name for name, signal in SIGNALS.items() if signal(nameless) is None}

    assert unknown == {"page_type", "nesting", "freshness", "change"}
    assert TrustedDomains(["a.test"]).value(Url("")) is None


@given(count=COUNTS, more=st.integers(1, 1000))
def test_more_links_never_lower_a_signal_and_the_first_ones_raise_it_most(count: int, more: int) -> None:
    for signal in (signals.links, signals.links_from_others):
        assert signal(count + more) >= signal(count)
        assert signal(1) - signal(0) >= signal(count + 1) - signal(count)


def test_links_reach_half_where_they_are_said_to() -> None:
    assert signals.links(0) == signals.links_from_others(0) == 0.0
    assert signals.links(signals.LINKS_FOR_HALF) == signals.links_from_others(1) == 0.5


@given(credit=CREDITS, more=st.integers(0, CREDIT_UNIT))
def test_more_credit_never_lowers_the_importance(credit: int, more: int) -> None:
    assert signals.importance(credit + more) >= signals.importance(credit)


def test_importance_is_0_at_birth_and_1_at_sixteen_times_that() -> None:
    assert signals.importance(0) == signals.importance(BIRTH_CREDIT) == 0.0
    assert signals.importance(BIRTH_CREDIT + BIRTH_CREDIT // 64) == pytest.approx(0.1)
    assert signals.importance(2 * BIRTH_CREDIT) == pytest.approx(0.6, abs=0.005)
    assert signals.importance(16 * BIRTH_CREDIT) < signals.importance(17 * BIRTH_CREDIT) == 1.0
    assert signals.importance(10**15) == 1.0


@given(received=st.integers(1, 15 * BIRTH_CREDIT))
def test_importance_is_close_to_the_logarithm_that_it_approximates(received: int) -> None:
    exact = math.log2(1 + 64 * received / BIRTH_CREDIT) / signals.CREDIT_DOUBLINGS

    assert signals.importance(BIRTH_CREDIT + received) == pytest.approx(exact, abs=0.01)


@given(hops=COUNTS, further=st.integers(1, 100))
def test_farther_from_the_seeds_is_never_higher(hops: int, further: int) -> None:
    assert signals.depth(0) == 1.0
    assert signals.depth(hops + further) < signals.depth(hops) or hops > 10**6


@given(levels=st.integers(0, 40))
def test_every_level_of_the_path_halves_the_nesting(levels: int) -> None:
    url = "http://a.test/" + "x/" * levels

    here = signals.nesting(Url(url))
    assert here is not None
    for deeper in (url + "x/", url + "x", url + "?q"):
        assert signals.nesting(Url(deeper)) == here / 2


def test_slashes_in_a_query_are_no_levels() -> None:
    assert signals.levels(Url("http://a.test/?from=http://b.test/c/d")) == 1


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://a.test/", HOME),
        ("https://a.test:8443/index.html", HOME),
        ("http://a.test/Default.aspx", HOME),
        ("ftp://a.test/", HOME),
        ("http://a.test/?page=2", INDEX),
        ("http://a.test/news/", INDEX),
        ("http://a.test/news/?page=2", INDEX),
        ("http://a.test/news/index.php", INDEX),
        ("http://a.test/news/index.php?id=7", INDEX),
        ("http://a.test/news", ARTICLE),
        ("http://a.test/news/a-title.html", ARTICLE),
        ("http://a.test/wiki/Node.js_in_action", ARTICLE),
        ("http://a.test/v1.2/notes", ARTICLE),
        ("http://a.test/indexes.html", ARTICLE),
        ("http://a.test/report.PDF", ASSET),
        ("http://a.test/feed.xml?all=1", ASSET),
        ("http://a.test/read?file=a.pdf", ARTICLE),
        ("http://pdf", ARTICLE),
    ],
)
def test_the_type_of_a_page_is_derived_from_its_url(url: str, expected: float) -> None:
    assert signals.page_type(Url(url)) == expected


def test_home_pages_are_worth_more_than_indexes_these_more_than_articles_and_assets_least() -> None:
    assert 1.0 == HOME > INDEX > ARTICLE > ASSET == 0.0


@given(age=st.floats(0, 1e12), older=st.floats(0, 1e12))
def test_an_older_page_is_never_fresher(age: float, older: float) -> None:
    now, then = signals.freshness(age), signals.freshness(age + older)
    assert now is not None and then is not None and then <= now


def test_freshness_is_a_half_after_thirty_days_and_1_for_a_date_in_the_future() -> None:
    assert signals.freshness(30 * 86_400.0) == 0.5
    assert signals.freshness(-5.0) == signals.freshness(0.0) == 1.0
    assert signals.freshness(None) is None


@given(visits=st.integers(2, 10**6), changes=st.integers(0, 10**6))
def test_more_changes_in_as_many_visits_never_lower_the_signal_of_change(visits: int, changes: int) -> None:
    less, more = signals.change(visits, changes), signals.change(visits, changes + 1)
    assert less is not None and more is not None and less <= more


def test_change_is_not_known_before_the_second_visit_and_gets_surer_with_every_one() -> None:
    assert signals.change(0, 0) is signals.change(1, 0) is None
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
        assert [domains.value(Url(f"http://{host}{port}/x")) for host in trusted] == [1.0] * len(trusted)
        assert [domains.value(Url(f"https://{host}{port}/")) for host in others] == [0.0] * len(others)


@given(host=HOSTS, patterns=st.lists(st.tuples(st.sampled_from(("{}", "*.{}", "{}.*")), HOSTS), max_size=6))
def test_trust_is_what_asking_every_pattern_in_turn_would_say(host: str, patterns: list[tuple[str, str]]) -> None:
    texts = [form.format(name.split(".")[0] if form == "{}.*" else name) for form, name in patterns]

    def covers(pattern: str) -> bool:
        if pattern.startswith("*."):
            return host.endswith(pattern[1:])
        if pattern.endswith(".*"):
            return host.startswith(pattern[:-1])
        return host == pattern or host.endswith("." + pattern)

    found = TrustedDomains(texts).value(Url(f"http://{host}/"))

    assert found == (None if not texts else float(any(map(covers, texts))))


@pytest.mark.parametrize(
    "pattern", ["", "*", "*.*", "a.*.b", "*a.org", "a.b.*", "http://a.org/", "a..b", ".a", "ä.org"]
)
def test_a_pattern_that_is_none_is_refused_by_name(pattern: str) -> None:
    with pytest.raises(ValueError, match="is no domain") as refusal:
        TrustedDomains([pattern])

    assert repr(pattern) in str(refusal.value)


def test_no_more_hosts_are_remembered_than_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gossamer.frontier.orderings.signals.HOSTS_KEPT", 100)
    domains = TrustedDomains(["*.test"])

    answers = [domains.of_host(f"h{n % 150}.test") for n in range(1000)]

    assert answers == [1.0] * 1000
    assert domains.remembered <= 100


def test_an_ip_literal_with_colons_is_not_cut_at_its_last_one() -> None:
    assert TrustedDomains(["example.org"]).value(Url("http://[::1]/")) == 0.0
    assert TrustedDomains(["example.org"]).value(Url("http://[::1]:80/")) == 0.0
