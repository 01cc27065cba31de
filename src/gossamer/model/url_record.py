"""Everything the store knows about one URL, as it was read. No decisions."""

from dataclasses import dataclass, field
from typing import NamedTuple

from gossamer.model.facts import NO_HOST, DomainFacts, HostFacts, UrlFacts
from gossamer.model.formats import LongLink
from gossamer.model.states import UrlState
from gossamer.model.task import Via
from gossamer.model.units import Domain, HostKey, Instant, Seconds, Url

MAX_STEPS = 10
"""How far the path back to a seed is followed."""
MAX_COUNTED = 10_000
"""URLs in a queue are counted up to this number."""
MAX_FAILURES = 20
"""How many of the last failures are listed."""


@dataclass(frozen=True, slots=True)
class Bounded:
    """A count that may have stopped at a limit: `number`, or more."""

    number: int
    or_more: bool = False


@dataclass(frozen=True, slots=True)
class SeedPlace:
    """Where the URL was given as a seed: `argument 1`, `seeds.txt, line 3`."""

    where: str
    added_at: Instant


@dataclass(frozen=True, slots=True)
class Step:
    """A page on the path back to a seed, and how that page was found."""

    url: Url
    via: Via
    depth: int
    seed: SeedPlace | None


@dataclass(frozen=True, slots=True, kw_only=True)
class UrlFact:
    """A row of the task table."""

    learnt: UrlFacts  # what its priority is based on, without its age
    state: UrlState
    front: int
    available_at: Instant | None
    place: float | None  # in its front queue, smaller is earlier
    priority: float  # its own score under the ordering with which it was queued
    tries: int
    hops: int
    via: Via
    found_at: Instant
    reason: str | None
    modified: Instant | None = None  # the later of what a sitemap or feed and its own server say

    @property
    def url(self) -> Url:
        return self.learnt.url

    @property
    def depth(self) -> int:
        return self.learnt.depth


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueFact:
    """Position of a queued URL among those of its host."""

    before: Bounded  # of its front queue, at an earlier place
    of_class: Bounded  # in that queue
    of_host: Bounded


@dataclass(frozen=True, slots=True, kw_only=True)
class VisitFact:
    """The last visit that was answered."""

    at: Instant
    status: int | None
    size: int | None
    took: Seconds | None
    mime: str | None
    digest: bytes | None
    title: str | None
    duplicate_of: Url | None
    redirect_to: str | None
    warc_file: str | None
    warc_offset: int | None
    warc_length: int | None
    truncated: str | None = None
    unverified: bool = False
    replaced: int = 0
    deep_links: int = 0
    near_duplicate_of: Url | None = None
    distance: int | None = None
    language: str | None = None
    canonical: str | None = None


@dataclass(frozen=True, slots=True)
class ListingFact:
    """What a sitemap or feed says about the URL; and the URL itself as a sitemap."""

    listed_in: Url | None = None
    modified_at: Instant | None = None
    changefreq: str | None = None
    priority: float | None = None
    sitemap: int = 0  # model.task.Task
    named_by: str | None = None  # hosts whose robots.txt leads to it, separated by spaces


@dataclass(frozen=True, slots=True)
class FailureFact:
    """A failed visit."""

    at: Instant
    reason: str
    status: int | None
    detail: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFact:
    """The stored state of a host. `rest_reason`: which term determined its last gap; None if not recorded."""

    host: HostKey
    next_contact: Instant
    last_took: Seconds
    address: str | None
    rest_reason: str | None


@dataclass(frozen=True, slots=True)
class DomainFact:
    """The stored facts of a registrable domain; for an unknown one, only the visits of its suffix."""

    domain: Domain
    learnt: DomainFacts = field(default_factory=DomainFacts)
    suffix_visits: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RobotsFact:
    """The robots.txt of the URL's origin."""

    status: int | None
    fetched_at: Instant
    expires_at: Instant
    body: bytes
    guessed_at: Instant | None = None  # as in `model.batch.SitemapGuess`
    guess: str | None = None


class RecrawlFact(NamedTuple):
    """What the next visit was planned from, as it is stored."""

    planned_gap: Seconds | None = None  # from the last visit to the next
    rate_shape: float | None = None  # the two numbers of the policy
    rate_span: float | None = None
    change_history: str | None = None  # of its host (`recrawl.planner.HostChanging`)
    price: str | None = None  # of the crawl (`recrawl.planner.PRICE`)


class LearntFact(NamedTuple):
    """A parameter that does not select the document at a place of the URL's host, with the evidence."""

    host: HostKey
    place: str
    name: str
    pairs: int
    contents: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Everything stored about a URL, all of it as of one commit."""

    url: UrlFact | None = None
    seed: SeedPlace | None = None
    way: tuple[Step, ...] = ()  # the page it was found on first, then that page's, at most MOST_STEPS
    queue: QueueFact | None = None
    visit: VisitFact | None = None
    listing: ListingFact = ListingFact()
    recrawl: RecrawlFact = RecrawlFact()
    long_links: tuple[LongLink, ...] = ()
    failures: tuple[FailureFact, ...] = ()  # the last MOST_ATTEMPTS, oldest first
    earlier_failures: bool = False  # there are more
    host: HostFact | None = None
    domain: DomainFact
    order: str | None = None  # the ordering of the queue
    next_id: int = 1  # the id that a new URL would get
    host_facts: HostFacts = NO_HOST  # of the host of a URL that is not known
    robots: RobotsFact | None = None
    budget: str | None = None  # serialised trap budgets of its host and domain
    domain_budget: str | None = None
    orders: str | None = None  # the operator's overrides, as they are stored (`config.overrides`)


@dataclass(frozen=True, slots=True)
class OwnerFact:
    """Which worker crawls a URL: the partition of its domain, and the worker that owns it now; None: nobody does."""

    partition: int
    worker: str | None


@dataclass(frozen=True, slots=True)
class RecordCheck:
    """The result of reading the document back from the archive. `problem` says why it could not be read; `away`:
    because the archive could not be reached."""

    problem: str | None = None
    kind: str | None = None
    target: str | None = None
    block_ok: bool | None = None
    payload_ok: bool | None = None
    away: bool = False
