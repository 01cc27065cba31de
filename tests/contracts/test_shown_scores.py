"""The priority that a crawl's reports show is the ordering's formula, whatever happened before.

The twin keeps a list of all visits and counts everything from the beginning for each URL; it shares no code with the
orderings but the numbers in their formulas. Only the score of `mercator` is its own: `tests/frontier` has its twin.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

import pytest

from gossamer.backends.memory import MemoryTables
from gossamer.frontier.orderings import ORDERINGS
from gossamer.model.batch import Batch
from gossamer.model.facts import HostFacts, UrlFacts
from gossamer.model.settlement import PageLinks, Settlement
from gossamer.model.states import UrlState
from gossamer.model.task import Candidate, Via
from gossamer.model.units import Fingerprint, HostId, HostKey, Seconds, Url
from gossamer.reports.export.formats import page_object
from gossamer.reports.export.tables import PageColumns
from gossamer.reports.records import PageFilter
from gossamer.reports.scores import Scores
from gossamer.reports.table.pages import PageQueries
from tests.backends.table_store import Store, domain_of

HOSTS = ("a.one.com", "b.one.com", "two.com", "x.four.org", "five.org", "six.net")
DAYS = 24 * 3600.0


@dataclass
class Twin:
    """What happened, in order."""

    urls: list[str] = field(default_factory=list)  # in order of entry: the first has the id 1
    modified: dict[int, float] = field(default_factory=dict)
    visits: list[tuple[int, list[int]]] = field(default_factory=list)  # of which URL, and the links found there

    def domain(self, number: int) -> str:
        return str(domain_of(HostKey(self.urls[number].split("/")[2]))[0])

    def suffix(self, number: int) -> str:
        return self.urls[number].split("/")[2].split(".")[-1]

    def crawls(self, of: Callable[[int], str], number: int) -> int:
        return sum(of(page) == of(number) for page, _ in self.visits)

    def linking(self, number: int) -> list[int]:
        return [page for page, links in self.visits if number in links]

    def domain_linking(self, number: int) -> list[int]:
        """The pages that link to the domain of a URL: once for each of the domain's URLs that they link to."""
        same = self.domain(number)
        return [page for page, links in self.visits for link in links if self.domain(link) == same]

    def from_others(self, number: int, pages: list[int]) -> int:
        return sum(self.domain(page) != self.domain(number) for page in pages)

    def host(self, number: int) -> str:
        return self.urls[number].split("/")[2]

    def ordinal(self, number: int) -> int:
        return sum(self.host(other) == self.host(number) for other in range(number))

    def steps(self, number: int) -> int:
        found = dict.fromkeys(range(3), 0)  # the seeds
        visited = set()
        for page, links in self.visits:
            visited.add(page)
            for link in links:
                steps = found[page] + 1 if self.host(link) == self.host(page) else 0
                if link not in visited:
                    found[link] = min(steps, found.get(link, steps))
        return found[number]

    def link_sum(self, number: int) -> int:
        found: dict[int, int] = {}  # by page: what its first visit with the link gave
        for page, links in self.visits:
            if number in links:
                found.setdefault(page, 2**20 // len(links))
        return sum(found.values())

    def credit(self, number: int) -> int:
        credits = dict.fromkeys(range(len(self.urls)), 150_000_000)
        for page, links in self.visits:
            if links:
                part = credits[page] * 85 // (100 * len(links))
                for link in links:
                    credits[link] += part
                credits[page] = 0
        return credits[number]


def novelty(twin: Twin, number: int) -> Fraction:
    crawls = twin.crawls(twin.domain, number)
    references = len(twin.linking(number)) + Fraction(len(twin.domain_linking(number)), 100)
    return max(Fraction(0), 10 - Fraction(crawls, 10)) + references


def balance(twin: Twin, number: int) -> Fraction:
    visits = 47 * twin.crawls(twin.domain, number) + 29 * twin.crawls(twin.suffix, number)
    return Fraction(13 * twin.from_others(number, twin.domain_linking(number)) - visits)


def importance(twin: Twin, number: int) -> Fraction:
    return Fraction(twin.credit(number) + 10**9 // (1 + twin.crawls(twin.domain, number)), 10**9)


def counted(twin: Twin, number: int, now: float) -> UrlFacts:
    linking = twin.linking(number)
    visits = sum(page == number for page, _ in twin.visits)
    age = now - twin.modified[number] if number in twin.modified else None
    facts = UrlFacts(
        *(number + 1, Url(twin.urls[number]), number % 4, len(linking), twin.from_others(number, linking)),
        *(twin.credit(number), visits, 0),
    )
    near = facts._replace(link_sum=twin.link_sum(number), steps=twin.steps(number), ordinal=twin.ordinal(number))
    return near._replace(age=age)


def mercator(twin: Twin, number: int, now: float) -> float:
    return ORDERINGS["mercator"]().score(counted(twin, number, now)) / 1024


def best_first(twin: Twin, number: int, now: float) -> float:
    ordering = ORDERINGS["best-first"]()
    host = [url for url in range(len(twin.urls)) if twin.host(url) == twin.host(number)]
    hosts = list(dict.fromkeys(twin.host(u) for u in range(len(twin.urls)) if twin.domain(u) == twin.domain(number)))
    seen = len({page for page, _ in twin.visits if twin.host(page) == twin.host(number)})
    shared = ordering.host_term(HostFacts(len(host), seen, hosts.index(twin.host(number))))
    return (ordering.score(counted(twin, number, now)) + shared) / 1024


FORMULAS: dict[str, Callable[[Twin, int, float], float]] = {
    "mercator": mercator,
    "best-first": best_first,
    "bfs": lambda twin, number, now: 2.0,
    "dfs": lambda twin, number, now: number + 1.0,
    "novelty": lambda twin, number, now: float(novelty(twin, number)),
    "balance": lambda twin, number, now: float(balance(twin, number)),
    "importance": lambda twin, number, now: float(importance(twin, number)),
}


class RandomCrawl:
    """Visits random URLs, some more than once, that link to known and to new ones."""

    def __init__(self, order: str, seed: int) -> None:
        self.chance = random.Random(seed)
        self.ordering = ORDERINGS[order]()
        self.store = Store(MemoryTables(), self.ordering, targets_at_once=1)
        self.twin = Twin()
        self.hosts: dict[str, tuple[int, int]] = {}
        self.store.writer.commit(Batch(candidates=[self.candidate(0) for _ in range(3)]), self.store.now)

    def candidate(self, found_on: int) -> Candidate:
        number, host = len(self.twin.urls), self.chance.choice(HOSTS)
        path = self.chance.choice(("", "a", "list/", "e/f/g", "x.pdf", "i?q=1"))
        modified = self.store.now - self.chance.uniform(0, 90 * DAYS) if self.chance.random() < 0.3 else None
        self.twin.urls.append(f"http://{host}/{number}/{path}")
        if modified is not None:
            self.twin.modified[number] = modified
        return Candidate(
            *(Url(self.twin.urls[number]), HostKey(host), Fingerprint(number), number % 4, 0, Via.LINK, found_on),
            modified=modified,  # type: ignore[arg-type]
        )

    def visit(self) -> None:
        store, chance, twin = self.store, self.chance, self.twin
        number = chance.randrange(len(twin.urls))
        host_id, domain_id = store.rows("SELECT host_id, domain_id FROM urls WHERE id = ?", number + 1)[0]
        assert isinstance(host_id, int) and isinstance(domain_id, int)
        batch = Batch()
        again = any(page == number for page, _ in twin.visits)
        links: list[int] = []
        if not again:
            links = [n for n in chance.sample(range(len(twin.urls)), min(3, len(twin.urls))) if n != number]
            for _ in range(chance.choice((0, 0, 1, 4))):
                links.append(len(twin.urls))
                batch.candidates.append(self.candidate(number + 1))
            if links:
                hosts = [HostKey(twin.urls[link].split("/")[2]) for link in links]
                batch.links.append(PageLinks(number + 1, domain_id, [Fingerprint(link) for link in links], hosts))
        batch.page_requests[domain_id] += 1
        batch.settle(Settlement(HostId(host_id), number + 1, 0, UrlState.STORED, store.now, status=200))
        twin.visits.append((number, links))
        store.writer.commit(batch, store.now)
        store.clock.advance(Seconds(chance.uniform(0, DAYS)))


@pytest.mark.parametrize("order", FORMULAS)
def test_the_priority_shown_is_the_formula_after_any_links_and_visits(order: str) -> None:
    for seed in range(6):
        crawl = RandomCrawl(order, seed)
        for _ in range(crawl.chance.randint(1, 25)):
            crawl.visit()
        now = crawl.store.now
        scores = Scores(crawl.ordering, now)

        rows = list(PageQueries(crawl.store.reading).stream(PageFilter()))
        pages = [page_object(row, PageColumns(scores.total, scores.parts)) for row in rows]

        expected = [FORMULAS[order](crawl.twin, number, now) for number in range(len(crawl.twin.urls))]
        assert [page["priority"] for page in pages] == expected, f"seed {seed}"
        for page in pages:
            parts = page["priority_parts"]
            assert isinstance(parts, dict)
            assert sum(parts.values()) == pytest.approx(page["priority"]), f"seed {seed}"
        crawl.store.close()
