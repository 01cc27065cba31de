"""What the frontier requests from the task table, and what it receives."""

from dataclasses import dataclass
from typing import NamedTuple

from gossamer.model.batch import RobotsRecord
from gossamer.model.task import HostRecord, Task
from gossamer.model.units import HostId, HostKey, Instant


@dataclass(frozen=True, slots=True)
class FrontRequest:
    """Read the next window of a front queue."""

    front: int
    cursor: tuple[float, int]
    count: int
    due_by: Instant


class HostRequest(NamedTuple):
    """Read a host's next URLs, and its record if it is not in memory."""

    host_id: HostId
    with_record: bool
    classes: tuple[tuple[int, tuple[float, int], int], ...]  # (class, cursor, count)
    due_by: Instant


class LoadRequest(NamedTuple):
    """What the frontier wants to read from the task table."""

    fronts: tuple[FrontRequest, ...]
    hosts: tuple[HostRequest, ...]

    def __bool__(self) -> bool:
        return bool(self.fronts or self.hosts)


NO_LOAD = LoadRequest((), ())


class FrontLoaded(NamedTuple):
    """A window of a front queue; `next_due` as in `Frontier.add_front`."""

    front: int
    entries: list[tuple[float, HostId]]
    next_due: float | None


class HostLoaded(NamedTuple):
    """A host's next URLs by class; its record and robots.txt files if they were requested."""

    host_id: HostId
    record: HostRecord | None
    robots: list[RobotsRecord]
    classes: list[tuple[int, list[Task], float | None]]


class Loaded(NamedTuple):
    """The answer to a load request, all of it as of one commit."""

    number: int  # of that commit
    fronts: list[FrontLoaded]
    hosts: list[HostLoaded]


class SitemapFacts(NamedTuple):
    """What the store knows about a sitemap and its host's sitemaps."""

    named_by: tuple[HostKey, ...]  # hosts whose robots.txt leads to it
    listed: int  # URLs that the host's sitemaps have listed so far
    files: int  # sitemaps of the host that are known


class LastContact(NamedTuple):
    """A host's last contact as reconstructed after a crash."""

    started: Instant | None  # a request was sent then, with unknown outcome
    next_contact: Instant  # after the last completed contact; 0 if there was none
    took: float  # duration of that contact
    address: str
