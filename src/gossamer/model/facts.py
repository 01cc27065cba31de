"""Facts that priorities are based on, per URL and per domain."""

import math
from dataclasses import dataclass
from typing import NamedTuple

from gossamer.model.units import Instant, Url

CREDIT_UNIT = 10**9
"""One credit of online importance (OPIC). An integer, so that the order is the same on every machine."""

BIRTH_CREDIT = CREDIT_UNIT * 15 // 100
"""The credit of a newly discovered URL. Without it, pages deep in a site would count for nothing."""


def credit_per_link(credit: int, links: int) -> int:
    """The credit that each link of a fetched page receives: 0.85 of the page's credit in equal parts."""
    return credit * 85 // (100 * links)


LINK_UNIT = 1 << 20
"""The link sum of a page that a fetched page links to, and to no other. An integer, so that the order in which links
are found makes no difference."""


def share_per_link(links: int) -> int:
    """What each link of a fetched page adds to the link sum of its target: equal parts of one."""
    return LINK_UNIT // links


def steps_from(steps: int, *, same_host: bool) -> int:
    """The steps of a page that is linked from a page with this number of steps."""
    return steps + 1 if same_host else 0


class HostFacts(NamedTuple):
    """One host."""

    known: int = 0  # URLs found
    fetched: int = 0  # of these, answered at least once
    number: int = 0  # hosts of its registrable domain that were known before it


NO_HOST = HostFacts()


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
    link_sum: int = 0  # of the fetched pages that link to it: 1 / (its links), in units of LINK_UNIT
    steps: int = 0  # links followed since its host was entered; the least while it waited for its first visit
    ordinal: int = 0  # URLs of its host that were known before it
    host: HostFacts = NO_HOST  # as of the time when the URL is scored
    listed: float | None = None  # `<priority>` in the sitemap that lists it, 0..1
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


RANK_STEP = 2.0**50
"""By score, this is added to the score of a URL once or more to put it ahead of others. No score comes near it, and
sums stay exact."""


def without_rank(priority: float) -> float:
    """The score in a priority on record by score."""
    return math.remainder(priority, RANK_STEP)


class QueuePosition(NamedTuple):
    """Position of a URL: its front queue and its place there (smaller is earlier; None: by due date)."""

    front: int
    priority: float
    place: float | None = None
