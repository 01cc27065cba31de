"""The best possible schedule where all rates are known: how fresh can copies be for so many visits a day?

No crawl can do this; it is what policies are measured by. A page of importance w and rate l that is visited every g
days is fresh for the share phi(x) = (1 - e^-x) / x of the time, x = l g. The sum over the pages is largest where one
more visit is worth the same for all of them, the price; pages worth less than it at any gap get none (SCIENCE, 3.2).
With a limit for each host, hosts that would exceed it have a higher price of their own (3.4).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

_STEPS = 60

Numbers = np.ndarray[tuple[int], np.dtype[np.float64]]


@dataclass(frozen=True, slots=True)
class Optimum:
    """Visits a day for each page, the price of each page's host, and the freshness that they give."""

    visits: Numbers
    prices: Numbers  # of each host, or the one of the crawl
    freshness: float  # weighted, importance in all being 1


def optimum(
    importance: Sequence[float],
    rates: Sequence[float],
    budget: float,
    host_of: Sequence[int] | None = None,
    cap: float = inf,
) -> Optimum:
    """`budget` and `cap` (for each host) are visits a day."""
    w, rate = np.asarray(importance, float), np.maximum(np.asarray(rates, float), 1e-12)
    host = np.asarray(host_of if host_of is not None and cap < inf else np.zeros(len(w)), int)
    hosts = int(host.max()) + 1
    ceiling = np.full(hosts, cap)
    own = _prices(w, rate, host, ceiling) if cap < inf else np.zeros(hosts)
    low, high = 1e-18, float((w / rate).max())
    for _ in range(_STEPS):
        middle = (low * high) ** 0.5
        asked = float(_visits(w, rate, np.maximum(own, middle)[host]).sum())
        low, high = (middle, high) if asked > budget else (low, middle)
    prices = np.maximum(own, high)
    visits = _visits(w, rate, prices[host])
    if not visits.any():  # less than can be told apart by a price: one page has it all
        visits[(w / rate).argmax()] = min(budget, cap)
    return Optimum(visits, prices, freshness(w, rate, visits))


def freshness(importance: Sequence[float] | Numbers, rates: Sequence[float] | Numbers, visits: Numbers) -> float:
    """What even visits give: the share of importance that is fresh at any time."""
    w, rate = np.asarray(importance, float), np.asarray(rates, float)
    seen = visits > 0
    x = rate[seen] / visits[seen]
    return float((w[seen] * np.where(x > 1e-9, -np.expm1(-x) / np.maximum(x, 1e-9), 1.0)).sum() / w.sum())


def _prices(w: Numbers, rate: Numbers, host: Numbers, ceiling: Numbers) -> Numbers:
    """The price at which each host alone is asked for as much as it allows; 0 where it never is."""
    hosts = len(ceiling)
    low, high = np.full(hosts, 1e-18), np.full(hosts, float((w / rate).max()))
    for _ in range(_STEPS):
        middle = np.sqrt(low * high)
        asked = np.bincount(host, _visits(w, rate, middle[host]), hosts)
        low, high = np.where(asked > ceiling, middle, low), np.where(asked > ceiling, high, middle)
    return np.where(low > 2e-18, high, 0.0)


def _visits(w: Numbers, rate: Numbers, price: Numbers) -> Numbers:
    """How often a page is visited at a price: h(x) = 1 - (1 + x) e^-x = price · rate / w, solved for x by Newton."""
    share = price * rate / w
    visited = share < 1
    target = -np.log1p(-np.minimum(share, 1 - 1e-12))  # of x - log(1 + x), which is convex and soon linear
    x = np.sqrt(2 * target) + target
    for _ in range(12):
        x = np.maximum(x - (x - np.log1p(x) - target) * (1 + x) / np.maximum(x, 1e-300), x * 0.1)
    return np.where(visited, rate / np.maximum(x, 1e-300), 0.0)
