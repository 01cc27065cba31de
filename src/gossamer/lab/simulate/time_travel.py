"""Simulates months of recrawling in seconds, and measures exactly how fresh the copies were.

Visits are made one at a time, as the budget allows; each takes the page that has been due the longest among those whose
host may be contacted. First visits are due as fast as the budget allows, important pages first. A visit shows whether
the page changed since the previous visit; the policy, which is the crawl's own, decides when to visit again. If hosts
have a limit, the crawl does not know it: their prices are found as in a crawl.
"""

import heapq
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf, sqrt

from gossamer.lab.simulate.recrawl_world import World
from gossamer.model.units import DAY, Instant, Seconds
from gossamer.recrawl.estimate import MAX_SHAPE, Estimate, HostRates
from gossamer.recrawl.policies import estimate_of
from gossamer.recrawl.policy import EMPTY_MEMORY, Memory, Plan, RecrawlPolicy, Terms, Visited
from gossamer.recrawl.price import HostPrices, Price, opening_price

LONGEST = 365.0
EARLY = 0.5  # of its gap: no page is visited earlier
_NOTED = 256


@dataclass(slots=True)
class Journey:
    """The visits: for each its page, its time, and until when the copy stayed fresh (days)."""

    pages: list[int] = field(default_factory=list)
    starts: list[float] = field(default_factory=list)
    ends: list[float] = field(default_factory=list)
    prices: list[tuple[float, float]] = field(default_factory=list)  # (day, price of the crawl), sampled
    late: float = 0.0  # days between due date and visit, on average


class Known(RecrawlPolicy):
    """The optimal policy with the true rates as priors: what the best estimator could achieve."""

    name = "known-rates"
    moved_by_price = True

    def __init__(self, optimal: RecrawlPolicy) -> None:
        self._optimal = optimal

    def after(self, visited: Visited, memory: Memory, terms: Terms) -> Plan:
        return self._optimal.after(visited._replace(gap=None), EMPTY_MEMORY, terms)

    def replanned_gap(self, memory: Memory, terms: Terms) -> Seconds | None:
        return self._optimal.replanned_gap(EMPTY_MEMORY, terms)


def travel(
    world: World,
    policy: RecrawlPolicy,
    budget: float,
    arrivals: Sequence[float] | None = None,
    *,
    host_prices: bool = True,
) -> Journey:
    """Crawl the world with `budget` visits per day.

    `arrivals`: the days of the first visits, which are then made in addition to the budget, as by a crawl that
    discovers pages. Without `host_prices` all hosts have the price of the crawl, whatever they allow.
    """
    return _Traveller(world, policy, budget, host_prices=host_prices).go(arrivals)


class _Traveller:
    def __init__(self, world: World, policy: RecrawlPolicy, budget: float, *, host_prices: bool) -> None:
        self._world, self._policy, self._budget = world, policy, budget
        self._capped = world.cap < inf
        pages = world.pages
        cycle = pages / budget
        opening = opening_price(sorted(world.importance)[:: max(pages // 200, 1)], budget, pages)
        self._price = Price(budget, opening)
        lanes = world.hosts if self._capped else 1
        self._lane_of = world.host_of if self._capped else [0] * pages
        self._lanes = lanes
        # A page's demand is proportional to the root of its importance, as long as x is small.
        self._weight, self._seen_weight = sum(map(sqrt, world.importance)), 0.0
        self._own_prices = self._capped and host_prices and policy.moved_by_price
        self._prices = HostPrices()
        self._visits, self._twice = [0] * pages, [0] * world.hosts
        self._rates = [HostRates()] * world.hosts
        self._known = isinstance(policy, Known)
        self._memory = [EMPTY_MEMORY] * pages
        self._last: list[float | None] = [None] * pages
        self._gap: list[float | None] = [None] * pages
        self._usual = Seconds(cycle * DAY)
        self._priors = [policy.prior(HostRates(), self._usual)] * world.hosts
        self._journey = Journey()
        self._latest = [-1] * pages  # index of each page's latest visit

    def go(self, arrivals: Sequence[float] | None) -> Journey:
        world = self._world
        due: list[list[tuple[float, int]]] = [[] for _ in range(self._lanes)]
        if arrivals is None:
            order = sorted(range(world.pages), key=lambda page: -world.importance[page])
            for k, page in enumerate(order):
                due[self._lane_of[page]].append((k / self._budget, page))
            coming = []
        elif self._capped:
            raise ValueError("arrivals cannot be combined with a cap per host")
        else:
            coming = sorted(((day, page) for page, day in enumerate(arrivals)), reverse=True)
        # Every lane with pages is in one of two heaps: by the page due first, or resting, by the end of its rest.
        line = [(pages[0], lane) for lane, pages in enumerate(due) if pages]
        heapq.heapify(line)
        resting: list[tuple[float, int]] = []
        journey = self._journey
        rest, late = 1 / world.cap, 0.0
        slot, last_slot = 0, int(world.days * self._budget)
        while slot < last_slot:
            now = slot / self._budget
            slot += 1
            while coming and coming[-1][0] <= now:
                day, page = coming.pop()
                heapq.heappush(due[0], (day + self._visit(page, day, 0), page))
                line = [(due[0][0], 0)]
            if self._policy.moved_by_price and self._price.has_fallen():
                self._bring_forward(due)
                line = [(pages[0], lane) for _, lane in line for pages in [due[lane]]]
                heapq.heapify(line)
            while resting and resting[0][0] <= now:
                lane = heapq.heappop(resting)[1]
                if lane in self._prices:
                    self._put_off(due[lane], lane, now)
                heapq.heappush(line, (due[lane][0], lane))
            if not line:
                continue
            (when, page), lane = line[0]
            if when > now and not self._may_be_early(page, when, now):
                continue
            late += max(now - when, 0.0)
            heapq.heapreplace(due[lane], (now + self._visit(page, now, lane), page))
            if rest:
                heapq.heappop(line)
                heapq.heappush(resting, (now + rest, lane))
            else:
                heapq.heapreplace(line, (due[lane][0], lane))
            if slot % _NOTED == 0:
                journey.prices.append((now, self._price.price))
        journey.late = late / max(len(journey.starts), 1)
        return journey

    def _may_be_early(self, page: int, when: float, now: float) -> bool:
        """Nothing is due, but a visit is available: a policy that spends a budget takes the next page a little
        early."""
        gap = self._gap[page]
        return self._policy.moved_by_price and gap is not None and when - now <= EARLY * gap

    def _bring_forward(self, due: Sequence[list[tuple[float, int]]]) -> None:
        """The price has fallen far below the one at which pages were planned: plan them again."""
        self._price.start_replanning()
        for lane, pages in enumerate(due):
            price = self._prices.price_for(lane, self._price.price)
            for k, (_, page) in enumerate(pages):
                last, gap = self._last[page], self._gap[page]
                replanned = self._policy.replanned_gap(self._memory[page], self._terms(page, price))
                if last is not None and gap is not None and replanned is not None and replanned / DAY < gap:
                    self._price.on_replanned(gap, replanned / DAY)
                    self._gap[page] = replanned / DAY
                    pages[k] = (last + replanned / DAY, page)
            heapq.heapify(pages)

    def _put_off(self, due: list[tuple[float, int]], lane: int, now: float) -> None:
        """Due pages of a host whose price has risen since they were planned are planned again, unless they are worth
        that price already."""
        for _ in range(len(due)):
            when, page = due[0]
            last, gap = self._last[page], self._gap[page]
            if when > now or last is None or gap is None:
                return
            replanned = self._policy.replanned_gap(
                self._memory[page], self._terms(page, self._prices.price_for(lane, self._price.price))
            )
            if replanned is None or last + replanned / DAY <= now:
                return
            self._price.on_replanned(gap, replanned / DAY)
            self._gap[page] = replanned / DAY
            heapq.heapreplace(due, (last + replanned / DAY, page))

    def _visit(self, page: int, now: float, lane: int) -> float:
        """Make and record a visit. Returns the gap in days until the next one."""
        times = self._world.changes[page]
        k = bisect_right(times, now)
        journey, position = self._journey, self._latest[page]
        if position >= 0 and journey.ends[position] > now:
            journey.ends[position] = now
        self._latest[page] = len(journey.starts)
        journey.pages.append(page)
        journey.starts.append(now)
        journey.ends.append(times[k] if k < len(times) else self._world.days)
        return self._plan(page, now, k, lane)

    def _plan(self, page: int, now: float, k: int, lane: int) -> float:
        """The policy's decision after a visit before which the page had changed `k` times."""
        world, memory, last = self._world, self._memory[page], self._last[page]
        host = world.host_of[page]
        times = world.changes[page]
        changed = last is not None and k > 0 and times[k - 1] > last
        price = self._price.step(now, self._weight / (self._seen_weight or self._weight))
        before = self._gap[page]
        self._visits[page] += 1
        self._twice[host] += self._visits[page] == 2
        if self._own_prices and last is not None and before is not None:
            late, pages = max(now - last - before, 0.0), self._twice[host]
            price = self._prices.update(lane, gap=before, late=late, usual=price, pages=pages)
        elif self._own_prices:
            price = self._prices.price_for(lane, price)
        terms = self._terms(page, price)
        visited = Visited(
            Instant(now * DAY),
            None if last is None else Seconds((now - last) * DAY),
            changed,
            Instant(times[k - 1] * DAY) if changed and world.dated and world.dated[page] else None,
        )
        plan = self._policy.after(visited, memory, terms)
        gap = plan.gap(visited.now) / DAY
        if last is None:
            self._seen_weight += sqrt(world.importance[page])
        self._price.on_planned(before, gap)
        if self._policy.estimates_rates and not self._known:
            after = estimate_of(plan.memory)
            if after is not None:
                self._rates[host] = self._rates[host].updated(estimate_of(memory), after)
                self._priors[host] = self._policy.prior(self._rates[host], self._usual)
        self._memory[page], self._last[page], self._gap[page] = plan.memory, now, gap
        return gap

    def _terms(self, page: int, price: float) -> Terms:
        importance = self._world.importance[page]
        prior = self._true(page) if self._known else self._priors[self._world.host_of[page]]
        return Terms(importance, price, prior, 0.0, self._usual, Seconds(60.0), Seconds(LONGEST * DAY))

    def _true(self, page: int) -> Estimate:
        return Estimate(MAX_SHAPE, MAX_SHAPE / max(self._world.rates[page], 1e-6))
