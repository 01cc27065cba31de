"""How long the parts of a document's way took lately, from counts that only grow: the difference of two moments."""

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from gossamer.sketch.durations import Spread

QUANTILES: Final = (0.5, 0.95, 0.99)
_KEPT: Final = 62
"""Moments, one a second: enough to look a minute back."""


class Lately(NamedTuple):
    """One part of the way, over a stretch of time."""

    phase: str
    rate: float  # how often, a second
    quantiles: tuple[float, ...] | None  # seconds, of QUANTILES; None if it did not happen


class Latencies:
    """Remembers the counts of the last minute, one moment a second."""

    def __init__(self) -> None:
        self._moments: deque[tuple[float, Mapping[str, Spread]]] = deque(maxlen=_KEPT)

    def note(self, elapsed: float, phases: Mapping[str, Spread]) -> None:
        """Moments come in order of time, by the seconds of the run."""
        self._moments.append((elapsed, phases))

    def over(self, stretch: float) -> list[Lately]:
        """What happened in the last `stretch` seconds, or since the first moment."""
        if not self._moments:
            return []
        now, phases = self._moments[-1]
        then, before = next(((at, some) for at, some in self._moments if now - at <= stretch), self._moments[-1])
        return [_lately(name, spread, before.get(name, Spread()), now - then) for name, spread in phases.items()]


def _lately(phase: str, now: Spread, then: Spread, took: float) -> Lately:
    counts = [after - before for after, before in zip(now.counts, then.counts, strict=True)]
    number = sum(counts)
    if not number or took <= 0:
        return Lately(phase, 0.0, None)
    return Lately(phase, number / took, tuple(quantile(counts, share) for share in QUANTILES))


def quantile(counts: Sequence[int], share: float) -> float:
    """Seconds that `share` of what was counted took at most. Within a class it counts as spread evenly. There must be
    something in the counts."""
    left = share * sum(counts)
    for which, count in enumerate(counts):
        if count and left <= count:
            top = 2.0**which
            bottom = top / 2 if which else 0.0
            return (bottom + (top - bottom) * left / count) / 1e6
        left -= count
    raise ValueError("nothing was counted")
