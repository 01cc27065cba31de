"""How fresh the copies of a crawl are kept, and what that costs: the same figures on the screen, in `gossamer status`,
in the report and in the metrics."""

from collections.abc import Sequence
from dataclasses import dataclass

from gossamer.observe import formatting


@dataclass(frozen=True, slots=True, kw_only=True)
class FreshnessMetrics:
    """Rates are visits a day, of late."""

    fresh: float | None = None  # share of the pages that are still what we have, by their estimates; None: not known
    price: float | None = None  # of a visit, as `gossamer.recrawl.visit_value` counts; None: nothing was planned yet
    scheduled: int = 0  # URLs with the date of another visit
    asked: float = 0.0  # visits a day that they ask for
    budget: float | None = None  # visits a day to URLs that were visited before
    refreshes: float = 0.0
    discoveries: float = 0.0
    overdue: int = 0  # URLs whose date has come and which are not queued; counted up to a limit
    waiting: int = 0  # queued again and not visited yet
    dear_hosts: int = 0  # hosts with a price above that one: they allow fewer visits than their pages ask for

    @property
    def budget_used(self) -> float | None:
        """Share of the budget that goes to refreshes. None without a budget."""
        return self.refreshes / self.budget if self.budget else None

    @property
    def refresh_share(self) -> float | None:
        """Share of all visits that goes to URLs that were visited before. None without visits."""
        visits = self.refreshes + self.discoveries
        return self.refreshes / visits if visits > 0 else None


def merge_freshness(parts: Sequence[tuple[FreshnessMetrics, int]]) -> FreshnessMetrics:
    """The figures of several workers together, each with the number of its pages: sums, and the means over all pages of
    what is no amount. There is at least one."""
    if len(parts) == 1:
        return parts[0][0]
    figures = [one for one, _ in parts]
    budgets = [one.budget for one in figures if one.budget is not None]
    return FreshnessMetrics(
        fresh=_mean([(one.fresh, pages) for one, pages in parts]),
        price=_mean([(one.price, pages) for one, pages in parts]),
        scheduled=sum(one.scheduled for one in figures),
        asked=sum(one.asked for one in figures),
        budget=sum(budgets) if budgets else None,
        refreshes=sum(one.refreshes for one in figures),
        discoveries=sum(one.discoveries for one in figures),
        overdue=sum(one.overdue for one in figures),
        waiting=sum(one.waiting for one in figures),
        dear_hosts=sum(one.dear_hosts for one in figures),
    )


def _mean(values: Sequence[tuple[float | None, int]]) -> float | None:
    """Of those that are known, by their weights; one without weight counts where none has any."""
    known = [(value, weight) for value, weight in values if value is not None]
    total = sum(weight for _, weight in known)
    if not total:
        return sum(value for value, _ in known) / len(known) if known else None
    return sum(value * weight for value, weight in known) / total


def freshness_object(figures: FreshnessMetrics) -> dict[str, object]:
    """For JSON."""
    used, share = figures.budget_used, figures.refresh_share
    return {
        "freshness": None if figures.fresh is None else round(figures.fresh, 4),
        "price": figures.price,
        "scheduled": figures.scheduled,
        "visits_a_day": round(figures.asked, 3),
        "budget": figures.budget,
        "budget_used": None if used is None else round(used, 4),
        "refreshes_a_day": round(figures.refreshes, 1),
        "discoveries_a_day": round(figures.discoveries, 1),
        "refresh_share": None if share is None else round(share, 4),
        "overdue": figures.overdue,
        "waiting": figures.waiting,
        "dear_hosts": figures.dear_hosts,
    }


def budget_words(figures: FreshnessMetrics) -> str:
    """`81 % of a budget of 1,000 a day`; how much is asked for where there is none."""
    if figures.budget is None or figures.budget_used is None:
        return f"{_rate(figures.asked)} a day are asked for"
    return f"{100 * figures.budget_used:.0f} % of a budget of {_rate(figures.budget)} a day"


def pace_words(figures: FreshnessMetrics) -> str:
    """Discoveries against refreshes."""
    return f"{_rate(figures.refreshes)} refreshes and {_rate(figures.discoveries)} discoveries a day"


def _rate(a_day: float) -> str:
    return formatting.count(round(a_day)) if a_day >= 10 else f"{a_day:.2g}"
