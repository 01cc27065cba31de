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
