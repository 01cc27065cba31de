"""Which front queue does a URL belong to?"""

from hypothesis import given
from hypothesis import strategies as st

from gossamer.frontier.priority import ORDERINGS, Mercator


def test_a_home_page_near_the_seeds_is_in_the_highest_class() -> None:
    ordering = Mercator()

    assert ordering.front_of(ordering.score("http://a.test/", 0)) == 0
    assert ordering.front_of(ordering.score("http://a.test/", 5)) == 0


def test_a_deep_path_far_from_the_seeds_is_in_the_lowest_class() -> None:
    ordering = Mercator()

    assert ordering.front_of(ordering.score("http://a.test/a/b/c/d?q=1", 6)) == 2


@given(levels=st.integers(0, 30), depth=st.integers(0, 100))
def test_going_deeper_never_raises_a_score(levels: int, depth: int) -> None:
    ordering = Mercator()
    url = "http://a.test/" + "x/" * levels

    here = ordering.score(url, depth)
    assert 0.0 <= here <= 1.0
    assert ordering.score(url + "x/", depth) <= here
    assert ordering.score(url + "x", depth) <= here
    assert ordering.score(url + "?q", depth) <= here
    assert ordering.score(url, depth + 1) <= here


@given(score=st.floats(0.0, 2.0))
def test_every_score_has_a_front_queue_and_higher_ones_are_not_behind(score: float) -> None:
    for ordering in ORDERINGS.values():
        assert 0 <= ordering.front_of(score) < ordering.fronts
        assert ordering.front_of(score) <= ordering.front_of(score / 2)


def test_orderings_are_found_by_their_names() -> None:
    assert {name: ordering.name for name, ordering in ORDERINGS.items()} == {"mercator": "mercator", "bfs": "bfs"}
