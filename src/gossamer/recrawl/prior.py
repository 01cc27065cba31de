"""What is believed of a page before its second visit: learnt from the other pages of its host.

The prior's mean is the mean rate of the host's pages, whose sum is corrected after every visit. Its shape stays the
usual one. (Learning the shape too, from the mean of the logarithms, was tried: it gained nothing on drawn worlds and
lost a quarter of a point on recorded ones. ADR 29.)
"""

from typing import Final, NamedTuple

from gossamer.recrawl.estimate import MAX_SPAN, USUAL, Estimate

WEIGHT: Final = 10.0
"""The usual prior counts as so many pages: a host with fewer is mostly usual."""

_LEAST = 1 / MAX_SPAN  # of the usual rate, which is the slowest host


class HostRates(NamedTuple):
    """The sum of the rates, in changes a day, of the pages of a host that were visited twice or more."""

    pages: int = 0
    rates: float = 0.0

    def learnt(self, before: tuple[float, float] | None, after: tuple[float, float]) -> "HostRates":
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
