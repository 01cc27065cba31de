"""How an estimate ages, as a function: the policy has it inline, and tests compare the two."""

from math import exp

from gossamer.recrawl.estimate import Estimate, bounded


def aged(before: Estimate, gap: float, memory: float, prior: Estimate) -> Estimate:
    """The estimate `gap` days later, with a memory of `memory` days: the same rate, less certain.

    Certainty falls to that of the prior and not below. The mean stays: drawing it to the prior's as well would let a
    long quiet time raise the rate of a page that was quiet before.
    """
    a, b = before
    if gap <= 0 or a <= prior.shape:
        return before
    kept = max(exp(-gap / memory), prior.shape / a)
    return bounded(a * kept, b * kept)
