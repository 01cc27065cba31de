"""What only whoever watches a crawl wants to see: its last minutes, for charts, and where hosts and classes stand."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from gossamer.model.units import Instant
from gossamer.observe.snapshot import Rates, Snapshot
from gossamer.sketch.durations import Spread

QUANTILES: Final = (0.5, 0.95, 0.99)
_MINUTE: Final = 62
"""Counts kept, one a second: enough to look a minute back."""
KEPT: Final = 300
"""Samples, one a second: whoever comes to watch sees the last five minutes at once."""
REST_BOUNDS: Final = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 600.0, 3600.0)
"""Seconds until the next contact: up to each of these, hosts are counted together."""
CHARTED: Final = "first_byte"
"""The part of a document's way whose time is charted: how long sites think."""
_LATELY, _LAST_MINUTE = 5.0, 60.0  # seconds


Row = list[float | None]


class RecentLatency(NamedTuple):
    """One part of the way, over a stretch of time."""

    phase: str
    rate: float  # how often, a second
    quantiles: tuple[float, ...] | None  # seconds, of QUANTILES; None if it did not happen


class Latencies:
    """How long the parts of a document's way took lately: the difference of two counts that only grow."""

    def __init__(self) -> None:
        self._moments: deque[tuple[float, Mapping[str, Spread]]] = deque(maxlen=_MINUTE)

    def note(self, elapsed: float, phases: Mapping[str, Spread]) -> None:
        """Moments come in order of time, by the seconds of the run."""
        self._moments.append((elapsed, phases))

    def over(self, stretch: float) -> list[RecentLatency]:
        """What happened in the last `stretch` seconds, or since the first moment."""
        if not self._moments:
            return []
        now, phases = self._moments[-1]
        then, before = next(((at, some) for at, some in self._moments if now - at <= stretch), self._moments[-1])
        return [_lately(name, spread, before.get(name, Spread()), now - then) for name, spread in phases.items()]


def _lately(phase: str, now: Spread, then: Spread, took: float) -> RecentLatency:
    counts = [after - before for after, before in zip(now.counts, then.counts, strict=True)]
    number = sum(counts)
    if not number or took <= 0:
        return RecentLatency(phase, 0.0, None)
    return RecentLatency(phase, number / took, tuple(quantile(counts, share) for share in QUANTILES))


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


class Sample(NamedTuple):
    """One second of a crawl. Rates and times are those of the last few seconds."""

    at: float
    pages: float  # stored, a second
    bytes: float  # received, a second
    quantiles: tuple[float, ...] | None  # of CHARTED, in seconds; None if nothing was heard
    failures: float  # a second


@dataclass(frozen=True, slots=True)
class LiveProbes:
    """What is asked of a running crawl, and only while somebody watches.

    `rests` counts hosts by how long they are still left alone; `shares` are what classes get, by load.
    """

    rests: Callable[[Instant, Sequence[float]], list[int]] = lambda now, bounds: [0] * (len(bounds) + 1)
    shares: Callable[[str], Sequence[float]] = lambda load: ()


class History:
    """Keeps the last minutes of a crawl. Costs a few microseconds a look, whoever watches or not."""

    def __init__(self) -> None:
        self._rates = Rates()
        self._latencies = Latencies()
        self._failures: deque[tuple[float, int]] = deque(maxlen=int(_LATELY) + 1)  # (seconds of the run, in all)
        self._samples: deque[Sample] = deque(maxlen=KEPT)
        self._next = float("-inf")  # seconds of the run at which the next sample is due

    def note(self, snapshot: Snapshot) -> None:
        """Snapshots come in order of time, as often as they like; one a second is kept."""
        self._rates.note(snapshot)
        if snapshot.elapsed < self._next:
            return
        self._next = snapshot.elapsed + 0.9  # looks come late rather than early, and none is to be skipped for it
        self._latencies.note(snapshot.elapsed, snapshot.internals.phases)
        lately = next((one.quantiles for one in self._latencies.over(_LATELY) if one.phase == CHARTED), None)
        failures = self._failures_now(snapshot)
        self._samples.append(Sample(snapshot.at, self._rates.pages_now, self._rates.bytes_now, lately, failures))

    def _failures_now(self, snapshot: Snapshot) -> float:
        self._failures.append((snapshot.elapsed, sum(snapshot.errors.values())))
        (then, before), (now, after) = self._failures[0], self._failures[-1]
        return (after - before) / (now - then) if now > then else 0.0

    def history(self) -> list[Row]:
        """The samples so far, the oldest first, as `moment` tells one."""
        return [_plain(sample) for sample in self._samples]

    def moment(self, snapshot: Snapshot, sights: LiveProbes) -> dict[str, object]:
        """The last sample, and what `/status` does not tell."""
        return {
            "sample": _plain(self._samples[-1]) if self._samples else None,
            "rests": {"bounds": REST_BOUNDS, "hosts": sights.rests(snapshot.at, REST_BOUNDS)},
            "targets": targets(sights.shares(snapshot.load), len(snapshot.urls_by_front)),
            "hosts_parked": snapshot.hosts_parked,
            "queues": [[name, fill.items, round(fill.saturation, 4)] for name, fill in snapshot.queues.items()],
            "phases": [_told(one) for one in self._latencies.over(_LAST_MINUTE)],
        }


def targets(shares: Sequence[float], classes: int) -> list[float]:
    """Shares in percent. None for an ordering that has other classes than the shares are meant for."""
    total = sum(shares)
    return [round(100.0 * share / total, 2) for share in shares] if len(shares) == classes and total else []


def _plain(sample: Sample) -> Row:
    quantiles = sample.quantiles or (None,) * len(QUANTILES)
    times = map(_rounded, quantiles)
    return [round(sample.at, 3), round(sample.pages, 3), round(sample.bytes), *times, round(sample.failures, 3)]


def _told(one: RecentLatency) -> list[object]:
    quantiles = one.quantiles or (None,) * len(QUANTILES)
    return [one.phase, round(one.rate, 3), *map(_rounded, quantiles)]


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 6)
