"""How often does a page change? A Gamma distribution of its rate, kept in two numbers. Hot: bench_recrawl.py.

A page changes as a Poisson process of unknown rate, about which we believe Gamma(a, b): mean a / b changes a day, and
the larger `a`, the surer we are. Every visit is one observation, and the process starts afresh with it. Times are in
days throughout, because the two numbers are read by people.

What always holds: both numbers are finite and within the limits below, whatever is observed; and of two histories that
differ only in how long nothing changed, the longer never has the higher mean.
"""

from math import expm1, isfinite, log1p, sqrt
from typing import Final, NamedTuple

MIN_SHAPE: Final = 1e-3
MAX_SHAPE: Final = 1e6
MIN_SPAN: Final = 1e-9  # days: below any gap that a clock can tell
MAX_SPAN: Final = 1e9


class Estimate(NamedTuple):
    """Gamma(shape `a`, span `b` in days) of changes a day."""

    a: float
    b: float

    @property
    def rate(self) -> float:
        """Changes a day, on the average of what may be."""
        return self.a / self.b

    @property
    def uncertainty(self) -> float:
        """Standard deviation of the rate as a share of the rate: 1 is knowing little, 0.1 a good deal."""
        return 1 / sqrt(self.a)


USUAL: Final = Estimate(0.5, 5.0)
"""What is believed of a page of which nothing is known, its host included (SCIENCE, 4.3)."""


def unchanged(before: Estimate, gap: float) -> Estimate:
    """`gap` days passed and nothing changed. Exact."""
    return bounded(before.a, before.b + max(gap, 0.0))


def changed(before: Estimate, gap: float) -> Estimate:
    """Something changed within `gap` days, once or more: one bit. The first two moments of the exact posterior."""
    a, b = before
    if not gap > 0:
        return before  # seen twice at one moment: there is nothing to learn
    log_r = -log1p(gap / b)  # of r = b / (b + gap)
    none, one, two = -expm1(a * log_r), -expm1((a + 1) * log_r), -expm1((a + 2) * log_r)
    mean = a / b * one / none
    spread = (a + 1) / a * (two * none) / (one * one) - 1  # variance / mean²
    # Knowing that something changed tells at most as much as one counted change: shapes stay within a + 1. It keeps
    # rounding, which for large shapes eats the small difference above, from inventing certainty.
    shape = 1 / spread if spread > 0 else a + 1
    if not MIN_SHAPE <= shape <= a + 1:
        shape = MIN_SHAPE if shape < MIN_SHAPE else a + 1
    return bounded(shape, shape / mean)


def changed_at(before: Estimate, gap: float, quiet: float) -> Estimate:
    """Changed within `gap` days, the last time `quiet` days ago, which says that nothing changed since. Exact.

    Whatever came before the last change is not known to have been quiet, so it does not count.
    """
    return bounded(before.a + 1, before.b + min(max(quiet, 0.0), max(gap, 0.0)))


def flagged(before: Estimate, after: float, recall: float) -> Estimate:
    """A report of a change came `after` days, from a source that reports the share `recall` of all changes."""
    return bounded(before.a + 1, before.b + recall * max(after, 0.0))


def not_flagged(before: Estimate, gap: float, recall: float, *, change: bool) -> Estimate:
    """No report in `gap` days, and then a visit: reported changes were none, and the others are one bit."""
    silent = bounded(before.a, before.b + recall * max(gap, 0.0))
    rest = (1 - recall) * gap
    return changed(silent, rest) if change else unchanged(silent, rest)


def bounded(a: float, b: float) -> Estimate:
    """The nearest estimate that can be reckoned with. Keeps the mean where only certainty was too great."""
    if MIN_SHAPE <= a <= MAX_SHAPE and MIN_SPAN <= b <= MAX_SPAN:
        return Estimate(a, b)  # nearly always
    if a > MAX_SHAPE:
        a, b = MAX_SHAPE, b * (MAX_SHAPE / a)
    if not (isfinite(a) and isfinite(b)):
        return USUAL
    return Estimate(max(a, MIN_SHAPE), min(max(b, MIN_SPAN), MAX_SPAN))
