"""The status of a stored crawl: its totals, what it waits for and, if it is running, what its processes say. For
`gossamer status` and stored crawls in Python."""

import dataclasses
from contextlib import closing
from typing import Annotated, Literal, TypedDict

from gossamer.clock import clock_of
from gossamer.config.load import known_shape
from gossamer.config.overrides import OVERRIDES_KEY, Overrides
from gossamer.crawl.run.directory import holder_of
from gossamer.crawl.run.location import CrawlLocation, store_kind
from gossamer.crawl.run.opener import OpenCrawl, live_status, open_session
from gossamer.crawl.run.workers import read_live
from gossamer.model.cache_fault import CacheFault
from gossamer.model.units import Instant
from gossamer.observe import formatter
from gossamer.observe.freshness import FreshnessMetrics, FreshnessObject, freshness_object
from gossamer.observe.merged_snapshot import whole_snapshot
from gossamer.observe.snapshot import STALE_AFTER, Snapshot, crawl_state, decode_statuses, recent_snapshot
from gossamer.observe.wait_reasons import Waits, waiting_for
from gossamer.observe.workers import WorkerObject, WorkerStatus, worker_object
from gossamer.recrawl.freshness import stored_freshness_metrics
from gossamer.reports.records import Json

WaitsObject = TypedDict(
    "WaitsObject",
    {
        "for": Annotated[str, "summary of what it is waiting for, as text"],
        "in_flight": Annotated[int | None, "visits"],
        "unread": Annotated[int, "documents that were fetched and are not stored yet"],
        "due": Annotated[int | None, "queued URLs that are due, including those in flight"],
        "ready_hosts": Annotated[int, "hosts with due URLs that may be contacted now"],
        "resting_hosts": Annotated[int, "hosts with queued URLs that may not be contacted yet"],
        "next_contact": str | None,
        "retries": Annotated[int | None, "queued URLs whose next attempt is due later"],
        "next_retry": str | None,
        "recrawls": Annotated[int, "visited URLs with a date for their next visit"],
        "next_recrawl": str | None,
        "missing": Annotated[int, "URLs that answered 4xx"],
        "next_missing": str | None,
        "urls_counted_to": Annotated[int | None, "counting of retries and recrawls stops here"],
        "hosts_counted_to": Annotated[int | None, "counting of hosts stops here"],
        "dns_failing": bool,
        "proxy_failing": bool,
        "store_failing": bool,
        "store_slow": bool,
        "blobs_failing": bool,
        "paused": bool,
    },
)


class OrdersObject(TypedDict):
    paused: bool
    paused_hosts: list[str]
    dropped_hosts: list[str]
    delays: Annotated[dict[str, float], "seconds by host"]


class RecrawlObject(FreshnessObject):
    refreshed: int
    not_modified: int
    unchanged: int
    changed: int
    reported: int


class LoadObject(TypedDict):
    mode: Literal["normal", "high"]
    reason: str
    selector_shares: Annotated[list[float], "percentage of visits by group of classes"]


class StatusObject(TypedDict):
    """`status/1`. Times are ISO 8601 in UTC."""

    v: Literal[1]
    pages: Annotated[int, "documents stored"]
    fetched: Annotated[int, "responses received"]
    bytes: int
    discovered: int
    queued: int
    duplicates: int
    near_duplicates: int
    refreshed: Annotated[int, "visits to URLs visited before"]
    not_modified: int
    unchanged: int
    changed: int
    reported: Annotated[int, "visits brought forward because a sitemap or feed reported a change"]
    sitemaps: int
    sitemap_urls: int
    errors: Annotated[dict[str, int], "by reason"]
    excluded: Annotated[dict[str, int], "by reason"]
    dead: Annotated[int, "dead letters"]
    hosts: int
    finished: Annotated[bool, "nothing is left to do"]
    states: Annotated[dict[str, int], "URLs by state"]
    statuses: Annotated[dict[str, int], "responses by class of status"]
    dead_by_reason: dict[str, int]
    domains: int
    seeds: int
    robots_fetched: int
    warc_files: int
    warc_bytes: int
    dir: str
    running: bool
    state: Annotated[str, "at rest: not running; otherwise the state that the service shows"]
    next_due: Annotated[str | None, "when the next URL may be visited"]
    waits: WaitsObject
    ordered: Annotated[OrdersObject, "overrides set through the service"]
    recrawl: RecrawlObject
    load: Annotated[LoadObject | None, "null if it is not running"]
    cache_failing: Annotated[bool | None, "the cache fails and is not used; null if the crawl is not running"]
    cache_fault: Annotated[CacheFault | None, "what is wrong with the cache"]
    options: Annotated[dict[str, object], "settings stored in the directory"]
    workers: Annotated[
        list[WorkerObject] | None, "those that are alive; null if the store is not one that workers share"
    ]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CrawlStatus:
    """The status of a crawl at one time."""

    directory: str
    now: Instant
    running: bool
    holder: int | None  # the process that uses the directory; None: none
    totals: Json
    state: str
    waits: Waits
    overrides: Overrides
    freshness: FreshnessMetrics
    live: Snapshot | None  # of the running process, if it is recent
    options: Json  # that the crawl remembers
    workers: list[WorkerStatus] | None  # that are alive; None: the store is not one that workers share


def read_status(location: CrawlLocation, crawl: OpenCrawl) -> CrawlStatus:
    """The status of an open crawl. Raises StoreFailed."""
    return _read_shared(location, crawl) if store_kind(location.store).is_shared else _read_own(location, crawl)


def _read_shared(location: CrawlLocation, crawl: OpenCrawl) -> CrawlStatus:
    """Of a crawl that workers share: what they say is in the store, and they may run anywhere."""
    reader = crawl.reader.status
    with closing(open_session(location)) as session:
        workers, texts = read_live(session)
        now = Instant(float(session.fetch_value("server_time")))
    recent = [snapshot for snapshot in decode_statuses(texts) if now - snapshot.at < STALE_AFTER]
    live = whole_snapshot(recent) if recent else None
    found, running = reader.totals(), any(worker.may_run for worker in workers)
    return CrawlStatus(
        directory=str(location.directory),
        now=now,
        running=running,
        holder=holder_of(location.directory),
        totals=found,
        state=state_by(live, _number(found["queued"])) if running else "at rest",
        waits=waits_of(reader.waits(now), live, running=running),
        overrides=Overrides.from_text(reader.fact(OVERRIDES_KEY)),
        freshness=stored_freshness_metrics(**reader.recrawl_report(now)._asdict(), now=now),
        live=live,
        options=known_shape(reader.options()),
        workers=workers,
    )


def _read_own(location: CrawlLocation, crawl: OpenCrawl) -> CrawlStatus:
    """Of a crawl whose store is in its directory."""
    directory, reader = location.directory, crawl.reader.status
    holder, now = holder_of(directory), clock_of(directory).now()
    live = None if holder is None else _live_snapshot(location, holder, now)
    totals = reader.totals()
    return CrawlStatus(
        directory=str(directory),
        now=now,
        running=holder is not None,
        holder=holder,
        totals=totals,
        state="at rest" if holder is None else state_by(live, _number(totals["queued"])),
        waits=waits_of(reader.waits(now), live, running=holder is not None),
        overrides=Overrides.from_text(reader.fact(OVERRIDES_KEY)),
        freshness=stored_freshness_metrics(**reader.recrawl_report(now)._asdict(), now=now),
        live=live,
        options=known_shape(reader.options()),
        workers=None,
    )


def _live_snapshot(location: CrawlLocation, holder: int, now: Instant) -> Snapshot | None:
    """What the running process has published; None if that is too long ago."""
    with closing(live_status(location)) as live:
        return recent_snapshot(live.read(), holder, now)


def status_object(status: CrawlStatus) -> Json:
    """`status/1`."""
    running = status.running
    return {
        "v": 1,
        **status.totals,
        "dir": status.directory,
        "running": running,
        "state": status.state,
        "next_due": formatter.timestamp(next_due(status.waits, status.now)),
        "waits": waits_object(status.waits, running, status.now),
        "ordered": orders_object(status.overrides),
        "recrawl": recrawl_object(status.totals, status.freshness),
        "load": None if status.live is None else load_object(status.live),
        "cache_failing": None if status.live is None else status.live.cache_fault is not None,
        "cache_fault": None if status.live is None else status.live.cache_fault,
        "options": status.options,
        "workers": None if status.workers is None else [worker_object(worker) for worker in status.workers],
    }


def waits_of(waits: Waits, live: Snapshot | None, *, running: bool) -> Waits:
    """What is on record, with what only the running process knows. Without one nothing is in flight."""
    if not running:
        return dataclasses.replace(waits, in_flight=0)
    if live is None:
        return waits
    # On record a host that is being visited looks as if it might be contacted; its process knows better.
    return dataclasses.replace(
        waits,
        in_flight=live.in_flight,
        unread=live.documents_waiting,
        ready_hosts=live.hosts_ready,
        dns_failing=live.dns_failing,
        proxy_failing=live.proxy_failing,
        store_failing=live.store_failing,
        store_slow=live.store_slow,
        blobs_failing=live.blobs_failing,
        paused=live.paused,
    )


def state_by(live: Snapshot | None, queued: int) -> str:
    """The state of a running crawl, as the service names it; `running` if there is no recent snapshot."""
    if live is None:
        return "running"
    return crawl_state(
        stopping=live.stopping,
        paused=live.paused,
        store_failing=live.store_failing,
        store_slow=live.store_slow,
        busy=queued > 0 or live.is_busy,
    )


def next_due(waits: Waits, now: Instant) -> Instant | None:
    """When the next URL may be visited; None if none is queued."""
    if waits.ready_hosts:
        return now
    return min((when for when in (waits.next_contact, waits.next_retry) if when is not None), default=None)


def for_what(waits: Waits, running: bool, now: Instant) -> str:
    """What the crawl is waiting for; if it is not running, first of all for its start."""
    found = waiting_for(waits, now)
    if running or not (found or waits.due):
        return found
    return f"a start of the crawl, then {found}" if found else "a start of the crawl"


def waits_object(waits: Waits, running: bool, now: Instant) -> Json:
    """Numbers, and moments in ISO 8601; null is not known, or not there. See `Waits`."""
    found: Json = {"for": for_what(waits, running, now)}
    for field in dataclasses.fields(waits):
        value = getattr(waits, field.name)
        found[field.name] = formatter.timestamp(value) if field.name.startswith("next_") else value
    return found


def load_object(live: Snapshot) -> Json:
    shares = [round(share, 2) for share in live.selector_shares]
    return {"mode": live.load, "reason": live.load_reason, "selector_shares": shares}


def orders_object(overrides: Overrides) -> Json:
    """Whether the whole crawl is paused, and all hosts that are not crawled as any other; delays in seconds."""
    return {
        "paused": overrides.paused,
        "paused_hosts": sorted(overrides.hosts.paused),
        "dropped_hosts": sorted(overrides.hosts.dropped),
        "delays": dict(sorted(overrides.hosts.delays.items())),
    }


def recrawl_object(found: Json, figures: FreshnessMetrics) -> Json:
    """Results and cost of recrawling, and the estimated freshness."""
    counted = {name: found[name] for name in ("refreshed", "not_modified", "unchanged", "changed", "reported")}
    return {**counted, **freshness_object(figures)}


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0
