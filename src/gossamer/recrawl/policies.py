"""The recrawl policies by name. `recrawl.policy` defines what a policy is. Hot: benchmarks/bench_recrawl.py.

`adaptive` (the default) visits a page again after the time that usually passes between its changes. `optimal` (the
default with a budget) visits a page when the visit is worth its price. `nutch-adaptive` and `stormcrawler-adaptive` are
the adaptive schedules of Apache Nutch and StormCrawler with their default settings, for comparison.
"""

from collections.abc import Callable, Mapping
from math import exp, sqrt
from typing import ClassVar, Final

from gossamer.model.units import DAY, Instant, Seconds
from gossamer.recrawl.estimate import (
    MIN_SPAN,
    Estimate,
    HostRates,
    bounded,
    changed,
    changed_at,
    flagged,
    not_flagged,
    unchanged,
)
from gossamer.recrawl.policy import Memory, Plan, RecrawlPolicy, Terms, Visited, Why, counted, format_duration, planned
from gossamer.recrawl.price import gap_of_hub, gap_until, gap_until_unflagged, value_unflagged

NUTCH_FIRST = 30 * DAY
NUTCH_LEAST, NUTCH_MOST = 60.0, 365 * DAY
NUTCH_RETRY_AFTER = 90 * DAY  # everything is fetched again after this, whatever the interval
NUTCH_FASTER, NUTCH_SLOWER = 0.2, 0.4
SYNC = 0.3  # share of the time since the last known change by which the next visit is advanced


class NutchAdaptive(RecrawlPolicy):
    """The interval is a fifth shorter after a change and two fifths longer without one.

    Keeps the interval and the last known change in `Memory`, both in seconds.
    """

    name: ClassVar[str] = "nutch-adaptive"

    def after(self, visited: Visited, memory: Memory, terms: Terms) -> Plan:
        interval, modified, _, _ = memory
        interval = interval or NUTCH_FIRST
        if visited.gap is None:
            interval, modified = NUTCH_FIRST, visited.now
        elif visited.changed:
            interval *= 1 - NUTCH_FASTER
            modified = visited.now
        else:
            interval *= 1 + NUTCH_SLOWER
        reference = visited.now
        if visited.gap is not None:
            since = max(visited.now - modified, 0.0)
            interval = max(interval, since)
            reference = Instant(visited.now - SYNC * since)
        interval = min(max(interval, NUTCH_LEAST), NUTCH_MOST)
        due = max(reference + min(interval, NUTCH_RETRY_AFTER), visited.now + NUTCH_LEAST)
        memory = counted(memory, visited, interval, modified)
        return planned(visited.now, Seconds(due - visited.now), memory, terms, Why.ADAPTED)

    def words(self, memory: Memory, terms: Terms) -> str:
        interval = format_duration(memory[0] or NUTCH_FIRST)
        return f"interval of {interval}: a fifth less after a change, two fifths more without one"


STORM_FIRST = DAY
STORM_LEAST, STORM_MOST = 3600.0, 14 * DAY
STORM_SLOWER, STORM_FASTER = 0.5, 0.5


class StormCrawlerAdaptive(RecrawlPolicy):
    """The interval is half as long again without a change, up to two weeks; after one, half way to an hour. Keeps the
    interval in `Memory`."""

    name: ClassVar[str] = "stormcrawler-adaptive"

    def after(self, visited: Visited, memory: Memory, terms: Terms) -> Plan:
        interval = memory[0] or STORM_FIRST
        if visited.gap is not None:
            if visited.changed:
                interval -= STORM_FASTER * (interval - STORM_LEAST)
            else:
                interval = min(interval * (1 + STORM_SLOWER), STORM_MOST)
        memory = counted(memory, visited, interval, 0.0)
        return planned(visited.now, interval, memory, terms, Why.ADAPTED)

    def words(self, memory: Memory, terms: Terms) -> str:
        now = format_duration(memory[0] or STORM_FIRST)
        return f"interval of {now}: half as long again without a change, half way to an hour after one"


MAX_CHANGES: Final = 2.0
"""All earlier observations of `adaptive` count as this many changes at most: a change shortens the interval to two
thirds, an interval without one lengthens it by half."""
_MAX_QUIET = 1460.0  # days; a longer time without a change counts as this
_MIN_QUIET = 0.1  # of the last interval: changes in all intervals do not say that it changed much more often than that


class Adaptive(RecrawlPolicy):
    """Visits a page again after the time that usually passes between its changes.

    `Memory` has the number of changes and the days observed without one, as a Gamma estimate; before the second visit,
    one change in the default interval is assumed. Of an interval that ended with a change, only the time since the
    change counts, if a trusted date tells it. So a change adds to the first number, and never more to the second than
    no change would: of two histories with the same visits, the one with more changes never has the longer interval.
    """

    name: ClassVar[str] = "adaptive"
    estimates_rates: ClassVar[bool] = True

    def prior(self, host: HostRates, usual: Seconds) -> Estimate:
        return Estimate(1.0, usual / DAY)

    def after(self, visited: Visited, memory: Memory, terms: Terms) -> Plan:
        known = self.updated_estimate(visited, memory, terms)
        shape, span = known or (0.0, 0.0)
        gap = _days_between_changes(known or terms.prior) * DAY
        return planned(visited.now, gap, counted(memory, visited, shape, span), terms, Why.ADAPTED)

    def updated_estimate(self, visited: Visited, memory: Memory, terms: Terms) -> Estimate | None:
        """The estimate after a visit; None while there is only the prior."""
        now, since, is_changed, dated, _ = visited
        known = estimate_of(memory)
        if since is None and dated is None:
            return known
        changes, quiet = known or (1.0, _days_between_changes(terms.prior))
        if changes > MAX_CHANGES:
            changes, quiet = MAX_CHANGES, quiet * (MAX_CHANGES / changes)
        gap = 0.0 if since is None else since / DAY
        if since is None or is_changed:
            # Nothing has changed since the last change; of a page that is new to us, the whole time counts.
            age = 0.0 if dated is None else max(now - dated, 0.0) / DAY
            quiet += age if since is None else min(age, gap)
            changes += is_changed
        else:
            quiet += gap
        return Estimate(changes, min(max(quiet, _MIN_QUIET * gap, MIN_SPAN), _MAX_QUIET))

    def words(self, memory: Memory, terms: Terms) -> str:
        wanted = DAY * _days_between_changes(estimate_of(memory) or terms.prior)
        text = "default interval (no change history yet)"
        if terms.prior != self.prior(HostRates(), terms.usual):
            text = "default interval, adjusted by the changefreq of its sitemap (no change history yet)"
        if estimate_of(memory) is not None:
            text = (
                f"about the time between its changes, {format_duration(wanted)}, from {memory.visits} visits, "
                f"{memory.changes} of which found a change; recent visits count most"
            )
        return text + _limit_words(wanted, terms)


def _days_between_changes(estimate: Estimate) -> float:
    return estimate.span / estimate.shape


_CALMER = (2.0, 10.0, 1e2, 1e3, 1e4, 1e5)  # factors of the time between changes


class Optimal(RecrawlPolicy):
    """Visits a page when the value of a visit, by the Gamma estimate of its rate, reaches the price
    (docs/RECRAWL.md)."""

    name: ClassVar[str] = "optimal"
    moved_by_price: ClassVar[bool] = True
    estimates_rates: ClassVar[bool] = True

    def __init__(self, memory_days: float = 120.0) -> None:
        """`memory_days`: observations this old count for a third."""
        self._memory_days = memory_days

    def after(self, visited: Visited, memory: Memory, terms: Terms) -> Plan:
        known = self.updated_estimate(visited, memory, terms)
        gap = DAY * _gap(known or terms.prior, terms)
        shape, span = known or (0.0, 0.0)
        return planned(visited.now, gap, counted(memory, visited, shape, span), terms, Why.WORTH)

    def replanned_gap(self, memory: Memory, terms: Terms) -> Seconds | None:
        gap = DAY * _gap(estimate_of(memory) or terms.prior, terms)
        return Seconds(min(max(gap, terms.shortest), terms.longest))

    def updated_estimate(self, visited: Visited, memory: Memory, terms: Terms) -> Estimate | None:
        """The estimate after a visit; None while there is only the prior, which may improve."""
        now, since, is_changed, dated, flagged_after = visited
        a, b, _, _ = memory
        is_known, prior = a > 0 and b > 0, terms.prior
        if since is None:
            if dated is None:
                return estimate_of(memory)
            # A page that is new to us: nothing has changed since its last modification.
            return unchanged(estimate_of(memory) or prior, (now - dated) / DAY)
        gap = since / DAY
        if not is_known:
            a, b = prior
        elif gap > 0 and a > prior.shape:
            # `aged` (tests/aged_crawls.py) and further down `unchanged`, inline: every visit comes here, most that far.
            kept, least = exp(-gap / self._memory_days), prior.shape / a
            if kept < least:
                kept = least
            a, b = a * kept, b * kept
        if not is_changed:
            return bounded(a, b + gap if gap > 0 else b)  # whether or not changes are reported
        before = bounded(a, b)
        if flagged_after is not None:
            return flagged(before, flagged_after / DAY, terms.recall)
        if dated is not None:
            return changed_at(before, gap, (now - dated) / DAY)
        if terms.recall > 0:
            return not_flagged(before, gap, terms.recall, change=True)
        return changed(before, gap)

    def words(self, memory: Memory, terms: Terms) -> str:
        believed = estimate_of(memory) or terms.prior
        wanted = DAY * _gap(believed, terms)
        gap = min(max(wanted, terms.shortest), terms.longest)
        interval = format_duration(gap)
        text = f"{believed_words(memory, terms)}; "
        if terms.hub:
            return f"{text}it lists other pages: visited about every {interval} at a price of {terms.price:.3g}"
        worth = value_unflagged(believed, terms.importance, gap / DAY, terms.recall)
        text += f"a visit after {interval} is worth {worth:.3g}, and the price is {terms.price:.3g}"
        if terms.recall > 0:
            text += f"; {100 * terms.recall:.0f} % of its changes would be reported"
        if any(DAY * _gap(Estimate(believed.shape, k * believed.span), terms) < wanted for k in _CALMER):
            text += "; a page that changes less often is visited sooner, because its copy stays fresh for longer"
        return text + _limit_words(wanted, terms)


def _limit_words(wanted: float, terms: Terms) -> str:
    if terms.shortest < wanted < terms.longest:
        return ""
    return f"; limited to the {'shortest' if wanted <= terms.shortest else 'longest'} interval"


def estimate_of(memory: Memory) -> Estimate | None:
    """The estimate that `adaptive` and `optimal` keep in `Memory`; None if there is none."""
    return Estimate(memory.rate_shape, memory.rate_span) if memory.rate_shape > 0 and memory.rate_span > 0 else None


def believed_words(memory: Memory, terms: Terms) -> str:
    """How often a page changes, how certain that is, and why, as text for users."""
    known = estimate_of(memory)
    believed = known or terms.prior
    basis = "its host and sitemap, or defaults"
    if known is not None:
        basis = f"{memory.visits} visits, {memory.changes} of which found a change"
    spread = 1 + 1 / sqrt(believed.shape)
    every = format_duration(DAY / believed.rate)
    return f"changes about every {every} (within a factor of {spread:.2g}; based on {basis})"


def _gap(estimate: Estimate, terms: Terms) -> float:
    importance, price, _, recall, _, _, longest, hub = terms
    days = longest / DAY
    if hub:
        return gap_of_hub(estimate, importance, price, days)
    if recall > 0:
        return gap_until_unflagged(estimate, importance, price, recall, days)
    return gap_until(estimate, importance, price, days)


RECRAWL_POLICIES: Mapping[str, Callable[[], RecrawlPolicy]] = {
    maker.name: maker for maker in (Adaptive, Optimal, RecrawlPolicy, NutchAdaptive, StormCrawlerAdaptive)
}


__all__ = ["RECRAWL_POLICIES", "RecrawlPolicy"]
