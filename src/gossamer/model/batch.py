"""Everything that one transaction commits, and what the commit reports back."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from gossamer.model.requeue import DueCursor, RequeueOrder
from gossamer.model.settlement import PageLinks, Settlement
from gossamer.model.states import UrlState
from gossamer.model.task import Candidate
from gossamer.model.units import Fingerprint, HostId, HostKey, Instant, Origin, Url


class HostClock(NamedTuple):
    """What must survive of a host so that a restart stays polite. None in the last two leaves what is on record."""

    host_id: HostId
    next_contact: Instant
    last_took: float
    address: str | None
    rest_reason: str | None = None  # what decided `next_contact`, in words
    resolved: str | None = None  # where it was found (`fetch.dns.cache`)
    failures: str | None = None  # how it fails (`frontier.breaker`); empty: it does not


class RobotsRecord(NamedTuple):
    """An answer to the request for robots.txt, kept so that a restart need not ask again.

    With `unreachable_since` there was none: what is on record of an earlier answer stays.
    """

    origin: Origin
    host_id: HostId
    status: int | None
    fetched_at: Instant
    expires_at: Instant
    body: bytes
    unreachable_since: Instant | None = None


class RetiredHost(NamedTuple):
    """A host without a back queue; its front-queue entries are to be made true again."""

    host_id: HostId
    not_before: Instant


class LearntParameter(NamedTuple):
    """A parameter that was found to choose no document at a place of a host; or, `refuted`, to choose one after all."""

    host: HostKey
    place: str
    name: str
    pairs: int
    contents: int
    refuted: bool


class HintRecord(NamedTuple):
    """What a sitemap or a feed says of a URL that it may speak for."""

    host: HostKey
    fingerprint: Fingerprint
    listed_in: int  # url_id of the list
    modified: Instant | None
    changefreq: str | None
    priority: float | None
    trusted: bool | None = False  # its host's reports of changes are: then a page that it says has changed is due.
    # None: the host's row has to be asked


class SitemapName(NamedTuple):
    """A sitemap that the robots.txt of a host names, or that an index lists which it names."""

    host: HostKey  # of the sitemap
    fingerprint: Fingerprint
    named_by: HostKey


class SitemapRecord(NamedTuple):
    """A sitemap that was read."""

    url_id: int
    host_id: HostId
    kind: str
    entries: int
    dropped: int


class SeedRecord(NamedTuple):
    """A URL that was given to us, as it was written."""

    url: Url
    host: HostKey
    text: str
    where: str


@dataclass(slots=True)
class BulkChange:
    """What an operator wants done with URLs: those of `url_ids` that are in `state`, and for that reason if one is
    named, go to `to`; queued again without a try used up, or excluded for `because`. What came of it is known when it
    is committed."""

    url_ids: tuple[int, ...]
    from_state: UrlState
    to_state: UrlState
    reasons: tuple[str, ...] = ()  # none: whatever it is
    to_reason: str | None = None
    changed: int = 0  # URLs that were moved


CANDIDATE_BYTES, LINK_BYTES = 350, 52
"""What they take in memory, measured: a batch of pages with thousands of links each is large without their bodies."""


@dataclass(slots=True)
class Batch:
    """One transaction in the making."""

    settlements: list[Settlement] = field(default_factory=list)
    candidates: list[Candidate] = field(default_factory=list)
    links: list[PageLinks] = field(default_factory=list)
    seeds: list[SeedRecord] = field(default_factory=list)
    hosts: dict[HostId, HostClock] = field(default_factory=dict)
    robots: list[RobotsRecord] = field(default_factory=list)
    retired: list[RetiredHost] = field(default_factory=list)
    page_requests: Counter[int] = field(default_factory=Counter)  # page requests by domain id
    counters: Counter[str] = field(default_factory=Counter)
    budgets: dict[HostId, str] = field(default_factory=dict)  # what shapes have cost, as it is stored
    domain_budgets: dict[int, str] = field(default_factory=dict)
    soft_404s: dict[int, str] = field(
        default_factory=dict
    )  # by host id: what stands for missing pages (`dedup.soft404`)
    parameters: list[LearntParameter] = field(default_factory=list)
    hints: list[HintRecord] = field(default_factory=list)
    sitemap_names: list[SitemapName] = field(default_factory=list)
    sitemaps: list[SitemapRecord] = field(default_factory=list)
    change_histories: dict[HostId, str] = field(
        default_factory=dict
    )  # how the pages of hosts change (`recrawl.planner`)
    requeue: RequeueOrder | None = None
    bulk_changes: list[BulkChange] = field(default_factory=list)
    facts: dict[str, str] = field(default_factory=dict)  # about the crawl itself, by name
    delivered: dict[int, int] = field(default_factory=dict)  # by part: up to which number it has what we found for it
    weight: int = 0  # bytes of the captures and of what they link to, roughly

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
            or self.requeue
            or self.bulk_changes
            or self.facts
            or self.delivered
        )

    def settle(self, settlement: Settlement) -> None:
        self.settlements.append(settlement)
        if settlement.capture is not None:
            self.weight += len(settlement.capture.response.wire_body)

    def add_links(self, candidates: list[Candidate], links: PageLinks | None) -> None:
        """What a document links to: what is new, and all of it."""
        self.candidates += candidates
        self.weight += CANDIDATE_BYTES * len(candidates)
        if links is not None:
            self.links.append(links)
            self.weight += LINK_BYTES * len(links.fingerprints)


class Touched(NamedTuple):
    """A front queue of a host has got URLs, none of them before `place`."""

    host_id: HostId
    front: int
    place: float


class Moved(NamedTuple):
    """A waiting URL stands elsewhere than it did, because of what was learnt of it."""

    host_id: HostId
    url_id: int
    front: int
    place: float
    priority: float


class Linked(NamedTuple):
    """Links were found to URLs of a domain."""

    domain_id: int
    links: int
    links_from_others: int


class Committed(NamedTuple):
    """What a committed batch means to the frontier and to whoever counts."""

    number: int  # of the commit; what is read from the store says which commit it knows of
    touched: list[Touched]
    settled: list[tuple[HostId, int]]  # (host, url_id) whose outcome is on record
    retired: list[HostId]
    moved: list[Moved]
    linked: list[Linked]
    new_urls: int
    new_hosts: int
    written_bytes: int
    seconds: float
    requeued: Sequence[tuple[UrlState, int]] = ()  # URLs that were queued again, by the state in which they were ...
    next_due: float | None = None  # ... and when the next one is due, if that was asked; infinity: never
    requeued_by_host: Mapping[HostId, int] = MappingProxyType({})  # the same by host
    postponed: Sequence[tuple[float | None, float | None]] = ()  # URLs that have another date: gaps, before and after
    skipped: int = 0  # of an order with `after`, URLs that found no room ...
    requeued_to: DueCursor | None = None  # ... and the last that was looked at; None: there are no more
    replanned_to: DueCursor | None = None  # the same of an order with `walk`
    bulk_counts: Mapping[str, int] = MappingProxyType({})  # what orders have added to the counters
    restored_hosts: frozenset[HostId] = frozenset()  # hosts that orders gave URLs back to
    new_seeds: frozenset[Url] = frozenset()  # seeds that were not known
    reported: int = 0  # pages whose next visit was brought forward, because a list says that they have changed
    outboxed: int = 0  # URLs that were found for other parts of the crawl
