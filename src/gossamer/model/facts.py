"""Facts that priorities are based on, per URL and per domain, and the operator's overrides for single hosts."""

import json
from dataclasses import dataclass, field
from typing import NamedTuple

from gossamer.model.units import HostKey, Instant, Seconds, Url

CREDIT_UNIT = 10**9
"""One credit of online importance (OPIC). An integer, so that the order is the same on every machine."""

BIRTH_CREDIT = CREDIT_UNIT * 15 // 100
"""The credit of a newly discovered URL. Without it, pages deep in a site would count for nothing."""


def credit_per_link(credit: int, links: int) -> int:
    """The credit that each link of a fetched page receives: 0.85 of the page's credit in equal parts."""
    return credit * 85 // (100 * links)


class UrlFacts(NamedTuple):
    """One URL. A page that links to it counts once; links of a page to itself do not count."""

    url_id: int  # grows with discovery, so it is also the entry number
    url: Url
    depth: int  # links followed from a seed
    links: int = 0  # fetched pages that link to it
    links_from_others: int = 0  # of these, pages of other registrable domains
    credit: int = BIRTH_CREDIT  # online importance received and not yet passed on
    visits: int = 0  # answered so far
    changes: int = 0  # of these, with content that differed from the previous visit
    age: float | None = None  # seconds since its last known modification


@dataclass(slots=True)
class DomainFacts:
    """One registrable domain."""

    visits: int = 0  # page requests
    links: int = 0  # links found to any of its URLs, from anywhere
    links_from_others: int = 0  # of these, from other domains


class PriorityFacts(NamedTuple):
    """Everything on record that the priority of a URL depends on."""

    url: UrlFacts  # without its age
    modified: float | None  # its last known modification
    domain: DomainFacts
    suffix_visits: int  # of its public suffix

    def url_as_of(self, now: float) -> UrlFacts:
        """The URL, with its age at that time."""
        return self.url if self.modified is None else self.url._replace(age=max(0.0, now - self.modified))


CopySample = tuple[float | None, float | None, Instant, str | None]
"""A stored page: shape and span of its rate estimate, time of its last visit, change history of its host."""


class QueuePosition(NamedTuple):
    """Position of a URL: its front queue and its place there (smaller is earlier; None: by due date)."""

    front: int
    priority: float
    place: float | None = None


@dataclass(frozen=True, slots=True)
class HostOverride:
    """`paused`: not contacted until resumed. `dropped`: its URLs are excluded when their turn comes. `delay`: minimum
    gap after each response; None: not overridden."""

    paused: bool = False
    dropped: bool = False
    delay: Seconds | None = None

    def __bool__(self) -> bool:
        """Whether anything was ordered."""
        return self.paused or self.dropped or self.delay is not None


@dataclass(slots=True)
class HostOverrides:
    """All hosts for which something was ordered."""

    paused: set[HostKey] = field(default_factory=set)
    dropped: set[HostKey] = field(default_factory=set)
    delays: dict[HostKey, Seconds] = field(default_factory=dict)

    @classmethod
    def from_texts(cls, *texts: str | None) -> "HostOverrides":
        """As they are on record, by each worker; None where nothing was ordered."""
        found = cls()
        for text in texts:
            found.restore(text)
        return found

    def restore(self, text: str | None) -> None:
        """Add what is on record; nothing for None."""
        if text is not None:
            stored = json.loads(text)
            self.paused.update(map(HostKey, stored["paused_hosts"]))
            self.dropped.update(map(HostKey, stored["dropped_hosts"]))
            self.delays.update((HostKey(host), Seconds(delay)) for host, delay in stored["delays"].items())

    def ordered_for(self, host: HostKey) -> HostOverride:
        return HostOverride(host in self.paused, host in self.dropped, self.delays.get(host))
