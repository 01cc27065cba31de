"""The price of a visit: moved so that what the schedule asks for is what may be spent.

A page whose gap is `g` days asks for 1 / g visits a day, and the sum over all pages is what the schedule asks for.
Asking too much, the price rises and gaps grow as pages are planned anew; asking too little, it falls. The sum tells
at once what a new price does to every page that was planned at it: no need to wait until the visits come due.

But for one case: if much less is asked for than may be spent, the price falls until the pages that come due soon ask
for all of it, and the others, planned at a far higher price, are forgotten for as long as that made their gaps. So when
the price has fallen far and half of the budget is not asked for, all pages are to be planned anew.

One price rules a crawl. A host that gives fewer visits than its pages ask for at that price has one of its own, above
it (`host_price`), moved by a like rule: the formula of the pages does not change (SCIENCE, 3.4).

Prices are in the units of `index.value`; times are in days. Everything here can be made again from the table: the sum
from the gaps, the price from a stored number or from `opening_price`.
"""

from collections.abc import Sequence
from math import exp, log
from typing import Final

from gossamer.recrawl.estimate import USUAL, Estimate
from gossamer.recrawl.index import gap_until

MIN_PRICE: Final = 1e-30
MAX_PRICE: Final = 1e30
_MOST = 0.7  # the natural logarithm of the price moves by no more at once, whatever is asked for
_LEAST_USED = 0.8
_FEW = 10  # pages: with fewer, a price would jump
_CHEAPER = 0.25  # of the highest price at which pages were planned: at this one gaps are half as long
_LITTLE = 0.5  # of the budget
_LAG = 0.15  # of the time in which all pages are visited once: the price needs so long to correct what it sees


def opening_price(importances: Sequence[float], budget: float, pages: int, prior: Estimate = USUAL) -> float:
    """The price at which `pages` pages of which nothing is known ask for the budget.

    `importances`: a sample of theirs.
    """
    if not importances or not budget > 0:
        return 1.0
    each = budget * len(importances) / max(pages, 1)
    low, high = log(MIN_PRICE), log(MAX_PRICE)
    for _ in range(40):
        middle = (low + high) / 2
        asked = sum(1 / max(gap_until(prior, w, exp(middle), 1e6), 1e-9) for w in importances)
        low, high = (middle, high) if asked > each else (low, middle)
    return exp(high)


class Price:
    """A price and the demand that it steers. Does no IO and reads no clock.

    `budget` is visits a day. What is asked for and does not take place, because a host is not ready or because visits
    come late and gaps grow by it, would leave a part of the budget unused; so demand counts only by the share of the
    budget that is used in fact.
    """

    __slots__ = ("_asked", "_high", "budget", "demand", "made", "pages", "price", "stepped")

    def __init__(self, budget: float, price: float, *, now: float = 0.0, demand: float = 0.0, pages: int = 0) -> None:
        if not budget > 0:
            raise ValueError(f"a budget of {budget} visits a day")
        self.budget = budget
        self.price = min(max(price, MIN_PRICE), MAX_PRICE)
        self.demand = demand
        self.pages = pages
        self.stepped = now
        self.made = budget  # visits a day of late
        self._high = self.price  # the highest since all were planned anew
        self._asked = budget  # at the last step, all pages together

    def change_budget(self, budget: float) -> None:
        """From now on so many visits a day. The price stays, and moves from where it is."""
        self.made *= budget / self.budget  # the share that is used of it is not known to be another
        self.budget = budget

    def plan(self, before: float | None, after: float | None) -> None:
        """A page was visited: its gap (days) was `before` and is `after`. None where it was, or is, not planned."""
        demand, pages = self.demand, self.pages
        if before is not None:
            demand -= 1 / before
            pages -= 1
            if demand < 0:
                demand = 0.0
        if after is not None:
            demand += 1 / after
            pages += 1
        self.demand, self.pages = demand, pages
        self.made += self.budget / (_LAG * (pages if pages > _FEW else _FEW))

    def replan(self, before: float, after: float) -> None:
        """A page that was not visited has a gap of `after` days now instead of `before`."""
        self.demand = max(self.demand - 1 / before, 0.0) + 1 / after

    def step(self, now: float, growth: float = 1.0) -> float:
        """The price as of `now`, which is never before that of the last call.

        `growth`: how many times as much all pages will ask for as those that are planned do: more than 1 while pages
        wait for their first visit.
        """
        passed = now - self.stepped
        if passed <= 0 or not self.pages:
            return self.price
        self.stepped = now
        lag = _LAG * max(self.pages, _FEW) / self.budget
        used = min(max(self.made / self.budget, _LEAST_USED), 1.0)
        self.made *= exp(-passed / lag)
        self._asked = self.demand * growth
        moved = log(max(self._asked * used, 1e-12) / self.budget) * min(passed / (lag * growth), 1.0)
        self.price = min(max(self.price * exp(min(max(moved, -_MOST), _MOST)), MIN_PRICE), MAX_PRICE)
        self._high = max(self._high, self.price)
        return self.price

    def has_fallen(self) -> bool:
        """Whether it is far below that at which pages were planned, and little is asked for: `plan_anew` is due."""
        return self.price <= _CHEAPER * self._high and self._asked < _LITTLE * self.budget

    def plan_anew(self) -> None:
        """All pages are being planned anew at this price (`replan`)."""
        self._high = self.price
