"""The values that a reader of a crawl returns, the filters it takes, and the JSON form of pages and dead letters."""

from array import array
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Generic, Literal, NamedTuple, TypedDict, TypeVar

from gossamer.model.facts import CopySample, PriorityFacts, QueuePosition, UrlFacts
from gossamer.model.formats import iso_timestamp, reversed_name
from gossamer.model.outcome import FailureClass, failure_class
from gossamer.model.states import UrlState
from gossamer.model.task import Via
from gossamer.model.units import HostKey, Instant, Url
from gossamer.model.url_record import RobotsFact

Json = dict[str, object]
T = TypeVar("T")

Progress = Callable[[int, int], None]
"""Progress callback: how much is done, and how much there is."""

PositionOf = Callable[[UrlFacts], QueuePosition]
"""Computes the position of a URL in the queue, by the ordering of the crawl."""

PriorityOf = Callable[[PriorityFacts], float]
"""Computes the priority of a URL, by the ordering of the crawl."""

PartsOf = Callable[[PriorityFacts], Mapping[str, float]]
"""Computes the parts of that priority, by name."""

MOST_OVERDUE = 10_000
"""Overdue URLs are counted up to this number."""


class Window(NamedTuple, Generic[T]):
    """Some of the requested items, and the id after which to continue; None: there are no more."""

    items: list[T]
    next: int | None


# --- pages -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFilter:
    """Which pages to show; None: any."""

    state: UrlState | None = None
    host: str | None = None
    limit: int | None = None


class UrlOutcome(NamedTuple):
    """What the last visit of a URL found."""

    state: UrlState
    reason: str | None
    status: int | None
    redirect_to: str | None


class Visited(NamedTuple):
    """The last visit of a page, as far as filters need it; None: there was no visit, or no answer."""

    at: Instant | None
    status: int | None
    mime: str | None


class PageRow(NamedTuple):
    """A known page and its last visit."""

    url_id: int
    url: str
    host: str
    state: UrlState
    depth: int
    via: Via
    facts: PriorityFacts
    found_at: float
    found_on: str | None
    next_visit: float | None
    reason: str | None
    links: int
    at: Instant | None
    status: int | None
    size: int | None
    mime: str | None
    digest: bytes | None
    title: str | None
    took: float | None
    etag: str | None
    last_modified: str | None
    duplicate_of: str | None
    redirect_to: str | None
    warc_file: str | None
    warc_offset: int | None
    warc_length: int | None
    near_duplicate_of: str | None
    distance: int | None
    language: str | None
    canonical: str | None
    truncated: str | None
    unverified: int
    replaced: int

    @property
    def visited(self) -> Visited:
        return Visited(self.at, self.status, self.mime)


def timestamp(at: float | None) -> str | None:
    """ISO 8601, UTC. None for no date, and for one beyond the calendar."""
    if at is None or not 0 <= at < 253_402_300_800:
        return None
    return iso_timestamp(at)


# --- dead letters and excluded URLs ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadFilter:
    """Which dead letters are meant; None: any."""

    host: str | None = None
    reason: str | None = None
    failure_class: FailureClass | None = None


class DeadLetter(NamedTuple):
    """A URL that failed too often, with its last failure."""

    url_id: int
    url: str
    host: str
    reason: str | None
    tries: int
    depth: int
    facts: PriorityFacts
    found_at: float
    failed_at: float | None
    status: int | None
    detail: str | None
    found_on: str | None


DeadObject = TypedDict(
    "DeadObject",
    {
        "v": Literal[1],
        "url": str,
        "host": str,
        "reason": str | None,
        "class": Annotated[Literal["failed", "corrupted"], "corrupted: its responses have broken bodies"],
        "tries": int,
        "depth": Annotated[int, "links from a seed"],
        "priority": Annotated[float, "score that the ordering of the crawl gives it now"],
        "failed_at": Annotated[str | None, "time of the last failure: ISO 8601, UTC"],
        "status": Annotated[int | None, "HTTP status of the last failure"],
        "detail": Annotated[str | None, "what is known of the last failure"],
        "found_on": Annotated[str | None, "URL of the page on which it was found first"],
    },
)
"""`dead/1`."""


def dead_object(letter: DeadLetter, priority_of: PriorityOf) -> Json:
    """JSON form of a dead letter."""
    found: DeadObject = {
        "v": 1,
        "url": letter.url,
        "host": letter.host,
        "reason": letter.reason,
        "class": failure_class(letter.reason).value,
        "tries": letter.tries,
        "depth": letter.depth,
        "priority": priority_of(letter.facts),
        "failed_at": timestamp(letter.failed_at),
        "status": letter.status,
        "detail": letter.detail,
        "found_on": letter.found_on,
    }
    return dict(found)


ExcludedUrl = tuple[int, Url, HostKey, int, int]
"""An excluded URL: its id, the URL, its host, its depth, and whether it is a sitemap."""
LimitedUrl = tuple[int, Url, HostKey, int, int, int]
"""A URL that limits apply to: as `ExcludedUrl`, and its state."""


# --- hosts -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFilter:
    """Which hosts are meant; None: any."""

    host: str | None = None  # its name, or *. and a domain for all subdomains
    contains: str | None = None  # a part of the name


class HostRow(NamedTuple):
    """A host as it is on record."""

    host: str
    domain: str
    next_contact: float
    last_took: float
    address: str | None
    rest_reason: str | None
    trouble: str | None
    budget: str | None
    queued: int
    stored: int
    fetched: int  # URLs that were answered at least once
    known: int
    excluded: Counter[str]  # by reason
    robots: tuple[RobotsFact, ...] = ()  # of its origins, as far as they have a Crawl-delay


HOST_SORTS: dict[str, Callable[[HostRow], float | str]] = {
    "queued": lambda row: -row.queued,
    "fetched": lambda row: -row.fetched,
    "excluded": lambda row: -row.excluded.total(),
    "next": lambda row: row.next_contact,
    "host": lambda row: reversed_name(row.host),
}
"""The orders of a list of hosts, by name; hosts that are equal in it are sorted by their names."""


# --- recrawls --------------------------------------------------------------------------------------------


class RecrawlReport(NamedTuple):
    overdue: int  # MOST_OVERDUE means that many or more
    price: str | None  # as `recrawl.planner` writes it
    pace: str | None  # as `recrawl.budget` writes it
    waiting: int  # pages that are queued for another visit
    sample: list[CopySample]


# --- links -----------------------------------------------------------------------------------------------


class PageEdges(NamedTuple):
    """What a page links to, as fingerprints."""

    url_id: int
    targets: list[int]
    visited: Visited


class GraphUrl(NamedTuple):
    """A URL as a node of the link graph."""

    url_id: int
    domain_id: int
    fingerprint: int
    url: str
    is_seed: bool
    is_excluded: bool


Nodes = tuple["array[int]", "array[int]"]
"""The ids of all URLs, and their fingerprints."""


# --- verify ----------------------------------------------------------------------------------------------


class CaptureRow(NamedTuple):
    """Where a record should be, and what should be in it."""

    offset: int
    length: int
    url_id: int
    revisit: bool
    set_aside: bool
    url: str | None  # None: the URL is not known
    digest: bytes | None  # of the document, if this is the last capture of its URL


class WrongCounter(NamedTuple):
    """A counter whose value is not the number of what it counts."""

    name: str
    value: int
    truth: int


class OrphanRecord(NamedTuple):
    """A record without a row. It gets one: of its URL if that is known, else one that sets the record aside."""

    file: str
    offset: int
    length: int
    url: str | None  # None: set it aside in any case
    revisit: bool
    captured_at: float | None
    payload_digest: bytes | None
