import pytest

from gossamer.lab.simulate.graph import LinkGraph, make_graph, pagerank
from tests.lab.simulate.graph_samples import random_graph


def dense(graph: LinkGraph, damping: float) -> list[float]:
    """The whole matrix, many times."""
    n = graph.pages
    rows = []
    for page in range(n):
        links = list(graph.links_of(page))
        rows.append([(1 / len(links) if to in links else 0.0) if links else 1 / n for to in range(n)])
    ranks = [1 / n] * n
    for _ in range(150):
        ranks = [(1 - damping) / n + damping * sum(ranks[p] * rows[p][to] for p in range(n)) for to in range(n)]
    return ranks


@pytest.mark.parametrize("damping", [0.5, 0.85])
@pytest.mark.parametrize("number", range(4))
def test_pagerank_is_that_of_the_dense_iteration(number: int, damping: float) -> None:
    graph = random_graph(number, pages=40)

    assert pagerank(graph, damping=damping, tolerance=1e-12) == pytest.approx(dense(graph, damping), abs=1e-9)


def test_ranks_sum_to_one() -> None:
    assert sum(pagerank(random_graph(9, pages=500))) == pytest.approx(1.0)


def test_pages_without_any_link_are_equal() -> None:
    assert pagerank(make_graph("none", [[], [], []], [0, 0, 0])) == pytest.approx([1 / 3] * 3)
