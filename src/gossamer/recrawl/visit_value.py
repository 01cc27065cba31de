"""The value of a visit, and when it exceeds its price. Hot: benchmarks/bench_recrawl.py.

A visit to a page of importance w whose copy is `g` days old is worth

    V(g) = w (G(g) - g (b / (b + g))^a),        G(s) = E[(1 - e^(-rate s)) / rate]
                                                     = b (1 - (b / (b + s))^(a - 1)) / (a - 1)

the freshness that a visit now gains over later ones, averaged over the possible rates (`estimate`). V grows with g.
Visiting every page when its V reaches a common price is the best schedule for its cost. For a <= 1, V grows without
bound, so a page about which little is known is always visited again.

Times are in days; V and prices are in units of importance times days.
"""

from math import copysign, exp, expm1, inf, log1p, sqrt
from typing import Final

from gossamer.recrawl.estimate import Estimate

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
