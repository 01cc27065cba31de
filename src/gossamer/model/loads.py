"""What the frontier asks the task table for, and what it gets."""

from dataclasses import dataclass
from typing import NamedTuple

from gossamer.model.batch import RobotsRecord
from gossamer.model.task import HostRecord, Task
from gossamer.model.units import HostId, HostKey, Instant


@dataclass(frozen=True, slots=True)
class FrontRequest:
    """Read the next window of a class."""

    front: int
    cursor: tuple[float, int]
    count: int
    due_by: Instant


class HostRequest(NamedTuple):
    """Read a host's next URLs, and its record if it is new to us."""

    host_id: HostId
    with_record: bool
    classes: tuple[tuple[int, tuple[float, int], int], ...]  # (class, cursor, count)
    due_by: Instant


class LoadRequest(NamedTuple):
    """What the frontier would like to have from the task table."""

    fronts: tuple[FrontRequest, ...]
    hosts: tuple[HostRequest, ...]

    def __bool__(self) -> bool:
        return bool(self.fronts or self.hosts)


class FrontLoaded(NamedTuple):
    """A window of a front queue; `next_due` as `Frontier.loaded_front` takes it."""

    front: int
    entries: list[tuple[float, HostId]]
    next_due: float | None


class HostLoaded(NamedTuple):
    """A host's next URLs by class, and its record and robots.txt files if they were asked for."""

    host_id: HostId
    record: HostRecord | None
    robots: list[RobotsRecord]
    classes: list[tuple[int, list[Task], float | None]]


class Loaded(NamedTuple):
    """The answer to a load order, all of it as of one commit."""

    number: int  # of that commit
    fronts: list[FrontLoaded]
    hosts: list[HostLoaded]


class SitemapFacts(NamedTuple):
    """What the store knows of a sitemap and of its host's."""

    named_by: tuple[HostKey, ...]  # hosts whose robots.txt leads to it
    listed: int  # URLs that the host's sitemaps have listed so far
    files: int  # sitemaps of the host that are known


class LastContact(NamedTuple):
    """What is known of a host's last contact after a crash."""

    started: Instant | None  # a request was sent then and we do not know what came of it
    next_contact: Instant  # of the last contact that was seen to its end; 0 if there was none
    took: float  # how long that one took; for an open one, how long the host took the time before
    address: str
