"""Is the crawl under load? What decides the selector's ratios, with hysteresis so that they do not flap."""

from gossamer.frontier.selector import Load

ALL_BUSY = 1.0  # share of the fetch slots: high load from here on ...
FULL = 0.8  # ... or when the fullest queue is as full as this ...
HIGH_AFTER = 1.0  # ... for so many seconds
CALM_BUSY = 0.9  # normal again when fewer slots than this are busy ...
CALM_FULL = 0.6  # ... and every queue is emptier than this ...
NORMAL_AFTER = 2.0  # ... for so many seconds


class LoadDetector:
    """Remembers how long things have been as they are. Fed a few times a second; reads no clock.

    Between the two pairs of bounds nothing changes: a crawl that swings there stays what it was, and each switch
    takes a second or two of the same at every look.
    """

    def __init__(self) -> None:
        self.load = Load.NORMAL
        self.reason = "the crawl has begun"  # for the load as it is
        self._since: float | None = None  # what would switch it has held since then

    def look(self, now: float, busy: float, saturation: float) -> tuple[Load, str]:
        """The load and the reason for it, as of `now` (any steady clock, in seconds).

        `busy` is the share of fetch slots in use, `saturation` how full the fullest queue is, both 0..1.
        """
        if self.load is Load.NORMAL:
            self._lasts(now, busy >= ALL_BUSY or saturation >= FULL, HIGH_AFTER, Load.HIGH, busy)
        else:
            self._lasts(now, busy < CALM_BUSY and saturation < CALM_FULL, NORMAL_AFTER, Load.NORMAL, busy)
        return self.load, self.reason

    def _lasts(self, now: float, holds: bool, long_enough: float, then: Load, busy: float) -> None:
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
