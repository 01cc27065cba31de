"""Data for the dashboard: samples of the last minutes for its charts, recent latencies, and details of the frontier."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from gossamer.model.units import Instant
from gossamer.observe.snapshot import Rates, Snapshot
from gossamer.sketch import Spread

QUANTILES: Final = (0.5, 0.95, 0.99)
_MINUTE: Final = 62
"""Counts kept, one per second: a little more than a minute."""
KEPT: Final = 300
"""Samples kept, one per second: a client that connects sees the last five minutes."""
REST_BOUNDS: Final = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 600.0, 3600.0)
"""Upper bounds, in seconds until the next contact, of the histogram of hosts."""
CHARTED: Final = "first_byte"
"""The phase whose latency is charted."""
_RECENT, _LAST_MINUTE = 5.0, 60.0  # seconds


Row = list[float | None]


class RecentLatency(NamedTuple):
    """Latency of one phase over an interval."""

    phase: str
    rate: float  # per second
    quantiles: tuple[float, ...] | None  # seconds, of QUANTILES; None if there were no measurements


class Latencies:
    """Recent latency of each phase: the difference of two cumulative histograms."""

    def __init__(self) -> None:
        self._counts: deque[tuple[float, Mapping[str, Spread]]] = deque(maxlen=_MINUTE)

    def add(self, elapsed: float, phases: Mapping[str, Spread]) -> None:
        """Add the cumulative counts at `elapsed` seconds of the run. Called in order of time."""
        self._counts.append((elapsed, phases))

    def over(self, seconds: float) -> list[RecentLatency]:
        """Latencies in the last `seconds`, or since the first counts."""
        if not self._counts:
            return []
        now, phases = self._counts[-1]
        then, before = next(((at, some) for at, some in self._counts if now - at <= seconds), self._counts[-1])
        return [_recent(name, spread, before.get(name, Spread()), now - then) for name, spread in phases.items()]


def _recent(phase: str, now: Spread, then: Spread, took: float) -> RecentLatency:
    counts = [after - before for after, before in zip(now.counts, then.counts, strict=True)]
    number = sum(counts)
    if not number or took <= 0:
        return RecentLatency(phase, 0.0, None)
    return RecentLatency(phase, number / took, tuple(quantile(counts, share) for share in QUANTILES))


def quantile(counts: Sequence[int], share: float) -> float:
    """The quantile `share`, in seconds, interpolated linearly within its class. Raises ValueError if all counts are
    zero."""
    left = share * sum(counts)
    for which, count in enumerate(counts):
        if count and left <= count:
            top = 2.0**which
            bottom = top / 2 if which else 0.0
            return (bottom + (top - bottom) * left / count) / 1e6
        left -= count
    raise ValueError("all counts are zero")


class Sample(NamedTuple):
    """A point in the charts. Rates and latencies are averaged over the last few seconds."""

    at: float
    pages: float  # stored per second
    bytes: float  # received per second
    quantiles: tuple[float, ...] | None  # of CHARTED, in seconds; None if there was no response
    failures: float  # per second


@dataclass(frozen=True, slots=True)
class LiveProbes:
    """Functions that read details of a running crawl, called only while there are clients.

    `rests` returns a histogram of hosts by the time until their next contact; `shares` returns the target shares of the
    classes for a load.
    """

    rests: Callable[[Instant, Sequence[float]], list[int]] = lambda now, bounds: [0] * (len(bounds) + 1)
    shares: Callable[[str], Sequence[float]] = lambda load: ()


class History:
    """Samples of the last minutes of a crawl. Adding a snapshot costs a few microseconds."""

    def __init__(self) -> None:
        self._rates = Rates()
        self._latencies = Latencies()
        self._failures: deque[tuple[float, int]] = deque(maxlen=int(_RECENT) + 1)  # (seconds of the run, in all)
        self._samples: deque[Sample] = deque(maxlen=KEPT)
        self._next = float("-inf")  # seconds of the run at which the next sample is due

    def add(self, snapshot: Snapshot) -> None:
        """Add a snapshot. They come in order of time, at any interval; one per second is kept."""
        self._rates.note(snapshot)
        if snapshot.elapsed < self._next:
            return
        self._next = snapshot.elapsed + 0.9  # less than a second, so that a slightly early snapshot is not skipped
        self._latencies.add(snapshot.elapsed, snapshot.internals.phases)
        recent = next((one.quantiles for one in self._latencies.over(_RECENT) if one.phase == CHARTED), None)
        failures = self._failures_now(snapshot)
        self._samples.append(Sample(snapshot.at, self._rates.pages_now, self._rates.bytes_now, recent, failures))

    def _failures_now(self, snapshot: Snapshot) -> float:
        self._failures.append((snapshot.elapsed, sum(snapshot.errors.values())))
        (then, before), (now, after) = self._failures[0], self._failures[-1]
        return (after - before) / (now - then) if now > then else 0.0

    def rows(self) -> list[Row]:
        """The samples, oldest first."""
        return [_plain(sample) for sample in self._samples]

    def details(self, snapshot: Snapshot, probes: LiveProbes) -> dict[str, object]:
        """The last sample, and values that `/status` does not have."""
        return {
            "sample": _plain(self._samples[-1]) if self._samples else None,
            "rests": {"bounds": REST_BOUNDS, "hosts": probes.rests(snapshot.at, REST_BOUNDS)},
            "targets": targets(probes.shares(snapshot.load), len(snapshot.urls_by_front)),
            "hosts_parked": snapshot.hosts_parked,
            "queues": [[name, fill.items, round(fill.saturation, 4)] for name, fill in snapshot.queues.items()],
            "phases": [_latency_row(one) for one in self._latencies.over(_LAST_MINUTE)],
        }


def targets(shares: Sequence[float], classes: int) -> list[float]:
    """Shares in percent; empty if the ordering has another number of classes than the shares."""
    total = sum(shares)
    return [round(100.0 * share / total, 2) for share in shares] if len(shares) == classes and total else []


def _plain(sample: Sample) -> Row:
    quantiles = sample.quantiles or (None,) * len(QUANTILES)
    times = map(_rounded, quantiles)
    return [round(sample.at, 3), round(sample.pages, 3), round(sample.bytes), *times, round(sample.failures, 3)]


def _latency_row(one: RecentLatency) -> list[object]:
    quantiles = one.quantiles or (None,) * len(QUANTILES)
    return [one.phase, round(one.rate, 3), *map(_rounded, quantiles)]


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 6)
