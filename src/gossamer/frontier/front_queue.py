"""The front queues: hosts that have due URLs of a class but no back queue yet, oldest (or best) first.

The task table is the front queue; what is here is a window on it. An entry is a host, standing for its
first waiting URL of the class: taking hosts rather than URLs keeps the work of a refill independent of how many
URLs one host has waiting.
"""

from collections import deque
from dataclasses import dataclass, field
from typing import NamedTuple

from gossamer.frontier.back_queue import START
from gossamer.model.units import HostId, Instant

WINDOW = 512  # entries of a class read at a time


@dataclass(slots=True)
class FrontQueue:
    """The window on one class."""

    window: deque[HostId] = field(default_factory=deque)
    cursor: tuple[float, int] = START  # (place, host_id) of the last one read
    more: bool = True  # the table may hold due entries beyond the cursor
    reading: bool = False  # a window has been asked for
    as_of: int = 0  # the last commit that the last window knew of, and ...
    begun_at: float = START[0]  # ... the place from which it was read
    grown: list[tuple[int, float]] = field(default_factory=list)  # (commit, place) added while it was being read

    def add(self, entries: list[tuple[float, HostId]], *, exhausted: bool, commit: int) -> None:
        self.reading = False
        self.more = not exhausted
        self.as_of, self.begun_at = commit, self.cursor[0]
        if entries:
            self.cursor = entries[-1]
            self.window.extend([host_id for _, host_id in entries])
        grown, self.grown = self.grown, []
        for number, place in grown:
            self.grow(number, place)

    def grow(self, commit: int, place: float) -> None:
        """Entries were added, none before `place`. The cursor may have passed it before they could be seen; then it
        goes back there."""
        if self.reading:
            self.grown.append((commit, place))
        elif commit > self.as_of or place < self.begun_at:
            self.more = True
            if self.cursor[0] > place:
                self.cursor = (place, 0)

    def rewind(self) -> None:
        """Look at the whole queue again: for when nothing else is to be had."""
        self.cursor = START
        self.more = True


@dataclass(frozen=True, slots=True)
class FrontWanted:
    """Read the next window of a class."""

    front: int
    cursor: tuple[float, int]
    count: int
    due_by: Instant


class HostWanted(NamedTuple):
    """Read a host's next URLs, and its record if it is new to us."""

    host_id: HostId
    with_record: bool
    classes: tuple[tuple[int, tuple[float, int], int], ...]  # (class, cursor, count)
    due_by: Instant


class LoadOrder(NamedTuple):
    """What the frontier would like to have from the task table."""

    fronts: tuple[FrontWanted, ...]
    hosts: tuple[HostWanted, ...]

    def __bool__(self) -> bool:
        return bool(self.fronts or self.hosts)
