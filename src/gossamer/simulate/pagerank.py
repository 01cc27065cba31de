"""Hot: PageRank of a whole graph in plain Python (benchmarks/bench_orderings.py): what orders are measured by."""

from collections.abc import Sequence

from gossamer.simulate.graph import LinkGraph

DAMPING = 0.85
_MAX_ROUNDS = 200


def pagerank(graph: LinkGraph, *, damping: float = DAMPING, tolerance: float = 1e-6) -> Sequence[float]:
    """The PageRank of every page; it sums to 1.

    A page without links leads anywhere with the same chance, and so does the jump. Ends when a round changes all
    ranks together by less than `tolerance`, or after 200 rounds.
    """
    pages = graph.pages
    linking = [(page, links) for page in range(pages) if (links := graph.links_of(page))]
    dead_ends = [page for page in range(pages) if graph.starts[page] == graph.starts[page + 1]]
    ranks = [1.0 / pages] * pages
    for _ in range(_MAX_ROUNDS):
        lost = sum(map(ranks.__getitem__, dead_ends))
        fresh = [(1.0 - damping + damping * lost) / pages] * pages
        for page, links in linking:
            share = damping * ranks[page] / len(links)
            for target in links:
                fresh[target] += share
        change = sum(map(abs, map(float.__sub__, fresh, ranks)))
        ranks = fresh
        if change < tolerance:
            break
    return ranks
