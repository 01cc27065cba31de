"""Who holds a fetch slot, and for how long: hosts that do not answer must not keep the others waiting (ADR 12).

A visit that takes much longer than usual for its host steps *aside* when slots are wanted: it goes on, but its slot is
free for another. There is a bound for those aside too. When it is reached, late visits stay in their slots, and then
*doubtful* hosts (nothing ever came from them, or they are in trouble) have half of the slots at most. Pure, but for
`open_file_limit`: time is a parameter.
"""

import resource
from typing import Final, Generic, TypeVar

from gossamer.model.units import Instant, Seconds

V = TypeVar("V")
LATE_AFTER: Final = Seconds(1.0)
"""A visit that takes longer is late ..."""
LATE_FACTOR: Final = 3.0
"""... unless its host is well but slow: then it is late when it takes so many times as long as the last one did."""
ASIDE: Final = 2
"""Late visits that may be aside for each slot. A wait costs a socket and a few KB."""
FILES_FOR_OTHERS: Final = 200
"""Open files that are not visits' connections: archive, database, connections kept for later."""
COMES_BACK: Final = Seconds(1.0)
"""A host for which there is no room is asked to come back after so long ..."""
BETWEEN: Final = Seconds(0.005)
"""... and this far behind the one before it, so that a crowd of them costs next to nothing."""


class Slots(Generic[V]):
    """The visits that are out. Hot: `take` and `release` are called for each.

    Invariants: at most `most` are in slots and at most `room_aside` aside, each in one of the two; of those in slots
    `_doubtful` are of doubtful hosts.
    """

    def __init__(self, most: int, overflow_capacity: int) -> None:
        self.most = most
        self._overflow_capacity = overflow_capacity
        self._in: dict[V, tuple[float, bool]] = {}  # late from then on, doubtful
        self._aside: set[V] = set()
        self._unproven = 0
        self._next_back = Instant(0.0)

    def __len__(self) -> int:
        """All that are out."""
        return len(self._in) + len(self._aside)

    @property
    def all(self) -> tuple[V, ...]:
        return (*self._in, *self._aside)

    @property
    def bound(self) -> int:
        """How many can be out."""
        return self.most + self._overflow_capacity

    @property
    def busy(self) -> float:
        """The share of slots that are taken."""
        return len(self._in) / self.most

    @property
    def free(self) -> int:
        """How many slots are not taken."""
        return self.most - len(self._in)

    @property
    def is_full(self) -> bool:
        return len(self._in) >= self.most

    def has_room_for_unproven(self) -> bool:
        """Whether a doubtful host may have a slot, if there is one. While few visits are late it may have any: most
        hosts that were never heard of are well."""
        return self._unproven < self.most - min(self.most // 2, len(self._aside))

    def take(self, visit: V, now: Instant, last_took: float, *, unproven: bool) -> None:
        """A visit begins, of a host that took so long the last time."""
        patience = LATE_FACTOR * last_took
        if unproven or patience < LATE_AFTER:
            patience = LATE_AFTER
        self._in[visit] = (now + patience, unproven)
        self._unproven += unproven

    def release(self, visit: V) -> None:
        """It has ended."""
        slot = self._in.pop(visit, None)
        if slot is None:
            self._aside.remove(visit)
        else:
            self._unproven -= slot[1]

    def overflow_late(self, now: Instant) -> int:
        """If all slots are taken that somebody may have, let late visits go aside while there is room. How many did."""
        room = self._overflow_capacity - len(self._aside)
        if room <= 0 or (not self.is_full and self.has_room_for_unproven()):
            return 0
        late = [visit for visit, (late_at, _) in self._in.items() if late_at <= now][:room]
        for visit in late:
            self._unproven -= self._in.pop(visit)[1]
        self._aside.update(late)
        return len(late)

    def retry_at(self, now: Instant) -> Instant:
        """When a host comes again for which there was no room: in turn, one shortly after the other."""
        self._next_back = max(Instant(now + COMES_BACK), Instant(self._next_back + BETWEEN))
        return self._next_back


def overflow_capacity(most: int, open_files: int) -> int:
    """How many late visits may be aside, with so many files that a process may open.

    None beside a single slot: whoever asks for one visit at a time means it, and the order is exact then.
    """
    return 0 if most == 1 else max(0, min(ASIDE * most, open_files - most - FILES_FOR_OTHERS))


def open_file_limit() -> int:
    """The files that this process may open."""
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]
