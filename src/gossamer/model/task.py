"""URLs to be visited, as the frontier holds them."""

from enum import IntEnum
from typing import NamedTuple

from gossamer.model.facts import NO_HOST, DomainFacts, HostFacts
from gossamer.model.states import UrlState
from gossamer.model.units import Fingerprint, HostId, HostKey, Instant, Url

_WITH_DOCUMENT = (UrlState.STORED, UrlState.DUPLICATE)


class Via(IntEnum):
    """How a URL was found. The numbers are stored."""

    SEED = 0
    LINK = 1
    REDIRECT = 2
    SITEMAP = 3


class PreviousVisit(NamedTuple):
    """The previous visit of a URL, which the next one is compared with."""

    visits: int  # answered so far
    changes: int  # of these, with content that differed from the visit before
    state: UrlState  # before it was queued again
    reason: str | None  # of that state
    at: Instant  # time of the visit; everything below describes it
    digest: bytes | None = None  # of the document; None: no document
    mime: str | None = None
    etag: str | None = None
    last_modified: str | None = None
    redirect_to: str | None = None
    whole: bool = True  # the document was not truncated
    signature: bytes | None = None  # of the text of a page
    planned_gap: float | None = None  # seconds from this visit to the planned next one
    rate_shape: float | None = None  # the two numbers of the recrawl policy (`recrawl.policy.Memory`)
    rate_span: float | None = None

    @property
    def has_document(self) -> bool:
        """Whether the archive has the document of this visit."""
        return self.digest is not None and self.state in _WITH_DOCUMENT


class Task(NamedTuple):
    """A due row of the task table. A tuple, because a million of them may be in memory."""

    url_id: int  # row number; grows with discovery, so ties go to the oldest
    fingerprint: Fingerprint
    url: Url
    front: int  # its front queue (priority class); 0 is the highest
    place: float  # in that queue, smaller is earlier: the date it was due, or minus its score
    priority: float  # its own score under the ordering
    depth: int  # links followed from a seed
    tries: int  # visits that failed so far
    hops: int  # redirects followed to get here
    sitemap: int = 0  # 0: not a sitemap; 1: named by robots.txt or guessed; one more for each index on the way
    previous: PreviousVisit | None = None  # None: never answered
    modified: Instant | None = None  # last modification according to a sitemap or feed
    changefreq: str | None = None  # of a sitemap entry


class Candidate(NamedTuple):
    """A URL that passed the filter and is to be inserted into the task table."""

    url: Url
    host: HostKey
    fingerprint: Fingerprint
    depth: int
    hops: int
    via: Via
    found_on: int  # url_id of the page it was found on; 0 for a seed
    sitemap: int = 0  # as in `Task`
    modified: Instant | None = None  # last modification according to its sitemap or feed


class HostRecord(NamedTuple):
    """The stored state of a host: enough to be polite to it after a restart."""

    host_id: HostId
    host: HostKey
    domain_id: int
    domain: DomainFacts  # of its registrable domain
    suffix_id: int  # of its public suffix
    next_contact: Instant
    last_took: float  # seconds; the adaptive part of the gap depends on it
    address: str | None
    resolved: str | None = None  # as in `model.batch.HostClock`, like `failures`
    failures: str | None = None
    budget: str | None = None  # serialised trap budgets (`filter.trap_budget`)
    domain_budget: str | None = None
    change_history: str | None = None  # serialised (`recrawl.change_hints.HostChangeHistory`)
    soft_404: str | None = None  # serialised (`dedup`)
    facts: HostFacts = NO_HOST


class Visit(NamedTuple):
    """A URL to be visited now. Each host has at most one visit in flight."""

    host_id: HostId
    host: HostKey
    domain_id: int
    task: Task
    address: str | None  # last known
    last_took: float
    priority: float = 0.0  # its total score when chosen, for display
