"""What the default weights are for: important pages first, on a simulated web whose pages have URLs."""

import pytest

from gossamer.lab.simulate.graph import graph_of_web, pagerank
from gossamer.lab.simulate.replay import Plan, compare
from gossamer.lab.simweb.config import preset


@pytest.mark.parametrize("seed", [3, 8])
def test_the_orderings_by_links_gather_importance_faster_than_breadth_first(seed: int) -> None:
    graph = graph_of_web(preset("demo", hosts=130, pages=4_000, max_host_pages=0, seed=seed))
    plan = Plan(orders=("best-first", "mercator", "bfs"), rests=(0, 20), sets=(1, 2), points=(5.0, 10.0, 25.0))

    curves = {(curve.order, curve.rest): curve for curve in compare(graph, pagerank(graph), plan, lambda _: None)}

    for rest in plan.rests:
        first, ours, breadth = (curves[order, rest].shares for order in plan.orders)
        assert all(a > b > c for a, b, c in zip(first, ours, breadth, strict=True)), (rest, first, ours, breadth)
