"""Which front queue does a URL belong to?"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.frontier.orderings import ORDERINGS
from gossamer.frontier.orderings.mercator import Mercator
from gossamer.model.facts import LINK_UNIT, UrlFacts
from gossamer.model.units import Url


def test_the_classes_are_an_octave_wide_and_links_lift_a_page_through_them() -> None:
    ordering = Mercator()

    def front(url: str, steps: int, link_sum: float) -> int:
        facts = UrlFacts(1, Url(url), 1, link_sum=round(link_sum * LINK_UNIT), steps=steps)
        return ordering.standing(facts).front

    article = "http://a.test/news/a-title.html"
    assert front("http://a.test/", 0, 0.0) == 0
    assert [front(article, 1, link_sum) for link_sum in (0.0, 0.1, 0.4, 2.0)] == [3, 2, 1, 0]
    assert front("http://a.test/a/b/c/d?q=1", 6, 0.0) == 6


@given(levels=st.integers(0, 30), steps=st.integers(0, 100))
def test_going_deeper_never_raises_a_score(levels: int, steps: int) -> None:
    ordering = Mercator()
    url = "http://a.test/" + "x/" * levels

    def score(url: str, steps: int) -> float:
        return ordering.score(UrlFacts(1, Url(url), 1, steps=steps))

    here = score(url, steps)
    assert max(score(url + "x/", steps), score(url + "x", steps), score(url + "?q", steps)) <= here
    assert score(url, steps + 1) <= here


@given(score=st.floats(-20_000.0, 20_000.0))
def test_every_score_has_a_front_queue_and_higher_ones_are_not_behind(score: float) -> None:
    for make in ORDERINGS.values():
        ordering = make()
        assert 0 <= ordering.front_of(score) < ordering.fronts
        assert ordering.front_of(score) <= ordering.front_of(score - 1)


@given(
    bounds=st.lists(st.integers(-100, 100), max_size=6, unique=True).map(lambda ns: sorted(ns, reverse=True)),
    score=st.integers(-100, 100),
)
def test_a_class_begins_at_its_bound_and_there_is_one_more_than_bounds(bounds: list[int], score: int) -> None:
    ordering = Mercator(bounds=bounds)

    assert ordering.fronts == ordering.front_queues == len(bounds) + 1
    assert ordering.front_of(1024 * score) == sum(score < bound for bound in bounds)


def test_orderings_are_found_by_their_names() -> None:
    assert {name: make().name for name, make in ORDERINGS.items()} == {name: name for name in ORDERINGS}
    assert set(ORDERINGS) == {"mercator", "best-first", "bfs", "dfs", "novelty", "balance", "importance"}


@pytest.mark.parametrize("depth", [0, 1, 5])
def test_among_equals_the_class_is_the_same_whatever_their_entry(depth: int) -> None:
    """So that first in, first out within the class gives the turn to the oldest."""
    ordering = Mercator()

    standings = {ordering.standing(UrlFacts(entry, Url("http://a.test/b/"), depth)) for entry in (1, 7, 10**9)}

    assert len(standings) == 1
