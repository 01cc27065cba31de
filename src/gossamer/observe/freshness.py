"""Freshness of a crawl's copies and the cost of keeping them fresh, for the display, the report, `gossamer status` and
the metrics."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, TypedDict

from gossamer.observe import formatter


@dataclass(frozen=True, slots=True, kw_only=True)
class FreshnessMetrics:
    """Rates are recent visits per day."""

    fresh: float | None = None  # estimated share of pages that have not changed since our visit; None: unknown
    price: float | None = None  # minimum value of a recrawl (`gossamer.recrawl.price`); None: nothing was planned yet
    scheduled: int = 0  # URLs with a date for their next visit
    demand: float = 0.0  # visits per day that these URLs need
    budget: float | None = None  # visits per day that may go to URLs visited before
    refreshes: float = 0.0
    discoveries: float = 0.0
    overdue: int = 0  # URLs that are due and not queued; counted up to a limit
    waiting: int = 0  # requeued and not visited yet
    young: bool = False  # the rates are extrapolated from less than an hour
    dear_hosts: int = 0  # hosts with a higher price, because they allow fewer visits than their pages need

    @property
    def budget_used(self) -> float | None:
        """Share of the budget that refreshes use. None without a budget."""
        return self.refreshes / self.budget if self.budget else None

    @property
    def refresh_share(self) -> float | None:
        """Share of all visits that go to URLs visited before. None without visits."""
        visits = self.refreshes + self.discoveries
        return self.refreshes / visits if visits > 0 else None


def merge_freshness(parts: Sequence[tuple[FreshnessMetrics, int]]) -> FreshnessMetrics:
    """Merge the metrics of several workers, each given with the number of its pages: counts and rates are added up,
    `fresh` and `price` are averaged over all pages. `parts` is not empty."""
    if len(parts) == 1:
        return parts[0][0]
    workers = [one for one, _ in parts]
    budgets = [one.budget for one in workers if one.budget is not None]
    return FreshnessMetrics(
        fresh=_mean([(one.fresh, pages) for one, pages in parts]),
        price=_mean([(one.price, pages) for one, pages in parts]),
        scheduled=sum(one.scheduled for one in workers),
        demand=sum(one.demand for one in workers),
        budget=sum(budgets) if budgets else None,
        refreshes=sum(one.refreshes for one in workers),
        discoveries=sum(one.discoveries for one in workers),
        overdue=sum(one.overdue for one in workers),
        waiting=sum(one.waiting for one in workers),
        young=all(one.young for one in workers),
        dear_hosts=sum(one.dear_hosts for one in workers),
    )


def _mean(values: Sequence[tuple[float | None, int]]) -> float | None:
    """Weighted mean of the known values; unweighted if all weights are zero."""
    known = [(value, weight) for value, weight in values if value is not None]
    total = sum(weight for _, weight in known)
    if not total:
        return sum(value for value, _ in known) / len(known) if known else None
    return sum(value * weight for value, weight in known) / total


class FreshnessObject(TypedDict):
    freshness: Annotated[float | None, "estimated share of pages that are unchanged since their last visit"]
    price: Annotated[float | None, "the minimum value of a recrawl"]
    scheduled: Annotated[int, "URLs with a date"]
    visits_a_day: Annotated[float, "visits that these URLs demand"]
    budget: Annotated[float | None, "visits allowed per day"]
    budget_used: Annotated[float | None, "share of the budget in use"]
    refreshes_a_day: float
    discoveries_a_day: float
    refresh_share: Annotated[float | None, "share of visits to known URLs"]
    overdue: Annotated[int, "URLs whose date has passed"]
    waiting: Annotated[int, "pages queued for another visit"]
    dear_hosts: Annotated[int, "hosts with a higher minimum, because they allow too few visits"]


def freshness_object(metrics: FreshnessMetrics) -> FreshnessObject:
    """As a JSON object."""
    used, share = metrics.budget_used, metrics.refresh_share
    return {
        "freshness": None if metrics.fresh is None else round(metrics.fresh, 4),
        "price": metrics.price,
        "scheduled": metrics.scheduled,
        "visits_a_day": round(metrics.demand, 3),
        "budget": metrics.budget,
        "budget_used": None if used is None else round(used, 4),
        "refreshes_a_day": round(metrics.refreshes, 1),
        "discoveries_a_day": round(metrics.discoveries, 1),
        "refresh_share": None if share is None else round(share, 4),
        "overdue": metrics.overdue,
        "waiting": metrics.waiting,
        "dear_hosts": metrics.dear_hosts,
    }


def format_budget(metrics: FreshnessMetrics) -> str:
    """`81 % of a budget of 1,000/day`; without a budget, the visits that are needed. Of a crawl in its first hour, only
    the budget."""
    if metrics.budget is None or metrics.budget_used is None:
        return "" if metrics.young else f"{_rate(metrics.demand)} visits/day needed"
    used = "" if metrics.young else f"{100 * metrics.budget_used:.0f} % of "
    return f"{used}a budget of {_rate(metrics.budget)}/day"


def format_rates(metrics: FreshnessMetrics) -> str:
    """`810 refreshes/day, 190 discoveries/day`; empty in the first hour of a crawl."""
    if metrics.young:
        return ""
    return f"{_rate(metrics.refreshes)} refreshes/day, {_rate(metrics.discoveries)} discoveries/day"


def _rate(a_day: float) -> str:
    return formatter.count(round(a_day)) if a_day >= 10 else f"{a_day:.2g}"
