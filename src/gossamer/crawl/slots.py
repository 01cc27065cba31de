"""Fetch slots, and the load that they show: hosts that do not answer must not block the others (ADR 12).

A visit that takes much longer than usual for its host moves to the *overflow* when slots are needed: it continues, but
its slot is free for another visit. The overflow is bounded. When it is full, late visits stay in their slots, and then
*unproven* hosts (which have never answered, or are failing) get at most half of the slots. Pure, except for
`open_file_limit`; time is a parameter.
"""

import resource
from typing import Final, Generic, TypeVar

from gossamer.frontier.selector import Load
from gossamer.model.units import Instant, Seconds

V = TypeVar("V")
LATE_AFTER: Final = Seconds(1.0)
"""A visit that takes longer is late ..."""
LATE_FACTOR: Final = 3.0
"""... unless its host is slow but works: then it is late after this multiple of the last duration."""
OVERFLOW_PER_SLOT: Final = 2
"""Late visits in the overflow for each slot. Each costs a socket and a few KB."""
FILES_FOR_OTHERS: Final = 200
"""Open files that are not connections of visits: archive, database, idle connections."""
RETRY_AFTER: Final = Seconds(1.0)
"""Seconds until a host without a slot is tried again ..."""
RETRY_SPACING: Final = Seconds(0.005)
"""... and between two such hosts, so that many of them cost little."""


class Slots(Generic[V]):
    """Slots in use, by the tasks that hold them. Hot: `take` and `release` are called for each visit.

    Which hosts are being visited is known to the frontier, and ends with the contact. A task holds its slot until the
    outcome is settled or queued as a document; slots know nothing else of its visit.

    Invariants: at most `most` visits are in slots and at most `overflow_capacity` in the overflow, each in one of the
    two; `_unproven` of those in slots are of unproven hosts.
    """

    def __init__(self, most: int, overflow_capacity: int) -> None:
        self.most = most
        self._overflow_capacity = overflow_capacity
        self._in: dict[V, tuple[float, bool]] = {}  # late from then on, unproven
        self._overflow: set[V] = set()
        self._unproven = 0
        self._last_retry = Instant(0.0)

    def __len__(self) -> int:
        """The number of visits in flight."""
        return len(self._in) + len(self._overflow)

    @property
    def all(self) -> tuple[V, ...]:
        return (*self._in, *self._overflow)

    @property
    def bound(self) -> int:
        """The most visits that can be in flight."""
        return self.most + self._overflow_capacity

    @property
    def busy(self) -> float:
        """The share of slots in use."""
        return len(self._in) / self.most

    @property
    def free(self) -> int:
        """The number of free slots."""
        return self.most - len(self._in)

    @property
    def is_full(self) -> bool:
        return len(self._in) >= self.most

    def has_room_for_unproven(self) -> bool:
        """Whether an unproven host may have a slot, if one is free. While few visits are late it may have any: most
        hosts that were never contacted work."""
        return self._unproven < self.most - min(self.most // 2, len(self._overflow))

    def take(self, visit: V, now: Instant, last_took: float, *, unproven: bool) -> None:
        """A visit starts; its host took `last_took` seconds the last time."""
        patience = LATE_FACTOR * last_took
        if unproven or patience < LATE_AFTER:
            patience = LATE_AFTER
        self._in[visit] = (now + patience, unproven)
        self._unproven += unproven

    def release(self, visit: V) -> None:
        """A visit has ended."""
        slot = self._in.pop(visit, None)
        if slot is None:
            self._overflow.remove(visit)
        else:
            self._unproven -= slot[1]

    def overflow_late(self, now: Instant) -> int:
        """If no slot is free, or none for unproven hosts, move late visits to the overflow. Returns how many."""
        room = self._overflow_capacity - len(self._overflow)
        if room <= 0 or (not self.is_full and self.has_room_for_unproven()):
            return 0
        late = [visit for visit, (late_at, _) in self._in.items() if late_at <= now][:room]
        for visit in late:
            self._unproven -= self._in.pop(visit)[1]
        self._overflow.update(late)
        return len(late)

    def retry_at(self, now: Instant) -> Instant:
        """When to try a host again for which no slot was free: one host shortly after the other."""
        self._last_retry = max(Instant(now + RETRY_AFTER), Instant(self._last_retry + RETRY_SPACING))
        return self._last_retry


def overflow_capacity(most: int, open_files: int) -> int:
    """The size of the overflow for `most` slots in a process that may open `open_files` files.

    0 for a single slot: then there is one visit at a time, and the order is exact.
    """
    return 0 if most == 1 else max(0, min(OVERFLOW_PER_SLOT * most, open_files - most - FILES_FOR_OTHERS))


def open_file_limit() -> int:
    """The number of files that this process may open."""
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


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
