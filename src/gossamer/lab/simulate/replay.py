"""Replays a crawl of a link graph under one ordering, without fetching, and measures how fast importance is collected.

Also the results as a text table and as JSON.
"""

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from random import Random
from statistics import fmean, stdev

from gossamer.lab.simulate.graph import LinkGraph
from gossamer.lab.simulate.knowledge import CrawlFacts, Policy, PolicyMaker
from gossamer.lab.simulate.policies import POLICIES

POINTS = (1.0, 5.0, 10.0, 25.0, 50.0)
"""Percent of the pages at which the collected share is reported."""

SORTED = "all-sorted"
"""The upper bound for any crawl: all pages by PageRank, known or not."""

_CURVE_STEPS = 200
_MAX_DRAWS = 20
_ENOUGH = 0.99


@dataclass(frozen=True, slots=True)
class Curve:
    """Percent of the total PageRank in the first pages: at the requested points, and at even steps for plotting."""

    order: str
    rest: int
    shares: tuple[float, ...]
    errors: tuple[float, ...]  # the standard error of each share over the seed sets; 0 where there is one set
    line: tuple[tuple[float, float], ...]  # (percent of pages, percent of PageRank)


def crawl_order(graph: LinkGraph, policy: Policy, seeds: Sequence[int], *, rest: int = 0) -> Iterator[int]:
    """The pages in the order in which they are fetched, one per slot, until no known page is left.

    A site contacted in slot t is not contacted again before slot t + rest. Slots in which all sites rest pass unused.
    """
    known = bytearray(graph.pages)
    for seed in dict.fromkeys(seeds):
        known[seed] = 1
        policy.on_found(seed, None)
    resting: deque[tuple[int, int]] = deque()  # (slot, site); ordered by time, since all rest equally long
    slot = 0
    while True:
        while resting and resting[0][0] <= slot:
            policy.wake(resting.popleft()[1])
        page = policy.best()
        if page is None:
            if not resting:
                return
            slot = resting[0][0]
            continue
        yield page
        if rest > 1:
            site = graph.site_of[page]
            policy.rest(site)
            resting.append((slot + rest, site))
        links = graph.links_of(page)
        for link in links:
            if not known[link]:
                known[link] = 1
                policy.on_found(link, page)
        policy.on_fetched(page, links)
        slot += 1


@dataclass(frozen=True, slots=True)
class Plan:
    """What is compared: orderings, politeness, and how a crawl starts."""

    orders: tuple[str, ...] = (*POLICIES, SORTED)
    rests: tuple[int, ...] = (0,)
    seeds: int | None = 10  # random pages; None for the seeds of the crawl that the graph comes from
    sets: tuple[int, ...] = (1, 2, 3, 4, 5)
    points: tuple[float, ...] = POINTS


def seed_pages(graph: LinkGraph, seeds: int, number: int) -> list[int]:
    """The seed pages of set `number`: random, but always the same for the same graph.

    A set from which less than 99 % of the pages can be reached is drawn again, up to twenty times, since the other
    pages could not be fetched in any order; if none reaches as many, the best one is used.
    """
    chance = Random(number)
    best: tuple[int, list[int]] = (0, [])
    for _ in range(_MAX_DRAWS):
        pages = chance.sample(range(graph.pages), min(seeds, graph.pages))
        reached = reachable(graph, pages)
        if reached > best[0]:
            best = reached, pages
        if reached >= _ENOUGH * graph.pages:
            break
    return best[1]


def reachable(graph: LinkGraph, seeds: Sequence[int]) -> int:
    """How many pages can be reached from the seeds, including these."""
    known = bytearray(graph.pages)
    for page in seeds:
        known[page] = 1
    waiting = list(dict.fromkeys(seeds))
    while waiting:
        for link in graph.links_of(waiting.pop()):
            if not known[link]:
                known[link] = 1
                waiting.append(link)
    return known.count(1)


def compare(
    graph: LinkGraph,
    ranks: Sequence[float],
    plan: Plan,
    tell: Callable[[str], None],
    policies: Mapping[str, PolicyMaker] = POLICIES,
) -> list[Curve]:
    """A curve for every ordering and rest of the plan, each the mean over the seed sets. `tell` is called with the
    progress."""
    curves = []
    seeds = {number: _seeds(graph, plan, number) for number in plan.sets}
    wanted = _pages_at(max(plan.points), graph.pages)  # no more are needed
    for rest in plan.rests:
        for order in plan.orders:
            if order == SORTED:
                gathered = [_collect(sorted(ranks, reverse=True), graph.pages)]
            else:
                gathered = []
                for number, pages in seeds.items():
                    tell(f"{order}, rest {rest}, seed set {number}")
                    chance = Random(f"{number}/{order}")
                    setting = CrawlFacts(
                        graph.site_of, graph.suffix_of, graph.urls, ranks, chance, domain_of=graph.domain_of
                    )
                    crawl = crawl_order(graph, policies[order](setting), pages, rest=rest)
                    gathered.append(_collect((ranks[page] for page in islice(crawl, wanted)), wanted))
            curves.append(_curve(order, rest, gathered, graph.pages, plan))
    return curves


def _seeds(graph: LinkGraph, plan: Plan, number: int) -> Sequence[int]:
    return graph.seeds if plan.seeds is None else seed_pages(graph, plan.seeds, number)


def _collect(ranks: Iterable[float], pages: int) -> list[float]:
    """Percent collected after 0, 1, 2, … pages; a crawl that ended early stays at its last value."""
    sums = [100.0 * rank for rank in accumulate(ranks, initial=0.0)]
    return sums + [sums[-1]] * (pages + 1 - len(sums))


def _curve(order: str, rest: int, gathered: Sequence[Sequence[float]], pages: int, plan: Plan) -> Curve:
    def mean_at(percent: float) -> float:
        return fmean(sums[_pages_at(percent, pages)] for sums in gathered)

    def error_at(percent: float) -> float:
        return stdev(sums[_pages_at(percent, pages)] for sums in gathered) / math.sqrt(len(gathered))

    errors = tuple(map(error_at, plan.points)) if len(gathered) > 1 else (0.0,) * len(plan.points)
    steps = [max(plan.points) * step / _CURVE_STEPS for step in range(_CURVE_STEPS + 1)]
    return Curve(order, rest, tuple(map(mean_at, plan.points)), errors, tuple((x, mean_at(x)) for x in steps))


def _pages_at(percent: float, pages: int) -> int:
    return round(pages * percent / 100)


Json = dict[str, object]


def heading(rest: int) -> str:
    return f"a site rests {rest} slots" if rest > 1 else "no politeness"


def plain_table(curves: Sequence[Curve], plan: Plan) -> str:
    """Orderings as rows, points as columns, a block for each rest."""
    width = max(len(curve.order) for curve in curves)
    blocks = []
    for rest in dict.fromkeys(curve.rest for curve in curves):
        lines = [heading(rest), f"  {'order':<{width}}" + "".join(f"{x:>9g} %" for x in plan.points)]
        lines += [
            f"  {curve.order:<{width}}" + "".join(_cell(*cell) for cell in zip(curve.shares, curve.errors, strict=True))
            for curve in curves
            if curve.rest == rest
        ]
        blocks.append("\n".join(lines) + "\n")
    return "\n".join(blocks)


def _cell(share: float, error: float) -> str:
    return f"{share:>6.1f}" + (f" ±{error:<3.1f}" if error else "     ")


def as_json(graph: LinkGraph, curves: Sequence[Curve], plan: Plan) -> Json:
    return {
        "graph": {"name": graph.name, "pages": graph.pages, "links": graph.links, "sites": graph.sites},
        "seeds": len(graph.seeds) if plan.seeds is None else plan.seeds,
        "sets": list(plan.sets),
        "points": list(plan.points),
        "curves": [
            {
                "order": c.order,
                "rest": c.rest,
                "shares": [round(share, 3) for share in c.shares],
                "errors": [round(error, 3) for error in c.errors],
            }
            for c in curves
        ],
    }
