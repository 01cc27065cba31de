"""The value of a visit, and its price, which is adjusted so that the schedule's demand matches the budget. Hot:
benchmarks/bench_recrawl.py.

A visit to a page of importance w whose copy is `g` days old is worth

    V(g) = w (G(g) - g (b / (b + g))^a),        G(s) = E[(1 - e^(-rate s)) / rate]
                                                     = b (1 - (b / (b + s))^(a - 1)) / (a - 1)

the freshness that a visit now gains over later ones, averaged over the possible rates (`estimate`). V grows with g.
Visiting every page when its V reaches a common price is the best schedule for its cost. For a <= 1, V grows without
bound, so a page about which little is known is always visited again.

Times are in days; V and prices are in units of importance times days.

A page with a gap of `g` days demands 1 / g visits a day; the sum over all pages is the demand. If it exceeds the budget
the price rises, and gaps grow as pages are replanned; otherwise it falls. The sum shows at once what a new price does
to every page planned at it, without waiting until the visits are due. One case needs more: if demand is far below the
budget, the price falls until the pages due soon demand all of it, and the others, planned at a far higher price, keep
their long gaps. So when the price has fallen far and half of the budget is unused, all pages are replanned.

A host that allows fewer visits than its pages demand has its own price above the crawl's (`HostPrices`); the formula
for the pages is the same. How many visits a host allows depends on its delay, its response times, the hosts that share
its address and its new pages, so it is measured by lateness: a page planned after g days that got its turn after g +
late had its gap stretched by (g + late) / g, and the mean stretch over a host's visits is its demand as a multiple of
what it allows. The price is moved by the logarithm of the stretch; if visits are on time it falls, until it equals the
crawl's and is dropped.

New and due pages compete for visits by value (`share_of_refresh`): a first visit is worth `value_of_new`, a due one the
price or more. Visits go to the more valuable kind, except for a floor for the other.

Everything here can be recomputed from the task table: the demand from the gaps, the price from a stored number or
`opening_price`. The crawl and `simulate` both use this module.
"""

from collections.abc import Collection, Sequence
from math import copysign, exp, expm1, inf, log, log1p, sqrt
from typing import Final

from gossamer.model.units import DAY, Instant
from gossamer.recrawl.estimate import USUAL, Estimate
from gossamer.recrawl.policy import RecrawlSettings

HORIZON: Final = 365.0
"""Days for which a page that we do not have yet would stay valuable."""

_SURELY_STALE = 1e6  # days; waiting longer gains nothing
_NEAR_ONE = 1e-9  # shapes closer to 1 are moved away: the formulas have a limit there, but divide by zero


def gain(estimate: Estimate, days: float) -> float:
    """G: the expected number of the next `days` for which a copy made now is fresh."""
    a, b = estimate
    m = _off_one(a - 1)
    return -b * expm1(-m * log1p(days / b)) / m


def value(estimate: Estimate, importance: float, gap: float) -> float:
    """V: the value of a visit `gap` days after the last one."""
    a, b = estimate
    return importance * (gain(estimate, gap) - gap * exp(-a * log1p(gap / b)))


def value_of_new(estimate: Estimate, importance: float, horizon: float = HORIZON) -> float:
    """The value of a first visit; `estimate` is the prior of the host."""
    return importance * gain(estimate, horizon)


def value_when_flagged(estimate: Estimate, importance: float) -> float:
    """The value of a visit when a trusted report says that the copy is stale."""
    return importance * gain(estimate, _SURELY_STALE)


def value_unflagged(estimate: Estimate, importance: float, gap: float, recall: float) -> float:
    """V if the share `recall` of all changes would have been reported, and none was. With 0 it is `value`."""
    if recall <= 0:
        return value(estimate, importance, gap)
    kept = 1 - recall
    return importance * (gain(estimate, kept * gap) - kept * gain(estimate, gap)) / recall


def gap_until(estimate: Estimate, importance: float, price: float, longest: float = inf) -> float:
    """Days after a visit until the next is worth `price`; `longest` if that is later or never.

    With u = log(1 + gap / b), m = a - 1 and d = 1 - e^-u, V = price is the same as T(u) = target where
    T(u) = u - log(1 + m d) / m. T is convex and as good as linear from u = 1 on, so that Newton's method needs four
    steps or so, from either side.
    """
    a, b = estimate
    if price <= 0:
        return 0.0
    m = a - 1
    if -_NEAR_ONE <= m <= _NEAR_ONE:
        m = _off_one(m)
    share = m * price / (importance * b) if importance > 0 else inf
    if share >= 1:
        return longest  # not even a certainly stale copy is worth that
    target = -log1p(-share) / m
    u = sqrt(2 * target / a) + (0.5 * target if target < 1 else 0.5)  # T is a u² / 2 at first
    for _ in range(50):
        d = -expm1(-u)
        slope = a * d / (1 + m * d)
        if slope <= 0:
            break  # so close to 0 that the first term is exact
        step = (u - log1p(m * d) / m - target) / slope
        u = u - step if step < 0.9 * u else 0.1 * u
        if -1e-4 * u <= step <= 1e-4 * u:
            break  # each step squares the error: about 1e-8 is left
    if not u < 700:  # e^709 is the largest number there is
        return longest
    gap = b * expm1(u)
    return gap if gap < longest else longest


def gap_of_hub(estimate: Estimate, importance: float, price: float, longest: float = inf) -> float:
    """Days between visits to a page that leads to others: a sitemap, a feed.

    Every version of such a page counts, so it is not given up when it changes fast: the penalty of a stale copy is
    harmonic, and the gap is never longer than its importance pays for.
    """
    rate = estimate.rate
    if price <= 0:
        return 0.0
    if importance <= 0:
        return longest
    root = sqrt(rate * rate + 4 * importance * rate / price)
    # 2 / (root - rate), written so that nothing is lost where the two are close.
    return min((root + rate) * price / (2 * importance * rate), longest)


def gap_until_unflagged(
    estimate: Estimate, importance: float, price: float, recall: float, longest: float = inf
) -> float:
    """The same where a share `recall` of all changes is reported, as long as no report has come.

    With x = gap / b, r(x) = 1 / (1 + x) and k = 1 - recall, V = price is the same as F(x) = recall price / (w b) where
    F(x) = (1 - r(k x)^m - k (1 - r(x)^m)) / m, and F'(x) = k (r(k x)^a - r(x)^a). Halley's method, since the second
    derivative comes without another logarithm, kept within bounds that close in. Two steps or so.
    """
    if recall <= 0:
        return gap_until(estimate, importance, price, longest)
    if price <= 0:
        return 0.0
    a, b = estimate
    m, kept = _off_one(a - 1), 1 - recall
    share = m * price / (importance * b) if importance > 0 else inf
    if share >= 1:
        return longest  # as above: reports do not change the value of a certainly stale copy
    target = -log1p(-share) / m
    u = sqrt(2 * target / a) + (0.5 * target if target < 1 else 0.5)
    wanted = recall * price / (importance * b)
    low, high = 0.0, (longest if longest < inf else _SURELY_STALE) / b
    latest, x = high, expm1(u) / sqrt(kept) if u < 700 else high  # exact while changes are rare
    if x > high:
        x = high
    for _ in range(60):
        part, full = 1 + kept * x, 1 + x
        of_part, of_full = expm1(-m * log1p(kept * x)), expm1(-m * log1p(x))  # r^m - 1
        excess = (kept * of_full - of_part) / m - wanted
        if excess < 0:
            if x >= latest:
                return longest  # not worth it even then
            low = x
        else:
            high = x
        of_part, of_full = (1 + of_part) / part, (1 + of_full) / full  # r^a
        slope = of_part - of_full
        nearer = 0.0
        if slope > 0:
            step = excess / (kept * slope)
            bend = 1 - step * a * (of_full / full - kept * of_part / part) / (2 * slope)
            nearer = x - (step / bend if bend > 0.5 else step)
        if nearer >= high == latest:
            nearer = latest
        elif not low < nearer < high:
            nearer = sqrt(low * high) if low > 0 else high / 8
        if -5e-3 * x <= nearer - x <= 5e-3 * x:
            return nearer * b  # each step cubes the error: about 1e-7 is left
        x = nearer
    return x * b


def _off_one(m: float) -> float:
    return m if abs(m) > _NEAR_ONE else copysign(_NEAR_ONE, m)


MIN_PRICE: Final = 1e-30
MAX_PRICE: Final = 1e30
_MOST = 0.7  # limit of one change of the logarithm of the price
_LEAST_USED = 0.8
_FEW = 10  # pages; with fewer, the price would jump
_CHEAPER = 0.25  # of the highest price at which pages were planned; gaps are then half as long
_LITTLE = 0.5  # of the budget
_LAG = 0.15  # of the time to visit all pages once: time constant of the price


def opening_price(importances: Sequence[float], budget: float, pages: int, prior: Estimate = USUAL) -> float:
    """The price at which `pages` unknown pages demand exactly the budget.

    `importances`: a sample of their importances.
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
    """A price and the demand that it controls. Does no IO and reads no clock.

    `budget` is in visits per day. Demand that is not met, because a host is not ready or because late visits lengthen
    gaps, would leave part of the budget unused; so demand counts only by the share of the budget that is really used.
    """

    __slots__ = ("_asked", "_high", "budget", "demand", "pages", "price", "stepped", "visit_rate")

    def __init__(self, budget: float, price: float, *, now: float = 0.0, demand: float = 0.0, pages: int = 0) -> None:
        if not budget > 0:
            raise ValueError(f"a budget must be positive, not {budget} visits per day")
        self.budget = budget
        self.price = min(max(price, MIN_PRICE), MAX_PRICE)
        self.demand = demand
        self.pages = pages
        self.stepped = now
        self.visit_rate = budget  # recent visits per day
        self._high = self.price  # the highest since all pages were replanned
        self._asked = budget  # demand of all pages at the last step

    def change_budget(self, budget: float) -> None:
        """Change the budget (visits per day). The price moves from where it is."""
        self.visit_rate *= budget / self.budget  # assume the same share of it is used
        self.budget = budget

    def on_planned(self, before: float | None, after: float | None) -> None:
        """A page was visited: its gap (days) was `before` and is `after`. None if it was, or is, not planned."""
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
        """The gap of a page changed from `before` to `after` days without a visit."""
        self.demand = max(self.demand - 1 / before, 0.0) + 1 / after

    def step(self, now: float, growth: float = 1.0) -> float:
        """The price as of `now`, which is never before the last call's.

        `growth`: expected demand of all pages relative to those planned: more than 1 while pages wait for their first
        visit.
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
        """Whether the price is far below that at which pages were planned, and demand is low: call
        `start_replanning`."""
        return self.price <= _CHEAPER * self._high and self._asked < _LITTLE * self.budget

    def start_replanning(self) -> None:
        """All pages are being replanned at this price (`on_replanned`)."""
        self._high = self.price


PRICE: Final = "recrawl"
"""Metadata key of the price and its demand."""


def price_text(price: Price, dear: int = 0) -> str:
    """The price as stored. `dear`: number of hosts with their own price, for reports; their rows have the prices."""
    return f"{price.price!r} {price.demand!r} {price.pages} {dear}"


def price_from(text: str | None, settings: RecrawlSettings, opening: float, now: Instant) -> Price:
    """The stored price, or the opening price. Without a budget it is always the opening price."""
    value, demand, pages = opening, 0.0, 0
    if text:
        before, asked, planned = text.split()[:3]
        demand, pages = float(asked), int(planned)
        value = float(before) if settings.budget is not None else opening
    return Price(settings.budget or 1.0, value, now=now / DAY, demand=demand, pages=pages)


def share_of_refresh(*, new: float, due: float, discovery_floor: float, refresh_floor: float) -> float:
    """The share of visits for due pages while new ones wait too.

    `new` and `due` are the values of a visit to one of each. Floors are shares of all visits, together at most 1.
    """
    return refresh_floor if new > due else 1 - discovery_floor


MAX_HOSTS: Final = 10_000
"""Hosts with their own price; beyond this, the oldest lose theirs."""

LATE: Final = 0.02  # of its gap: a visit no later than this is on time
_HOST_LAG = 0.5  # times its pages: visits that a host's price needs to adapt
_FALL = 0.3  # step down for a visit on time, on the logarithmic scale; a guess
_STRETCH = 0.7  # limit of the logarithm of the stretch, or pages with short gaps would dominate
_FEW_AT_HOST = 50  # pages; with fewer, the price would jump


class HostPrices:
    """Prices of hosts that differ from the crawl's. Does no IO and reads no clock.

    Always true: `price_for` is never below the usual price, and at most `max_hosts` are kept. Other threads may read.
    """

    __slots__ = ("_max_hosts", "_own", "hosts")

    def __init__(self, max_hosts: int = MAX_HOSTS) -> None:
        """`max_hosts` is at least one."""
        self._own: dict[int, float] = {}
        self.hosts: Collection[int] = self._own.keys()  # those with their own price; checked at every visit
        self._max_hosts = max_hosts

    def __len__(self) -> int:
        return len(self._own)

    def __contains__(self, host: object) -> bool:
        return host in self._own

    def price_for(self, host: int, usual: float) -> float:
        """The price of a visit to this host; `usual` is the crawl's."""
        own = self._own.get(host)
        return usual if own is None or own < usual else own

    def restore(self, host: int, price: float) -> None:
        """Restore a host's stored price, unless it has one."""
        if price > 0 and host not in self._own:
            self._keep(host, price)

    def update(self, host: int, *, gap: float, late: float, usual: float, pages: int) -> float:
        """A page planned after `gap` days was visited and had to wait `late` days longer for its turn. Returns the
        host's new price. `pages`: pages of the host visited at least twice."""
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
