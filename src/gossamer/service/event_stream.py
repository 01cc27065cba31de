"""The stream behind `GET /events`: snapshots and the outcomes of visits, as the crawl publishes them; and the data of
the dashboard: samples of the last minutes for its charts, recent latencies, and details of the frontier.
"""

import asyncio
import re
from collections import deque
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from gossamer.observe.snapshot import REST_BOUNDS, Rates, Snapshot, SteeringStatus
from gossamer.service.live_view import LiveView
from gossamer.sketch import Spread

QUANTILES: Final = (0.5, 0.95, 0.99)
_MINUTE: Final = 62
"""Counts kept, one per second: a little more than a minute."""
KEPT: Final = 300
"""Samples kept, one per second: a client that connects sees the last five minutes."""
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

    def details(self, snapshot: Snapshot, rests: Sequence[int], shares: Sequence[float]) -> dict[str, object]:
        """The last sample, and values that `/status` does not have: `rests` are hosts by the time until their next
        contact, `shares` the target shares of the classes."""
        return {
            "sample": _plain(self._samples[-1]) if self._samples else None,
            "rests": {"bounds": REST_BOUNDS, "hosts": rests},
            "targets": targets(shares, len(snapshot.urls_by_front)),
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


MOST_WATCHERS = 20

_POSITION = re.compile(r"([0-9]{1,20})-([0-9]{1,20})").fullmatch


class Update(NamedTuple):
    """What a client receives at a time, and the position from which it can continue after a reconnect."""

    snapshot: Snapshot
    outcomes: list[dict[str, Any]]
    position: str


class EventStream:
    """Sends the live status of a crawl to clients, as it comes. A slow client misses updates."""

    def __init__(self, view: LiveView) -> None:
        self._view = view
        self._history = History()
        self._details: tuple[Snapshot, dict[str, object]] | None = None  # shared by all clients
        self._updated = asyncio.Event()
        self._watchers = 0
        self._closed = False

    def update(self) -> None:
        """There is a new status."""
        if self._view.status is not None:
            self._history.add(self._view.status.snapshot)
        updated, self._updated = self._updated, asyncio.Event()
        updated.set()

    def close(self) -> None:
        """End the stream of every client."""
        self._closed = True
        self._updated.set()

    # --- data for clients ------------------------------------------------------------------------

    @property
    def _steering(self) -> SteeringStatus:
        status = self._view.status
        return SteeringStatus() if status is None or status.steering is None else status.steering

    def history(self) -> list[Row]:
        """The last minutes, sent to a client when it connects."""
        return self._history.rows()

    def details(self, snapshot: Snapshot) -> dict[str, object]:
        """What is sent with a snapshot. Computed once for all clients."""
        if self._details is None or self._details[0] is not snapshot:
            frontier = self._view.config.frontier
            shares = frontier.shares_under_load if snapshot.load == "high" else frontier.shares
            self._details = snapshot, self._history.details(snapshot, self._steering.rests, shares)
        return self._details[1]

    # --- clients ---------------------------------------------------------------------------------

    @property
    def watchers(self) -> int:
        return self._watchers

    @contextmanager
    def admit(self) -> Iterator[bool]:
        """Count a client while the block runs. False if there are too many; then it is not counted."""
        if self._watchers >= MOST_WATCHERS:
            yield False
            return
        self._watchers += 1
        try:
            yield True
        finally:
            self._watchers -= 1

    def position(self, last: str | None = None) -> str:
        """Where a client starts: after `last`, the last position it received, if that is of this run; otherwise now."""
        steering, found = self._steering, _POSITION(last or "")
        is_ours = found is not None and found[1] == steering.run and int(found[2]) <= steering.visits
        return f"{steering.run}-{int(found[2]) if found is not None and is_ours else steering.visits}"

    async def updates(self, every: int = 4, last: str | None = None) -> AsyncIterator[Update]:
        """Every `every`-th status with the outcomes since the previous one, until the crawl ends. The first update has
        the outcomes since the position `last`, as far as they are kept. For admitted clients."""
        sent = int(self.position(last).rpartition("-")[2])
        while True:
            if (latest := self._view.latest) is not None:
                steering = self._steering
                outcomes = [outcome for number, outcome in steering.outcomes if number > sent]
                sent = steering.visits
                yield Update(latest, outcomes, self.position())
            for _ in range(every):
                if self._closed:
                    return
                await self._updated.wait()
