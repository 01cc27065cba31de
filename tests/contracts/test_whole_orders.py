"""The whole order of a crawl with one slot, through the real frontier and the real store, against brute force.

The model knows all URLs, counts everything anew and sorts everything that waits at every step; it shares no code with
the orderings but the numbers in their formulas. A run of the model is one page after the other, so commits come page by
page, which is what a crawl with a single slot does.
"""

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
from gossamer.model.batch import Batch, RetiredHost
from gossamer.model.facts import UrlFacts
from gossamer.model.settlement import PageLinks, Settlement
from gossamer.model.states import UrlState
from gossamer.model.task import Candidate, Via, Visit
from gossamer.model.units import Fingerprint, HostKey, Instant, Seconds, Url
from tests.backends.sqlite.sqlite_store import AnyTables, Store, domain_of

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


class Mercator(Model):
    """Three queues, each first in first out; a page that gets a better class joins the end of its queue."""

    def __init__(self, web: Web) -> None:
        super().__init__(web)
        self.ordering = ORDERINGS["mercator"]()
        self.queues: list[list[int]] = [[], [], []]
        self.credits = [0, 0, 0]
        self.entries: dict[int, int] = {}
        self.links_from_others: Counter[int] = Counter()

    def class_of(self, page: int) -> int:
        known = (self.links[page], self.links_from_others[page], self.credit[page])
        facts = UrlFacts(self.entries[page], Url(self.web.urls[page]), 1, *known)
        return self.ordering.front_of(self.ordering.score(facts))

    def enter(self, page: int) -> None:
        super().enter(page)
        self.entries[page] = len(self.entries) + 1
        if page in self.web.seeds:
            self.queues[self.class_of(page)].append(page)

    def learn(self, page: int) -> None:
        before = {link: (self.links[link], self.links_from_others[link]) for link in self.web.links[page]}
        super().learn(page)
        for link in self.web.links[page]:
            self.links_from_others[link] += self.domain(link) != self.domain(page)
        # All that entered or moved in one commit joins the end together, oldest entry first.
        for link in sorted(self.web.links[page], key=lambda link: self.entries[link]):
            stands = next((number for number, queue in enumerate(self.queues) if link in queue), None)
            if stands is None and link in self.waiting:
                self.queues[self.class_of(link)].append(link)
            elif stands is not None and self.is_looked_at(link, *before[link]) and self.class_of(link) < stands:
                self.queues[stands].remove(link)
                self.queues[self.class_of(link)].append(link)

    def is_looked_at(self, page: int, links: int, others: int) -> bool:
        """After its first link, whenever there are many more than before."""
        many = any(links < power <= self.links[page] for power in (4, 16, 64, 256, 1024))
        many_others = any(others < 2**n <= self.links_from_others[page] for n in range(10))
        return self.links[page] > 1 and (many or many_others)

    def choose(self) -> int:
        shares = (60, 30, 10)
        having = [number for number, queue in enumerate(self.queues) if queue]
        if len(having) > 1:
            for number in having:
                self.credits[number] += shares[number]
            chosen = max(having, key=lambda number: self.credits[number])
            self.credits[chosen] -= sum(shares[number] for number in having)
        else:
            chosen = having[0]
        return self.queues[chosen].pop(0)


MODELS: dict[str, type[Model]] = {
    "mercator": Mercator,
    "bfs": Model,
    "dfs": DepthFirst,
    "novelty": Novelty,
    "balance": Balance,
    "importance": Importance,
}


def test_every_ordering_has_a_model() -> None:
    assert set(MODELS) == set(ORDERINGS)


@pytest.mark.parametrize("order", MODELS)
@pytest.mark.parametrize("seed", range(6))
def test_the_whole_order_is_the_one_of_brute_force(order: str, seed: int, tmp_path: Path) -> None:
    web = random_web(seed)

    crawled = OneSlot(web, tmp_path / "crawl.db", ORDERINGS[order]()).run()

    assert crawled == MODELS[order](web).run()
