"""Speeds out of growing totals."""

from collections import deque
from collections.abc import Sequence
from itertools import pairwise

from gossamer.observe.snapshot import Snapshot

WINDOW = 5.0  # seconds that "now" looks back; shorter is nervous, longer is late
_KEPT = 160  # seconds of history, enough for the widest sparkline
_BARS = "▁▂▃▄▅▆▇█"


class Rates:
    """Remembers the totals of the last minutes, a sample a second, and answers how fast they grow."""

    def __init__(self) -> None:
        self._samples: deque[tuple[float, int, int]] = deque(maxlen=_KEPT)  # (elapsed, pages, bytes)
        self._last = (0.0, 0, 0)
        self._first: tuple[float, int, int] | None = None

    def note(self, snapshot: Snapshot) -> None:
        """Snapshots come in order of time, as often as they like."""
        sample = (snapshot.elapsed, snapshot.run_pages, snapshot.bytes)
        if self._first is None:
            # Bytes are counted over all runs, so the run's own begin with what the first snapshot says.
            self._first = sample
            self._samples.append(sample)
        elif sample[0] >= self._samples[-1][0] + 1.0:
            self._samples.append(sample)
        self._last = sample

    @property
    def pages_now(self) -> float:
        """Pages a second over the last few seconds."""
        then = self._some_seconds_ago()
        return _speed(then[1], self._last[1], self._last[0] - then[0])

    @property
    def pages_mean(self) -> float:
        """Pages a second since this run began."""
        return _speed(0, self._last[1], self._last[0])

    @property
    def bytes_now(self) -> float:
        then = self._some_seconds_ago()
        return _speed(then[2], self._last[2], self._last[0] - then[0])

    @property
    def bytes_mean(self) -> float:
        first = self._first or self._last
        return _speed(first[2], self._last[2], self._last[0] - first[0])

    def history(self) -> list[float]:
        """Pages a second in each of the last seconds, oldest first."""
        return [_speed(a[1], b[1], b[0] - a[0]) for a, b in pairwise(self._samples)]

    def _some_seconds_ago(self) -> tuple[float, int, int]:
        for sample in reversed(self._samples):
            if self._last[0] - sample[0] >= WINDOW:
                return sample
        return self._samples[0] if self._samples else self._last


def _speed(before: float, after: float, took: float) -> float:
    return max(after - before, 0.0) / took if took > 0 else 0.0


def sparkline(values: Sequence[float], width: int) -> str:
    """The last `width` values as bars, the tallest for the largest of them."""
    shown = list(values[-width:]) if width > 0 else []
    top = max(shown, default=0.0)
    if top <= 0:
        return _BARS[0] * len(shown)
    return "".join(_BARS[min(int(value / top * len(_BARS)), len(_BARS) - 1)] for value in shown)
