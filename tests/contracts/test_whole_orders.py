"""The whole order of a crawl with one slot, through the real frontier and the real store, against brute force.

The model knows all URLs, counts everything anew and sorts everything that waits at every step; it shares no code with
the orderings but the numbers in their formulas. A run of the model is one page after the other, so commits come page by
page, which is what a crawl with a single slot does.
"""

import math
import random
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import pytest

from gossamer.frontier.decisions import FrontierLimits, Idle
from gossamer.frontier.frontier import Frontier
from gossamer.frontier.orderings import ORDERINGS, Ordering
from gossamer.frontier.politeness import PolitenessPolicy
from gossamer.lab.simulate.graph import make_graph, with_domains
from gossamer.lab.simulate.knowledge import CrawlFacts
from gossamer.lab.simulate.policies import POLICIES
from gossamer.lab.simulate.replay import crawl_order
from gossamer.model.batch import Batch, RetiredHost
from gossamer.model.settlement import PageLinks, Settlement
from gossamer.model.states import UrlState
from gossamer.model.task import Candidate, Via, Visit
from gossamer.model.units import Fingerprint, HostKey, Instant, Seconds, Url
from tests.backends.sqlite.sqlite_store import AnyTables, Store, domain_of
from tests.examples import random_seeds

HOSTS = (
    *("a.one.com", "b.one.com", "c.one.com", "www.two.com", "three.com", "x.four.org", "y.four.org", "five.org"),
    *("six.net", "m.seven.net"),
)
PATHS = ("/", "/a", "/list/b", "/list/c/d", "/e/f/g/h", "/i?q=1", "/x.pdf")


@dataclass
class Web:
    """Pages as numbers, their URLs and their links."""

    urls: list[str]
    links: list[list[int]]
    seeds: list[int]


def random_web(seed: int, pages: int = 140) -> Web:
    chance = random.Random(seed)
    hosts = HOSTS[: chance.randint(2, len(HOSTS))]
    urls = [f"http://{chance.choice(hosts)}{chance.choice(PATHS)}/{number}" for number in range(pages)]
    popular = chance.sample(range(pages), 8)
    links = []
    for page in range(pages):
        count = chance.choice((0, 1, 3, 6, 12))
        targets = [chance.choice(popular) if chance.random() < 0.4 else chance.randrange(pages) for _ in range(count)]
        links.append([target for target in dict.fromkeys(targets) if target != page])
    return Web(urls, links, chance.sample(range(pages), 3))


def host_of(url: str) -> str:
    return url.split("/")[2]


# --- the crawl ---------------------------------------------------------------------------------------


class OneSlot:
    """A frontier and a store; every page is committed and everything asked for is read before the next is chosen."""

    def __init__(self, web: Web, tables: Path | AnyTables, ordering: Ordering, max_hosts: int = 1000) -> None:
        self.web = web
        self.store = Store(tables, ordering, targets_at_once=1)
        no_gap = PolitenessPolicy(min_delay=Seconds(0.0), load_factor=0.0)
        self.frontier = Frontier(no_gap, None, FrontierLimits(max_hosts), ordering)
        self.met: dict[int, None] = dict.fromkeys(web.seeds)
        self.domain_ids: dict[str, int] = {}
        self.commit(Batch(candidates=[self.candidate(page, Via.SEED) for page in web.seeds]))

    def candidate(self, page: int, via: Via, found_on: int = 0) -> Candidate:
        url = self.web.urls[page]
        return Candidate(Url(url), HostKey(host_of(url)), Fingerprint(page), 1, 0, via, found_on)

    def commit(self, batch: Batch) -> None:
        self.frontier.on_commit(self.store.writer.commit(batch, self.store.now))
        self.store.clock.advance(Seconds(0.001))  # what is new is due a moment after its commit

    def settle(self) -> None:
        """Read and retire until nothing more is asked for."""
        while True:
            retired = self.frontier.take_retired()
            if retired:
                self.commit(Batch(retired=[RetiredHost(r.host_id, r.not_before) for r in retired]))
            order = self.frontier.request_load(self.store.now)
            if not order and not retired:
                return
            if order:
                loaded = self.store.loader.load(order)
                for front in loaded.fronts:
                    self.frontier.add_front(front.front, front.entries, front.next_due, loaded.number)
                for host in loaded.hosts:
                    self.frontier.add_host(host.host_id, host.record, host.classes, loaded.number, self.store.now)
                self.frontier.end_load()

    def run(self) -> list[int]:
        order: list[int] = []
        for _ in range(10 * len(self.web.urls)):
            self.settle()
            turn = self.frontier.next_turn(self.store.now)
            if isinstance(turn, Idle):
                self.store.close()
                return order
            assert isinstance(turn, Visit)
            self.frontier.count_visit(turn)
            page = int(turn.task.fingerprint)
            order.append(page)
            self.frontier.finish(turn, None, self.store.now)
            self.commit(self.fetched(turn, page))
        raise AssertionError("the crawl does not end")

    def fetched(self, visit: Visit, page: int) -> Batch:
        batch = Batch()
        batch.page_requests[visit.domain_id] += 1
        at = Instant(self.store.now)
        batch.settle(Settlement(visit.host_id, visit.task.url_id, visit.task.front, UrlState.STORED, at, status=200))
        links = self.web.links[page]
        for link in links:
            if link not in self.met:
                self.met[link] = None
                batch.candidates.append(self.candidate(link, Via.LINK, visit.task.url_id))
        if links:
            hosts = [HostKey(host_of(self.web.urls[link])) for link in links]
            prints = [Fingerprint(link) for link in links]
            batch.links.append(PageLinks(visit.task.url_id, visit.domain_id, prints, hosts))
        return batch


# --- the model ---------------------------------------------------------------------------------------


@dataclass
class Model:
    """Everything that is known, and lists."""

    web: Web
    waiting: list[int] = field(default_factory=list)  # in order of entry
    done: list[int] = field(default_factory=list)
    links: Counter[int] = field(default_factory=Counter)
    credit: dict[int, int] = field(default_factory=dict)
    domain_links: Counter[str] = field(default_factory=Counter)
    domain_links_from_others: Counter[str] = field(default_factory=Counter)

    def domain(self, page: int) -> str:
        return str(domain_of(HostKey(host_of(self.web.urls[page])))[0])

    def suffix(self, page: int) -> str:
        return host_of(self.web.urls[page]).split(".")[-1]

    def visits(self, domain: str) -> int:
        return sum(1 for page in self.done if self.domain(page) == domain)

    def suffix_visits(self, suffix: str) -> int:
        return sum(1 for page in self.done if self.suffix(page) == suffix)

    def run(self) -> list[int]:
        for seed in self.web.seeds:
            self.enter(seed)
        while self.waiting:
            page = self.choose()
            self.waiting.remove(page)
            self.done.append(page)
            self.learn(page)
        return self.done

    def enter(self, page: int) -> None:
        self.waiting.append(page)
        self.credit[page] = 150_000_000

    def learn(self, page: int) -> None:
        links = self.web.links[page]
        for link in links:
            if link not in self.credit:
                self.enter(link)
        part = self.credit[page] * 85 // (100 * len(links)) if links else 0
        self.credit[page] = 0
        for link in links:
            self.links[link] += 1
            self.credit[link] += part
            self.domain_links[self.domain(link)] += 1
            if self.domain(link) != self.domain(page):
                self.domain_links_from_others[self.domain(link)] += 1

    def choose(self) -> int:
        """The highest score; among equals the first to enter."""
        best = max(self.score(page) for page in self.waiting)
        return next(page for page in self.waiting if self.score(page) == best)

    def score(self, page: int) -> Fraction:
        """The same for all: first in, first out."""
        return Fraction(2)


class Novelty(Model):
    def score(self, page: int) -> Fraction:
        domain = self.domain(page)
        novelty = max(Fraction(0), 10 - Fraction(1, 10) * self.visits(domain))
        return novelty + self.links[page] + Fraction(1, 100) * self.domain_links[domain]


class Balance(Model):
    def score(self, page: int) -> Fraction:
        domain = self.domain(page)
        spread = 47 * self.visits(domain) + 29 * self.suffix_visits(self.suffix(page))
        return Fraction(13 * self.domain_links_from_others[domain] - spread)


class Importance(Model):
    def score(self, page: int) -> Fraction:
        return Fraction(self.credit[page] + 10**9 // (1 + self.visits(self.domain(page))))


class DepthFirst(Model):
    def choose(self) -> int:
        host = host_of(self.web.urls[self.done[-1]]) if self.done else None
        here = [page for page in self.waiting if host_of(self.web.urls[page]) == host]
        return (here or self.waiting)[-1]


class Near(Model):
    """What the score by links is made of, from lists: link sums, steps, ordinals, hosts."""

    def __init__(self, web: Web) -> None:
        super().__init__(web)
        self.sums: Counter[int] = Counter()
        self.steps: dict[int, int] = {}
        self.found: list[int] = []

    def enter(self, page: int) -> None:
        super().enter(page)
        self.found.append(page)
        self.steps.setdefault(page, 0)

    def learn(self, page: int) -> None:
        links = self.web.links[page]
        for link in links:
            steps = self.steps[page] + 1 if self.host(link) == self.host(page) else 0
            if link not in self.done:
                self.steps[link] = min(steps, self.steps.get(link, steps))
            self.sums[link] += 2**20 // len(links)
        super().learn(page)

    def host(self, page: int) -> str:
        return host_of(self.web.urls[page])

    def own_part(self, page: int) -> int:
        path, query, _ = self.web.urls[page].split("/", 3)[3].partition("?")
        ordinal = [other for other in self.found if self.host(other) == self.host(page)].index(page)
        return (
            octaves(1, 0.15 + 0.85 * self.sums[page] / 2**20)
            - octaves(1, 1 + self.steps[page])
            - octaves(0.1, 1 + ordinal)
            - octaves(1, 1 + len(path.split("/")) + len(query))
            + round(0.5 * 1024 * 0.1)  # an article
        )

    def shared_part(self, host: str) -> int:
        known = [page for page in self.found if self.host(page) == host]
        domain = self.domain(known[0])
        hosts = list(dict.fromkeys(self.host(page) for page in self.found if self.domain(page) == domain))
        ratio = (len(known) + 1) / (len(set(known) & set(self.done)) + 1)
        return octaves(0.5, min(30, ratio)) - octaves(0.1, 1 + hosts.index(host))


def octaves(weight: float, number: float) -> int:
    return round(weight * 1024 * math.log2(number))


class BestFirst(Near):
    def score(self, page: int) -> Fraction:
        return Fraction(self.own_part(page) // 256 * 256 + self.shared_part(self.host(page)))


class Mercator(Near):
    """Eight queues, each first in first out; a page that gets a better class joins the end of its queue."""

    SHARES = (60, 30, *(10 * 4.0**-n / sum(4.0**-m for m in range(6)) for n in range(6)))

    def __init__(self, web: Web) -> None:
        super().__init__(web)
        self.queues: list[list[int]] = [[] for _ in self.SHARES]
        self.credits = [0.0] * len(self.SHARES)

    def class_of(self, page: int) -> int:
        bounds = (-3, -4, -5, -6, -7, -8, -9)
        return next((number for number, bound in enumerate(bounds) if self.own_part(page) >= 1024 * bound), 7)

    def enter(self, page: int) -> None:
        super().enter(page)
        if page in self.web.seeds:
            self.queues[self.class_of(page)].append(page)

    def learn(self, page: int) -> None:
        super().learn(page)
        # All that entered or moved in one commit joins the end together, oldest entry first.
        for link in sorted(self.web.links[page], key=self.found.index):
            stands = next((number for number, queue in enumerate(self.queues) if link in queue), None)
            if stands is None and link in self.waiting:
                self.queues[self.class_of(link)].append(link)
            elif stands is not None and self.links[link] in (2, 4, 8, 16, 32) and self.class_of(link) < stands:
                self.queues[stands].remove(link)
                self.queues[self.class_of(link)].append(link)

    def choose(self) -> int:
        having = [number for number, queue in enumerate(self.queues) if queue]
        if len(having) > 1:
            for number in having:
                self.credits[number] += self.SHARES[number]
            chosen = max(having, key=lambda number: self.credits[number])
            self.credits[chosen] -= sum(self.SHARES[number] for number in having)
        else:
            chosen = having[0]
        return self.queues[chosen].pop(0)


MODELS: dict[str, type[Model]] = {
    "mercator": Mercator,
    "best-first": BestFirst,
    "bfs": Model,
    "dfs": DepthFirst,
    "novelty": Novelty,
    "balance": Balance,
    "importance": Importance,
}


def test_every_ordering_has_a_model() -> None:
    assert set(MODELS) == set(ORDERINGS)


@pytest.mark.parametrize("order", MODELS)
@pytest.mark.parametrize("seed", random_seeds(2))
def test_the_whole_order_is_the_one_of_brute_force_and_of_the_simulator(order: str, seed: int, tmp_path: Path) -> None:
    web = random_web(seed)

    crawled = OneSlot(web, tmp_path / "crawl.db", ORDERINGS[order]()).run()

    assert crawled == MODELS[order](web).run()
    assert crawled == simulated(web, order)


def simulated(web: Web, order: str) -> list[int]:
    """What `gossamer simulate` replays: sites are hosts, numbered as they come."""
    hosts = list(dict.fromkeys(map(host_of, web.urls)))
    graph = make_graph(
        "web",
        web.links,
        [hosts.index(host_of(url)) for url in web.urls],
        suffix_of=[("com", "org", "net").index(host.split(".")[-1]) for host in hosts],
        urls=web.urls,
    )
    graph = with_domains(graph)
    known = CrawlFacts(graph.site_of, graph.suffix_of, graph.urls, domain_of=graph.domain_of)
    return list(crawl_order(graph, POLICIES[order](known), web.seeds))
