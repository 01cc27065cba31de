"""Every figure of a crawl for Prometheus: one table, from which they are collected, told as JSON and documented.

Labels come from fixed lists. A reason that is on none is counted as `other`, so no caller and no site can make a new
series. Names and units follow Prometheus: seconds, bytes, shares from 0 to 1, counters that only grow.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final, Literal, NamedTuple

from gossamer.crawl.status import QUEUES
from gossamer.model.outcome import Failure
from gossamer.model.states import UrlState
from gossamer.observe.snapshot import PHASES, ProcessUse, Snapshot
from gossamer.sketch.durations import Spread

_FRONTS: Final = 16
"""Classes that have a label of their own; more are added up in the last."""

REASONS: Final = frozenset(
    {
        *(failure.value for failure in Failure),
        *("bad_scheme", "bad_url", "url_too_long", "out_of_scope", "excluded_domain", "depth_limit", "extension"),
        *("pattern", "trap_limit", "trap:repeats", "trap:same", "trap:alike", "trap:facets", "trap:endless"),
        *("trap:hosts", "hook", "too_many_links", "unwanted_type", "dropped", "host_dropped", "domain_limit"),
        *("robots_denied", "robots_unreachable", "crawl_delay_too_long", "rate_limited", "server_error", "soft_404"),
        *("redirect_loop", "too_many_redirects", "redirect_bad_scheme", "redirect_no_location", "near_duplicate"),
        *("bad_xml", "not_a_sitemap", "parse_limit", "sitemap_limit"),
    }
)
"""All that docs/OPERATING.md lists."""
OTHER: Final = "other"
STATUSES: Final = ("1xx", "2xx", "3xx", "4xx", "5xx")

Kind = Literal["counter", "gauge", "histogram"]
Value = float | Spread | None
Values = Value | Mapping[str, Value]


class Metric(NamedTuple):
    """One figure. With a `label` there is one for each of its values, which are `values`; None is not told."""

    name: str
    kind: Kind
    help: str
    value: Callable[[Snapshot], Values]
    label: str | None = None
    values: tuple[str, ...] = ()

    @property
    def shown_name(self) -> str:
        """As Prometheus knows it."""
        return self.name + "_total" if self.kind == "counter" else self.name


def _by_reason(counts: Mapping[str, int]) -> dict[str, Value]:
    found: dict[str, float] = {}
    for reason, n in counts.items():
        known = reason if reason in REASONS else OTHER
        found[known] = found.get(known, 0) + n
    return {**found}


def _by_front(figures: Iterable[float]) -> dict[str, Value]:
    found: dict[str, float] = {}
    for front, n in enumerate(figures):
        label = str(min(front, _FRONTS - 1))
        found[label] = found.get(label, 0) + n
    return {**found}


_STATES: Final = (
    UrlState.QUEUED,
    UrlState.STORED,
    UrlState.REDIRECT,
    UrlState.MISSING,
    UrlState.GONE,
    UrlState.DEAD,
)


def _by_state(s: Snapshot) -> dict[str, Value]:
    counts = (s.queued, s.pages, s.redirects, s.missing, s.gone, s.dead)
    return {state.word: n for state, n in zip(_STATES, counts, strict=True)}


def _hosts(s: Snapshot) -> dict[str, Value]:
    out = s.hosts_in_memory - s.hosts_ready - s.hosts_waiting - s.hosts_parked
    return {"ready": s.hosts_ready, "waiting": s.hosts_waiting, "parked": s.hosts_parked, "other": max(0, out)}


def _failing(s: Snapshot) -> dict[str, Value]:
    return {
        "store": s.store_failing,
        "store_slow": s.store_slow,
        "dns": s.dns_failing,
        "proxy": s.proxy_failing,
    }


def _tiers(s: Snapshot) -> dict[str, Value]:
    inner = s.internals
    return {"memory": inner.links_recent, "filter": inner.links_new, "store": inner.links_asked}


def _dns(s: Snapshot) -> dict[str, Value]:
    inner = s.internals
    return {
        "hit": inner.dns_hits,
        "negative_hit": inner.dns_negative_hits,
        "stale": inner.dns_stale,
        "put_off": inner.dns_put_off,
    }


def _again(s: Snapshot) -> dict[str, Value]:
    return {"not_modified": s.not_modified, "unchanged": s.unchanged, "changed": s.changed}


def _shares(s: Snapshot) -> dict[str, Value]:
    return _by_front(share / 100 for share in s.selector_shares)


def _by_process(s: Snapshot, crawl: float, of: Callable[[ProcessUse], float]) -> dict[str, Value]:
    """A figure of the crawl's process, and the same of the front's, if there is one."""
    return {"crawl": crawl, "front": None if s.front is None else of(s.front)}


PROCESSES: Final = ("crawl", "front")
FRONTS: Final = tuple(map(str, range(_FRONTS)))
WORDS: Final = (*sorted(REASONS), OTHER)

METRICS: Final[tuple[Metric, ...]] = (
    # what comes in
    Metric("gossamer_fetched", "counter", "Answers received to requests for pages", lambda s: s.fetched),
    Metric("gossamer_fetched_bytes", "counter", "Bytes of those answers, heads included", lambda s: s.bytes),
    Metric(
        "gossamer_responses",
        "counter",
        "Answers by class of status",
        lambda s: {status: s.statuses.get(status, 0) for status in STATUSES},
        "status",
        STATUSES,
    ),
    Metric("gossamer_errors", "counter", "Visits that failed", lambda s: _by_reason(s.errors), "reason", WORDS),
    Metric("gossamer_discovered", "counter", "URLs that have entered", lambda s: s.discovered),
    Metric("gossamer_excluded", "counter", "URLs kept out", lambda s: _by_reason(s.excluded), "reason", WORDS),
    Metric("gossamer_sitemaps", "counter", "Sitemaps and feeds read", lambda s: s.sitemaps),
    Metric("gossamer_sitemap_urls", "counter", "URLs found in them", lambda s: s.sitemap_urls),
    Metric("gossamer_robots_fetched", "counter", "Requests for robots.txt", lambda s: s.robots_fetched),
    # what came of it
    Metric("gossamer_urls", "gauge", "Known URLs", _by_state, "state", tuple(state.word for state in _STATES)),
    Metric("gossamer_dead_letters", "gauge", "URLs whose tries are used up", lambda s: s.dead),
    Metric("gossamer_duplicates", "counter", "Documents that were stored already, to the byte", lambda s: s.duplicates),
    Metric("gossamer_near_duplicates", "counter", "Documents that almost were", lambda s: s.near_duplicates),
    Metric("gossamer_known_hosts", "gauge", "Hosts with at least one URL", lambda s: s.hosts_known),
    # how long it takes
    Metric(
        "gossamer_phase_seconds",
        "histogram",
        "Time by part of the way, this run: dns is one look-up, connect and tls are of new connections, first_byte is "
        "from the request to the answer, body from there to its end, extract is one page, commit one batch",
        lambda s: {name: s.internals.phases.get(name, Spread()) for name in PHASES},
        "phase",
        PHASES,
    ),
    Metric("gossamer_commits", "counter", "Transactions of this run", lambda s: s.commits),
    Metric("gossamer_commit_seconds", "counter", "Time spent in them", lambda s: s.commit_seconds),
    # the frontier
    Metric(
        "gossamer_front_queue_urls",
        "gauge",
        "URLs in memory by class, 0 the highest",
        lambda s: _by_front(s.urls_by_front),
        "front",
        FRONTS,
    ),
    Metric(
        "gossamer_selector_turns",
        "counter",
        "Turns given to each class, this run",
        lambda s: _by_front(s.drawn),
        "front",
        FRONTS,
    ),
    Metric("gossamer_selector_share", "gauge", "Observed share of each class, 0 to 1", _shares, "front", FRONTS),
    Metric("gossamer_load_high", "gauge", "1 while the selector works under load", lambda s: s.load == "high"),
    Metric(
        "gossamer_hosts",
        "gauge",
        "Hosts in memory: may be contacted, left alone until a date, behind others of their address, the rest",
        _hosts,
        "state",
        ("ready", "waiting", "parked", "other"),
    ),
    Metric("gossamer_hosts_in_memory", "gauge", "Hosts with a back queue", lambda s: s.hosts_in_memory),
    Metric(
        "gossamer_hosts_failing",
        "gauge",
        "Hosts in memory that failed so often that their breaker is open",
        lambda s: s.internals.hosts_failing,
    ),
    Metric("gossamer_in_flight", "gauge", "Visits that are out", lambda s: s.in_flight),
    Metric("gossamer_politeness_violations", "counter", "Gaps shortened: must be 0", lambda s: s.politeness_violations),
    # what is known without asking
    Metric(
        "gossamer_seen_test",
        "counter",
        "Links by what knew of them, this run: the exact memory (seen before), the filter (new), the store (perhaps)",
        _tiers,
        "tier",
        ("memory", "filter", "store"),
    ),
    Metric("gossamer_dns_queries", "counter", "Questions to name servers, this run", lambda s: s.dns_queries),
    Metric("gossamer_dns_failures", "counter", "Names without an address", lambda s: s.internals.dns_failures),
    Metric(
        "gossamer_dns_cache",
        "counter",
        "Names answered without a question, this run: from the cache, as absent, though out of date, or put off",
        _dns,
        "result",
        ("hit", "negative_hit", "stale", "put_off"),
    ),
    Metric("gossamer_dns_cached_hosts", "gauge", "Hosts in the DNS cache", lambda s: s.internals.dns_cached),
    # queues and breakers
    Metric(
        "gossamer_queue_items",
        "gauge",
        "What is in each bounded queue",
        lambda s: {name: s.queues[name].items for name in QUEUES if name in s.queues},
        "queue",
        QUEUES,
    ),
    Metric(
        "gossamer_queue_saturation",
        "gauge",
        "How full it is, 1 is its bound; upstream slows at 0.8",
        lambda s: {name: s.queues[name].saturation for name in QUEUES if name in s.queues},
        "queue",
        QUEUES,
    ),
    Metric("gossamer_documents_waiting", "gauge", "Documents fetched and not read yet", lambda s: s.documents_waiting),
    Metric("gossamer_store_saturation", "gauge", "Fullness of the open batch", lambda s: s.store_saturation),
    Metric("gossamer_bodies_held", "gauge", "Answers not read on until there is room", lambda s: s.bodies_held),
    Metric(
        "gossamer_breaker_open",
        "gauge",
        "1 while what it names fails and is waited for",
        _failing,
        "part",
        ("store", "store_slow", "dns", "proxy"),
    ),
    # visiting again
    Metric("gossamer_refreshed", "counter", "Visits to URLs that were visited before", lambda s: s.refreshed),
    Metric(
        "gossamer_refresh_results",
        "counter",
        "What came of those that brought an answer",
        _again,
        "result",
        ("not_modified", "unchanged", "changed"),
    ),
    Metric("gossamer_reported", "counter", "Visits brought forward by a sitemap or feed", lambda s: s.reported),
    Metric(
        "gossamer_freshness",
        "gauge",
        "Estimated share of pages that are as stored, 0 to 1",
        lambda s: s.freshness.fresh,
    ),
    Metric("gossamer_refresh_price", "gauge", "Price of a visit, by the plan", lambda s: s.freshness.price),
    Metric("gossamer_refresh_budget", "gauge", "Visits a day that may go to known URLs", lambda s: s.freshness.budget),
    Metric("gossamer_refresh_pace", "gauge", "Visits a day that do, of late", lambda s: s.freshness.refreshes),
    Metric("gossamer_discovery_pace", "gauge", "Visits a day to new URLs, of late", lambda s: s.freshness.discoveries),
    Metric(
        "gossamer_refresh_scheduled", "gauge", "URLs with the date of another visit", lambda s: s.freshness.scheduled
    ),
    Metric("gossamer_refresh_due", "gauge", "URLs whose date has come, up to a limit", lambda s: s.freshness.overdue),
    Metric("gossamer_refresh_waiting", "gauge", "URLs queued to be visited again", lambda s: s.freshness.waiting),
    Metric(
        "gossamer_refresh_dear_hosts",
        "gauge",
        "Hosts whose visits have a higher price, since they allow too few",
        lambda s: s.freshness.dear_hosts,
    ),
    # the process
    Metric("gossamer_event_loop_delay_seconds", "gauge", "Worst of the last second", lambda s: s.loop_lag),
    Metric(
        "gossamer_event_loop_wakeup_seconds",
        "histogram",
        "How late the event loop wakes a timer, fifty times a second",
        lambda s: s.internals.wakings,
    ),
    Metric(
        "gossamer_cpu_seconds",
        "counter",
        "CPU time of this run: crawl is the process of the crawl with all its threads, front the one that has the "
        "connections",
        lambda s: _by_process(s, s.cpu_seconds, lambda front: front.cpu_seconds),
        "process",
        PROCESSES,
    ),
    Metric(
        "gossamer_rss_bytes",
        "gauge",
        "Memory in use; what both processes share is counted for each",
        lambda s: _by_process(s, s.internals.rss_bytes, lambda front: front.rss_bytes),
        "process",
        PROCESSES,
    ),
    Metric(
        "gossamer_max_rss_bytes",
        "gauge",
        "The most memory held",
        lambda s: _by_process(s, s.max_rss_bytes, lambda front: front.max_rss_bytes),
        "process",
        PROCESSES,
    ),
    Metric("gossamer_log_lost", "counter", "Events that could not be written to the log", lambda s: s.log_lost),
    Metric("gossamer_uptime_seconds", "gauge", "Since the start of this run", lambda s: s.elapsed),
)
