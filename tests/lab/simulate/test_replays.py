"""Seeds, points and progress of a comparison."""

import pytest

from gossamer.lab.simulate.graph import make_graph
from gossamer.lab.simulate.replay import SORTED, Plan, compare, reachable, seed_pages
from tests.lab.simulate.graph_samples import random_graph


def test_a_seed_set_is_always_the_same_and_another_number_is_another_set() -> None:
    graph = random_graph(2, pages=400)

    assert seed_pages(graph, 10, 1) == seed_pages(graph, 10, 1)
    assert seed_pages(graph, 10, 1) != seed_pages(graph, 10, 2)


def test_a_set_that_cannot_reach_the_graph_is_drawn_again() -> None:
    # Only page 0 leads everywhere.
    graph = make_graph("star", [list(range(1, 6))] + [[]] * 5, [0] * 6)

    assert all(seed_pages(graph, 2, number).count(0) == 1 for number in range(20))


def test_of_sets_that_all_reach_too_little_the_farthest_reaching_is_taken() -> None:
    graph = make_graph("pairs", [[], [0], [], [2], [3]] + [[]] * 45, [0] * 50)

    pages = seed_pages(graph, 5, 1)

    assert len(pages) == 5
    assert reachable(graph, pages) >= 6


def test_more_seeds_than_pages_are_all_pages() -> None:
    assert sorted(seed_pages(make_graph("two", [[], []], [0, 0]), 10, 1)) == [0, 1]


def test_shares_are_those_of_the_first_pages_and_the_mean_over_the_sets() -> None:
    graph = make_graph("ring", [[1], [2], [3], [0]], [0, 0, 0, 0])
    ranks = [0.4, 0.3, 0.2, 0.1]
    firsts = {number: seed_pages(graph, 1, number)[0] for number in (1, 2)}

    one, best = compare(graph, ranks, Plan(("bfs", SORTED), seeds=1, sets=(1, 2), points=(25, 100)), lambda _: None)

    assert one.shares == pytest.approx((100 * (ranks[firsts[1]] + ranks[firsts[2]]) / 2, 100))
    assert best.shares == pytest.approx((40, 100))
    assert [*one.line[0], *one.line[-1]] == pytest.approx([0, 0, 100, 100])


def test_a_crawl_that_ends_early_keeps_its_share() -> None:
    graph = make_graph("apart", [[], [], [], []], [0, 0, 0, 0])

    (curve,) = compare(graph, [0.25] * 4, Plan(("dfs",), seeds=1, sets=(1,), points=(25, 50, 100)), lambda _: None)

    assert curve.shares == (25, 25, 25)


def test_progress_names_order_rest_and_set() -> None:
    told: list[str] = []

    compare(random_graph(1), [1 / 60] * 60, Plan(("bfs",), rests=(0, 5), sets=(1, 2)), told.append)

    assert told == [f"bfs, rest {rest}, seed set {number}" for rest in (0, 5) for number in (1, 2)]
