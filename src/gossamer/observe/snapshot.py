"""One moment of a crawl, as the pipeline saw it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from gossamer.model.fill import Fill
from gossamer.model.units import Instant
from gossamer.observe.freshening import Freshening, freshening_object
from gossamer.observe.workings import Workings


@dataclass(frozen=True, slots=True)
class ProcessUse:
    """What a process has taken of the machine."""

    cpu_seconds: float = 0.0
    rss_bytes: int = 0
    max_rss_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """All figures of one moment. Totals are of the whole crawl, former runs included, unless they say otherwise."""

    at: Instant
    elapsed: float = 0.0  # seconds of this run
    cpu_seconds: float = 0.0  # of this run
    max_rss_bytes: int = 0
    front: ProcessUse | None = None  # of a service: the process that has the connections; else these are of the crawl

    # what came of the URLs
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
    not_modified: int = 0  # ... the server said that nothing had changed
    unchanged: int = 0  # ... nothing had
    changed: int = 0
    reported: int = 0  # visits brought forward, because a sitemap or feed that is trusted told of a change
    freshening: Freshening = Freshening()
    missing: int = 0
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
    drawn: tuple[int, ...] = ()  # turns dealt by the selector, by class
    selector_shares: tuple[float, ...] = ()  # the same in percent
    load: str = "normal"
    load_reason: str = ""  # why it is that, in words
    waiting_for: str = ""  # for people; empty while there is something to do

    # fetching and storing
    robots_fetched: int = 0
    dns_queries: int = 0
    dns_failing: bool = False  # the name servers do not answer: new hosts wait
    proxy_failing: bool = False  # a proxy cannot be used: its hosts wait
    slowest: tuple[tuple[str, float], ...] = ()  # (host, seconds)
    documents_waiting: int = 0
    store_saturation: float = 0.0  # 1.0: nothing more is fetched until a batch is committed
    store_failing: bool = False  # commits fail: nothing is fetched until one succeeds
    store_slow: bool = False  # a commit takes very long: nothing is fetched until it ends
    queues: Mapping[str, Fill] = field(default_factory=dict)  # every bounded queue by its name (`crawl.gauges`)
    bodies_held: int = 0  # answers that are not read on until there is room
    log_lost: int = 0  # events that could not be written
    commits: int = 0
    commit_seconds: float = 0.0  # in total
    loop_lag: float = 0.0  # worst delay of the event loop in the last second
    worst_loop_lag: float = 0.0  # of this run
    politeness_violations: int = 0
    workings: Workings = Workings()

    paused: bool = False  # through the service: no visits are started
    stopping: bool = False  # asked to stop; visits in flight are being finished
    finished: bool = False  # nothing is left to do


def to_contract(snapshot: Snapshot) -> dict[str, object]:
    """The JSON object that `--json` promises, and a few figures more."""
    return {
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
        # beyond the contract
        "run_pages": snapshot.run_pages,
        "statuses": dict(snapshot.statuses),
        "redirects": snapshot.redirects,
        "refreshed": snapshot.refreshed,
        "not_modified": snapshot.not_modified,
        "unchanged": snapshot.unchanged,
        "changed": snapshot.changed,
        "reported": snapshot.reported,
        "recrawl": freshening_object(snapshot.freshening),
        "missing": snapshot.missing,
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
        "commits": snapshot.commits,
        "commit_seconds": round(snapshot.commit_seconds, 3),
        "worst_loop_lag": round(snapshot.worst_loop_lag, 4),
    }
