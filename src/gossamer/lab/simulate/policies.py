"""Orderings as policies of a simulated crawl, by name. Hot: benchmarks/bench_orderings.py.

A policy observes what a crawl observes (`on_found`, `on_fetched`, a site rests or wakes) and chooses the next page
(`best`). It stores the waiting pages and what its formula needs, and never sees the graph, so that it behaves as in a
crawl. `ClassPolicy` and `ScorePolicy` run any ordering of `gossamer.frontier.orderings`, or of a plugin; classes are
served by the crawl's own selector, scores exactly.

Others are for comparison, and no crawl has them: `backlink`, `omniscient`, `push` and `random`. All but `random` use
one best-first queue. `push` is `importance`, except that credit that reaches a fetched page is passed on along its
links, for which all links must be kept.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence

from gossamer.errors import UsageError
from gossamer.frontier.lazy_heap import LazyHeap
from gossamer.frontier.orderings import ORDERINGS, Ordering
from gossamer.frontier.selector import Selector, SelectorRatios
from gossamer.lab.simulate.best_first import BestFirst, place_of
from gossamer.lab.simulate.knowledge import CrawlFacts, Knowledge, Policy, PolicyMaker
from gossamer.model.facts import BIRTH_CREDIT, CREDIT_UNIT, credit_per_link

_RANK_UNITS = 10**15


class SingleQueue:
    """A policy with one queue. By itself first in, first out."""

    def __init__(self, setting: CrawlFacts) -> None:
        self._queue = BestFirst(setting.site_of)

    def on_found(self, page: int, source: int | None) -> None:
        self._queue.add(page)

    def on_fetched(self, page: int, links: Sequence[int]) -> None:
        pass

    def best(self) -> int | None:
        return self._queue.take()

    def rest(self, site: int) -> None:
        self._queue.rest(site)

    def wake(self, site: int) -> None:
        self._queue.wake(site)


class Backlink(SingleQueue):
    """`backlink`: most links from fetched pages first."""

    def on_fetched(self, page: int, links: Sequence[int]) -> None:
        self._queue.lift(links, 1)


class Omniscient(SingleQueue):
    """`omniscient`: the known page with the highest true PageRank. Impossible for a crawler; an upper bound for
    orderings."""

    def __init__(self, setting: CrawlFacts) -> None:
        super().__init__(setting)
        self._ranks = setting.ranks

    def on_found(self, page: int, source: int | None) -> None:
        self._queue.add(page, int(self._ranks[page] * _RANK_UNITS))


ENOUGH = CREDIT_UNIT * 3 // 10
"""A fetched page passes its credit on when it has more than this. Less is more exact, and costs more."""


class Push(SingleQueue):
    """`push`: score = credit of the page + 1 / (1 + pages of its site fetched so far).

    The credit of a waiting page is its PageRank on the known graph, where pages without links absorb credit, minus at
    most what fetched pages have not passed on yet. Passing credit on reduces it, so the process terminates.
    """

    def __init__(self, setting: CrawlFacts, enough: int = ENOUGH) -> None:
        self._enough = enough
        self._site_of = setting.site_of
        self._visits = [0] * len(setting.suffix_of)
        self._queue = BestFirst(setting.site_of, self._term)
        self._links: dict[int, Sequence[int]] = {}  # of fetched pages
        self.credit = [BIRTH_CREDIT] * len(setting.site_of)  # by page
        self.handed_on = 0  # links along which credit was passed: the cost of the policy

    def on_found(self, page: int, source: int | None) -> None:
        self._queue.add(page, self.credit[page])

    def on_fetched(self, page: int, links: Sequence[int]) -> None:
        self._visits[self._site_of[page]] += 1
        self._links[page] = links
        credit, enough = self.credit, self._enough
        waiting = deque([page] if links else [])
        raised: dict[int, None] = {}
        while waiting:
            giver = waiting.popleft()
            targets = self._links[giver]
            share = credit_per_link(credit[giver], len(targets))
            credit[giver] = 0
            self.handed_on += len(targets)
            for target in targets:
                before = credit[target]
                credit[target] = before + share
                if target in self._queue:
                    raised[target] = None
                elif before <= enough < before + share and self._links[target]:
                    waiting.append(target)
        for target in raised:
            self._queue.change(target, credit[target])

    def _term(self, site: int) -> int:
        return CREDIT_UNIT // (1 + self._visits[site])


class RandomOrder:
    """`random`: a random waiting page of the sites that do not rest. A tree of counts finds its site in O(log
    sites)."""

    def __init__(self, setting: CrawlFacts) -> None:
        self._site_of = setting.site_of
        self._chance = setting.chance
        self._pages: list[list[int]] = [[] for _ in setting.suffix_of]
        self._resting: set[int] = set()
        self._size = 1 << max(len(setting.suffix_of) - 1, 1).bit_length()
        self._counts = [0] * (2 * self._size)  # ready pages below each node; a site is a leaf

    def on_found(self, page: int, source: int | None) -> None:
        site = self._site_of[page]
        self._pages[site].append(page)
        if site not in self._resting:
            self._change(site, 1)

    def on_fetched(self, page: int, links: Sequence[int]) -> None:
        pass

    def best(self) -> int | None:
        counts = self._counts
        if not counts[1]:
            return None
        number, node = self._chance.randrange(counts[1]), 1
        while node < self._size:
            node *= 2
            if number >= counts[node]:
                number -= counts[node]
                node += 1
        pages = self._pages[node - self._size]
        pages[number], pages[-1] = pages[-1], pages[number]
        self._change(node - self._size, -1)
        return pages.pop()

    def rest(self, site: int) -> None:
        if site not in self._resting:
            self._change(site, -len(self._pages[site]))
            self._resting.add(site)

    def wake(self, site: int) -> None:
        if site in self._resting:
            self._resting.discard(site)
            self._change(site, len(self._pages[site]))

    def _change(self, site: int, by: int) -> None:
        node = site + self._size
        while node:
            self._counts[node] += by
            node >>= 1


class ClassPolicy:
    """First in, first out in each class.

    As in a crawl, the link by which a page is found determines its first class. The class is computed again when its
    links reach a power of two; if it is better, the page goes to the end of that queue. Pages never move to a worse
    class.
    """

    def __init__(self, ordering: Ordering, setting: CrawlFacts) -> None:
        self._ordering = ordering
        self._knowledge = Knowledge(setting)
        self._selector = Selector(SelectorRatios().for_classes(ordering.fronts))
        self._fronts = [BestFirst(setting.site_of) for _ in range(ordering.fronts)]
        self._front: dict[int, int] = {}  # by waiting page
        self._new: list[int] = []  # found on the page whose links are not counted yet
        self._turn = 0  # grows with every entry into any queue

    def on_found(self, page: int, source: int | None) -> None:
        self._knowledge.on_found(page, source)
        if source is not None and self._ordering.moved_by_links:
            self._new.append(page)
        else:
            self._enter(page, self._class_of(page))

    def on_fetched(self, page: int, links: Sequence[int]) -> None:
        known = self._knowledge
        known.on_fetched(page, links)
        if not self._ordering.moved_by_links:
            return
        # Known pages are older than new ones.
        for link in sorted((link for link in links if self._front.get(link)), key=known.entry_of):
            if known.has_grown(link) and (better := self._class_of(link)) < self._front[link]:
                self._fronts[self._front[link]].remove(link)
                self._enter(link, better)
        for link in self._new:
            self._enter(link, self._class_of(link))
        self._new.clear()

    def best(self) -> int | None:
        waiting = [number for number, front in enumerate(self._fronts) if front.first() is not None]
        if not waiting:
            return None
        page = self._fronts[self._selector.draw(waiting)].take()
        assert page is not None  # it was waiting
        del self._front[page]
        return page

    def rest(self, site: int) -> None:
        for front in self._fronts:
            front.rest(site)

    def wake(self, site: int) -> None:
        for front in self._fronts:
            front.wake(site)

    def _enter(self, page: int, front: int) -> None:
        self._front[page] = front
        self._turn += 1
        self._fronts[front].add(page, entry=self._turn)

    def _class_of(self, page: int) -> int:
        front = self._ordering.front_of(self._ordering.score(self._knowledge.facts_of(page)))
        if not 0 <= front < len(self._fronts):
            classes = f"it has {len(self._fronts)} classes"
            raise UsageError(f"the ordering {self._ordering.name!r} put a URL into class {front}, but {classes}")
        return front


class ScorePolicy:
    """The highest total of page, host, domain and suffix first; among equals the oldest entry.

    A term shared by all domains of a suffix changes for all of them at once. So each suffix has a queue of its own, in
    which the terms of domains compete, and the suffix's term is added where suffixes compete.
    """

    def __init__(self, ordering: Ordering, setting: CrawlFacts) -> None:
        self._ordering = ordering
        self._site_of = setting.site_of
        self._knowledge = Knowledge(setting)
        # Terms that an ordering does not define need not be updated.
        self._has_host_term = ordering.has_host_term
        self._has_domain_term = type(ordering).domain_term is not Ordering.domain_term
        self._has_suffix_term = type(ordering).suffix_term is not Ordering.suffix_term
        self._suffix_of = setting.suffix_of if self._has_suffix_term else [0] * len(setting.suffix_of)
        self._domain_of = self._knowledge.domain_of
        self._sites_of: dict[int, list[int]] = {}  # by domain: those that were found
        self._queues: dict[int, BestFirst] = {}  # by suffix; a single one if suffixes do not matter
        self._suffixes = LazyHeap(self._offer)
        self._last_site: int | None = None

    def on_found(self, page: int, source: int | None) -> None:
        self._knowledge.on_found(page, source)
        facts = self._knowledge.facts_of(page)
        suffix = self._suffix_of[self._site_of[page]]
        if suffix not in self._queues:
            has_term = self._has_host_term or self._has_domain_term
            self._queues[suffix] = BestFirst(self._site_of, self._term if has_term else None)
        if self._has_domain_term and not facts.ordinal:
            site = self._site_of[page]
            self._sites_of.setdefault(self._domain_of[site], []).append(site)
        self._queues[suffix].add(page, self._whole(self._ordering.score(facts)), entry=facts.url_id)
        if source is None:
            self._queues[suffix].raise_site(self._site_of[page])  # otherwise when the links of `source` are counted
        self._promise(suffix)

    def on_fetched(self, page: int, links: Sequence[int]) -> None:
        self._knowledge.on_fetched(page, links)
        site_of, suffix_of, queues = self._site_of, self._suffix_of, self._queues
        if self._ordering.moved_by_links:
            facts_of, score = self._knowledge.facts_of, self._ordering.score
            for link in links:
                queue = queues[suffix_of[site_of[link]]]
                if link in queue:
                    queue.change(link, self._whole(score(facts_of(link))))
        # A term may rise or fall, so all sites whose counts have changed are updated.
        touched = dict.fromkeys((site_of[page], *map(site_of.__getitem__, links)))
        if self._has_domain_term:
            domains = dict.fromkeys(map(self._domain_of.__getitem__, touched))
            touched = dict.fromkeys(site for domain in domains for site in self._sites_of[domain])
        if self._has_host_term or self._has_domain_term:
            for site in touched:
                queues[suffix_of[site]].raise_site(site)
        for suffix in dict.fromkeys(map(suffix_of.__getitem__, touched)):
            self._promise(suffix)

    def best(self) -> int | None:
        page = None
        if self._last_site is not None:
            page = self._queues[self._suffix_of[self._last_site]].take_at(self._last_site)
        if page is None and self._queues:
            suffix = self._best_suffix()
            page = None if suffix is None else self._queues[suffix].take()
        if page is not None and self._ordering.stays:
            self._last_site = self._site_of[page]
        return page

    def rest(self, site: int) -> None:
        self._queues[self._suffix_of[site]].rest(site)

    def wake(self, site: int) -> None:
        suffix = self._suffix_of[site]
        self._queues[suffix].wake(site)
        self._promise(suffix)

    def _term(self, site: int) -> int:
        """What all pages of a site share."""
        term = 0
        if self._has_host_term:
            term += self._whole(self._ordering.host_term(self._knowledge.host_of(site)))
        if self._has_domain_term:
            term += self._whole(self._ordering.domain_term(self._knowledge.domains[self._domain_of[site]]))
        return term

    def _best_suffix(self) -> int | None:
        if not self._has_suffix_term:
            return 0
        found = self._suffixes.first()
        return None if found is None else found[1]

    def _offer(self, suffix: int) -> int | None:
        place = self._queues[suffix].first()
        if place is None:
            return None
        visits = self._knowledge.suffix_visits[suffix]
        return place + place_of(self._whole(self._ordering.suffix_term(visits)), 0)

    def _promise(self, suffix: int) -> None:
        place = self._offer(suffix) if self._has_suffix_term else None
        if place is not None:
            self._suffixes.raise_to(suffix, place)

    def _whole(self, number: float) -> int:
        """Sums must be exact, or equal scores would not be equal. Raises UsageError for an ordering with fractional
        scores."""
        whole = int(number)
        if whole != number:
            raise UsageError(
                f"the ordering {self._ordering.name!r} returned {number}: scores and terms must be whole numbers"
            )
        return whole


def policy_of(make: Callable[[], Ordering]) -> PolicyMaker:
    """An ordering of the crawl as a policy."""

    def policy(setting: CrawlFacts) -> Policy:
        ordering = make()
        return ScorePolicy(ordering, setting) if ordering.by_score else ClassPolicy(ordering, setting)

    return policy


POLICIES: Mapping[str, PolicyMaker] = {
    **{name: policy_of(make) for name, make in ORDERINGS.items()},
    "push": Push,
    "backlink": Backlink,
    "random": RandomOrder,
    "omniscient": Omniscient,
}
