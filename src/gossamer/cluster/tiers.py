"""Whether a tier of the cache is used: it is left alone while it fails, and probed until it is well again."""

import random
from dataclasses import dataclass

from gossamer.model.units import Seconds


@dataclass(frozen=True, slots=True)
class TierPolicy:
    """When a tier is given up, and when it is used again."""

    failures: int = 3  # in a row, after which the tier is open
    first_pause: Seconds = Seconds(1.0)  # before the first probe; doubles after each probe that fails
    longest_pause: Seconds = Seconds(10.0)
    jitter: float = 0.2  # up to this share is taken off a pause, so that many workers do not probe at the same time
    good_probes: int = 2  # in a row, after which the tier is closed


class TierBreaker:
    """The circuit breaker of one tier. Does no IO; time and chance are passed in.

    Closed: the tier is used, and every operation is reported with `on_success` or `on_failure`. Open: it is not used;
    from `next_probe` on it is probed, and the probe is reported with `on_probe`. Reports of operations that end after
    the tier was opened are ignored.
    """

    def __init__(self, policy: TierPolicy, chance: random.Random) -> None:
        self._policy = policy
        self._chance = chance
        self._failures = 0  # in a row
        self._good = 0  # probes in a row
        self._pause = policy.first_pause
        self._next_probe: float | None = None

    @property
    def is_open(self) -> bool:
        return self._next_probe is not None

    @property
    def next_probe(self) -> float | None:
        """When the tier is to be probed; None while it is closed."""
        return self._next_probe

    def on_success(self) -> None:
        """An operation was answered in time."""
        self._failures = 0

    def on_failure(self, now: float) -> bool:
        """An operation failed. True if that opens the tier."""
        if self.is_open:
            return False
        self._failures += 1
        if self._failures < self._policy.failures:
            return False
        self._good = 0
        self._pause = self._policy.first_pause
        self._schedule(now)
        return True

    def on_probe(self, good: bool, now: float) -> bool:
        """A probe has ended. True if that closes the tier."""
        if not self.is_open:
            return False
        if not good:
            self._good = 0
            self._pause = min(Seconds(2 * self._pause), self._policy.longest_pause)
        else:
            self._good += 1
            self._pause = self._policy.first_pause
            if self._good >= self._policy.good_probes:
                self._failures = 0
                self._next_probe = None
                return True
        self._schedule(now)
        return False

    def _schedule(self, now: float) -> None:
        self._next_probe = now + self._pause * (1.0 - self._policy.jitter * self._chance.random())
