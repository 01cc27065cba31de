"""Orderings for comparison that no crawl has: `backlink`, `omniscient`, `push` and `random`.

All but `random` use one best-first queue. `push` is `importance`, except that credit that reaches a fetched page is
passed on along its links, for which all links must be kept.
"""

from collections import deque
from collections.abc import Sequence

from gossamer.lab.simulate.best_first import BestFirst
from gossamer.lab.simulate.knowledge import CrawlFacts
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
