"""The weighted score of `mercator`: the fast path against the signals, its parts, and invalid settings."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.frontier.orderings import signals
from gossamer.frontier.orderings.mercator import DEFAULT_BOUNDS, DEFAULT_WEIGHTS, Mercator
from gossamer.frontier.orderings.signals import BORNE_BY_LINKS, SIGNALS, TrustedDomains
from gossamer.model.facts import BIRTH_CREDIT, CREDIT_UNIT, DomainFacts, UrlFacts
from gossamer.model.units import Url
from tests.frontier.url_samples import url_facts

PATTERNS = ("a", "*.b", "c.*", "example.org")
WEIGHTS = st.fixed_dictionaries(
    {name: st.one_of(st.just(0.0), st.floats(0.01, 1000.0), st.integers(1, 9)) for name in DEFAULT_WEIGHTS}
).filter(lambda weights: any(weights.values()))
ORDERINGS = st.builds(Mercator, WEIGHTS, st.sampled_from(((), PATTERNS)))


def specified(ordering: Mercator, url: UrlFacts, trusted: TrustedDomains) -> float:
    """The weighted mean, word for word."""
    values = {name: signal(url) for name, signal in SIGNALS.items()} | {"trusted": trusted.value(url.url)}
    known = [(weight, value) for name, weight in ordering.weights.items() if (value := values[name]) is not None]
    total = sum(weight for weight, _ in known)
    return sum(weight * value for weight, value in known) / total if total else 0.0


@given(weights=WEIGHTS, listed=st.sampled_from(((), PATTERNS)), url=url_facts())
def test_the_fast_path_is_the_weighted_mean_of_the_signals_that_are_known(
    weights: dict[str, float], listed: tuple[str, ...], url: UrlFacts
) -> None:
    ordering = Mercator(weights, listed)

    assert ordering.score(url) == pytest.approx(specified(ordering, url, TrustedDomains(listed)), abs=1e-12)


@given(url=url_facts())
def test_the_same_holds_for_the_default_weights(url: UrlFacts) -> None:
    ordering = Mercator()

    assert ordering.score(url) == pytest.approx(specified(ordering, url, TrustedDomains()), abs=1e-12)


@given(ordering=ORDERINGS, url=url_facts())
def test_a_score_is_a_number_from_0_to_1_and_its_parts_add_up_to_it(ordering: Mercator, url: UrlFacts) -> None:
    score = ordering.score(url)
    parts = ordering.parts(url, DomainFacts(), 0)

    assert 0.0 <= score <= 1.0
    assert math.fsum(parts.values()) == pytest.approx(score, abs=1e-9)
    assert all(part >= 0.0 for part in parts.values())


@given(ordering=ORDERINGS, url=url_facts(), more=st.integers(1, 50), credit=st.integers(0, CREDIT_UNIT))
def test_a_link_never_lowers_a_score(ordering: Mercator, url: UrlFacts, more: int, credit: int) -> None:
    linked = url._replace(
        links=url.links + more, links_from_others=url.links_from_others + more, credit=url.credit + credit
    )

    assert ordering.score(linked) >= ordering.score(url) - 1e-12
    if not ordering.moved_by_links:
        assert ordering.score(linked) == ordering.score(url)


@pytest.mark.parametrize("name", sorted(DEFAULT_WEIGHTS))
def test_links_move_urls_exactly_where_a_signal_that_they_bear_has_a_weight(name: str) -> None:
    alone = dict.fromkeys(DEFAULT_WEIGHTS, 0.0) | {name: 1.0}

    assert Mercator(alone).moved_by_links == (name in BORNE_BY_LINKS)


def test_only_proportions_matter() -> None:
    chance = random.Random(4)
    tenfold = Mercator({name: 10 * weight for name, weight in DEFAULT_WEIGHTS.items()})

    for number in range(200):
        url = UrlFacts(number, Url("http://a.test/b/"), number % 9, chance.randrange(50), 3, chance.randrange(10**10))
        assert tenfold.score(url) == pytest.approx(Mercator().score(url), abs=1e-12)


def test_the_parts_are_named_by_signal_and_leave_out_what_has_no_weight_or_is_not_known() -> None:
    url = UrlFacts(1, Url("http://www.example.org/"), 1, links=3, links_from_others=1)

    shown = Mercator(trusted=["example.org"]).parts(url, DomainFacts(), 0)

    assert shown == {
        "importance": 0.0,
        "links_from_others": pytest.approx(2 * 0.5 / 16.5),
        "page_type": pytest.approx(4 / 16.5),
        "nesting": pytest.approx(4 / 16.5),
        "depth": pytest.approx(0.5 * 0.5 / 16.5),
        "trusted": pytest.approx(2 / 16.5),
    }


def test_a_url_of_which_nothing_with_a_weight_is_known_scores_0() -> None:
    ordering = Mercator(dict.fromkeys(DEFAULT_WEIGHTS, 0.0) | {"nesting": 1.0})

    assert ordering.score(UrlFacts(1, Url(""), 0)) == 0.0
    assert ordering.parts(UrlFacts(1, Url(""), 0), DomainFacts(), 0) == {}


def test_without_urls_the_links_carry_the_score() -> None:
    nameless = UrlFacts(1, Url(""), 0, 1, 1, BIRTH_CREDIT + BIRTH_CREDIT)

    expected = (4 * signals.importance(2 * BIRTH_CREDIT) + 2 * 0.5 + 0.5) / 6.5

    assert Mercator().score(nameless) == pytest.approx(expected, abs=1e-12)


def test_trust_freshness_and_change_raise_a_score_where_they_are_known() -> None:
    plain = UrlFacts(1, Url("http://news.example/a/b.html"), 3)
    ordering = Mercator(trusted=["news.*"])

    assert ordering.score(plain) > Mercator(trusted=["other.example"]).score(plain)
    assert ordering.score(plain._replace(age=3600.0)) > ordering.score(plain)
    assert ordering.score(plain._replace(age=1e9)) < ordering.score(plain._replace(age=3600.0))
    assert ordering.score(plain._replace(visits=9, changes=8)) > ordering.score(plain._replace(visits=9))


# --- what is refused ---------------------------------------------------------------------------------


def test_a_signal_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(ValueError, match=r"no such signal: 'beauty' .*importance.*change"):
        Mercator({"beauty": 1.0})


@pytest.mark.parametrize("weight", [-1.0, math.inf, math.nan])
def test_an_impossible_weight_is_refused_by_name(weight: float) -> None:
    with pytest.raises(ValueError, match="weight of nesting must be a number of at least 0"):
        Mercator({"nesting": weight})


def test_weights_that_are_all_0_are_refused() -> None:
    with pytest.raises(ValueError, match="all weights are 0"):
        Mercator(dict.fromkeys(DEFAULT_WEIGHTS, 0.0))


@pytest.mark.parametrize("bounds", [(0.2, 0.4), (0.4, 0.4), (1.5, 0.4), (0.4, 0.0), (math.nan,)])
def test_bounds_that_do_not_fall_between_1_and_0_are_refused(bounds: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="bounds must fall"):
        Mercator(bounds=bounds)


def test_a_pattern_of_trusted_domains_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match=r"'a\.\*\.b' is no domain"):
        Mercator(trusted=["a.*.b"])


def test_every_signal_has_a_default_weight_and_the_bounds_make_three_classes() -> None:
    assert DEFAULT_WEIGHTS.keys() == {*SIGNALS, "trusted"}
    assert len(DEFAULT_BOUNDS) + 1 == Mercator.fronts == Mercator().fronts == 3
