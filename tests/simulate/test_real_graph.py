"""The real web graph: what the orderings must reach there."""

import pytest

from conformance import shared_data
from gossamer.simulate.pagerank import pagerank
from gossamer.simulate.reading import read_graph
from gossamer.simulate.replay import SORTED, Plan, compare

# ../shared/SCIENCE.md, section 2.3, at 5, 10, 25 and 50 % of the pages; no politeness.
ALL_SORTED = (54.7, 61.9, 76.1, 87.5)
IMPORTANCE = (25.7, 32.2, 50.7, 73.0)


@pytest.mark.service
def test_on_the_real_graph_importance_falls_nowhere_a_point_short_of_the_known_figures() -> None:
    graph = read_graph(shared_data("webgraph/cnr-2000.graph-txt.gz"))
    assert (graph.pages, graph.links + graph.self_links, graph.self_links) == (325_557, 3_216_152, 87_442)
    assert (graph.sites, graph.site_of[-1]) == (659, 658)

    plan = Plan(orders=(SORTED, "importance"), sets=(1,), points=(5.0, 10.0, 25.0, 50.0))
    bound, importance = compare(graph, pagerank(graph, tolerance=1e-5), plan, lambda _: None)

    assert bound.shares == pytest.approx(ALL_SORTED, abs=0.06)
    assert all(share >= known - 1.0 for share, known in zip(importance.shares, IMPORTANCE, strict=True))
