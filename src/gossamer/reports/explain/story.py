"""The explanation of a URL as values. A part is None where it does not apply.

Fields that end in `_at` are times, and `render` relies on that.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from gossamer.config.overrides import HostOverride
from gossamer.model.units import HostKey, Instant, Origin, Seconds, Url
from gossamer.model.url_record import OwnerFact, QueueFact, SeedPlace, Step


@dataclass(frozen=True, slots=True)
class Form:
    """The text as given, and its canonical URL with the changes that led to it, or the reason why it has none."""

    given: str
    url: Url | None
    host: HostKey | None = None
    origin: Origin | None = None
    changes: tuple[str, ...] = ()
    refused: str | None = None


@dataclass(frozen=True, slots=True)
class Identity:
    """The result of the URL-seen test. `known_as` is the URL on record if that has another spelling."""

    seen: bool
    minimised: bool
    known_as: Url | None = None
    ignored: tuple[tuple[str, str], ...] = ()  # parameters that are ignored, and why


@dataclass(frozen=True, slots=True)
class Finding:
    """How it was found. `way` leads from the page that links to it back to a seed; `cut`: only the first steps."""

    via: str
    found_at: Instant
    hops: int
    seed: SeedPlace | None
    way: tuple[Step, ...]
    cut: bool


@dataclass(frozen=True, slots=True)
class Listing:
    """What sitemaps and feeds say about it. `sitemap`: it is one itself, named by the robots.txt of `named_by`."""

    listed_in: Url | None
    modified_at: Instant | None
    changefreq: str | None
    priority: float | None
    sitemap: bool
    named_by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict of one rule of entry. Without a `reason` the URL passes; `detail` is the deciding value."""

    rule: str
    reason: str | None
    detail: str


@dataclass(frozen=True, slots=True)
class Robots:
    """What robots.txt says. `allowed` is None while the file is not known; `current`: the answer has not expired.
    `guess`: what became of the last request for `/sitemap.xml`, made because the file names no sitemap."""

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
    guessed_at: Instant | None = None
    guess: str | None = None


@dataclass(frozen=True, slots=True)
class Priority:
    """Its priority by an ordering, and the parts of it.

    With classes, `priority` selects the class; with scores, it is the total that is compared. `queued_with` is the
    URL's score on record and `queued_by` the ordering that computed it, each only if it differs from now. `assumed`: it
    is not on record, and has the priority of a link on a seed. `rule` is the operator's rule that overrides the score.
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
    rule: str | None = None


@dataclass(frozen=True, slots=True)
class Politeness:
    """When its host may be contacted, and why not earlier.

    `reason` is the term that decided the last gap, None where it was not recorded. `gap` and `term` are those of a
    usual contact by the configuration; `longer`: the host is left alone for longer than that.
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
    """A visit, or the reason why it failed."""

    visited_at: Instant
    outcome: str
    status: int | None
    took: Seconds | None
    detail: str | None


@dataclass(frozen=True, slots=True)
class TooLong:
    """A link that exceeded the length limit: its beginning, its digest, and its size in bytes."""

    shown: str
    digest: str
    size: int


@dataclass(frozen=True, slots=True)
class Content:
    """The verdict of the content-seen test on the last response, and its restrictions.

    `truncated`: why only the beginning is stored, in the terms of WARC-Truncated; `unverified`: the certificate was not
    checked; `replaced_characters`: invalid in the page's encoding; `deep_links`: nested deeper than pages are parsed;
    `long_links`: over the length limit. `distance`: in how many of 64 places the signature of the page differs from
    that of its near-duplicate. `language` and `canonical` (if it is another URL) are declared by the page.
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
    """Where the document is stored. `sound`: the record has this URL and correct digests, None if the archive
    could not be reached; see `problem`."""

    file: str
    offset: int
    length: int
    sound: bool | None
    problem: str | None


@dataclass(frozen=True, slots=True)
class Signals:
    """What servers, sitemaps and feeds say about changes of a page, and whether its host is trusted in that.

    Of `dates_judged` Last-Modified times that a second visit could check, `dates_true` were right; of `reports_judged`
    changes reported by sitemaps and feeds, `reports_true`. `recall` is the share of changes that are reported; 0:
    reports are not used. `reported_at` is when this page changed last, by such a report; `forwarded`: its visit was
    moved forward because of it.
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
    """The answer in one sentence, then all parts, in the order in which a URL passes through the crawl."""

    answer: str
    form: Form
    state: str | None = None
    reason: str | None = None
    owner: OwnerFact | None = None  # if workers share the crawl
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
