"""`optimal`: a page is visited again when its visit is worth the price. The default. Hot: bench_recrawl.py."""

from math import exp, sqrt
from typing import ClassVar

from gossamer.model.units import Seconds
from gossamer.recrawl.estimate import Estimate, aged, bounded, changed, changed_at, flagged, not_flagged, unchanged
from gossamer.recrawl.index import gap_of_hub, gap_until, gap_until_unflagged, value_unflagged
from gossamer.recrawl.policy import DAY, Memory, Plan, RecrawlPolicy, Terms, Visited, Why, counted, in_words, planned


class Optimal(RecrawlPolicy):
    """The Gamma estimate of a page's rate, and the index that says when a visit pays (SCIENCE, 4.3 to 4.5)."""

    name: ClassVar[str] = "optimal"
    moved_by_price: ClassVar[bool] = True

    def __init__(self, memory_days: float = 120.0) -> None:
        """`memory_days`: what was observed so long ago counts for a third."""
        self._memory_days = memory_days

    def after(self, visited: Visited, memory: Memory, terms: Terms) -> Plan:
        known = self.learnt(visited, memory, terms)
        gap = DAY * _gap(known or terms.prior, terms)
        one, two = known or (0.0, 0.0)
        return planned(visited.now, gap, counted(memory, visited, one, two), terms, Why.WORTH)

    def anew(self, memory: Memory, terms: Terms) -> Seconds | None:
        gap = DAY * _gap(estimate_of(memory) or terms.prior, terms)
        return Seconds(min(max(gap, terms.shortest), terms.longest))

    def learnt(self, visited: Visited, memory: Memory, terms: Terms) -> Estimate | None:
        """The estimate after a visit; None while there is nothing but the prior, which may be a better one later."""
        before = estimate_of(memory)
        if visited.gap is None:
            if visited.changed_at is None:
                return before
            # The age of a page that is new to us: nothing has changed since it was changed last.
            return unchanged(before or terms.prior, (visited.now - visited.changed_at) / DAY)
        gap = visited.gap / DAY
        if not visited.changed:
            # Whether or not changes are reported. `aged` and `unchanged` written out: most visits come here.
            a, b = before or terms.prior
            if before is not None and a > terms.prior.a and gap > 0:
                kept = max(exp(-gap / self._memory_days), terms.prior.a / a)
                a, b = a * kept, b * kept
            return bounded(a, b + gap if gap > 0 else b)
        before = aged(before, gap, self._memory_days, terms.prior) if before is not None else terms.prior
        if visited.flagged_after is not None:
            return flagged(before, visited.flagged_after / DAY, terms.recall)
        if visited.changed_at is not None:
            return changed_at(before, gap, (visited.now - visited.changed_at) / DAY)
        if terms.recall > 0:
            return not_flagged(before, gap, terms.recall, change=True)
        return changed(before, gap)

    def words(self, memory: Memory, terms: Terms) -> str:
        known = estimate_of(memory)
        rests = f"{memory.visits} visits, {memory.changes} of which found a change" if known else "its host only"
        believed = known or terms.prior
        wanted = DAY * _gap(believed, terms)
        gap = min(max(wanted, terms.shortest), terms.longest)
        spread = 1 + 1 / sqrt(believed.a)
        every = DAY / believed.rate
        told = f"changes about every {in_words(every)} (give or take a factor of {spread:.2g}; rests on {rests}); "
        if terms.hub:
            return f"{told}it lists other pages: visited about every {in_words(gap)} at a price of {terms.price:.3g}"
        worth = value_unflagged(believed, terms.importance, gap / DAY, terms.recall)
        told += f"{in_words(gap)} after a visit the next is worth {worth:.3g}, and the price is {terms.price:.3g}"
        if terms.recall > 0:
            told += f"; {100 * terms.recall:.0f} % of its changes would be reported"
        if not terms.shortest < wanted < terms.longest:
            told += f"; that is the {'shortest' if gap > wanted else 'longest'} gap allowed"
        return told


def estimate_of(memory: Memory) -> Estimate | None:
    """What `optimal` has written down."""
    return Estimate(memory.one, memory.two) if memory.one > 0 and memory.two > 0 else None


def _gap(estimate: Estimate, terms: Terms) -> float:
    longest = terms.longest / DAY
    if terms.hub:
        return gap_of_hub(estimate, terms.importance, terms.price, longest)
    if terms.recall > 0:
        return gap_until_unflagged(estimate, terms.importance, terms.price, terms.recall, longest)
    return gap_until(estimate, terms.importance, terms.price, longest)
