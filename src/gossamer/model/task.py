"""A URL that is to be visited, as the frontier holds it."""

from enum import IntEnum
from typing import NamedTuple

from gossamer.model.facts import DomainFacts
from gossamer.model.states import UrlState
from gossamer.model.units import Fingerprint, HostId, HostKey, Instant, Url

_WITH_DOCUMENT = (UrlState.STORED, UrlState.DUPLICATE)


class Via(IntEnum):
    """How a URL was found. The numbers are the store's."""

    SEED = 0
    LINK = 1
    REDIRECT = 2
    SITEMAP = 3


class PreviousVisit(NamedTuple):
    """What is on record of a URL that was visited before: what its next visit is compared with."""

    visits: int  # answered so far
    changes: int  # of these, with other content than the time before
    state: UrlState  # in which it was before it was queued
    reason: str | None  # that came with that state
    at: Instant  # of the visit, as everything below
    digest: bytes | None = None  # of the document; None: there was none
    mime: str | None = None
    etag: str | None = None
    last_modified: str | None = None
    redirect_to: str | None = None
    whole: bool = True  # the document was not cut off
    signature: bytes | None = None  # of the text of a page
    planned_gap: float | None = None  # seconds after the visit at which it was to be visited again
    rate_shape: float | None = None  # the two numbers that the recrawl policy has written down
    rate_span: float | None = None

    @property
    def has_document(self) -> bool:
        """Whether the archive has what this URL last showed."""
        return self.digest is not None and self.state in _WITH_DOCUMENT


class Task(NamedTuple):
    """One row of the task table that is due. A tuple, because there may be a million of them in memory."""

    url_id: int  # the row; grows with discovery, so it breaks ties in favour of the oldest entry
    fingerprint: Fingerprint
    url: Url
    front: int  # its front queue (priority class); 0 is the highest
    place: float  # in that queue, smaller is earlier: the date it was due, or minus its score
    priority: float  # its own score, as its ordering counts it
    depth: int  # links followed from a seed
    tries: int  # visits that failed so far
    hops: int  # redirects followed to get here
    sitemap: int = 0  # it is one: 1 if robots.txt names it, one more for every index on the way
    previous: PreviousVisit | None = None  # None: it was never answered
    modified: Instant | None = None  # when it was modified last, as a sitemap or a feed says
    changefreq: str | None = None  # how often it changes, as a sitemap says


class Candidate(NamedTuple):
    """A URL that passed the filter and asks to enter the task table."""

    url: Url
    host: HostKey
    fingerprint: Fingerprint
    depth: int
    hops: int
    via: Via
    found_on: int  # url_id of the page it was found on; 0 for a seed
    sitemap: int = 0  # as `Task` has it
    modified: Instant | None = None  # when it was modified last, as its sitemap or feed says
    page: Url | None = None  # it was found on, where that belongs to another part of the crawl


class HostRecord(NamedTuple):
    """What the store remembers of a host: enough to be polite to it after a restart."""

    host_id: HostId
    host: HostKey
    domain_id: int
    domain: DomainFacts  # of its registrable domain
    suffix_id: int  # of its public suffix
    next_contact: Instant
    last_took: float  # seconds; the adaptive part of the gap rests on it
    address: str | None
    resolved: str | None = None  # as `model.batch.HostClock` has them
    failures: str | None = None
    budget: str | None = None  # what its shapes and its domain's hosts have cost (`filter.trap_budget`)
    domain_budget: str | None = None
    change_history: str | None = None  # how its pages change, and whether its validators can be relied on
    soft_404: str | None = None  # what it shows in place of pages that it does not have (`dedup.soft404`)


class Visit(NamedTuple):
    """A URL to be visited now. At most one is out per host."""

    host_id: HostId
    host: HostKey
    domain_id: int
    task: Task
    address: str | None  # the one it was last contacted at
    last_took: float
    priority: float = 0.0  # its total score when it was chosen, as it is shown
