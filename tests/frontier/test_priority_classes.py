"""Which front queue does a URL belong to?"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.frontier.orderings import ORDERINGS
from gossamer.frontier.orderings.mercator import Mercator
from gossamer.model.facts import BIRTH_CREDIT, UrlFacts
from gossamer.model.units import Url


def facts(url: str, depth: int) -> UrlFacts:
    return UrlFacts(1, Url(url), depth)


def front(url: str, depth: int, links_from_others: int = 0, received: float = 0.0) -> int:
    """Of the default ordering; `received` is credit, in births."""
    ordering = Mercator()
    credit = BIRTH_CREDIT + round(received * BIRTH_CREDIT)
    return ordering.standing(UrlFacts(1, Url(url), depth, 1, links_from_others, credit)).front


def test_a_home_page_is_in_the_highest_class_wherever_it_was_found() -> None:
    assert front("http://a.test/", 0) == 0
    assert front("http://a.test/", 20) == 0


def test_the_top_of_a_host_comes_before_what_lies_below_it() -> None:
    assert front("http://a.test/news/", 1) == 1
    assert front("http://a.test/about", 1) == 1
    assert front("http://a.test/news/2024/a-title.html", 1) == 2


def test_a_deep_path_far_from_the_seeds_is_in_the_lowest_class() -> None:
    assert front("http://a.test/a/b/c/d?q=1", 6) == 2


def test_links_lift_a_page_through_the_classes() -> None:
    article = "http://a.test/news/a-title.html"

    assert front(article, 3) == 2
    assert front(article, 3, received=0.2) == 1
    assert front(article, 3, links_from_others=5, received=1.0) == 0


@given(levels=st.integers(0, 30), depth=st.integers(0, 100))
def test_going_deeper_never_raises_a_score(levels: int, depth: int) -> None:
    ordering = Mercator()
    url = "http://a.test/" + "x/" * levels

    here = ordering.score(facts(url, depth))
    assert 0.0 <= here <= 1.0
    assert ordering.score(facts(url + "x/", depth)) <= here
    assert ordering.score(facts(url + "x", depth)) <= here
    assert ordering.score(facts(url + "?q", depth)) <= here
    assert ordering.score(facts(url, depth + 1)) <= here


@given(score=st.floats(0.0, 2.0))
def test_every_score_has_a_front_queue_and_higher_ones_are_not_behind(score: float) -> None:
    for make in ORDERINGS.values():
        ordering = make()
        assert 0 <= ordering.front_of(score) < ordering.fronts
        assert ordering.front_of(score) <= ordering.front_of(score / 2)


@given(
    bounds=st.lists(st.integers(1, 100), max_size=6, unique=True).map(lambda ns: sorted(ns, reverse=True)),
    score=st.integers(0, 100),
)
def test_a_class_begins_at_its_bound_and_there_is_one_more_than_bounds(bounds: list[int], score: int) -> None:
    ordering = Mercator(bounds=[bound / 100 for bound in bounds])

    assert ordering.fronts == ordering.front_queues == len(bounds) + 1
    assert ordering.front_of(score / 100) == sum(score < bound for bound in bounds)


def test_orderings_are_found_by_their_names() -> None:
    assert {name: make().name for name, make in ORDERINGS.items()} == {name: name for name in ORDERINGS}
    assert set(ORDERINGS) == {"mercator", "bfs", "dfs", "novelty", "balance", "importance"}


@pytest.mark.parametrize("depth", [0, 1, 5])
def test_among_equals_the_class_is_the_same_whatever_their_entry(depth: int) -> None:
    """So that first in, first out within the class gives the turn to the oldest."""
    ordering = Mercator()

    standings = {ordering.standing(UrlFacts(entry, Url("http://a.test/b/"), depth)) for entry in (1, 7, 10**9)}

    assert len(standings) == 1
