"""Everything that one transaction commits, and what the commit reports back."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from gossamer.model.requeue import DueCursor, RequeueOrder
from gossamer.model.settlement import PageLinks, Settlement
from gossamer.model.states import UrlState
from gossamer.model.task import Candidate
from gossamer.model.units import Fingerprint, HostId, HostKey, Instant, Origin, Url


class HostClock(NamedTuple):
    """The politeness state of a host that must survive a restart. None in `resolved` or `failures` keeps the stored
    value."""

    host_id: HostId
    next_contact: Instant
    last_took: float
    address: str | None
    rest_reason: str | None = None  # what determined `next_contact`, as shown to users
    resolved: str | None = None  # its DNS answer (`fetch.dns.cache`)
    failures: str | None = None  # breaker state (`frontier.breaker`); empty: no failures


class RobotsRecord(NamedTuple):
    """A response to a robots.txt request, stored so that a restart does not repeat the request.

    With `unreachable_since` there was no response, and the record of an earlier one is kept.
    """

    origin: Origin
    host_id: HostId
    status: int | None
    fetched_at: Instant
    expires_at: Instant
    body: bytes
    unreachable_since: Instant | None = None
    guessed_at: Instant | None = None  # when a sitemap was guessed last (`SitemapGuess`); only read


class SitemapGuess(NamedTuple):
    """What became of a request for `/sitemap.xml` from an origin whose robots.txt names no sitemap."""

    at: Instant
    meaning: str  # as shown to users
    origin: Origin


class RetiredHost(NamedTuple):
    """A host that gave up its back queue; its front-queue entries have to be brought up to date."""

    host_id: HostId
    not_before: Instant


class LearntParameter(NamedTuple):
    """A query parameter that does not select the document at a place of a host; or, if `refuted`, turned out to select
    it."""

    host: HostKey
    place: str
    name: str
    pairs: int
    contents: int
    refuted: bool


class HintRecord(NamedTuple):
    """What a sitemap or feed says about a URL that it is allowed to speak for."""

    host: HostKey
    fingerprint: Fingerprint
    listed_in: int  # url_id of the list
    modified: Instant | None
    changefreq: str | None
    priority: float | None
    trusted: bool | None = False  # reports of this host are trusted, so a page reported as changed is due.
    # None: not in memory, look at the host's row


class SitemapName(NamedTuple):
    """A sitemap named by the robots.txt of a host, or listed by an index that is."""

    host: HostKey  # of the sitemap
    fingerprint: Fingerprint
    named_by: HostKey


class SitemapRecord(NamedTuple):
    """A sitemap that was parsed."""

    url_id: int
    host_id: HostId
    kind: str
    entries: int
    dropped: int


class LinkGain(NamedTuple):
    """What links on pages of another partition give to a URL."""

    domain: int | str  # its row, or its name if that had none
    fingerprint: Fingerprint
    links: int
    links_from_others: int
    credit: int
    share: int


class SeedRecord(NamedTuple):
    """A seed URL, with the text and place it was given in."""

    url: Url
    host: HostKey
    text: str
    where: str


@dataclass(slots=True)
class BulkChange:
    """An operator's request to change the state of URLs.

    Those of `url_ids` that are in `from_state` (and have one of `reasons`, if any are given) go to `to_state`: queued
    again without using up a try, or excluded with `to_reason`. `changed` is known after the commit.
    """

    url_ids: tuple[int, ...]
    from_state: UrlState
    to_state: UrlState
    reasons: tuple[str, ...] = ()  # empty: any
    to_reason: str | None = None
    changed: int = 0  # URLs whose state was changed
    withdrawn: list[tuple[HostId, int]] = field(default_factory=list)  # those that were queued, with their hosts


OrderAnswer = Callable[[frozenset[Url]], str]
"""The answer to an order, as JSON, given the seeds of the batch that were not known before. Called at the end of the
transaction that applies the order, in the store's thread."""


CANDIDATE_BYTES, LINK_BYTES = 350, 52
"""Measured memory use. A batch of pages with thousands of links each is large even without their bodies."""


@dataclass(slots=True)
class Batch:
    """The contents of one transaction, collected until it is committed."""

    settlements: list[Settlement] = field(default_factory=list)
    candidates: list[Candidate] = field(default_factory=list)
    links: list[PageLinks] = field(default_factory=list)
    seeds: list[SeedRecord] = field(default_factory=list)
    hosts: dict[HostId, HostClock] = field(default_factory=dict)
    robots: list[RobotsRecord] = field(default_factory=list)
    retired: list[RetiredHost] = field(default_factory=list)
    page_requests: Counter[int] = field(default_factory=Counter)  # page requests by domain id
    counters: Counter[str] = field(default_factory=Counter)
    budgets: dict[HostId, str] = field(default_factory=dict)  # trap budgets by host, serialised
    domain_budgets: dict[int, str] = field(default_factory=dict)
    soft_404s: dict[int, str] = field(default_factory=dict)  # by host id (`dedup`)
    parameters: list[LearntParameter] = field(default_factory=list)
    hints: list[HintRecord] = field(default_factory=list)
    sitemap_names: list[SitemapName] = field(default_factory=list)
    sitemaps: list[SitemapRecord] = field(default_factory=list)
    sitemap_guesses: list[SitemapGuess] = field(default_factory=list)
    change_histories: dict[HostId, str] = field(default_factory=dict)  # by host (`recrawl.change_hints`)
    requeue: RequeueOrder | None = None
    bulk_changes: list[BulkChange] = field(default_factory=list)
    facts: dict[str, str] = field(default_factory=dict)  # metadata of the crawl, by name
    reorder_after: int | None = None  # put the next queued URLs after this id in order again
    returning: list[Candidate] = field(default_factory=list)  # links that were refused before
    refused: list[tuple[int, int, int]] = field(default_factory=list)  # of pages read again: mask, url_id, offset
    answers: dict[int, OrderAnswer] = field(default_factory=dict)  # orders that this batch completes, by id
    gains: list[LinkGain] = field(default_factory=list)  # from the inbox
    count_links: bool = False  # count all links now
    received: list[tuple[int, int]] = field(default_factory=list)  # messages that are in this batch: partition, id
    weight: int = 0  # approximate bytes of captures and links

    def __bool__(self) -> bool:
        return bool(
            self.settlements
            or self.candidates
            or self.links
            or self.hosts
            or self.retired
            or self.robots
            or self.counters
            or self.seeds
            or self.hints
            or self.sitemap_names
            or self.sitemap_guesses
            or self.requeue
            or self.reorder_after is not None
            or self.bulk_changes
            or self.facts
            or self.returning
            or self.refused
            or self.answers
            or self.received
            or self.count_links
        )

    def settle(self, settlement: Settlement) -> None:
        self.settlements.append(settlement)
        if settlement.capture is not None:
            self.weight += len(settlement.capture.response.wire_body)

    def add_links(self, candidates: list[Candidate], links: PageLinks | None) -> None:
        """Add the links of a document: the URLs that are new, and all of them."""
        self.candidates += candidates
        self.weight += CANDIDATE_BYTES * len(candidates)
        if links is not None:
            self.links.append(links)
            self.weight += LINK_BYTES * len(links.fingerprints)


class Touched(NamedTuple):
    """URLs were added to a front queue of a host, none of them before `place`."""

    host_id: HostId
    front: int
    place: float


class Moved(NamedTuple):
    """A waiting URL changed its place or priority."""

    host_id: HostId
    url_id: int
    front: int
    place: float
    priority: float


class HostCount(NamedTuple):
    """The URLs of a host, after a commit that may have changed their number."""

    host_id: HostId
    known: int
    fetched: int  # answered at least once


class Linked(NamedTuple):
    """Links to URLs of a domain were found."""

    domain_id: int
    links: int
    links_from_others: int


class Committed(NamedTuple):
    """The effects of a committed batch, for the frontier and the counters."""

    number: int  # of the commit; loads say which commit they include
    touched: list[Touched]
    settled: list[tuple[HostId, int]]  # (host, url_id) whose outcome is stored
    retired: list[HostId]
    moved: list[Moved]
    linked: list[Linked]
    new_urls: int
    new_hosts: int
    written_bytes: int
    seconds: float
    requeued: Sequence[tuple[UrlState, int]] = ()  # requeued URLs by their previous state ...
    next_due: float | None = None  # ... and when the next one is due, if requested; infinity: never
    requeued_by_host: Mapping[HostId, int] = MappingProxyType({})  # requeued URLs by host
    postponed: Sequence[tuple[float | None, float | None]] = ()  # previous and new gaps of postponed URLs
    skipped: int = 0  # with `RequeueOrder.after`: URLs whose host's backlog was full ...
    requeued_to: DueCursor | None = None  # ... and the last one scanned; None: no more
    replanned_to: DueCursor | None = None  # with `replan_after`: the last one replanned
    bulk_counts: Mapping[str, int] = MappingProxyType({})  # counter changes made by bulk changes
    withdrawn: Sequence[tuple[HostId, int]] = ()  # (host, url_id) that bulk changes took out of the queue
    restored_hosts: frozenset[HostId] = frozenset()  # hosts for which bulk changes requeued URLs
    new_seeds: frozenset[Url] = frozenset()  # seeds that were not known before
    reported: int = 0  # pages brought forward because a sitemap or feed reported a change
    sent: Sequence[Fingerprint] = ()  # URLs that were put into the inboxes of partitions of other workers
    returned: int = 0  # URLs that had been refused before and entered now
    host_counts: Sequence[HostCount] = ()  # for an ordering with a term for hosts
    reordered_to: int | None = None  # with `reorder_after`: the last URL that was put in order; None: there are no more
    captured: Sequence[tuple[int, str, int, int]] = ()  # records of documents: url_id, file, offset, length
