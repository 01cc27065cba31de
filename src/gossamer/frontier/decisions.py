"""Decisions, limits and statistics of the frontier, and what it learns from a commit."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from gossamer.frontier.selector import Load
from gossamer.model.units import HostId, Instant


@dataclass(frozen=True, slots=True)
class WaitUntil:
    """Nothing may be contacted before then, unless a load, a commit or the end of a visit changes that."""

    when: Instant


@dataclass(frozen=True, slots=True)
class Idle:
    """Nothing to do until a load, a commit or the end of a visit."""


class Retired(NamedTuple):
    """A host that gave up its back queue. If URLs remain, `not_before` is kept in its front-queue entry."""

    host_id: HostId
    domain_id: int
    not_before: Instant


@dataclass(frozen=True, slots=True)
class FrontierLimits:
    """Bounds of the working set. Memory depends on these, not on the size of the crawl."""

    max_hosts: int = 10_000  # back queues
    quantum: int = 100  # visits after which a host yields its back queue if others wait for one
    long_rest: float = 60.0  # seconds; a host resting longer yields at once if others wait


@dataclass(frozen=True, slots=True)
class FrontierStatistics:
    hosts: int
    ready: int
    waiting: int
    parked: int
    out: int  # hosts with a visit in flight
    urls: int
    urls_by_front: tuple[int, ...]
    drawn: tuple[int, ...]
    load: Load
    next_contact: Instant | None  # of the hosts in memory
    next_due: Instant | None  # of the URLs that are not due yet

    @property
    def shares(self) -> tuple[float, ...]:
        """Observed shares of the classes, in percent."""
        total = sum(self.drawn)
        return tuple(100.0 * n / total if total else 0.0 for n in self.drawn)


def date_or_none(when: float) -> Instant | None:
    """None for infinity."""
    return None if when == math.inf else Instant(when)


class Report(Protocol):
    """The effects of a commit on the frontier (`model.batch.Committed` implements it)."""

    @property
    def number(self) -> int: ...
    @property
    def touched(self) -> Iterable[tuple[HostId, int, float]]: ...
    @property
    def settled(self) -> Iterable[tuple[HostId, int]]: ...
    @property
    def withdrawn(self) -> Iterable[tuple[HostId, int]]: ...
    @property
    def retired(self) -> Iterable[HostId]: ...
    @property
    def moved(self) -> Iterable[tuple[HostId, int, int, float, float]]: ...
    @property
    def linked(self) -> Iterable[tuple[int, int, int]]: ...
    @property
    def host_counts(self) -> Iterable[tuple[HostId, int, int]]: ...
