"""Each ordering's exact order against the model that sorts everything anew at every step."""

import random
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

import pytest
from graph_samples import random_graph
from obvious_orders import obvious_order

from gossamer.frontier.priority import Mercator
from gossamer.simulate.graph import LinkGraph, make_graph
from gossamer.simulate.policies import POLICIES, Policy, Setting
from gossamer.simulate.replay import crawl_order, reachable

EXACT = ("mercator", "bfs", "dfs", "novelty", "balance", "importance", "backlink")


@pytest.mark.parametrize("rest", [0, 3, 20])
@pytest.mark.parametrize("order", EXACT)
def test_the_whole_order_is_that_of_the_obvious_model(order: str, rest: int) -> None:
    for number in range(40):
        graph = random_graph(number, sites=1 + number % 9)
        seeds = random.Random(number).sample(range(graph.pages), 4)

        policy = POLICIES[order](Setting(graph.site_of, graph.suffix_of))
        found = list(crawl_order(graph, policy, seeds, rest=rest))

        assert found == obvious_order(graph, order, seeds, rest), number


def test_the_models_differ_from_one_another() -> None:
    graph = random_graph(3)

    orders = {tuple(obvious_order(graph, order, [0, 30])) for order in EXACT}

    assert len(orders) == len(EXACT)


class Watched:
    """A policy that is held to its word: what it takes waits, and not on a site that rests."""

    def __init__(self, policy: Policy, graph: LinkGraph) -> None:
        self._policy, self._graph = policy, graph
        self._waiting: set[int] = set()
        self.resting: set[int] = set()
        self.rests = 0

    def found(self, page: int, source: int | None) -> None:
        self._waiting.add(page)
        self._policy.found(page, source)

    def fetched(self, page: int, links: Sequence[int]) -> None:
        self._policy.fetched(page, links)

    def best(self) -> int | None:
        page = self._policy.best()
        ready = {page for page in self._waiting if self._graph.site_of[page] not in self.resting}
        if page is None:
            assert not ready
        else:
            assert page in ready
            self._waiting.remove(page)
        return page

    def rest(self, site: int) -> None:
        self.resting.add(site)
        self.rests += 1
        self._policy.rest(site)

    def wake(self, site: int) -> None:
        self.resting.remove(site)
        self._policy.wake(site)


@pytest.mark.parametrize("rest", [0, 4])
@pytest.mark.parametrize("order", POLICIES)
def test_every_page_that_can_be_reached_is_fetched_once_and_no_resting_site_is_contacted(order: str, rest: int) -> None:
    graph = random_graph(11, pages=300, sites=12)
    ranks = [1 / (1 + page) for page in range(graph.pages)]

    policy = Watched(POLICIES[order](Setting(graph.site_of, graph.suffix_of, None, ranks, random.Random(5))), graph)
    fetched = list(crawl_order(graph, policy, [1, 2, 200], rest=rest))

    assert len(fetched) == len(set(fetched)) == reachable(graph, [1, 2, 200])
    assert policy.rests == (len(fetched) if rest else 0)


def test_the_omniscient_order_takes_the_best_of_the_known_pages() -> None:
    graph = make_graph("line", [[1, 2], [3], [], []], [0, 0, 0, 0])

    policy = POLICIES["omniscient"](Setting(graph.site_of, graph.suffix_of, None, [0.1, 0.2, 0.3, 0.4]))

    assert list(crawl_order(graph, policy, [0])) == [0, 2, 1, 3]


def test_the_random_order_gives_every_waiting_page_the_same_chance() -> None:
    firsts: Counter[int] = Counter()
    for number in range(6000):
        policy = POLICIES["random"](Setting([0, 0, 1, 2, 2, 2], [0, 0, 0], chance=random.Random(number)))
        for page in range(6):
            policy.found(page, None)
        firsts[policy.best() or 0] += 1

    assert all(850 < firsts[page] < 1150 for page in range(6))


def test_credit_in_whole_numbers_is_credit_in_exact_fractions_but_for_a_millionth() -> None:
    graph = random_graph(8)
    order = obvious_order(graph, "importance", [0, 20, 40])
    policy = POLICIES["importance"](Setting(graph.site_of, graph.suffix_of))
    crawl = crawl_order(graph, policy, [0, 20, 40])
    exact = {page: Fraction(15, 100) for page in range(graph.pages)}

    for page in order:
        assert next(crawl) == page
        assert policy._credit[page] == pytest.approx(float(exact[page] * 10**9), abs=1000)  # type: ignore[attr-defined]
        links = graph.links_of(page)
        for link in links:
            exact[link] += Fraction(85, 100) * exact[page] / len(links)


def test_mercator_asks_the_crawls_own_prioritiser_where_pages_have_urls() -> None:
    urls = ["http://a.test/", "http://a.test/u/v/w/x/y/z/1", "http://a.test/u/v/w/x/y/z/2", "http://b.test/"]
    graph = make_graph("named", [[1, 2, 3], [], [], []], [0, 0, 0, 1], urls=urls)
    assert [Mercator().front_of(Mercator().score(url, 1)) for url in urls[1:]] == [2, 2, 0]

    policy = POLICIES["mercator"](Setting(graph.site_of, graph.suffix_of, urls))

    assert list(crawl_order(graph, policy, [0]))[:2] == [0, 3]
