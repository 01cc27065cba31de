"""Time as a parameter. The only module that imports `time`."""

import time
from typing import Protocol

from gossamer.model.units import Instant, Seconds


class Clock(Protocol):
    def now(self) -> Instant:
        """Wall-clock UTC: for schedules that outlive the process."""
        ...

    def monotonic(self) -> float:
        """For measuring durations; its zero means nothing."""
        ...


class SteadyClock:
    """Wall-clock time that never jumps: the wall clock at the start, advanced by the monotonic one.

    A step of the machine's clock neither bunches nor stretches the gaps between visits; the price is
    that the dates we record drift from the machine's after such a step until the next start.
    """

    def __init__(self) -> None:
        # The two clocks are read one after the other; whoever is interrupted in between reads an offset that is off.
        # The largest of a few is the nearest, and errs to the late side, where no gap is shortened.
        self._offset = max(time.time() - time.monotonic() for _ in range(5))

    def now(self) -> Instant:
        return Instant(time.monotonic() + self._offset)

    def monotonic(self) -> float:
        return time.monotonic()


class VirtualClock:
    """A clock that stands still until it is moved. For simulations and tests."""

    def __init__(self, start: float = 1_700_000_000.0) -> None:
        self._now = Instant(start)

    def now(self) -> Instant:
        return self._now

    def monotonic(self) -> float:
        return float(self._now)

    def advance(self, by: Seconds) -> None:
        if by < 0:
            raise ValueError(f"time does not run backwards: {by}")
        self._now = Instant(self._now + by)


def cpu_seconds() -> float:
    """CPU time used by this process so far, all threads."""
    return time.process_time()
