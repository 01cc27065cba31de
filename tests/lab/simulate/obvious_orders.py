"""The orderings as slow and obvious models: everything that waits is sorted anew at every step."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from gossamer.frontier.selector import Selector, SelectorRatios
from gossamer.lab.simulate.graph import LinkGraph

BIRTH = 150_000_000


@dataclass
class History:
    """All that happened so far. `waiting` is in order of entry, so its index is the age."""

    graph: LinkGraph
    waiting: list[int] = field(default_factory=list)
    entered: list[int] = field(default_factory=list)
    fetched: list[int] = field(default_factory=list)
    links: list[tuple[int, int]] = field(default_factory=list)  # (from, to), of fetched pages
    depth: dict[int, int] = field(default_factory=dict)
    credit: dict[int, int] = field(default_factory=dict)
    steps: dict[int, int] = field(default_factory=dict)  # links since the host was entered
    last_site: int | None = None

    def site(self, page: int) -> int:
        return self.graph.site_of[page]

    def link_sum(self, page: int) -> int:
        return sum(2**20 // len(self.graph.links_of(by)) for by, to in self.links if to == page)

    def suffix(self, page: int) -> int:
        return self.graph.suffix_of[self.site(page)]


def novelty(past: History, page: int) -> tuple[int, ...]:
    """In hundredths, as sums of tenths and hundredths are not exact otherwise."""
    crawls = sum(past.site(p) == past.site(page) for p in past.fetched)
    url = sum(to == page for _, to in past.links)
    domain = sum(past.site(to) == past.site(page) for _, to in past.links)
    return (max(0, 1000 - 10 * crawls) + 100 * url + domain,)


def balance(past: History, page: int) -> tuple[int, ...]:
    visits = sum(past.site(p) == past.site(page) for p in past.fetched)
    suffix = sum(past.suffix(p) == past.suffix(page) for p in past.fetched)
    linked = sum(past.site(to) == past.site(page) != past.site(by) for by, to in past.links)
    return (-(47 * visits - 13 * linked + 29 * suffix),)


def importance(past: History, page: int) -> tuple[int, ...]:
    fetched = sum(past.site(p) == past.site(page) for p in past.fetched)
    return (past.credit[page] + 10**9 // (1 + fetched),)


def best_first(past: History, page: int) -> tuple[int, ...]:
    """All pages are articles, and every site is a domain of its own."""
    assert past.graph.urls is not None
    host = [other for other in past.entered if past.site(other) == past.site(page)]
    own = (
        _octaves(1, 0.15 + 0.85 * past.link_sum(page) / 2**20)
        - _octaves(1, 1 + past.steps[page])
        - _octaves(0.1, 1 + host.index(page))
        - _octaves(1, 1 + len(past.graph.urls[page].split("/")) - 3)
        + round(1024 * 0.5 * 0.1)
    )
    seen = sum(past.site(other) == past.site(page) for other in past.fetched)
    return (own // 256 * 256 + _octaves(0.5, min(30, (len(host) + 1) / (seen + 1))),)


def _octaves(weight: float, number: float) -> int:
    return round(1024 * weight * math.log2(number))


def backlink(past: History, page: int) -> tuple[int, ...]:
    return (sum(to == page for _, to in past.links),)


def bfs(past: History, page: int) -> tuple[int, ...]:
    return (2,)


def dfs(past: History, page: int) -> tuple[int, ...]:
    return past.site(page) == past.last_site, past.entered.index(page)


SCORES: dict[str, Callable[[History, int], tuple[int, ...]]] = {
    "novelty": novelty,
    "balance": balance,
    "importance": importance,
    "best-first": best_first,
    "backlink": backlink,
    "bfs": bfs,
    "dfs": dfs,
}


class ByScore:
    """The best of all that may be contacted; among equals the oldest entry."""

    def __init__(self, order: str) -> None:
        self._score = SCORES[order]

    def choose(self, past: History, ready: list[int]) -> int:
        # `max` returns the first of equals, and `ready` is in order of entry.
        return max(ready, key=lambda page: self._score(past, page))


class ByClass:
    """Lists, one for each class. A page enters with its first link counted. When its links reach 2, 4, 8 and so on, it
    is looked at; one that is worth a better class goes to the end of that list."""

    def __init__(self, classes: int, class_of: Callable[[History, int], int]) -> None:
        self._class_of = class_of
        self._lists: list[list[int]] = [[] for _ in range(classes)]
        self._selector = Selector(SelectorRatios().for_classes(classes))
        self._entered = 0

    def choose(self, past: History, ready: list[int]) -> int:
        listed = {page: number for number, pages in enumerate(self._lists) for page in pages}
        new = past.entered[self._entered :]
        self._entered = len(past.entered)
        linked = set(past.graph.links_of(past.fetched[-1])) if past.fetched else set()
        # What the links of the page fetched last lift is older than what is new on it.
        for page in [page for page in past.entered if page in linked and page in listed]:
            if self._is_looked_at(past, page) and (better := self._class_of(past, page)) < listed[page]:
                self._lists[listed[page]].remove(page)
                self._lists[better].append(page)
        for page in new:
            self._lists[self._class_of(past, page)].append(page)
        drawn = self._selector.draw([number for number, pages in enumerate(self._lists) if set(pages) & set(ready)])
        page = next(page for page in self._lists[drawn] if page in ready)
        self._lists[drawn].remove(page)
        return page

    @staticmethod
    def _is_looked_at(past: History, page: int) -> bool:
        return sum(to == page for _, to in past.links) in (2, 4, 8, 16, 32, 64)


def obvious_order(graph: LinkGraph, order: ByScore | ByClass, seeds: Sequence[int], rest: int = 0) -> list[int]:
    """The whole order of a crawl that fetches one page a slot."""
    past = History(graph)
    ready_at: dict[int, int] = {}
    for seed in seeds:
        _enter(past, seed, 0)
        past.steps[seed] = 0
    slot = 0
    while past.waiting:
        ready = [page for page in past.waiting if ready_at.get(past.site(page), 0) <= slot]
        if not ready:
            slot += 1
            continue
        page = order.choose(past, ready)
        past.waiting.remove(page)
        ready_at[past.site(page)] = slot + rest
        _fetch(past, page)
        slot += 1
    return past.fetched


def _enter(past: History, page: int, depth: int) -> None:
    past.waiting.append(page)
    past.entered.append(page)
    past.depth[page] = depth
    past.credit[page] = BIRTH


def _fetch(past: History, page: int) -> None:
    links = past.graph.links_of(page)
    for link in links:
        if link not in past.entered:
            _enter(past, link, past.depth[page] + 1)
    past.fetched.append(page)
    past.last_site = past.site(page)
    past.links += [(page, link) for link in links]
    for link in links:
        steps = past.steps[page] + 1 if past.site(link) == past.site(page) else 0
        if link in past.waiting:
            past.steps[link] = min(steps, past.steps.get(link, steps))
        past.credit[link] += past.credit[page] * 85 // (100 * len(links))
    past.credit[page] = 0
