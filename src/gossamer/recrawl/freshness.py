"""How fresh the copies are, by what is known of their changes."""

from collections.abc import Iterable

from gossamer.model.facts import CopySample
from gossamer.model.units import DAY, Instant
from gossamer.observe.freshness import FreshnessMetrics
from gossamer.recrawl.budget import VisitRates
from gossamer.recrawl.change_hints import HostChangeHistory
from gossamer.recrawl.estimate import USUAL, Estimate


def freshness_of(sample: Iterable[CopySample], now: Instant) -> float | None:
    """The share of these pages that is still what we have, by their estimates or else by those of their hosts. None of
    no page. A page whose rate is Gamma(a, b) has not changed for g days with probability (b / (b + g))^a."""
    fresh, pages = 0.0, 0
    for one, two, at, changing in sample:
        known = Estimate(one, two) if one and two else None
        if known is None:
            known = HostChangeHistory.from_text(changing).rates.prior() if changing else USUAL
        fresh += (known.span / (known.span + max(0.0, now - at) / DAY)) ** known.shape
        pages += 1
    return fresh / pages if pages else None


def stored_freshness_metrics(
    *, sample: Iterable[CopySample], price: str | None, pace: str | None, overdue: int, waiting: int, now: Instant
) -> FreshnessMetrics:
    """What a crawl's store tells. `price` and `pace` are facts, as `recrawling.PRICE` and `pace.PACE` have them."""
    value, asked, scheduled, dear = price.split() if price else (None, "0", "0", "0")
    known = VisitRates(now, pace)
    discoveries, refreshes = known.per_day(now)
    return FreshnessMetrics(
        fresh=freshness_of(sample, now),
        price=None if value is None else float(value),
        scheduled=int(scheduled),
        demand=float(asked),
        budget=known.budget,
        refreshes=refreshes,
        discoveries=discoveries,
        overdue=overdue,
        waiting=waiting,
        dear_hosts=int(dear),
    )
