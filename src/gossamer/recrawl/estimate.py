"""Estimates how often a page changes: a Gamma distribution of its rate. Hot: benchmarks/bench_recrawl.py.

A page changes as a Poisson process of unknown rate, with the belief Gamma(a, b): mean a / b changes a day, and the
larger the shape `a`, the more certain. Every visit is one observation, and the process restarts with it. Times are in
days throughout, because people read the two numbers. Both are always finite and within the limits below, whatever is
observed; and of two histories that differ only in the time without a change, the longer never has the higher mean.

`verdict_on` decides whether the content changed, or only clocks, tokens and advertisements. Identical bodies are
unchanged. Otherwise the signatures of the texts decide (`gossamer.sketch`, 64 bytes per page): each byte
represents a sample of the text's shingles, and a date, a counter, a token or a line of advertising is in one to three
of them. The distance of two signatures is about 64 times the share of shingles that only one text has, so a page whose
text differs in less than `TOLERATED` of 64 counts as unchanged (ADR 17 has the cost). A page with too little text for a
signature is judged by its digest alone.

`HostRates` is the prior of a page before its second visit: its mean is the mean rate of the host's pages, whose sum is
updated after every visit, and its shape is always the usual one. (Learning the shape too, from the mean of the
logarithms, gained nothing on generated worlds and lost a quarter of a point on recorded ones. ADR 17.)
"""

from enum import StrEnum
from math import expm1, isfinite, log1p, sqrt
from typing import Final, NamedTuple, TypeAlias

from gossamer.sketch import distance

MIN_SHAPE: Final = 1e-3
MAX_SHAPE: Final = 1e6
MIN_SPAN: Final = 1e-9  # days; below any measurable gap
MAX_SPAN: Final = 1e9


class Estimate(NamedTuple):
    """Gamma(shape, span in days) of changes per day."""

    shape: float
    span: float

    @property
    def rate(self) -> float:
        """Expected changes per day."""
        return self.shape / self.span

    @property
    def uncertainty(self) -> float:
        """Standard deviation of the rate relative to the rate: 1 is very uncertain, 0.1 fairly certain."""
        return 1 / sqrt(self.shape)


USUAL: Final = Estimate(0.5, 5.0)
"""The prior for a page when nothing is known about it or its host."""


def unchanged(before: Estimate, gap: float) -> Estimate:
    """Nothing changed in `gap` days. Exact."""
    return bounded(before.shape, before.span + max(gap, 0.0))


def changed(before: Estimate, gap: float) -> Estimate:
    """Something changed within `gap` days, once or more: one bit. The first two moments of the exact posterior."""
    a, b = before
    if not gap > 0:
        return before  # seen twice at the same time: nothing to learn
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
    """Changed within `gap` days, the last time `quiet` days ago, so nothing changed since. Exact.

    The time before the last change is not known to have been quiet, so it does not count.
    """
    return bounded(before.shape + 1, before.span + min(max(quiet, 0.0), max(gap, 0.0)))


def flagged(before: Estimate, after: float, recall: float) -> Estimate:
    """A change was reported after `after` days, by a source that reports the share `recall` of all changes."""
    return bounded(before.shape + 1, before.span + recall * max(after, 0.0))


def not_flagged(before: Estimate, gap: float, recall: float, *, change: bool) -> Estimate:
    """No report in `gap` days, then a visit: there were no reported changes, and the others are one bit."""
    silent = bounded(before.shape, before.span + recall * max(gap, 0.0))
    rest = (1 - recall) * gap
    return changed(silent, rest) if change else unchanged(silent, rest)


def bounded(a: float, b: float) -> Estimate:
    """The nearest estimate within the limits. Keeps the mean if only the certainty was too great."""
    if MIN_SHAPE <= a <= MAX_SHAPE and MIN_SPAN <= b <= MAX_SPAN:
        return Estimate(a, b)  # nearly always
    if a > MAX_SHAPE:
        a, b = MAX_SHAPE, b * (MAX_SHAPE / a)
    if not (isfinite(a) and isfinite(b)):
        return USUAL
    return Estimate(max(a, MIN_SHAPE), min(max(b, MIN_SPAN), MAX_SPAN))


TOLERATED: Final = 3
"""Bytes of 64 that may differ."""


class Verdict(StrEnum):
    """What happened to a page's content between two visits."""

    SAME = "the same to the byte"
    NOISE = "the same but for clocks, tokens or advertisements"
    CHANGED = "changed"


Content: TypeAlias = tuple[bytes, bytes | None]
"""Digest of the body, and signature of its text (None: too little text)."""


def verdict_on(before: Content, after: Content, tolerated: int = TOLERATED) -> Verdict:
    """Compare the content of two visits.

    After NOISE keep the old signature: compared with the latest each time, a page that changes a little at every visit
    would never count as changed.
    """
    digest, signature = before
    digest_now, signature_now = after
    if digest == digest_now:
        return Verdict.SAME
    if signature is None or signature_now is None:
        return Verdict.CHANGED
    return Verdict.NOISE if distance(signature, signature_now) <= tolerated else Verdict.CHANGED


WEIGHT: Final = 10.0
"""The usual prior counts as this many pages."""

_LEAST = 1 / MAX_SPAN  # of the usual rate, which is the slowest host


class HostRates(NamedTuple):
    """The sum of the rates (changes per day) of a host's pages that were visited at least twice."""

    pages: int = 0
    rates: float = 0.0

    def updated(self, before: tuple[float, float] | None, after: tuple[float, float]) -> "HostRates":
        """A page's estimate is now `after` and was `before`; None if it had none."""
        pages, rates = self
        if before is None:
            pages += 1
        else:
            a, b = before
            rates -= a / b
        a, b = after
        return HostRates(pages, (rates if rates > 0 else 0.0) + a / b)

    def prior(self, usual: Estimate = USUAL) -> Estimate:
        """The prior for the next page of this host.

        A geometric mean of the usual rate and the host's: with an arithmetic mean, the usual rate would dominate for
        long on a host that hardly ever changes.
        """
        pages, rates = self
        if pages <= 0:
            return usual
        a, b = usual
        ratio = rates / pages * b / a
        return Estimate(a, b / (ratio if ratio > _LEAST else _LEAST) ** (pages / (pages + WEIGHT)))
