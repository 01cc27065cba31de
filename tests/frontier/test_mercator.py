"""The score by links: every term, how they add up, and invalid settings. `mercator` and `best-first` share it."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.frontier.orderings.best_first import BestFirst
from gossamer.frontier.orderings.mercator import DEFAULT_BOUNDS, Mercator
from gossamer.frontier.orderings.score import BORNE_BY_LINKS, DEFAULT_WEIGHTS, LOG2_UNIT
from gossamer.model.facts import LINK_UNIT, DomainFacts, HostFacts, UrlFacts
from gossamer.model.units import DAY, Url
from tests.frontier.url_samples import url_facts

PATTERNS = ("a", "*.b", "c.*", "example.org")
WEIGHTS = st.fixed_dictionaries(
    {name: st.one_of(st.just(0.0), st.floats(0.01, 100.0), st.integers(1, 9)) for name in DEFAULT_WEIGHTS}
).filter(lambda weights: any(weights.values()))
ORDERINGS = st.one_of(
    st.builds(Mercator, WEIGHTS, st.sampled_from(((), PATTERNS))),
    st.builds(BestFirst, WEIGHTS, st.sampled_from(((), PATTERNS))),
)
ARTICLE = UrlFacts(1, Url("http://a.test/b/c.html"), 1)


def only(**weights: float) -> Mercator:
    return Mercator(dict.fromkeys(DEFAULT_WEIGHTS, 0.0) | weights, ("trusted.test",))


def octaves(url: UrlFacts, **weights: float) -> float:
    ordering = only(**weights)
    return ordering.score(url) / ordering.unit


def test_every_term_is_what_the_formula_says() -> None:
    """Each term alone, with weight 1, against the logarithm written out."""
    cases: list[tuple[str, dict[str, Any], float]] = [
        ("importance", {"link_sum": 3 * LINK_UNIT // 2}, math.log2(0.15 + 0.85 * 1.5)),
        ("importance", {}, math.log2(0.15)),
        ("links", {"links": 6}, math.log2(7)),
        ("links_from_others", {"links_from_others": 2}, math.log2(3)),
        ("steps", {"steps": 4}, -math.log2(5)),
        ("ordinal", {"ordinal": 99}, -math.log2(100)),
        ("depth", {"depth": 3}, -2.0),
        ("sitemap", {"listed": 1.0}, 1.0),
        ("sitemap", {"listed": 0.5}, 0.0),
        ("sitemap", {"listed": 0.0}, -1.0),
        ("sitemap", {"listed": None}, 0.0),
        ("freshness", {"age": 0.0}, 1.0),
        ("freshness", {"age": 30 * DAY}, 0.5),
        ("freshness", {"age": None}, 0.0),
        ("change", {"visits": 9, "changes": 4}, 0.5),
        ("change", {"visits": 1, "changes": 0}, 0.0),
    ]
    for name, facts, expected in cases:
        found = octaves(ARTICLE._replace(**facts), **{name: 1.0})
        assert found == pytest.approx(expected, abs=1 / LOG2_UNIT), (name, facts)


def test_what_the_url_says_adds_to_the_score() -> None:
    levels = {
        "http://a.test/": 0,
        "http://a.test/?q=/x/": 1,
        "http://a.test/x": 1,
        "http://a.test/x/": 1,
        "http://a.test/x/y.html": 2,
        "http://a.test/x/y/?q": 3,
        "": 3,  # unknown counts as an ordinary one
    }
    types = {
        "http://a.test/": 1.0,
        "https://a.test:8443/index.html": 1.0,
        "http://a.test/Default.aspx": 1.0,
        "ftp://a.test/": 1.0,
        "http://a.test/?page=2": 0.25,
        "http://a.test/news/": 0.25,
        "http://a.test/news/index.php?id=7": 0.25,
        "http://a.test/news": 0.1,
        "http://a.test/wiki/Node.js_in_action": 0.1,
        "http://a.test/v1.2/notes": 0.1,
        "http://a.test/indexes.html": 0.1,
        "http://a.test/report.PDF": 0.0,
        "http://a.test/feed.xml?all=1": 0.0,
        "http://a.test/read?file=a.pdf": 0.1,
    }
    trust = {"http://trusted.test/": 1.0, "http://www.trusted.test:80/x": 1.0, "http://a.test/": 0.0, "": 0.0}
    for name, sign, values in (("nesting", -1, levels), ("page_type", 1, types), ("trusted", 1, trust)):
        for url, value in values.items():
            expected = -math.log2(1 + value) if sign < 0 else value
            found = octaves(ARTICLE._replace(url=Url(url)), **{name: 1.0})
            assert found == pytest.approx(expected, abs=1 / LOG2_UNIT), (name, url)


def test_the_host_adds_the_share_of_its_urls_that_was_not_seen_up_to_a_limit() -> None:
    ordering = BestFirst(dict.fromkeys(DEFAULT_WEIGHTS, 0.0) | {"unseen": 1.0, "subdomains": 1.0}, ())

    for host, expected in (
        (HostFacts(), 0.0),
        (HostFacts(7, 0), 3.0),
        (HostFacts(7, 3), 1.0),
        (HostFacts(7, 7), 0.0),
        (HostFacts(10**9, 0), math.log2(30)),
        (HostFacts(1, 1, 7), -3.0),
    ):
        assert ordering.host_term(host) / LOG2_UNIT == pytest.approx(expected, abs=1 / LOG2_UNIT), host


@given(ordering=ORDERINGS, url=url_facts())
def test_scores_are_whole_numbers_and_their_parts_add_up_to_what_is_shown(
    ordering: Mercator | BestFirst, url: UrlFacts
) -> None:
    score = ordering.score(url)

    assert score == int(score)
    shown = ordering.total(url, DomainFacts(), 0)
    assert math.fsum(ordering.parts(url, DomainFacts(), 0).values()) == pytest.approx(shown, abs=1e-9)


@given(ordering=ORDERINGS, url=url_facts(), more=st.integers(1, 50), share=st.integers(0, LINK_UNIT))
def test_a_link_never_lowers_a_score(ordering: Mercator | BestFirst, url: UrlFacts, more: int, share: int) -> None:
    linked = url._replace(
        links=url.links + more,
        links_from_others=url.links_from_others + more,
        link_sum=url.link_sum + share,
        steps=url.steps // 2,
    )

    assert ordering.score(linked) >= ordering.score(url)
    if not ordering.moved_by_links:
        assert ordering.score(linked) == ordering.score(url)


def test_best_first_moves_a_url_a_few_times_only_while_links_to_it_are_found() -> None:
    ordering = BestFirst()

    places = {ordering.standing(ARTICLE._replace(link_sum=n * LINK_UNIT // 50)).place for n in range(5_000)}

    assert len(places) <= 4 * math.log2(1 + 0.85 / 0.15 * 100) + 2


def test_links_move_urls_exactly_where_a_term_that_they_bear_has_a_weight() -> None:
    for name in DEFAULT_WEIGHTS:
        assert only(**{name: 1.0}).moved_by_links == (name in BORNE_BY_LINKS), name


def test_parts_leave_out_what_has_no_weight_or_is_not_known() -> None:
    url = ARTICLE._replace(url=Url("http://www.example.org/"), host=HostFacts(3, 1, 0))

    plain = {"importance", "steps", "ordinal", "nesting", "page_type"}
    assert set(Mercator(trusted=()).parts(url, DomainFacts(), 0)) == plain
    assert set(Mercator(trusted=["a.test"]).parts(url, DomainFacts(), 0)) == {*plain, "trusted"}
    everything = url._replace(listed=0.8, age=60.0, visits=3, changes=1)
    found = set(BestFirst(trusted=["a.test"]).parts(everything, DomainFacts(), 0))
    assert found == {*plain, "trusted", "sitemap", "freshness", "change", "cut", "unseen", "subdomains"}


# --- what is refused ---------------------------------------------------------------------------------


def test_impossible_settings_are_refused_by_name() -> None:
    for weights, message in (
        ({"beauty": 1.0}, r"no such term: 'beauty' .*importance.*subdomains"),
        ({"nesting": -1.0}, "weight of nesting must be a number of at least 0"),
        ({"nesting": math.inf}, "weight of nesting must be a number of at least 0"),
        ({"nesting": math.nan}, "weight of nesting must be a number of at least 0"),
        (dict.fromkeys(DEFAULT_WEIGHTS, 0.0), "all weights are 0"),
    ):
        with pytest.raises(ValueError, match=message):
            BestFirst(weights)
    for bounds in ((0.2, 0.4), (0.4, 0.4), (math.nan,), (math.inf, 0.0), (0.0, -math.inf)):
        with pytest.raises(ValueError, match="bounds must be numbers in descending order"):
            Mercator(bounds=bounds)
    with pytest.raises(ValueError, match=r"'a\.\*\.b' is not a domain"):
        Mercator(trusted=["a.*.b"])


def test_the_bounds_make_eight_classes() -> None:
    assert len(DEFAULT_BOUNDS) + 1 == Mercator.fronts == Mercator().fronts == 8
