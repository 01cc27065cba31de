"""`push` against PageRank solved anew at every step."""

import random

import pytest

from gossamer.lab.simulate.graph import LinkGraph, make_graph
from gossamer.lab.simulate.knowledge import CrawlFacts
from gossamer.lab.simulate.policies import Push
from gossamer.lab.simulate.replay import crawl_order
from tests.lab.simulate.graph_samples import random_graph

UNIT = 10**9


def rank_of_known(graph: LinkGraph, fetched: list[int], known: list[int]) -> dict[int, float]:
    """The credit that all known pages have ever had, if all of it were handed on for ever."""
    ranks = dict.fromkeys(known, 0.15)
    for _ in range(300):
        fresh = dict.fromkeys(known, 0.15)
        for page in fetched:
            for link in graph.links_of(page):
                fresh[link] += 0.85 * ranks[page] / len(graph.links_of(page))
        ranks = fresh
    return ranks


@pytest.mark.parametrize("number", range(5))
def test_the_credit_of_a_waiting_page_is_its_pagerank_on_the_known_graph(number: int) -> None:
    graph = random_graph(number)
    policy = Push(CrawlFacts(graph.site_of, graph.suffix_of), enough=UNIT // 10**5)
    seeds = random.Random(number).sample(range(graph.pages), 4)
    fetched: list[int] = []
    known = list(seeds)

    for page in crawl_order(graph, policy, seeds):
        expected = rank_of_known(graph, fetched, known)
        assert policy.credit[page] / UNIT == pytest.approx(expected[page], abs=0.001)
        # No waiting page was worth more.
        visits = [graph.site_of[p] for p in fetched]
        worth = {p: expected[p] + 1 / (1 + visits.count(graph.site_of[p])) for p in known if p not in fetched}
        assert worth[page] == pytest.approx(max(worth.values()), abs=0.002)
        fetched.append(page)
        known += [link for link in graph.links_of(page) if link not in known]


def test_credit_stays_on_a_fetched_page_until_it_is_more_than_enough() -> None:
    # Page 0 links to 1, which links back to it and to 2.
    graph = make_graph("back", [[1], [0, 2], []], [0, 0, 0])

    policy = Push(CrawlFacts([0, 0, 0], [0]), enough=UNIT)
    list(crawl_order(graph, policy, [0]))

    handed = (0.15 + 0.85 * 0.15) * 0.85 / 2
    assert policy.credit[0] / UNIT == pytest.approx(handed)
    assert policy.handed_on == 3

    eager = Push(CrawlFacts([0, 0, 0], [0]), enough=UNIT * 11 // 100)
    list(crawl_order(graph, eager, [0]))

    # Page 0 hands what it got back on to 1, which keeps it: it is less than 0.11.
    assert eager.credit[0] == 0
    assert eager.credit[1] / UNIT == pytest.approx(handed * 0.85)
    assert eager.handed_on == 4
