"""How often does a page change? A Gamma distribution of its rate, kept in two numbers. Hot: bench_recrawl.py.

A page changes as a Poisson process of unknown rate, about which we believe Gamma(a, b): mean a / b changes a day, and
the larger `a`, the surer we are. Every visit is one observation, and the process starts afresh with it. Times are in
days throughout, because the two numbers are read by people.

What always holds: both numbers are finite and within the limits below, whatever is observed; and of two histories that
differ only in how long nothing changed, the longer never has the higher mean.

Did the content of a page change, or only its clock, its tokens and its advertisements?

Bodies that are equal to the byte are unchanged. Where they differ, the signatures of the texts decide
(`gossamer.sketch.minhash`, 64 bytes for a page): each byte stands for a sample of the text's shingles, and a date, a
counter, a token or a line of advertising is in one to three of them. A page without enough text for a signature is
judged by its digest alone.

How far two signatures are apart is about 64 times the share of shingles that one text has and the other has not. So a
page whose text differs in less than `TOLERATED` of its words counts as unchanged: ADR 17 says what that costs.

What is believed of a page before its second visit: learnt from the other pages of its host.

The prior's mean is the mean rate of the host's pages, whose sum is corrected after every visit. Its shape stays the
usual one. (Learning the shape too, from the mean of the logarithms, was tried: it gained nothing on drawn worlds and
lost a quarter of a point on recorded ones. ADR 17.)
"""

from enum import StrEnum
from math import expm1, isfinite, log1p, sqrt
from typing import Final, NamedTuple, TypeAlias

from gossamer.sketch.minhash import distance

MIN_SHAPE: Final = 1e-3
MAX_SHAPE: Final = 1e6
MIN_SPAN: Final = 1e-9  # days: below any gap that a clock can tell
MAX_SPAN: Final = 1e9


class Estimate(NamedTuple):
    """Gamma(shape `a`, span `b` in days) of changes a day."""

    shape: float
    span: float

    @property
    def rate(self) -> float:
        """Changes a day, on the average of what may be."""
        return self.shape / self.span

    @property
    def uncertainty(self) -> float:
        """Standard deviation of the rate as a share of the rate: 1 is knowing little, 0.1 a good deal."""
        return 1 / sqrt(self.shape)


USUAL: Final = Estimate(0.5, 5.0)
"""What is believed of a page of which nothing is known, its host included (SCIENCE, 4.3)."""


def unchanged(before: Estimate, gap: float) -> Estimate:
    """`gap` days passed and nothing changed. Exact."""
    return bounded(before.shape, before.span + max(gap, 0.0))


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
    return bounded(before.shape + 1, before.span + min(max(quiet, 0.0), max(gap, 0.0)))


def flagged(before: Estimate, after: float, recall: float) -> Estimate:
    """A report of a change came `after` days, from a source that reports the share `recall` of all changes."""
    return bounded(before.shape + 1, before.span + recall * max(after, 0.0))


def not_flagged(before: Estimate, gap: float, recall: float, *, change: bool) -> Estimate:
    """No report in `gap` days, and then a visit: reported changes were none, and the others are one bit."""
    silent = bounded(before.shape, before.span + recall * max(gap, 0.0))
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


TOLERATED: Final = 3
"""Bytes of 64 that may differ."""


class Verdict(StrEnum):
    """What became of a page's content between two visits."""

    SAME = "the same to the byte"
    NOISE = "the same but for clocks, tokens or advertisements"
    CHANGED = "changed"


Content: TypeAlias = tuple[bytes, bytes | None]
"""What is known of a page's content: digest of the body, signature of its text (None: too little of it)."""


def verdict_on(before: Content, after: Content, tolerated: int = TOLERATED) -> Verdict:
    """Judge a second visit by the content that the first one found.

    The signature to keep after NOISE is the old one: compared with the latest each time, a page that changes a little
    at every visit would never count as changed.
    """
    digest, signature = before
    digest_now, signature_now = after
    if digest == digest_now:
        return Verdict.SAME
    if signature is None or signature_now is None:
        return Verdict.CHANGED
    return Verdict.NOISE if distance(signature, signature_now) <= tolerated else Verdict.CHANGED


WEIGHT: Final = 10.0
"""The usual prior counts as so many pages: a host with fewer is mostly usual."""

_LEAST = 1 / MAX_SPAN  # of the usual rate, which is the slowest host


class HostRates(NamedTuple):
    """The sum of the rates, in changes a day, of the pages of a host that were visited twice or more."""

    pages: int = 0
    rates: float = 0.0

    def updated(self, before: tuple[float, float] | None, after: tuple[float, float]) -> "HostRates":
        """A page is estimated at `after`, and was at `before`; None if there was no estimate of it."""
        pages, rates = self
        if before is None:
            pages += 1
        else:
            a, b = before
            rates -= a / b
        a, b = after
        return HostRates(pages, (rates if rates > 0 else 0.0) + a / b)

    def prior(self, usual: Estimate = USUAL) -> Estimate:
        """What to believe of the next page of this host.

        Between the usual rate and that of the host's pages on a scale of ratios: with plain means, ten pages' worth of
        a usual rate would for long drown the pages of a host that hardly ever changes.
        """
        pages, rates = self
        if pages <= 0:
            return usual
        a, b = usual
        ratio = rates / pages * b / a
        return Estimate(a, b / (ratio if ratio > _LEAST else _LEAST) ** (pages / (pages + WEIGHT)))
