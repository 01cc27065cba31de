"""Detects whether the crawl is under load, which decides the ratios of the selector. With hysteresis."""

from gossamer.frontier.selector import Load

ALL_BUSY = 1.0  # share of the fetch slots: high load from here on ...
FULL = 0.8  # ... or when the fullest queue is this full ...
HIGH_AFTER = 1.0  # ... for this many seconds
CALM_BUSY = 0.9  # normal again when fewer slots than this are busy ...
CALM_FULL = 0.6  # ... and every queue is emptier than this ...
NORMAL_AFTER = 2.0  # ... for this many seconds


class LoadDetector:
    """Switches between normal and high load. Called a few times a second; reads no clock.

    Between the two pairs of limits the load does not change, and a switch needs its condition to hold at every call for
    a second or two.
    """

    def __init__(self) -> None:
        self.load = Load.NORMAL
        self.reason = "the crawl has begun"  # for the current load
        self._since: float | None = None  # the condition for a switch has held since then

    def check(self, now: float, busy: float, saturation: float) -> tuple[Load, str]:
        """The load and its reason at `now` (any monotonic clock, in seconds).

        `busy` is the share of fetch slots in use, `saturation` how full the fullest queue is, both 0..1.
        """
        if self.load is Load.NORMAL:
            self._switch_if_lasting(now, busy >= ALL_BUSY or saturation >= FULL, HIGH_AFTER, Load.HIGH, busy)
        else:
            self._switch_if_lasting(now, busy < CALM_BUSY and saturation < CALM_FULL, NORMAL_AFTER, Load.NORMAL, busy)
        return self.load, self.reason

    def _switch_if_lasting(self, now: float, holds: bool, long_enough: float, then: Load, busy: float) -> None:
        if not holds:
            self._since = None
            return
        if self._since is None:
            self._since = now
        if now - self._since < long_enough:
            return
        self._since = None
        self.load = then
        if then is Load.NORMAL:
            self.reason = f"fewer than {CALM_BUSY:.0%} of the fetch slots busy and no queue {CALM_FULL:.0%} full"
        else:
            self.reason = "all fetch slots busy" if busy >= ALL_BUSY else f"a queue {FULL:.0%} full"
        self.reason += f" for {long_enough:g} s"
