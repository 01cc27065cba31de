"""Room for bodies that are arriving: one bound for all of them, whatever each may grow to.

A single body is bounded by `fetch.max_body_bytes`, but hundreds may be under way at the same time. So they share room.
When it is full, whoever has had its free share is held: its socket is not read, and the host waits like anybody whose
reader is slow. One body may always go on, so that the room empties: the first that found it full. Held time is not the
host's (`deadlines`).

What is in memory is at most the room, one body, and the free share of each exchange under way.
"""

import asyncio
from typing import Final, Protocol

from gossamer.model.fill import Fill

ROOM_BYTES: Final = 64 * 1024 * 1024
FREE_BYTES: Final = 128 * 1024
"""What every body may have, however full it is: most are smaller, and never held."""
_RELIEF: Final = 0.75
"""When no more than this share is taken, all that are held go on."""


class Arriving(Protocol):
    """A body that can be held."""

    def go_on(self) -> None:
        """It is not held any more. Called from the event loop, never from within `must_wait`."""
        ...


class BodyRoom:
    """Counts the bytes of bodies under way, and says who must wait. Belongs to one event loop.

    Invariants: `taken` is the bytes of all bodies under way; whoever is in `_held` is told to go on, or leaves.
    """

    __slots__ = ("_first", "_held", "_waking", "free", "most", "taken")

    def __init__(self, most: int = ROOM_BYTES, free: int = FREE_BYTES) -> None:
        self.most = most
        self.free = free
        self.taken = 0
        self._first: Arriving | None = None  # may go on although the room is full
        self._held: dict[Arriving, None] = {}  # in the order in which they came
        self._waking = False

    @property
    def saturation(self) -> float:
        return self.taken / self.most

    @property
    def held(self) -> int:
        """Bodies that wait."""
        return len(self._held)

    def fill(self, under_way: int) -> Fill:
        return Fill(under_way, 0, self.taken, self.most)

    def must_wait(self, body: Arriving, so_far: int) -> bool:
        """Whether a body that has come so far has to stop here until `go_on`. Ask when `taken` exceeds `most`."""
        if so_far <= self.free or self.taken <= self.most:
            return False
        if self._first is None:
            self._first = body
        if self._first is body:
            return False
        self._held[body] = None
        return True

    def leave(self, body: Arriving, size: int) -> None:
        """The body has arrived, or nobody wants it any more."""
        self.taken -= size
        if self._held or self._first is not None:
            self._held.pop(body, None)
            if self._first is body:
                self._first = None
            if self._held and not self._waking:
                self._waking = True
                asyncio.get_running_loop().call_soon(self._wake)

    def _wake(self) -> None:
        """Not from within `leave`: whoever goes on may be handed bytes at once, and those who leave are in the middle
        of something."""
        self._waking = False
        if self.taken <= _RELIEF * self.most:
            going, self._held = list(self._held), {}
        elif self._first is None and self._held:
            going = [next(iter(self._held))]
            del self._held[going[0]]
        else:
            return
        for body in going:
            body.go_on()
