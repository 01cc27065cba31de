"""The story of a URL, as values. A part is None where there is nothing to tell.

Fields that end in `_at` are moments; `words` relies on it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from gossamer.model.facts import HostOverride
from gossamer.model.units import HostKey, Instant, Origin, Seconds, Url
from gossamer.model.url_record import QueueFact, SeedPlace, Step


@dataclass(frozen=True, slots=True)
class Form:
    """The text as given; the URL it gives with the changes that made it one, or why it gives none."""

    given: str
    url: Url | None
    host: HostKey | None = None
    origin: Origin | None = None
    changes: tuple[str, ...] = ()
    refused: str | None = None


@dataclass(frozen=True, slots=True)
class Identity:
    """What the URL-seen test says. `known_as` is the URL on record where its spelling is another one."""

    seen: bool
    minimised: bool
    known_as: Url | None = None
    ignored: tuple[tuple[str, str], ...] = ()  # parameters that do not count, and why


@dataclass(frozen=True, slots=True)
class Finding:
    """How it entered. `way` leads from the page it was found on back to a seed; `cut` if that is further than told."""

    via: str
    found_at: Instant
    hops: int
    seed: SeedPlace | None
    way: tuple[Step, ...]
    cut: bool


@dataclass(frozen=True, slots=True)
class Listing:
    """What a sitemap or a feed says of it. `sitemap`: it is one itself, and led to by the robots.txt of `named_by`."""

    listed_in: Url | None
    modified_at: Instant | None
    changefreq: str | None
    priority: float | None
    sitemap: bool
    named_by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """One rule of entry: None as a reason means that it passes; `detail` is the value that decided."""

    rule: str
    reason: str | None
    detail: str


@dataclass(frozen=True, slots=True)
class Robots:
    """What robots.txt says. `allowed` is None while the file is not known, `current` while the answer holds."""

    origin: Origin
    allowed: bool | None
    meaning: str
    line: str | None = None
    line_number: int | None = None
    status: int | None = None
    fetched_at: Instant | None = None
    age: Seconds | None = None
    expires_at: Instant | None = None
    current: bool = False
    crawl_delay: Seconds | None = None


@dataclass(frozen=True, slots=True)
class Priority:
    """Its priority by an ordering, and what that is made of.

    By classes `priority` picks the class; by score it is the total that is compared. `queued_with` is the URL's own
    score on record and `queued_by` the ordering that gave it, each only where it is another than now. `assumed`: it is
    not on record, and stands where a link of a seed would.
    """

    order: str
    by_score: bool
    priority: float
    parts: Mapping[str, float]
    front: int
    name: str
    depth: int
    links: int
    links_from_others: int
    credit: float
    visits: int
    changes: int
    queued_with: float | None
    queued_by: str | None
    assumed: bool


@dataclass(frozen=True, slots=True)
class Politeness:
    """When its host may be contacted, and why not earlier.

    `reason` is the term of the maximum that decided the last gap, None where it was not recorded. `gap` and `term` are
    what a usual contact costs by the configuration; `longer` says that the host rests longer than that explains.
    """

    host: HostKey
    address: str | None
    contact_at: Instant
    wait: Seconds
    reason: str | None
    last_took: Seconds
    gap: Seconds
    term: str
    longer: bool
    domain: str
    accesses: int
    cap: int | None


@dataclass(frozen=True, slots=True)
class Attempt:
    """A visit, or the reason why there was none."""

    visited_at: Instant
    outcome: str
    status: int | None
    took: Seconds | None
    detail: str | None


@dataclass(frozen=True, slots=True)
class TooLong:
    """A link that was too long to enter: its beginning, the digest of all of it, and its size in bytes."""

    shown: str
    digest: str
    size: int


@dataclass(frozen=True, slots=True)
class Content:
    """What the content-seen test made of the last answer, and what is to be known about it.

    `truncated`: why the document is a beginning only, in the words of WARC-Truncated; `unverified`: nobody checked the
    certificate; `replaced_characters` are none in the page's encoding; `deep_links` are nested deeper than a page is
    read; `long_links` were too long to enter. `distance`: in how many of 64 places the signature of the page differs
    from that of the one which it nearly repeats. `language` and `canonical` (where that is another address) are what
    the page says of itself.
    """

    verdict: str
    duplicate_of: Url | None
    redirect_to: str | None
    size: int | None
    mime: str | None
    digest: str | None
    title: str | None
    truncated: str | None = None
    unverified: bool = False
    replaced_characters: int = 0
    deep_links: int = 0
    long_links: tuple[TooLong, ...] = ()
    near_duplicate_of: Url | None = None
    distance: int | None = None
    language: str | None = None
    canonical: str | None = None


@dataclass(frozen=True, slots=True)
class Archive:
    """Where the document lies. `sound`: the record is this URL's and its digests are right; if not, see `problem`."""

    file: str
    offset: int
    length: int
    sound: bool
    problem: str | None


@dataclass(frozen=True, slots=True)
class Signals:
    """What is said of a page's changes, and whether its host is believed in that.

    Of `dates_judged` Last-Modified times that a second visit could check, `dates_true` were right; of `reports_judged`
    reports of changes by sitemaps and feeds, `reports_true`. `recall` is the share of changes that are reported; 0:
    reports are not relied on. `reported_at` is when this page changed last, as a list says; `forwarded`: that brought
    its visit forward.
    """

    dates_believed: bool
    dates_true: int
    dates_judged: int
    reports_believed: bool
    reports_true: int
    reports_judged: int
    recall: float
    changefreq: str | None
    reported_at: Instant | None
    forwarded: bool


@dataclass(frozen=True, slots=True)
class Recrawl:
    """Why the next visit is planned when it is.

    `gap` is from the last visit to the next. `change_interval` is what is estimated of the page, by `visits` of which
    `changes` found it changed, or, with `assumed`, by the other pages of its host; `uncertainty` is the standard
    deviation of the rate of change as a share of it. `host_pages` of the host have estimates, by which one changes
    every `host_interval`. A visit is due when it is worth `price`; `importance` is what the page's freshness counts.
    `usual_price` is that of the crawl, where the host has one of its own, because it allows too few visits.
    `rule`: what decides instead of the policy, or narrows what it may choose.
    """

    policy: str
    gap: Seconds | None
    visits: int
    changes: int
    change_interval: Seconds | None
    uncertainty: float | None
    assumed: bool
    price: float
    importance: float
    rule: str | None
    conditional: bool  # its server is asked whether anything has changed
    why: str
    host_pages: int
    host_interval: Seconds
    signals: Signals
    usual_price: float | None = None


@dataclass(frozen=True, slots=True)
class Next:
    """The next visit: not before `due_at` (None: there is none), and why."""

    due_at: Instant | None
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """All of it, in the order of the path that a URL takes."""

    form: Form
    state: str | None = None
    reason: str | None = None
    identity: Identity | None = None
    finding: Finding | None = None
    listing: Listing | None = None
    verdicts: tuple[Verdict, ...] = ()
    robots: Robots | None = None
    standing: Priority | None = None
    place: QueueFact | None = None
    politeness: Politeness | None = None
    ordered: HostOverride | None = None  # for its host, through the service
    attempts: tuple[Attempt, ...] = ()
    earlier_attempts: bool = False
    tries: int = 0
    content: Content | None = None
    archive: Archive | None = None
    recrawl: Recrawl | None = None
    next: Next
