"""The front queues: hosts that have due URLs of a class but no back queue yet, oldest first.

The task table is the front queue; what is here is a window on it. An entry is a host, standing for its
oldest waiting URL of the class: taking hosts rather than URLs keeps the work of a refill independent of how many
URLs one host has waiting.
"""

from collections import deque
from dataclasses import dataclass, field

from gossamer.model.units import HostId, Instant

WINDOW = 512  # entries of a class read at a time


@dataclass(slots=True)
class FrontQueue:
    """The window on one class."""

    window: deque[HostId] = field(default_factory=deque)
    cursor: tuple[float, int] = (-1.0, 0)  # (available_at, host_id) of the last one read
    more: bool = True  # the table may hold due entries beyond the cursor
    reading: bool = False  # a window has been asked for
    grown_since: Instant | None = None  # entries were added after this while it was being read

    def add(self, entries: list[tuple[float, HostId]], *, exhausted: bool) -> None:
        self.reading = False
        self.more = not exhausted
        if entries:
            available_at, host_id = entries[-1]
            self.cursor = (available_at, host_id)
            self.window.extend(host_id for _, host_id in entries)
        if self.grown_since is not None:
            since, self.grown_since = self.grown_since, None
            self.touch(since)

    def touch(self, since: Instant) -> None:
        """Entries were added, all dated after `since`. The cursor may have passed that date before they could be
        seen, so it goes back there."""
        self.more = True
        if self.reading:
            self.grown_since = since if self.grown_since is None else min(since, self.grown_since)
        elif self.cursor[0] > since:
            self.cursor = (since, 0)

    def rewind(self) -> None:
        """Look at the whole queue again: for when nothing else is to be had."""
        self.cursor = (-1.0, 0)
        self.more = True


@dataclass(frozen=True, slots=True)
class FrontWanted:
    """Read the next window of a class."""

    front: int
    cursor: tuple[float, int]
    count: int
    due_by: Instant


@dataclass(frozen=True, slots=True)
class HostWanted:
    """Read a host's next URLs, and its record if it is new to us."""

    host_id: HostId
    with_record: bool
    classes: tuple[tuple[int, tuple[float, int], int], ...]  # (class, cursor, count)
    due_by: Instant


@dataclass(frozen=True, slots=True)
class LoadOrder:
    """What the frontier would like to have from the task table."""

    fronts: tuple[FrontWanted, ...]
    hosts: tuple[HostWanted, ...]

    def __bool__(self) -> bool:
        return bool(self.fronts or self.hosts)
