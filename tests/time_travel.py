"""An event loop on which waiting takes no time: when nothing is left to do, its clock moves on to the next timer.

Servers and clients of a test share the loop, and what one sends over loopback has arrived when the call is over. So a
timer only fires when everything that was sent has been dealt with, however slow the machine is: a deadline passes
where a test waits for one, and nowhere else.
"""

import asyncio
import selectors
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeVar

from gossamer.clock import VirtualClock
from gossamer.model.units import Instant

T = TypeVar("T")
_GRACE = 0.001
"""Seconds in which other threads, and what measures time by itself (libcurl), get on."""


class _Skipping(selectors.BaseSelector):
    """Waits for nothing but events. What time would have passed is added to `passed`."""

    def __init__(self, grace: Callable[[], float]) -> None:
        self._real = selectors.DefaultSelector()
        self._grace = grace
        self.passed = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            return self._real.select(None)
        found = self._real.select(0)
        if found or timeout <= 0:
            return found
        found = self._real.select(self._grace())
        if not found:
            self.passed += timeout
        return found

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._real.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._real.unregister(fileobj)

    def modify(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._real.modify(fileobj, events, data)

    def close(self) -> None:
        self._real.close()

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return self._real.get_map()


class TravellingLoop(asyncio.SelectorEventLoop):
    def __init__(self, grace: Callable[[], float] = lambda: _GRACE) -> None:
        self._skipping = _Skipping(grace)
        super().__init__(self._skipping)

    def time(self) -> float:
        return self._skipping.passed


class LoopClock(VirtualClock):
    """The time of the running loop, for what takes a clock."""

    def now(self) -> Instant:
        return Instant(super().now() + self.monotonic())

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()


def run_travelling(main: Coroutine[object, object, T]) -> T:
    with asyncio.Runner(loop_factory=TravellingLoop) as runner:
        return runner.run(main)
