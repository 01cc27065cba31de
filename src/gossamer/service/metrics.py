"""All metrics of a crawl: the table from which `/metrics` (in Prometheus text format and as JSON) and its documentation
are made.

Label values come from fixed lists, except for the names of workers, which operators give. A reason that is not listed
is counted as `other`, so neither a client nor a site can create a new time series. Names and units follow Prometheus:
seconds, bytes, ratios from 0 to 1, monotonic counters. Both formats are made from the last snapshot, so the cost of a
scrape does not depend on the size of the crawl.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal, NamedTuple

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

from gossamer.crawl.status import QUEUES
from gossamer.model.cache_fault import CacheFault
from gossamer.model.outcome import Failure
from gossamer.model.states import UrlState
from gossamer.observe.snapshot import PHASES, ProcessUse, Snapshot
from gossamer.observe.workers import WorkerStatus
from gossamer.sketch import Spread

_FRONTS: Final = 16
"""Classes with a label of their own; further ones are counted with the last."""

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
"""The reasons listed in docs/OPERATING.md."""
OTHER: Final = "other"
CACHE_FAULTS: Final = tuple(fault.value for fault in CacheFault)
STATUSES: Final = ("1xx", "2xx", "3xx", "4xx", "5xx")

Kind = Literal["counter", "gauge", "histogram"]
Value = float | Spread | None
Values = Value | Mapping[str, Value]


class WorkerMetric(NamedTuple):
    """A metric of each worker of a crawl that workers share, with the label `worker`."""

    name: str
    kind: Kind
    help: str
    value: Callable[[WorkerStatus], float | None]
    label: str = "worker"

    @property
    def shown_name(self) -> str:
        return self.name + "_total" if self.kind == "counter" else self.name


class Metric(NamedTuple):
    """One metric. With a `label`, there is a time series for each of its `values`; a value of None is left out."""

    name: str
    kind: Kind
    help: str
    value: Callable[[Snapshot], Values]
    label: str | None = None
    values: tuple[str, ...] = ()

    @property
    def shown_name(self) -> str:
        """The name in Prometheus text format."""
        return self.name + "_total" if self.kind == "counter" else self.name


def _by_reason(counts: Mapping[str, int]) -> dict[str, Value]:
    found: dict[str, float] = {}
    for reason, n in counts.items():
        known = reason if reason in REASONS else OTHER
        found[known] = found.get(known, 0) + n
    return {**found}


def _by_front(values: Iterable[float]) -> dict[str, Value]:
    found: dict[str, float] = {}
    for front, n in enumerate(values):
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
        "blobs": s.blobs_failing,
        "dns": s.dns_failing,
        "proxy": s.proxy_failing,
    }


def _tiers(s: Snapshot) -> dict[str, Value]:
    inner = s.internals
    return {"memory": inner.links_recent, "filter": inner.links_new, "store": inner.links_asked}


def _content_tiers(s: Snapshot) -> dict[str, Value]:
    inner = s.internals
    return {
        "memory": inner.contents_recent,
        "filter": inner.contents_new,
        "cache": inner.contents_cached,
        "store": inner.contents_asked,
    }


def _sent_tiers(s: Snapshot) -> dict[str, Value]:
    inner = s.internals
    return {"memory": inner.sent_recent, "cache": inner.sent_cached, "store": inner.sent_new}


def _announced(s: Snapshot) -> dict[str, Value]:
    return {"announced": s.announced, "unannounced": s.unannounced}


def _dns(s: Snapshot) -> dict[str, Value]:
    inner = s.internals
    return {
        "hit": inner.dns_hits,
        "negative_hit": inner.dns_negative_hits,
        "stale": inner.dns_stale,
        "put_off": inner.dns_put_off,
    }


def _partitions(s: Snapshot) -> dict[str, Value]:
    return {} if s.sharing is None else {"self": s.sharing.partitions, "nobody": s.sharing.free}


def _refresh_results(s: Snapshot) -> dict[str, Value]:
    return {"not_modified": s.not_modified, "unchanged": s.unchanged, "changed": s.changed}


def _shares(s: Snapshot) -> dict[str, Value]:
    return _by_front(share / 100 for share in s.selector_shares)


def _by_process(s: Snapshot, crawl: float, of: Callable[[ProcessUse], float]) -> dict[str, Value]:
    """A value of the crawl process, and that of the front process if there is one."""
    return {"crawl": crawl, "front": None if s.front is None else of(s.front)}


PROCESSES: Final = ("crawl", "front")
FRONTS: Final = tuple(map(str, range(_FRONTS)))
WORDS: Final = (*sorted(REASONS), OTHER)

METRICS: Final[tuple[Metric, ...]] = (
    # fetching
    Metric("gossamer_fetched", "counter", "Responses to requests for pages", lambda s: s.fetched),
    Metric("gossamer_fetched_bytes", "counter", "Bytes of these responses, including headers", lambda s: s.bytes),
    Metric(
        "gossamer_responses",
        "counter",
        "Responses by status class",
        lambda s: {status: s.statuses.get(status, 0) for status in STATUSES},
        "status",
        STATUSES,
    ),
    Metric("gossamer_errors", "counter", "Failed visits", lambda s: _by_reason(s.errors), "reason", WORDS),
    Metric("gossamer_discovered", "counter", "Discovered URLs", lambda s: s.discovered),
    Metric("gossamer_excluded", "counter", "Excluded URLs", lambda s: _by_reason(s.excluded), "reason", WORDS),
    Metric("gossamer_sitemaps", "counter", "Sitemaps and feeds processed", lambda s: s.sitemaps),
    Metric("gossamer_sitemap_urls", "counter", "URLs found in them", lambda s: s.sitemap_urls),
    Metric("gossamer_robots_fetched", "counter", "Requests for robots.txt", lambda s: s.robots_fetched),
    # outcomes
    Metric("gossamer_urls", "gauge", "Known URLs", _by_state, "state", tuple(state.word for state in _STATES)),
    Metric("gossamer_dead_letters", "gauge", "URLs whose retries are exhausted", lambda s: s.dead),
    Metric("gossamer_duplicates", "counter", "Documents identical to a stored one", lambda s: s.duplicates),
    Metric(
        "gossamer_near_duplicates", "counter", "Documents nearly identical to a stored one", lambda s: s.near_duplicates
    ),
    Metric("gossamer_known_hosts", "gauge", "Hosts with at least one URL", lambda s: s.hosts_known),
    # latency
    Metric(
        "gossamer_phase_seconds",
        "histogram",
        "Time by phase, this run: dns is one lookup, connect and tls are for new connections, first_byte is from the "
        "request to the first byte of the response, body from there to its end, extract is one page, commit one batch",
        lambda s: {name: s.internals.phases.get(name, Spread()) for name in PHASES},
        "phase",
        PHASES,
    ),
    Metric("gossamer_commits", "counter", "Commits of this run", lambda s: s.commits),
    Metric("gossamer_commit_seconds", "counter", "Time spent in commits", lambda s: s.commit_seconds),
    # the frontier
    Metric(
        "gossamer_front_queue_urls",
        "gauge",
        "URLs in memory by group of classes, 0 the highest",
        lambda s: _by_front(s.urls_by_front),
        "front",
        FRONTS,
    ),
    Metric(
        "gossamer_selector_turns",
        "counter",
        "Visits by group of classes, this run",
        lambda s: _by_front(s.drawn),
        "front",
        FRONTS,
    ),
    Metric(
        "gossamer_selector_share",
        "gauge",
        "Observed share of visits by group of classes, 0 to 1",
        _shares,
        "front",
        FRONTS,
    ),
    Metric(
        "gossamer_load_high", "gauge", "1 while the selector uses the shares for high load", lambda s: s.load == "high"
    ),
    Metric(
        "gossamer_hosts",
        "gauge",
        "Hosts in memory: ready, waiting for their delay to pass, parked behind another host of their address, other",
        _hosts,
        "state",
        ("ready", "waiting", "parked", "other"),
    ),
    Metric("gossamer_hosts_in_memory", "gauge", "Hosts with a back queue", lambda s: s.hosts_in_memory),
    Metric(
        "gossamer_hosts_failing",
        "gauge",
        "Hosts in memory whose circuit breaker is open",
        lambda s: s.internals.hosts_failing,
    ),
    Metric("gossamer_in_flight", "gauge", "Visits in flight", lambda s: s.in_flight),
    Metric(
        "gossamer_politeness_violations",
        "counter",
        "Requests sent too early: must be 0",
        lambda s: s.politeness_violations,
    ),
    # caches
    Metric(
        "gossamer_seen_test",
        "counter",
        "Links by the tier of the URL-seen test that answered, this run: exact memory (seen), filter (new), store",
        _tiers,
        "tier",
        ("memory", "filter", "store"),
    ),
    Metric(
        "gossamer_content_test",
        "counter",
        "Documents by the tier of the content-seen test that answered, this run: exact memory (known), filter (new), "
        "cache (known), store",
        _content_tiers,
        "tier",
        ("memory", "filter", "cache", "store"),
    ),
    Metric(
        "gossamer_sent_links",
        "counter",
        "Links to partitions of other workers, this run: known to be sent by the exact memory or by the cache, or put "
        "into the inbox in the store",
        _sent_tiers,
        "tier",
        ("memory", "cache", "store"),
    ),
    Metric(
        "gossamer_cache_failures",
        "counter",
        "Operations of the cache that failed, this run",
        lambda s: {fault: s.cache_failures.get(fault, 0) for fault in CACHE_FAULTS},
        "fault",
        CACHE_FAULTS,
    ),
    Metric(
        "gossamer_cache_open",
        "gauge",
        "1 while the cache fails with this fault and is not used; the crawl does not wait for it",
        lambda s: {fault: s.cache_fault == fault for fault in CACHE_FAULTS},
        "fault",
        CACHE_FAULTS,
    ),
    Metric(
        "gossamer_cache_emptied",
        "counter",
        "How often the server of the cache had lost everything, this run",
        lambda s: s.cache_emptied,
    ),
    Metric(
        "gossamer_stream_documents",
        "counter",
        "Documents stored in this run, if documents are announced: those announced, and those of which that is not "
        "certain",
        _announced,
        "result",
        ("announced", "unannounced"),
    ),
    Metric("gossamer_dns_queries", "counter", "Queries to name servers, this run", lambda s: s.dns_queries),
    Metric("gossamer_dns_failures", "counter", "Failed DNS lookups", lambda s: s.internals.dns_failures),
    Metric(
        "gossamer_dns_cache",
        "counter",
        "Lookups answered without a query, this run: cached, cached as nonexistent, stale, or postponed",
        _dns,
        "result",
        ("hit", "negative_hit", "stale", "put_off"),
    ),
    Metric("gossamer_dns_cached_hosts", "gauge", "Hosts in the DNS cache", lambda s: s.internals.dns_cached),
    # queues and circuit breakers
    Metric(
        "gossamer_queue_items",
        "gauge",
        "Items in each bounded queue",
        lambda s: {name: s.queues[name].items for name in QUEUES if name in s.queues},
        "queue",
        QUEUES,
    ),
    Metric(
        "gossamer_queue_saturation",
        "gauge",
        "Fill level of each bounded queue, 1 is full; upstream stages slow down at 0.8",
        lambda s: {name: s.queues[name].saturation for name in QUEUES if name in s.queues},
        "queue",
        QUEUES,
    ),
    Metric(
        "gossamer_documents_waiting",
        "gauge",
        "Fetched documents that are not processed yet",
        lambda s: s.documents_waiting,
    ),
    Metric("gossamer_store_saturation", "gauge", "Fill level of the open batch", lambda s: s.store_saturation),
    Metric(
        "gossamer_bodies_held",
        "gauge",
        "Responses whose transfer is suspended for lack of memory",
        lambda s: s.bodies_held,
    ),
    Metric(
        "gossamer_breaker_open",
        "gauge",
        "1 while the component fails and the crawl waits for it",
        _failing,
        "part",
        ("store", "store_slow", "blobs", "dns", "proxy"),
    ),
    # object storage
    Metric(
        "gossamer_objects",
        "counter",
        "Objects put into object storage, this run: at once, or later from the spool",
        lambda s: {"direct": s.objects_put, "spool": s.objects_delivered},
        "from",
        ("direct", "spool"),
    ),
    Metric("gossamer_spool_segments", "gauge", "Objects in the spool", lambda s: s.spool_segments),
    Metric("gossamer_spool_bytes", "gauge", "Bytes of the objects in the spool", lambda s: s.spool_bytes),
    Metric("gossamer_spool_limit_bytes", "gauge", "Room in the spool", lambda s: s.spool_limit),
    # recrawling
    Metric("gossamer_refreshed", "counter", "Visits to URLs that were visited before", lambda s: s.refreshed),
    Metric(
        "gossamer_refresh_results",
        "counter",
        "Results of visits to URLs that were visited before",
        _refresh_results,
        "result",
        ("not_modified", "unchanged", "changed"),
    ),
    Metric(
        "gossamer_reported",
        "counter",
        "Visits brought forward because a sitemap or feed reported a change",
        lambda s: s.reported,
    ),
    Metric(
        "gossamer_freshness",
        "gauge",
        "Estimated share of pages that have not changed since the last visit, 0 to 1",
        lambda s: s.freshness.fresh,
    ),
    Metric(
        "gossamer_refresh_price", "gauge", "Minimum value of a recrawl (docs/RECRAWL.md)", lambda s: s.freshness.price
    ),
    Metric(
        "gossamer_refresh_budget",
        "gauge",
        "Budget of visits per day to URLs that were visited before",
        lambda s: s.freshness.budget,
    ),
    Metric(
        "gossamer_refresh_pace",
        "gauge",
        "Recent visits per day to URLs that were visited before",
        lambda s: s.freshness.refreshes,
    ),
    Metric("gossamer_discovery_pace", "gauge", "Recent visits per day to new URLs", lambda s: s.freshness.discoveries),
    Metric(
        "gossamer_refresh_scheduled", "gauge", "URLs with a date for their next visit", lambda s: s.freshness.scheduled
    ),
    Metric(
        "gossamer_refresh_due",
        "gauge",
        "URLs that are due and not queued, counted up to a limit",
        lambda s: s.freshness.overdue,
    ),
    Metric(
        "gossamer_refresh_waiting", "gauge", "Requeued URLs that are not visited yet", lambda s: s.freshness.waiting
    ),
    Metric(
        "gossamer_refresh_dear_hosts",
        "gauge",
        "Hosts with a higher minimum value of a recrawl, because they allow too few visits",
        lambda s: s.freshness.dear_hosts,
    ),
    # workers that share a crawl
    Metric(
        "gossamer_lease_seconds",
        "gauge",
        "Time left of the lease of this worker, renewed every few seconds; at 0 it contacts nobody",
        lambda s: None if s.sharing is None else s.sharing.lease,
    ),
    Metric(
        "gossamer_partitions",
        "gauge",
        "Partitions of domains that this worker owns, and those that nobody owns",
        _partitions,
        "owner",
        ("self", "nobody"),
    ),
    Metric(
        "gossamer_living_workers",
        "gauge",
        "Workers that share the crawl, this one included",
        lambda s: None if s.sharing is None else s.sharing.workers,
    ),
    Metric(
        "gossamer_worker_deaths",
        "counter",
        "Earlier lives of this worker that did not end by leaving: it was killed, or declared dead by others",
        lambda s: None if s.sharing is None else s.sharing.deaths,
    ),
    # the process
    Metric(
        "gossamer_event_loop_delay_seconds",
        "gauge",
        "Largest event loop delay of the last second",
        lambda s: s.loop_lag,
    ),
    Metric(
        "gossamer_event_loop_wakeup_seconds",
        "histogram",
        "Delay of timers in the event loop, measured fifty times a second",
        lambda s: s.internals.wakings,
    ),
    Metric(
        "gossamer_cpu_seconds",
        "counter",
        "CPU time of this run: crawl is the crawl process with all its threads, front the process that holds the "
        "connections",
        lambda s: _by_process(s, s.cpu_seconds, lambda front: front.cpu_seconds),
        "process",
        PROCESSES,
    ),
    Metric(
        "gossamer_rss_bytes",
        "gauge",
        "Memory in use; memory shared by both processes is counted for each",
        lambda s: _by_process(s, s.internals.rss_bytes, lambda front: front.rss_bytes),
        "process",
        PROCESSES,
    ),
    Metric(
        "gossamer_max_rss_bytes",
        "gauge",
        "Peak memory; `crawl` includes the process that parses large pages",
        lambda s: _by_process(s, s.max_rss_bytes, lambda front: front.max_rss_bytes),
        "process",
        PROCESSES,
    ),
    Metric("gossamer_log_lost", "counter", "Events that could not be written to the log", lambda s: s.log_lost),
    Metric("gossamer_uptime_seconds", "gauge", "Time since the start of this run", lambda s: s.elapsed),
)


WORKER_METRICS: Final[tuple[WorkerMetric, ...]] = (
    WorkerMetric("gossamer_worker_partitions", "gauge", "Partitions that a worker owns", lambda w: w.partitions),
    WorkerMetric("gossamer_worker_pages", "counter", "Documents stored since it joined", lambda w: w.pages),
    WorkerMetric(
        "gossamer_worker_pages_per_second", "gauge", "Documents per second in the last seconds", lambda w: w.rate
    ),
    WorkerMetric(
        "gossamer_worker_in_flight", "gauge", "Visits in flight", lambda w: w.figures.in_flight if w.lease > 0 else 0
    ),
    WorkerMetric("gossamer_worker_lease_seconds", "gauge", "Seconds left of its lease; 0: silent", lambda w: w.lease),
    WorkerMetric("gossamer_worker_commits", "counter", "Commits since it joined", lambda w: w.commits),
    WorkerMetric(
        "gossamer_worker_commit_seconds", "gauge", "Mean time of its last commits", lambda w: w.figures.commit_seconds
    ),
    WorkerMetric(
        "gossamer_worker_cache_open",
        "gauge",
        "1 while its cache fails and is not used",
        lambda w: None if w.figures.cache is None else w.figures.cache != "in use",
    ),
    WorkerMetric("gossamer_worker_joined_timestamp_seconds", "gauge", "When it joined", lambda w: w.joined),
)
"""Of each worker that is alive, if workers share the crawl. Operators name workers, so the label has few values."""

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
FIRST_CLASS, LAST_CLASS = 7, 27
"""Histogram buckets: from 128 microseconds to two minutes, each twice as large as the previous one."""

Workers = Callable[[], Sequence[WorkerStatus] | None]
Family = CounterMetricFamily | GaugeMetricFamily | HistogramMetricFamily
Plain = float | dict[str, object]


class CrawlCollector(Collector):
    """Passes the metrics of the last snapshot to the Prometheus client library."""

    def __init__(self, latest: Callable[[], Snapshot | None], workers: Workers) -> None:
        self._latest = latest
        self._workers = workers

    def describe(self) -> Iterable[Family]:
        return [*map(_family, METRICS), *map(_family, WORKER_METRICS)]

    def collect(self) -> Iterator[Family]:
        snapshot = self._latest()
        if snapshot is None:
            return
        for metric in METRICS:
            family = _family(metric)
            for labels, value in _samples(metric, snapshot):
                _add(family, labels, value)
            if family.samples:
                yield family
        workers = self._workers() or ()
        for each in WORKER_METRICS:
            family = _family(each)
            for name, number in _by_worker(each, workers).items():
                _add(family, [name], number)
            if family.samples:
                yield family


def _by_worker(metric: WorkerMetric, workers: Sequence[WorkerStatus]) -> dict[str, float]:
    found = ((worker.name, metric.value(worker)) for worker in workers)
    return {name: float(value) for name, value in found if value is not None}


def _samples(metric: Metric, snapshot: Snapshot) -> Iterator[tuple[list[str], float | Spread]]:
    found = metric.value(snapshot)
    if isinstance(found, Mapping):
        for label, value in found.items():
            if value is not None:
                yield [label], value
    elif found is not None:
        yield [], found


def _family(metric: Metric | WorkerMetric) -> Family:
    labels = [metric.label] if metric.label else []
    if metric.kind == "histogram":
        return HistogramMetricFamily(metric.name, metric.help, labels=labels)
    kind = GaugeMetricFamily if metric.kind == "gauge" else CounterMetricFamily
    return kind(metric.name, metric.help, labels=labels)


def _add(family: Family, labels: list[str], value: float | Spread) -> None:
    if isinstance(family, HistogramMetricFamily):
        assert isinstance(value, Spread)
        buckets = [(repr(bound), float(n)) for bound, n in value.up_to(FIRST_CLASS, LAST_CLASS)]
        family.add_metric(labels, [*buckets, ("+Inf", float(value.number))], value.seconds)
    else:
        assert not isinstance(value, Spread)
        family.add_metric(labels, float(value))


def prefers_json(accept: str) -> bool:
    """Whether an Accept header names JSON and does not rank it below text. Without a preference the answer is text."""
    weights = _weights(accept)
    json = _first(weights, "application/json", "application/*")
    return json > 0 and json >= _first(weights, "text/plain", "text/*", "*/*")


def _first(weights: Mapping[str, float], *names: str) -> float:
    return next((weights[name] for name in names if name in weights), 0.0)


def _weights(accept: str) -> dict[str, float]:
    """The weight (`q`) of each media type."""
    weights: dict[str, float] = {}
    for part in accept.lower().split(","):
        name, *parameters = (each.strip() for each in part.split(";"))
        given = [each[2:] for each in parameters if each.startswith("q=")]
        try:
            weights[name] = float(given[0]) if given else 1.0
        except ValueError:
            weights[name] = 0.0
    return weights


class Metrics:
    """The metrics in both formats."""

    def __init__(self, latest: Callable[[], Snapshot | None], workers: Workers = lambda: None) -> None:
        self._latest = latest
        self._workers = workers
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(CrawlCollector(latest, workers))

    def text(self) -> bytes:
        return generate_latest(self._registry)

    def plain(self) -> dict[str, Plain]:
        """Name to value, or to values by label. A histogram has `count`, `sum` in seconds, and `buckets`."""
        snapshot = self._latest()
        if snapshot is None:
            return {}
        found = {metric.name: value for metric in METRICS if (value := _plain(metric, snapshot)) is not None}
        for each in WORKER_METRICS:
            if of_each := _by_worker(each, self._workers() or ()):
                found[each.name] = {**of_each}
        return found


def _plain(metric: Metric, snapshot: Snapshot) -> Plain | None:
    found = metric.value(snapshot)
    if isinstance(found, Mapping):
        return {label: _plain_value(value) for label, value in found.items() if value is not None}
    return None if found is None else _plain_value(found)


def _plain_value(value: Value) -> Plain:
    assert value is not None
    if not isinstance(value, Spread):
        return float(value)
    buckets = {repr(bound): n for bound, n in value.up_to(FIRST_CLASS, LAST_CLASS)}
    return {"count": value.number, "sum": value.seconds, "buckets": buckets}
