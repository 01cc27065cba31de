"""What a crawl remembers of the price of a visit.

The price of a visit: moved so that what the schedule asks for is what may be spent.

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

Discovery and refresh compete for visits on one scale, and neither starves.

A first visit is worth `index.value_of_new`; a page that is due is worth the price, or more if it is late. While both
wait, the visits go to those that are worth more, but for the floor of the others.

The price of a visit to a host that allows fewer visits than its pages ask for.

Nobody tells how many visits a host allows: its delay, its answers, the hosts that share its address and the new pages
that it has as well decide it together. What can be seen is how long a due visit had to wait for its turn there. A page
that was to be visited after g days and got its turn after g + late has had its gap stretched by (g + late) / g, and the
mean of that over the visits of a host is what its pages ask for, as a multiple of what it allows. So the price of a
host whose visits come late is moved by the logarithm of the stretch, as `price` moves that of the crawl by what is
asked for and what may be spent; if they come in time it falls, until it is that of the crawl and is forgotten.

Both the crawl and `simulate` use this. Times are in days.
"""

from collections.abc import Collection, Sequence
from math import exp, log, log1p
from typing import Final

from gossamer.model.units import DAY, Instant
from gossamer.recrawl.estimate import USUAL, Estimate
from gossamer.recrawl.policy import RecrawlSettings
from gossamer.recrawl.visit_value import gap_until

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

    __slots__ = ("_asked", "_high", "budget", "demand", "pages", "price", "stepped", "visit_rate")

    def __init__(self, budget: float, price: float, *, now: float = 0.0, demand: float = 0.0, pages: int = 0) -> None:
        if not budget > 0:
            raise ValueError(f"a budget of {budget} visits a day")
        self.budget = budget
        self.price = min(max(price, MIN_PRICE), MAX_PRICE)
        self.demand = demand
        self.pages = pages
        self.stepped = now
        self.visit_rate = budget  # visits a day of late
        self._high = self.price  # the highest since all were planned anew
        self._asked = budget  # at the last step, all pages together

    def change_budget(self, budget: float) -> None:
        """From now on so many visits a day. The price stays, and moves from where it is."""
        self.visit_rate *= budget / self.budget  # the share that is used of it is not known to be another
        self.budget = budget

    def on_planned(self, before: float | None, after: float | None) -> None:
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
        self.visit_rate += self.budget / (_LAG * (pages if pages > _FEW else _FEW))

    def on_replanned(self, before: float, after: float) -> None:
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
        used = min(max(self.visit_rate / self.budget, _LEAST_USED), 1.0)
        self.visit_rate *= exp(-passed / lag)
        self._asked = self.demand * growth
        moved = log(max(self._asked * used, 1e-12) / self.budget) * min(passed / (lag * growth), 1.0)
        self.price = min(max(self.price * exp(min(max(moved, -_MOST), _MOST)), MIN_PRICE), MAX_PRICE)
        self._high = max(self._high, self.price)
        return self.price

    def has_fallen(self) -> bool:
        """Whether it is far below that at which pages were planned, and little is asked for: `plan_anew` is due."""
        return self.price <= _CHEAPER * self._high and self._asked < _LITTLE * self.budget

    def start_replanning(self) -> None:
        """All pages are being planned anew at this price (`replan`)."""
        self._high = self.price


PRICE: Final = "recrawl"
"""The fact of a crawl's database that has the price and the demand which it steers."""


def price_text(price: Price, dear: int = 0) -> str:
    """What must survive of the price. `dear`: hosts that have one of their own, for people; their rows have it."""
    return f"{price.price!r} {price.demand!r} {price.pages} {dear}"


def price_from(text: str | None, settings: RecrawlSettings, opening: float, now: Instant) -> Price:
    """The price as it was, or the one to begin with. Without a budget it stays that one."""
    value, demand, pages = opening, 0.0, 0
    if text:
        before, asked, planned = text.split()[:3]
        demand, pages = float(asked), int(planned)
        value = float(before) if settings.budget is not None else opening
    return Price(settings.budget or 1.0, value, now=now / DAY, demand=demand, pages=pages)


def share_of_refresh(*, new: float, due: float, discovery_floor: float, refresh_floor: float) -> float:
    """The share of visits that goes to pages that are due, while new ones wait too.

    `new` and `due` are what a visit to one of each is worth. Floors are shares of all visits, together 1 at most.
    """
    return refresh_floor if new > due else 1 - discovery_floor


MAX_HOSTS: Final = 10_000
"""Hosts that have a price of their own: if there are more, those that have had one the longest lose it."""

LATE: Final = 0.02  # of its gap: a visit that had to wait no longer is in time
_HOST_LAG = 0.5  # of its pages: a host's price needs so many visits to correct what it sees
_FALL = 0.3  # what a visit in time counts as: the logarithm of how much less is asked for than is allowed, at a guess
_STRETCH = 0.7  # the logarithm of the longest stretch that counts: pages of short gaps would be all that matters
_FEW_AT_HOST = 50  # pages: with fewer, a price would jump


class HostPrices:
    """The prices of hosts, by number, where they are not that of the crawl. Does no IO and reads no clock.

    Always true: `of` is never below the usual price, and no more than `most` hosts are kept. Another thread may ask.
    """

    __slots__ = ("_max_hosts", "_own", "hosts")

    def __init__(self, max_hosts: int = MAX_HOSTS) -> None:
        """`most` is at least one."""
        self._own: dict[int, float] = {}
        self.hosts: Collection[int] = self._own.keys()  # those that have one: asked at every visit
        self._max_hosts = max_hosts

    def __len__(self) -> int:
        return len(self._own)

    def __contains__(self, host: object) -> bool:
        return host in self._own

    def price_for(self, host: int, usual: float) -> float:
        """The price of a visit to this host; `usual` is that of the crawl."""
        own = self._own.get(host)
        return usual if own is None or own < usual else own

    def restore(self, host: int, price: float) -> None:
        """A host had this price before a restart. What is known already stays."""
        if price > 0 and host not in self._own:
            self._keep(host, price)

    def update(self, host: int, *, gap: float, late: float, usual: float, pages: int) -> float:
        """A page that was to be visited after `gap` days was, and has had to wait for its turn on this host for another
        `late` days. The price of the host from now on. `pages`: as many of the host were visited twice or more."""
        own = self._own.get(host)
        in_time = late <= LATE * gap
        if own is None:
            if in_time:
                return usual
            own = usual
        seen = -_FALL
        if not in_time:
            seen = min(log1p(late / gap), _STRETCH) if gap > 0 else _STRETCH
        price = min(max(own, usual) * exp(seen / (_HOST_LAG * max(pages, _FEW_AT_HOST))), MAX_PRICE)
        if price < usual:
            self._own.pop(host, None)
            return usual
        self._keep(host, price)
        return price

    def _keep(self, host: int, price: float) -> None:
        if host not in self._own and len(self._own) >= self._max_hosts:
            del self._own[next(iter(self._own))]
        self._own[host] = price
