"""What the frontier is told from outside."""

from collections.abc import Iterable
from typing import Protocol

from gossamer.model.units import HostId


class Report(Protocol):
    """What a commit means to the frontier (`store.changes.Committed` is one)."""

    @property
    def number(self) -> int: ...
    @property
    def touched(self) -> Iterable[tuple[HostId, int, float]]: ...
    @property
    def settled(self) -> Iterable[tuple[HostId, int]]: ...
    @property
    def retired(self) -> Iterable[HostId]: ...
    @property
    def moved(self) -> Iterable[tuple[HostId, int, int, float, float]]: ...
    @property
    def linked(self) -> Iterable[tuple[int, int, int]]: ...
