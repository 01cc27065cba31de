"""Rings when a date has come. Under a clock that runs fast while nothing is done, it says when that is."""

import asyncio
from collections.abc import Callable
from typing import Final

from gossamer.clock import Clock, FastClock
from gossamer.model.units import Seconds

_LONGEST: Final = 3600.0  # seconds; then we look again


class Alarm:
    """One date at a time: `set` takes the place of what was set before. Owned by the event loop."""

    def __init__(self, clock: Clock, ring: Callable[[], None]) -> None:
        self._fast = clock if isinstance(clock, FastClock) else None
        self._ring = ring
        self._timer: asyncio.TimerHandle | None = None

    @property
    def runs_fast(self) -> bool:
        """Whether time passes quickly when `set` is told that nothing is under way."""
        return self._fast is not None

    def set(self, wait: float, least: float, *, idle: bool) -> None:
        """Ring after `wait` seconds of the clock, and not before `least` real ones. `idle`: nothing is under way."""
        if self._fast is not None and idle:
            real: float = self._fast.rest(Seconds(wait), Seconds(least))
        else:
            real = max(least, wait)
        self._timer = asyncio.get_running_loop().call_later(min(real, _LONGEST), self._ring)

    def clear(self) -> None:
        """It does not ring any more, and time passes as usual."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._fast is not None:
            self._fast.wake()
