"""Estimated freshness of the stored copies."""

from collections.abc import Iterable

from gossamer.model.facts import CopySample
from gossamer.model.units import DAY, Instant
from gossamer.observe.freshness import FreshnessMetrics
from gossamer.recrawl.budget import VisitRates
from gossamer.recrawl.change_hints import HostChangeHistory
from gossamer.recrawl.estimate import USUAL, Estimate


def freshness_of(sample: Iterable[CopySample], now: Instant) -> float | None:
    """The expected share of these pages that is unchanged, by their estimates or else their hosts' priors; None for no
    pages. A page with rate Gamma(a, b) has not changed for g days with probability (b / (b + g))^a."""
    fresh, pages = 0.0, 0
    for shape, span, at, history in sample:
        known = Estimate(shape, span) if shape and span else None
        if known is None:
            known = HostChangeHistory.from_text(history).rates.prior() if history else USUAL
        fresh += (known.span / (known.span + max(0.0, now - at) / DAY)) ** known.shape
        pages += 1
    return fresh / pages if pages else None


def stored_freshness_metrics(
    *, sample: Iterable[CopySample], price: str | None, pace: str | None, overdue: int, waiting: int, now: Instant
) -> FreshnessMetrics:
    """Freshness metrics from the store. `price` and `pace` are metadata as written by `price.price_text` and
    `VisitRates.to_text`."""
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
        young=known.is_young(now),
        dear_hosts=int(dear),
    )
