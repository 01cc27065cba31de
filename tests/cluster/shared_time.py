"""The time of a run of the protocol: real time, but slower on a machine that is too busy to run the test.

A lease of less than a second would otherwise run out before the next heartbeat whenever something else has the CPU, and
the run would not get anywhere. All clocks of a run are this one.
"""

import threading
import time

_TICK = 0.002
_LONGEST_TICK = 0.01


class _SharedTime:
    def __init__(self) -> None:
        self._now = 1000.0
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def now(self) -> float:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="shared-time", daemon=True)
                self._thread.start()
        return self._now

    def _run(self) -> None:
        last = time.monotonic()
        while True:
            time.sleep(_TICK)
            real = time.monotonic()
            self._now += min(real - last, _LONGEST_TICK)
            last = real


now = _SharedTime().now
