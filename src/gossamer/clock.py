"""Time as a parameter. The only module that imports `time`."""

import mmap
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, Protocol

from gossamer.model.units import Instant, Seconds


class Clock(Protocol):
    def now(self) -> Instant:
        """Wall-clock UTC: for schedules that outlive the process."""
        ...

    def monotonic(self) -> float:
        """For measuring durations; its zero is arbitrary."""
        ...


class SteadyClock:
    """Wall-clock time that never jumps: the wall clock at the start, advanced by the monotonic clock.

    A step of the system clock neither shortens nor lengthens the gaps between visits; the price is that recorded dates
    differ from the system's after such a step until the next start.
    """

    def __init__(self) -> None:
        # The two clocks are read one after the other, so an interruption in between falsifies the offset.
        # The largest of a few is the most accurate, and errs to the late side, where no gap is shortened.
        self._offset = max(time.time() - time.monotonic() for _ in range(5))

    def now(self) -> Instant:
        return Instant(time.monotonic() + self._offset)

    def monotonic(self) -> float:
        return time.monotonic()


class ServerClock:
    """The clock of a database server as it was when a worker joined, advanced by the monotonic clock.

    All dates of a crawl by several machines are by such clocks. A step of the server's clock reaches only workers that
    join later; so nothing that must be certain may depend on comparing the dates of two workers.
    """

    def __init__(self, ask: Callable[[], float], monotonic: Callable[[], float] = time.monotonic) -> None:
        """`ask` returns the time of the server. The answer that came fastest counts."""
        self._monotonic = monotonic
        found = []
        for _ in range(5):
            before = monotonic()
            answer = ask()
            after = monotonic()
            found.append((after - before, answer - (before + after) / 2))
        self._offset = min(found)[1]

    def now(self) -> Instant:
        return Instant(self._monotonic() + self._offset)

    def monotonic(self) -> float:
        return self._monotonic()


def boot_time() -> float:
    """A monotonic clock that also counts the time that the machine is suspended, where the system has one."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


CLOCK_FILE: Final = "rehearsal.clock"
"""In the directory of a time-lapse crawl: how far its clock is ahead of real time."""


class SharedClock(SteadyClock):
    """Wall-clock time plus an offset in a file, shared by all processes on this machine that open it (docs/RECRAWL.md).

    The file is eight bytes, seconds as a double, read and written atomically.
    """

    def __init__(self, file: Path, *, read_only: bool = False) -> None:
        """Creates the file, with offset 0, if it does not exist. Raises OSError."""
        super().__init__()
        flags = os.O_RDONLY if read_only else os.O_RDWR | os.O_CREAT
        descriptor = os.open(file, flags | os.O_CLOEXEC, 0o644)
        try:
            if not read_only and os.fstat(descriptor).st_size < 8:
                os.ftruncate(descriptor, 8)
            access = mmap.ACCESS_READ if read_only else mmap.ACCESS_WRITE
            self._ahead = memoryview(mmap.mmap(descriptor, 8, access=access)).cast("d")
        finally:
            os.close(descriptor)

    def now(self) -> Instant:
        return Instant(time.monotonic() + self._offset + self._ahead[0])

    def advance(self, by: Seconds) -> None:
        """Advance the clock for all processes. Only one of them may do so."""
        if by < 0:
            raise ValueError(f"cannot advance a clock by {by} seconds")
        self._ahead[0] += by


class FastClock(SharedClock):
    """A clock that runs fast while its owner waits, and in real time while it works.

    So work takes as long on this clock as it really takes, however slow the machine is; only idle time is accelerated.
    """

    def __init__(self, file: Path, speed: float) -> None:
        super().__init__(file)
        self.speed = speed
        self._resting: tuple[float, float] | None = None  # since when, and for how long at most; real time

    def rest(self, wait: Seconds, least: Seconds) -> Seconds:
        """Begin to wait. Returns the real duration of the wait: at least `least`, which may be more than `wait`."""
        real = max(wait / self.speed, least)
        self._resting = (time.monotonic(), real)
        return Seconds(real)

    def wake(self) -> None:
        """End the wait, if there is one. Waking late does not count as a longer wait."""
        if self._resting is not None:
            since, most = self._resting
            self._resting = None
            passed = time.monotonic() - since
            self.advance(Seconds(max(min(passed, most) * self.speed - passed, 0.0)))


def clock_of(directory: Path) -> Clock:
    """The clock for the dates in a crawl's directory."""
    file = directory / CLOCK_FILE
    return SharedClock(file, read_only=True) if file.exists() else SteadyClock()


class VirtualClock:
    """A clock that only moves when it is advanced. For simulations and tests."""

    def __init__(self, start: float = 1_700_000_000.0) -> None:
        self._now = Instant(start)

    def now(self) -> Instant:
        return self._now

    def monotonic(self) -> float:
        return float(self._now)

    def advance(self, by: Seconds) -> None:
        if by < 0:
            raise ValueError(f"cannot advance a clock by {by} seconds")
        self._now = Instant(self._now + by)


def cpu_seconds() -> float:
    """CPU time used by this process so far, all threads."""
    return time.process_time()


def sleep(seconds: float) -> None:
    """Let the calling thread wait; not for the event loop."""
    time.sleep(seconds)
