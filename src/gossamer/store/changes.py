"""What is to be committed, as values."""

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from gossamer.model.outcome import Response
from gossamer.model.shown import LongLink
from gossamer.model.states import UrlState
from gossamer.model.task import Candidate
from gossamer.model.units import Fingerprint, HostId, HostKey, Instant, Origin, Seconds, Url


class Original(NamedTuple):
    """The capture that holds the document which another one came to again."""

    url: Url
    captured_at: Instant  # when it was asked for: the date of its record
    payload_digest: bytes


class Capture(NamedTuple):
    """A document to be archived; with an `original`, that it was found to be the same."""

    response: Response
    payload_digest: bytes  # SHA-1 of the body as it was received, transfer coding and all
    records: tuple[bytes, ...] | None = None  # the answer first, as they go into the file, if built already
    original: Original | None = None  # of a duplicate it is found when it is committed


class Settlement(NamedTuple):
    """What became of one visit to a URL."""

    host_id: HostId
    url_id: int
    front: int
    state: UrlState
    at: Instant
    tries: int = 0
    available_at: Instant | None = None  # QUEUED: the next try; otherwise the next visit, if any
    reason: str | None = None
    detail: str | None = None  # for people
    status: int | None = None
    size: int | None = None
    took: float | None = None
    mime: str | None = None
    digest: bytes | None = None  # SHA-1 of the decoded document: what the content-seen test compares
    title: str | None = None
    etag: str | None = None
    last_modified: str | None = None
    duplicate_of: int | None = None
    redirect_to: str | None = None
    capture: Capture | None = None
    was: UrlState = UrlState.QUEUED
    truncated: str | None = None  # why the document is a beginning only, in the words of WARC-Truncated
    unverified: bool = False  # nobody checked the certificate
    replaced: int = 0  # characters that are none in the page's encoding
    deep_links: int = 0  # nested deeper than a page is read
    long_links: tuple[LongLink, ...] = ()  # the first of those that were too long
    signature: bytes | None = None  # of the page's text: what near-duplicates are found by
    near_duplicate_of: int | None = None  # the original, if it is none itself, and ...
    distance: int | None = None  # ... the bytes in which the two signatures differ
    language: str | None = None  # as the page declares it
    canonical: str | None = None  # the address that the page says it should have, where that is another
    planned: float | None = None  # seconds until the next visit
    one: float | None = None  # what the recrawl policy writes down (`recrawl.policy.Memory`)
    two: float | None = None
    kept: bool = False  # nothing has changed: what is on record of the last visit stays, but for its date
    noise: bool = False  # another document than before, but not to a reader: it does not count as changed


class HostClock(NamedTuple):
    """What must survive of a host so that a restart stays polite. None in the last two leaves what is on record."""

    host_id: HostId
    next_contact: Instant
    last_took: float
    address: str | None
    rest_reason: str | None = None  # what decided `next_contact`, in words
    resolved: str | None = None  # where it was found (`fetch.dns.stored`)
    trouble: str | None = None  # how it fails (`frontier.breaker`); empty: it does not


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


class PageLinks(NamedTuple):
    """The links of a fetched page, or the target of a redirect: each target once, the page itself not among them."""

    url_id: int
    domain_id: int
    prints: list[Fingerprint]
    hosts: list[HostKey]  # of the targets, in the same order


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
    believed: bool | None = False  # its host's reports of changes are: then a page that it says has changed is due.
    # None: the host's row has to be asked


class Reported(NamedTuple):
    """A page that we have, and that a list says was modified after our visit."""

    url_id: int
    host_id: HostId
    host: HostKey
    url: Url
    mime: str | None
    visited: Instant
    modified: Instant
    one: float | None  # as `Settlement` has them
    two: float | None
    priority: float
    changing: str | None = None  # what the host's row says of its changes, if nobody knows yet whether it is believed


class Due(NamedTuple):
    """A URL whose date has come, on a host that has a price of its own or a line before it; or one that is planned
    anew."""

    url_id: int
    host_id: HostId
    host: HostKey
    url: Url
    state: UrlState
    mime: str | None
    visited: Instant | None
    planned: float | None  # as `Settlement` has them
    one: float | None
    two: float | None
    modified: Instant | None  # as a list says, and so the next
    changefreq: str | None
    sitemap: int
    changing: str | None  # what is known of its host
    priority: float


class PutOff(NamedTuple):
    """It is not queued yet, and has another date."""

    until: Instant
    planned: Seconds | None = None  # it is planned anew, with this gap; None: only its turn comes later


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


class Place(NamedTuple):
    """Where a URL stands among those that have a date."""

    date: float
    state: int
    url_id: int


class Again(NamedTuple):
    """An order to queue URLs again that have a date: those whose date has come, the earliest first."""

    by: Instant
    most: int
    missing: bool = False  # those that answered 4xx too
    ahead: bool = False  # before everything that waits in their front queues
    early: Seconds | None = None  # pages too that come due next: half of their gap, and at least so long, has passed
    dear: Container[HostId] = ()  # hosts of which it is asked for each URL whether it is due in fact ...
    room: int | None = None  # ... and so it is of all others before which so many stand in line; None: of none
    waiting: Mapping[HostId, int] = MappingProxyType({})  # as many stand there already
    walk: Place | None = None  # and plan anew what comes after it, as much as can be looked at in one go
    after: Place | None = None  # only what comes after it; and what finds no room is left out, not put off


class SeedRecord(NamedTuple):
    """A URL that was given to us, as it was written."""

    url: Url
    host: HostKey
    text: str
    where: str


@dataclass(slots=True)
class Order:
    """What an operator wants done with URLs: those of `url_ids` that are in `state`, and for that reason if one is
    named, go to `to`; queued again without a try used up, or excluded for `because`. What came of it is known when it
    is committed."""

    url_ids: tuple[int, ...]
    state: UrlState
    to: UrlState
    reasons: tuple[str, ...] = ()  # none: whatever it is
    because: str | None = None
    done: int = 0  # URLs that were moved


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
    accesses: Counter[int] = field(default_factory=Counter)  # page requests by domain id
    counters: Counter[str] = field(default_factory=Counter)
    budgets: dict[HostId, str] = field(default_factory=dict)  # what shapes have cost, as it is stored
    domain_budgets: dict[int, str] = field(default_factory=dict)
    soft_missing: dict[int, str] = field(
        default_factory=dict
    )  # by host id: what stands for missing pages (`dedup.soft`)
    parameters: list[LearntParameter] = field(default_factory=list)
    hints: list[HintRecord] = field(default_factory=list)
    sitemap_names: list[SitemapName] = field(default_factory=list)
    sitemaps: list[SitemapRecord] = field(default_factory=list)
    changing: dict[HostId, str] = field(default_factory=dict)  # how the pages of hosts change (`crawl.recrawling`)
    again: Again | None = None
    orders: list[Order] = field(default_factory=list)
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
            or self.again
            or self.orders
            or self.facts
            or self.delivered
        )

    def settle(self, settlement: Settlement) -> None:
        self.settlements.append(settlement)
        if settlement.capture is not None:
            self.weight += len(settlement.capture.response.wire_body)

    def found(self, candidates: list[Candidate], links: PageLinks | None) -> None:
        """What a document links to: what is new, and all of it."""
        self.candidates += candidates
        self.weight += CANDIDATE_BYTES * len(candidates)
        if links is not None:
            self.links.append(links)
            self.weight += LINK_BYTES * len(links.prints)


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
    again: Sequence[tuple[UrlState, int]] = ()  # URLs that were queued again, by the state in which they were ...
    next_again: float | None = None  # ... and when the next one is due, if that was asked; infinity: never
    again_at: Mapping[HostId, int] = MappingProxyType({})  # the same by host
    put_off: Sequence[tuple[float | None, float | None]] = ()  # URLs that have another date: gaps, before and after
    left_out: int = 0  # of an order with `after`, URLs that found no room ...
    again_to: Place | None = None  # ... and the last that was looked at; None: there are no more
    walked_to: Place | None = None  # the same of an order with `walk`
    ordered: Mapping[str, int] = MappingProxyType({})  # what orders have added to the counters
    forgiven: frozenset[HostId] = frozenset()  # hosts that orders gave URLs back to
    new_seeds: frozenset[Url] = frozenset()  # seeds that were not known
    reported: int = 0  # pages whose next visit was brought forward, because a list says that they have changed
    put_out: int = 0  # URLs that were found for other parts of the crawl
