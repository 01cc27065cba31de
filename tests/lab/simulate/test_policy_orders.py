"""Each ordering's exact order against the model that sorts everything anew at every step."""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

import pytest

from gossamer.errors import UsageError
from gossamer.frontier.orderings import ORDERINGS, Ordering
from gossamer.frontier.orderings.ordering import Importance
from gossamer.lab.simulate.graph import LinkGraph, make_graph
from gossamer.lab.simulate.knowledge import CrawlFacts, Policy
from gossamer.lab.simulate.policies import POLICIES, policy_of
from gossamer.lab.simulate.replay import crawl_order, reachable
from gossamer.model.facts import UrlFacts
from gossamer.model.units import Url
from tests.examples import random_seeds
from tests.lab.simulate.graph_samples import random_graph
from tests.lab.simulate.obvious_orders import ByClass, ByScore, History, obvious_order

EXACT = ("bfs", "dfs", "novelty", "balance", "importance", "best-first", "backlink")
SEEDS = (0, 20, 40)


def setting_of(graph: LinkGraph) -> CrawlFacts:
    return CrawlFacts(graph.site_of, graph.suffix_of, graph.urls)


@pytest.mark.parametrize("rest", [0, 3, 20])
@pytest.mark.parametrize("order", EXACT)
def test_the_whole_order_is_that_of_the_obvious_model(order: str, rest: int) -> None:
    for number in random_seeds(14):
        graph = random_graph(number, sites=1 + number % 9)
        seeds = random.Random(number).sample(range(graph.pages), 4)

        found = list(crawl_order(graph, POLICIES[order](setting_of(graph)), seeds, rest=rest))

        assert found == obvious_order(graph, ByScore(order), seeds, rest), number


def test_the_models_differ_from_one_another() -> None:
    graph = random_graph(3)

    orders = {tuple(obvious_order(graph, ByScore(order), [0, 30])) for order in EXACT}

    assert len(orders) == len(EXACT)


class Linked(Ordering):
    """Three classes, by links alone, so that pages are lifted all the time."""

    name = "linked"
    fronts = 3
    moved_by_links = True

    def score(self, url: UrlFacts) -> float:
        return (url.links + 3 * url.links_from_others) / 1000

    def front_of(self, score: float) -> int:
        return 0 if score >= 0.006 else 1 if score >= 0.002 else 2


def linked_class(past: History, page: int) -> int:
    here = [by for by, to in past.links if to == page]
    worth = len(here) + 3 * sum(past.site(by) != past.site(page) for by in here)
    return 0 if worth >= 6 else 1 if worth >= 2 else 2


class Urls:
    """The crawl's own formula, asked with facts counted anew."""

    def __init__(self, ordering: Ordering) -> None:
        self._ordering = ordering

    def __call__(self, past: History, page: int) -> int:
        here = [by for by, to in past.links if to == page]
        assert past.graph.urls is not None
        facts = UrlFacts(
            url_id=past.entered.index(page) + 1,
            url=Url(past.graph.urls[page]),
            depth=past.depth[page],
            links=len(here),
            links_from_others=sum(past.site(by) != past.site(page) for by in here),
            credit=past.credit[page],
            link_sum=past.link_sum(page),
            steps=past.steps[page],
            ordinal=[other for other in past.entered if past.site(other) == past.site(page)].index(page),
        )
        return self._ordering.front_of(self._ordering.score(facts))


@pytest.mark.parametrize("rest", [0, 3, 20])
@pytest.mark.parametrize(("make", "class_of"), [(Linked, linked_class), (ORDERINGS["mercator"], None)])
def test_classes_are_served_first_in_first_out_and_a_lifted_page_goes_to_the_end(
    make: Callable[[], Ordering], class_of: Callable[[History, int], int] | None, rest: int
) -> None:
    for number in random_seeds(10):
        graph = random_graph(number, sites=1 + number % 9)
        seeds = random.Random(number).sample(range(graph.pages), 4)
        ordering = make()

        found = list(crawl_order(graph, policy_of(make)(setting_of(graph)), seeds, rest=rest))

        model = ByClass(ordering.fronts, class_of or Urls(ordering))
        assert found == obvious_order(graph, model, seeds, rest), number


def test_an_ordering_by_score_with_fractions_is_refused_by_name() -> None:
    class Thirds(Ordering):
        name = "thirds"
        by_score = True

        def score(self, url: UrlFacts) -> float:
            return 1 / 3

    with pytest.raises(UsageError, match=r"the ordering 'thirds' returned 0[.]3333"):
        policy_of(Thirds)(setting_of(random_graph(1))).on_found(0, None)


def test_an_ordering_that_names_a_class_it_does_not_have_is_refused_by_name() -> None:
    class Beyond(Ordering):
        name = "beyond"

        def front_of(self, score: float) -> int:
            return 1

    with pytest.raises(UsageError, match="the ordering 'beyond' put a URL into class 1, but it has 1 classes"):
        policy_of(Beyond)(setting_of(random_graph(1))).on_found(0, None)


def test_more_classes_than_the_crawl_has_shares_for_are_all_served() -> None:
    class Five(Ordering):
        name = "five"
        fronts = 5

        def front_of(self, score: float) -> int:
            return int(score)

        def score(self, url: UrlFacts) -> float:
            return url.url_id % 5

    graph = make_graph("apart", [[]] * 500, [0] * 500)

    order = list(crawl_order(graph, policy_of(Five)(setting_of(graph)), range(500)))

    assert sorted(order) == list(range(500))
    firsts = Counter((page + 1) % 5 for page in order[:105])
    assert [firsts[front] for front in range(5)] == sorted(firsts.values(), reverse=True)
    assert len(firsts) == 5


class Watched:
    """A policy that is held to its word: what it takes waits, and not on a site that rests."""

    def __init__(self, policy: Policy, graph: LinkGraph) -> None:
        self._policy, self._graph = policy, graph
        self._waiting: set[int] = set()
        self.resting: set[int] = set()
        self.rests = 0

    def on_found(self, page: int, source: int | None) -> None:
        self._waiting.add(page)
        self._policy.on_found(page, source)

    def on_fetched(self, page: int, links: Sequence[int]) -> None:
        self._policy.on_fetched(page, links)

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

    policy = Watched(POLICIES[order](replace(setting_of(graph), ranks=ranks, chance=random.Random(5))), graph)
    fetched = list(crawl_order(graph, policy, [1, 2, 200], rest=rest))

    assert len(fetched) == len(set(fetched)) == reachable(graph, [1, 2, 200])
    assert policy.rests == (len(fetched) if rest else 0)


def test_the_omniscient_order_takes_the_best_of_the_known_pages() -> None:
    graph = make_graph("line", [[1, 2], [3], [], []], [0, 0, 0, 0])

    policy = POLICIES["omniscient"](CrawlFacts(graph.site_of, graph.suffix_of, None, [0.1, 0.2, 0.3, 0.4]))

    assert list(crawl_order(graph, policy, [0])) == [0, 2, 1, 3]


def test_the_random_order_gives_every_waiting_page_the_same_chance() -> None:
    firsts: Counter[int] = Counter()
    for number in range(6000):
        policy = POLICIES["random"](CrawlFacts([0, 0, 1, 2, 2, 2], [0, 0, 0], chance=random.Random(number)))
        for page in range(6):
            policy.on_found(page, None)
        firsts[policy.best() or 0] += 1

    assert all(850 < firsts[page] < 1150 for page in range(6))


def test_credit_in_whole_numbers_is_credit_in_exact_fractions_but_for_a_millionth() -> None:
    graph = random_graph(8)
    credit: dict[int, int] = {}  # by entry number, as the formula was last asked with it

    class Noted(Importance):
        def score(self, url: UrlFacts) -> float:
            credit[url.url_id] = url.credit
            return super().score(url)

    exact: dict[int, Fraction] = {}
    entered = list(SEEDS)
    for page in crawl_order(graph, policy_of(Noted)(setting_of(graph)), SEEDS):
        assert credit[entered.index(page) + 1] == pytest.approx(
            float(exact.get(page, Fraction(15, 100)) * 10**9), abs=1000
        )
        links = graph.links_of(page)
        for link in links:
            share = Fraction(85, 100) * exact.get(page, Fraction(15, 100)) / len(links)
            exact[link] = exact.get(link, Fraction(15, 100)) + share
        entered += [link for link in links if link not in entered]

    assert len(credit) == reachable(graph, SEEDS)


def test_pages_of_a_graph_without_names_have_the_empty_url_and_others_their_own() -> None:
    asked: list[str] = []

    class Named(Ordering):
        def score(self, url: UrlFacts) -> float:
            asked.append(url.url)
            return 2.0

    for urls in (None, ["http://a.test/", "http://a.test/b"]):
        graph = make_graph("named", [[1], []], [0, 0], urls=urls)
        list(crawl_order(graph, policy_of(Named)(setting_of(graph)), [0]))

    assert asked == ["", "", "http://a.test/", "http://a.test/b"]
