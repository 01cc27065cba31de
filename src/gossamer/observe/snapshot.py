"""`Snapshot`: all statistics of a crawl at one time, the state of the crawl, and rates computed from several snapshots.

A running crawl publishes its last snapshot as its live status, for `gossamer status` and the service: visits in flight
and the load are not in the database. It is in `status.json`, and in a row of a store that other machines use. The file
is replaced atomically and contains the id of the process that wrote it; a file left by a dead process, or of another
format, is ignored.
"""

import os
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NamedTuple, TypedDict

import msgspec

from gossamer.model.cache_fault import CacheFault
from gossamer.model.queue_depth import QueueDepth
from gossamer.model.units import Instant
from gossamer.observe import formatter
from gossamer.observe.freshness import FreshnessMetrics, FreshnessObject, freshness_object
from gossamer.sketch import Spread

StateOfCrawl = Literal["running", "idle", "paused", "stopping", "store failing", "store slow", "at rest"]
"""`store failing`: commits fail, so nothing is fetched; `store slow`: nothing is fetched until a very slow commit
ends; `at rest`: no worker is running."""


def crawl_state(*, stopping: bool, paused: bool, store_failing: bool, store_slow: bool, busy: bool) -> StateOfCrawl:
    """The state of a crawl. Conditions that stop fetching come first, a slow store after a pause because it ends by
    itself. `busy`: something is queued or in flight."""
    if stopping:
        return "stopping"
    if store_failing:
        return "store failing"
    if paused:
        return "paused"
    if store_slow:
        return "store slow"
    return "running" if busy else "idle"


StopReason = Literal["finished", "page_limit", "interrupted", "paused_hosts", "requested", "failed"]
"""Why a crawl ended. `interrupted`: by a signal; `paused_hosts`: only hosts that were paused through the service are
left; `requested`: through the service or the library."""


@dataclass(frozen=True, slots=True)
class SeedCounts:
    """What became of the seeds, those of earlier runs included. Seeds that are still queued are only in `given`."""

    given: int = 0
    stored: int = 0
    failed: Mapping[str, int] = field(default_factory=dict)  # by reason


@dataclass(frozen=True, slots=True)
class ReadmissionCounts:
    """How far a pass over what was refused has come, after rules have become wider."""

    changes: str  # what became wider: `max_depth 1 → 2`
    pages: int = 0  # to be read again
    done: int = 0
    returned: int = 0  # URLs queued
    unreadable: int = 0  # pages that could not be read
    unreadable_files: tuple[str, ...] = ()  # the first few problems, each with the name of the file
    complete: bool = False


class CacheCounts(NamedTuple):
    """The cache in this run."""

    fault: CacheFault | None = None  # it is not used until it answers again
    failures: Mapping[str, int] = {}  # by fault
    emptied: int = 0
    announced: int = 0  # documents announced in the document stream ...
    unannounced: int = 0  # ... and those of which that is not certain


@dataclass(frozen=True, slots=True)
class SharingCounts:
    """A worker among those that share a crawl."""

    lease: float = 0.0  # seconds that are left; without a lease it contacts nobody
    partitions: int = 0  # that it owns
    free: int = 0  # partitions that nobody owns
    workers: int = 0  # that are alive, itself included
    deaths: int = 0  # of earlier lives of this worker: those that did not end by leaving


PHASES: Final = ("dns", "connect", "tls", "first_byte", "body", "extract", "commit")
"""The timed phases of processing a document, in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Internals:
    """Statistics of components in this run, for the metrics."""

    phases: Mapping[str, Spread] = field(default_factory=dict)  # by the names in PHASES
    wakings: Spread = Spread()  # how late the event loop ran a timer, measured fifty times a second
    links_recent: int = 0  # links that the URL-seen test answered from its exact memory ...
    links_new: int = 0  # ... or by its Bloom filter, ...
    links_asked: int = 0  # ... or by a query to the store
    contents_recent: int = 0  # documents that the content-seen test answered from its exact memory, ...
    contents_new: int = 0  # ... by its Bloom filter, ...
    contents_cached: int = 0  # ... from the cache, ...
    contents_asked: int = 0  # ... or by a query to the store
    sent_recent: int = 0  # links to partitions of other workers that were sent before: known from the exact memory, ...
    sent_cached: int = 0  # ... from the cache, ...
    sent_new: int = 0  # ... or not known, so that they were sent
    dns_hits: int = 0
    dns_negative_hits: int = 0
    dns_stale: int = 0
    dns_failures: int = 0
    dns_put_off: int = 0
    dns_cached: int = 0
    hosts_failing: int = 0  # hosts in memory whose breaker is open
    rss_bytes: int = 0


@dataclass(frozen=True, slots=True)
class ProcessUse:
    """CPU time and memory of a process."""

    cpu_seconds: float = 0.0
    rss_bytes: int = 0
    max_rss_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """Statistics of a crawl at one time. Totals include earlier runs unless they say otherwise."""

    at: Instant
    elapsed: float = 0.0  # seconds of this run
    cpu_seconds: float = 0.0  # of this run
    max_rss_bytes: int = 0
    front: ProcessUse | None = None  # the HTTP process of `gossamer serve`; cpu_seconds and memory are the crawl's own

    # outcomes
    pages: int = 0  # documents stored
    run_pages: int = 0  # of those, in this run
    fetched: int = 0  # responses received
    bytes: int = 0
    discovered: int = 0
    queued: int = 0
    duplicates: int = 0
    near_duplicates: int = 0
    sitemaps: int = 0  # that were read
    sitemap_urls: int = 0  # found in them
    refreshed: int = 0  # visits to URLs that were visited before, of which ...
    not_modified: int = 0  # ... were answered 304
    unchanged: int = 0  # ... returned the same document
    changed: int = 0
    reported: int = 0  # visits brought forward because a trusted sitemap or feed reported a change
    freshness: FreshnessMetrics = FreshnessMetrics()
    missing: int = 0
    next_missing: Instant | None = None  # when the first of them is due; only at the end of a run
    gone: int = 0
    redirects: int = 0
    dead: int = 0
    statuses: dict[str, int] = field(default_factory=dict)  # "2xx", ...
    errors: dict[str, int] = field(default_factory=dict)  # by reason
    excluded: dict[str, int] = field(default_factory=dict)  # by reason

    # the frontier
    hosts_known: int = 0
    hosts_in_memory: int = 0
    hosts_ready: int = 0
    hosts_waiting: int = 0
    hosts_parked: int = 0
    in_flight: int = 0
    urls_in_memory: int = 0
    urls_by_front: tuple[int, ...] = ()
    drawn: tuple[int, ...] = ()  # choices of the selector, by group
    selector_shares: tuple[float, ...] = ()  # the same in percent
    load: str = "normal"
    load_reason: str = ""  # readable text
    waiting_for: str = ""  # readable text; empty while a host may be contacted

    # fetching and storing
    robots_fetched: int = 0
    dns_queries: int = 0
    dns_failing: bool = False  # name servers do not answer: new hosts wait
    proxy_failing: bool = False  # a proxy is unavailable: its hosts wait
    slowest: tuple[tuple[str, float], ...] = ()  # (host, seconds)
    documents_waiting: int = 0
    store_saturation: float = 0.0  # 1.0: nothing is fetched until a batch is committed
    store_failing: bool = False  # commits fail: nothing is fetched until one succeeds
    store_slow: bool = False  # a commit is very slow: nothing is fetched until it ends
    cache_fault: CacheFault | None = None  # the cache fails and is not used until it answers again
    cache_failures: Mapping[str, int] = field(default_factory=dict)  # of operations, in this run, by fault
    cache_emptied: int = 0  # in this run
    announced: int = 0  # documents announced in the document stream in this run ...
    unannounced: int = 0  # ... and those of which that is not certain
    blobs_failing: bool = False  # object storage is away or slow: captures go to the spool
    spool_segments: int = 0  # objects in the spool
    spool_bytes: int = 0
    spool_limit: int = 0  # bytes
    objects_put: int = 0  # of this run, without the spool
    objects_delivered: int = 0  # of this run, from the spool
    queues: Mapping[str, QueueDepth] = field(default_factory=dict)  # every bounded queue by name (`crawl.status`)
    bodies_held: int = 0  # responses whose transfer is suspended for lack of memory
    log_lost: int = 0  # events that could not be written
    commits: int = 0
    commit_seconds: float = 0.0  # in total
    loop_lag: float = 0.0  # worst delay of the event loop in the last second
    worst_loop_lag: float = 0.0  # of this run
    politeness_violations: int = 0
    sharing: SharingCounts | None = None  # of a crawl that workers share
    internals: Internals = Internals()

    next_contact: Instant | None = None  # of the hosts in memory
    next_due: Instant | None = None  # of the URLs that are not due yet
    delivering: bool = False  # the crawl is over and waits for the delivery of the spool
    cache_problem: str = ""  # why the cache fails
    workers_running: int = 0  # of those that this process has started ...
    workers_wanted: int = 0  # ... and keeps running; 0: it starts none
    paused: bool = False  # through the service: no visits are started
    stopping: bool = False  # visits in flight are being finished
    finished: bool = False  # nothing is left to do
    stopped: StopReason | None = None  # None while the crawl runs
    hosts_held: int = 0  # hosts that were left because they are paused; only at the end of a run
    seeds: SeedCounts | None = None  # only at the end of a run
    readmission: ReadmissionCounts | None = None  # the last one of this run; None: there was none

    @property
    def failing(self) -> tuple[str, ...]:
        """The parts that fail, while the crawl may go on without them."""
        parts = (
            ("store", self.store_failing),
            ("object storage", self.blobs_failing),
            ("DNS", self.dns_failing),
            ("proxy", self.proxy_failing),
            ("cache", self.cache_fault is not None),
        )
        return tuple(name for name, fails in parts if fails)

    @property
    def is_busy(self) -> bool:
        """Whether something is queued, in flight, or to be read again."""
        rereading = self.readmission is not None and not self.readmission.complete
        return self.queued > 0 or self.in_flight > 0 or rereading

    @property
    def is_of_one_of_several(self) -> bool:
        """Whether it is the snapshot of one worker, and others take part in the crawl: the totals are of all of them,
        the rates are its own."""
        return self.sharing is not None and self.sharing.workers > 1


class SeedsObject(TypedDict):
    given: int
    stored: int
    failed: Annotated[dict[str, int], "by reason"]


class ReadmissionObject(TypedDict):
    pages: Annotated[int, "pages to read again for refused links"]
    done: Annotated[int, "pages that were read"]
    returned: Annotated[int, "URLs queued"]
    unreadable: Annotated[int, "pages that could not be read"]


class CrawlObject(TypedDict):
    """`crawl/1`. Counts are of the whole crawl, those of earlier runs included."""

    v: Literal[1]
    pages: Annotated[int, "documents stored"]
    fetched: Annotated[int, "responses received"]
    bytes: int
    discovered: Annotated[int, "known URLs"]
    queued: int
    duplicates: int
    near_duplicates: int
    sitemaps: int
    sitemap_urls: int
    errors: Annotated[dict[str, int], "by reason"]
    excluded: Annotated[dict[str, int], "by reason"]
    dead: Annotated[int, "dead letters"]
    hosts: int
    seconds: Annotated[float, "duration of this run"]
    cpu_seconds: Annotated[float, "of this run"]
    max_rss_bytes: Annotated[int, "largest memory of this run"]
    politeness_violations: Annotated[int, "gaps that were too short, by the audit"]
    finished: Annotated[bool, "nothing is left to do"]
    stopped: Annotated[StopReason | None, "why it ended; null while it runs"]
    seeds: Annotated[SeedsObject, "what became of the seeds"]
    readmission: Annotated[ReadmissionObject | None, "what wider rules brought back; null if they did not become wider"]
    run_pages: Annotated[int, "documents stored in this run"]
    statuses: Annotated[dict[str, int], "responses by class of status"]
    redirects: int
    refreshed: Annotated[int, "visits to URLs visited before"]
    not_modified: int
    unchanged: int
    changed: int
    reported: Annotated[int, "visits brought forward because a sitemap or feed reported a change"]
    recrawl: FreshnessObject
    missing: Annotated[int, "URLs that answered 4xx"]
    next_missing: Annotated[str | None, "when the next of them is tried again"]
    gone: int
    robots_fetched: int
    dns_queries: int
    dns_failing: bool
    proxy_failing: bool
    drawn: Annotated[list[int], "visits by class"]
    selector_shares: Annotated[list[float], "percentage of visits by class"]
    load: Annotated[str, "normal or high"]
    store_failing: bool
    store_slow: bool
    cache_failing: Annotated[bool, "the cache fails and is not used"]
    cache_fault: Annotated[CacheFault | None, "what is wrong with it; null if it is used, or there is none"]
    cache_failures: Annotated[dict[str, int], "operations of the cache that failed in this run, by fault"]
    cache_emptied: Annotated[int, "how often the cache had lost everything, in this run"]
    announced: Annotated[int, "documents announced in the document stream in this run"]
    unannounced: Annotated[int, "documents of this run that may not have been announced"]
    blobs_failing: Annotated[bool, "object storage is away or slow"]
    spool_segments: Annotated[int, "objects that wait for it"]
    spool_bytes: int
    commits: int
    commit_seconds: float
    worst_loop_lag: float


def to_contract(snapshot: Snapshot) -> CrawlObject:
    """The JSON object of `--json`: the documented keys and some more."""
    return {
        "v": 1,
        "pages": snapshot.pages,
        "fetched": snapshot.fetched,
        "bytes": snapshot.bytes,
        "discovered": snapshot.discovered,
        "queued": snapshot.queued,
        "duplicates": snapshot.duplicates,
        "near_duplicates": snapshot.near_duplicates,
        "sitemaps": snapshot.sitemaps,
        "sitemap_urls": snapshot.sitemap_urls,
        "errors": dict(snapshot.errors),
        "excluded": dict(snapshot.excluded),
        "dead": snapshot.dead,
        "hosts": snapshot.hosts_known,
        "seconds": round(snapshot.elapsed, 3),
        "cpu_seconds": round(snapshot.cpu_seconds, 3),
        "max_rss_bytes": snapshot.max_rss_bytes,
        "politeness_violations": snapshot.politeness_violations,
        "finished": snapshot.finished,
        "stopped": snapshot.stopped,
        "seeds": _seeds_object(snapshot.seeds or SeedCounts()),
        "readmission": _readmission_object(snapshot.readmission),
        # beyond the contract
        "run_pages": snapshot.run_pages,
        "statuses": dict(snapshot.statuses),
        "redirects": snapshot.redirects,
        "refreshed": snapshot.refreshed,
        "not_modified": snapshot.not_modified,
        "unchanged": snapshot.unchanged,
        "changed": snapshot.changed,
        "reported": snapshot.reported,
        "recrawl": freshness_object(snapshot.freshness),
        "missing": snapshot.missing,
        "next_missing": formatter.timestamp(snapshot.next_missing),
        "gone": snapshot.gone,
        "robots_fetched": snapshot.robots_fetched,
        "dns_queries": snapshot.dns_queries,
        "dns_failing": snapshot.dns_failing,
        "proxy_failing": snapshot.proxy_failing,
        "drawn": list(snapshot.drawn),
        "selector_shares": [round(share, 2) for share in snapshot.selector_shares],
        "load": snapshot.load,
        "store_failing": snapshot.store_failing,
        "store_slow": snapshot.store_slow,
        "cache_failing": snapshot.cache_fault is not None,
        "cache_fault": snapshot.cache_fault,
        "cache_failures": dict(snapshot.cache_failures),
        "cache_emptied": snapshot.cache_emptied,
        "announced": snapshot.announced,
        "unannounced": snapshot.unannounced,
        "blobs_failing": snapshot.blobs_failing,
        "spool_segments": snapshot.spool_segments,
        "spool_bytes": snapshot.spool_bytes,
        "commits": snapshot.commits,
        "commit_seconds": round(snapshot.commit_seconds, 3),
        "worst_loop_lag": round(snapshot.worst_loop_lag, 4),
    }


def _seeds_object(seeds: SeedCounts) -> SeedsObject:
    return {"given": seeds.given, "stored": seeds.stored, "failed": dict(seeds.failed)}


def _readmission_object(found: ReadmissionCounts | None) -> ReadmissionObject | None:
    if found is None:
        return None
    return {
        "pages": found.pages,
        "done": found.done,
        "returned": found.returned,
        "unreadable": found.unreadable,
    }


STALE_AFTER = 10.0  # seconds; a process that has not written for longer hangs


@dataclass(frozen=True, slots=True)
class LimitProgress:
    """How far the last change of limits has been applied to the known URLs."""

    excluded: int = 0
    requeued: int = 0
    unchecked: int = 0  # known URLs that were not looked at yet
    rereading: int = 0  # pages that are to be read again for links that were refused
    complete: bool = True  # everything was looked at, and the pages to be read again are counted


@dataclass(frozen=True, slots=True)
class SteeringStatus:
    """What the service shows of a crawl besides its snapshot, and what has taken effect of that which it asked for."""

    settings: int = 0  # the version that is in force
    orders: tuple[int, ...] = ()  # the last orders whose effects the snapshot includes
    limits: LimitProgress = LimitProgress()
    run: str = ""  # differs from run to run
    visits: int = 0  # outcomes of visits so far, of which the last are here, each with its number
    outcomes: tuple[tuple[int, dict[str, Any]], ...] = ()
    rests: tuple[int, ...] = ()  # hosts by the time until their next contact (`REST_BOUNDS`)


REST_BOUNDS: Final = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 600.0, 3600.0)
"""Upper bounds, in seconds until the next contact, of the histogram of hosts."""


@dataclass(frozen=True, slots=True)
class Status:
    """The live status of a worker."""

    process: int
    snapshot: Snapshot
    steering: SteeringStatus | None = None  # of a crawl that takes orders


def encode_status(status: Status) -> bytes:
    return msgspec.json.encode(status) + b"\n"


def decode_status(texts: Sequence[bytes], process: int) -> Status | None:
    """The status among these that `process` has written; None if there is none, or it is of another format."""
    for text in texts:
        with suppress(ValueError, RecursionError, msgspec.MsgspecError):
            status = msgspec.json.decode(text, type=Status)
            if status.process == process:
                return status
    return None


def decode_live(texts: Sequence[bytes]) -> list[Status]:
    """The status of all workers, without those of another format."""
    found = []
    for text in texts:
        with suppress(ValueError, RecursionError, msgspec.MsgspecError):
            found.append(msgspec.json.decode(text, type=Status))
    return found


def decode_statuses(texts: Sequence[bytes]) -> list[Snapshot]:
    """The snapshots of all workers, without those of another format."""
    return [status.snapshot for status in decode_live(texts)]


_STORED: Final = (
    *("pages", "fetched", "bytes", "discovered", "queued", "duplicates", "near_duplicates", "sitemaps", "sitemap_urls"),
    *("refreshed", "not_modified", "unchanged", "changed", "reported", "dead", "statuses", "errors", "excluded"),
    "robots_fetched",
)


def snapshot_of_totals(totals: Mapping[str, Any], at: Instant) -> Snapshot:
    """The snapshot of a crawl that is not running, from the totals in its store."""
    states = totals["states"]
    return Snapshot(
        at=at,
        **{name: totals[name] for name in _STORED},
        missing=states.get("missing", 0),
        gone=states.get("gone", 0),
        redirects=states.get("redirect", 0),
        hosts_known=totals["hosts"],
    )


class StatusFile:
    """The live status in a file (`store.ports.LiveStatus`). Errors are ignored: the crawl does not depend on it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._draft = path.with_name(f".{path.name}.new")

    def write(self, status: bytes) -> None:
        with suppress(OSError):
            self._draft.write_bytes(status)
            os.replace(self._draft, self._path)

    def read(self) -> list[bytes]:
        try:
            return [self._path.read_bytes()]
        except OSError:
            return []

    def clear(self) -> None:
        for file in (self._draft, self._path):
            with suppress(OSError):
                file.unlink()

    def close(self) -> None:
        """Nothing to give back."""


def recent_snapshot(texts: Sequence[bytes], process: int, now: Instant) -> Snapshot | None:
    """The snapshot in the live status of `process`; None if there is none or it is stale."""
    status = decode_status(texts, process)
    return None if status is None or now - status.snapshot.at >= STALE_AFTER else status.snapshot


WINDOW = 5.0  # seconds that current rates are averaged over
_KEPT = 160  # seconds of history, enough for the widest sparkline
_BARS = "▁▂▃▄▅▆▇█"


class Rates:
    """Pages and bytes per second, computed from the totals of successive snapshots (one sample per second is kept)."""

    def __init__(self) -> None:
        self._samples: deque[tuple[float, int, int]] = deque(maxlen=_KEPT)  # (elapsed, pages, bytes)
        self._last = (0.0, 0, 0)
        self._first: tuple[float, int, int] | None = None

    def note(self, snapshot: Snapshot) -> None:
        """Add a snapshot. They come in order of time, at any interval."""
        sample = (snapshot.elapsed, snapshot.run_pages, snapshot.bytes)
        if self._first is None or snapshot.elapsed < self._last[0]:  # of a worker that has joined again
            # Bytes include earlier runs, so this run's bytes are counted from the first snapshot on.
            self._first = sample
            self._samples.clear()
            self._samples.append(sample)
        elif sample[0] >= self._samples[-1][0] + 1.0:
            self._samples.append(sample)
        self._last = sample

    @property
    def pages_now(self) -> float:
        """Pages per second over the last few seconds."""
        then = self._some_seconds_ago()
        return _speed(then[1], self._last[1], self._last[0] - then[0])

    @property
    def pages_mean(self) -> float:
        """Pages per second since the start of this run."""
        return _speed(0, self._last[1], self._last[0])

    @property
    def bytes_now(self) -> float:
        then = self._some_seconds_ago()
        return _speed(then[2], self._last[2], self._last[0] - then[0])

    @property
    def bytes_mean(self) -> float:
        first = self._first or self._last
        return _speed(first[2], self._last[2], self._last[0] - first[0])

    def history(self) -> list[float]:
        """Pages per second in each of the last seconds, oldest first."""
        return [_speed(a[1], b[1], b[0] - a[0]) for a, b in pairwise(self._samples)]

    def _some_seconds_ago(self) -> tuple[float, int, int]:
        for sample in reversed(self._samples):
            if self._last[0] - sample[0] >= WINDOW:
                return sample
        return self._samples[0] if self._samples else self._last


def _speed(before: float, after: float, took: float) -> float:
    return max(after - before, 0.0) / took if took > 0 else 0.0


def sparkline(values: Sequence[float], width: int) -> str:
    """The last `width` values as block characters, scaled to the largest of them."""
    shown = list(values[-width:]) if width > 0 else []
    top = max(shown, default=0.0)
    if top <= 0:
        return _BARS[0] * len(shown)
    return "".join(_BARS[min(int(value / top * len(_BARS)), len(_BARS) - 1)] for value in shown)
