"""The orderings as slow and obvious models: everything that waits is sorted anew at every step."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from gossamer.frontier.selector import Selector, SelectorRatios
from gossamer.simulate.graph import LinkGraph


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
    last_site: int | None = None

    def site(self, page: int) -> int:
        return self.graph.site_of[page]

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


def backlink(past: History, page: int) -> tuple[int, ...]:
    return (sum(to == page for _, to in past.links),)


def bfs(past: History, page: int) -> tuple[int, ...]:
    return (2,)


def dfs(past: History, page: int) -> tuple[int, ...]:
    return past.site(page) == past.last_site, past.entered.index(page)


def mercator_class(past: History, page: int) -> int:
    """By the rule for graphs without URLs."""
    x = sum(1 if past.site(by) == past.site(to) else 10 for by, to in past.links if to == page)
    score = round(0.7 * x / (x + 10) + 0.3 / (1 + past.depth[page]), 4)
    return 0 if score >= 0.7 else 1 if score >= 0.35 else 2


SCORES: dict[str, Callable[[History, int], tuple[int, ...]]] = {
    "novelty": novelty,
    "balance": balance,
    "importance": importance,
    "backlink": backlink,
    "bfs": bfs,
    "dfs": dfs,
}


def obvious_order(graph: LinkGraph, order: str, seeds: Sequence[int], rest: int = 0) -> list[int]:
    """The whole order of a crawl that fetches one page a slot."""
    past = History(graph)
    selector = Selector(SelectorRatios())
    ready_at: dict[int, int] = {}
    for seed in seeds:
        _enter(past, seed, 0)
    slot = 0
    while past.waiting:
        ready = [page for page in past.waiting if ready_at.get(past.site(page), 0) <= slot]
        if not ready:
            slot += 1
            continue
        page = _choose(past, order, ready, selector)
        past.waiting.remove(page)
        ready_at[past.site(page)] = slot + rest
        _fetch(past, page)
        slot += 1
    return past.fetched


def _choose(past: History, order: str, ready: list[int], selector: Selector) -> int:
    if order == "mercator":
        classes = {page: mercator_class(past, page) for page in ready}
        drawn = selector.draw(sorted(set(classes.values())))
        return next(page for page in ready if classes[page] == drawn)
    # `max` returns the first of equals, and `ready` is in order of entry.
    return max(ready, key=lambda page: SCORES[order](past, page))


def _enter(past: History, page: int, depth: int) -> None:
    past.waiting.append(page)
    past.entered.append(page)
    past.depth[page] = depth
    past.credit[page] = 150_000_000


def _fetch(past: History, page: int) -> None:
    links = past.graph.links_of(page)
    for link in links:
        if link not in past.entered:
            _enter(past, link, past.depth[page] + 1)
    past.fetched.append(page)
    past.last_site = past.site(page)
    past.links += [(page, link) for link in links]
    for link in links:
        past.credit[link] += past.credit[page] * 85 // (100 * len(links))
    past.credit[page] = 0
