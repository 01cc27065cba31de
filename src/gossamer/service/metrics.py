"""The figures of a crawl for Prometheus: one table, from which they are collected, told as JSON and documented.

Labels come from fixed lists. A reason that is on none is counted as `other`, so no caller and no site can make a new
series.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, Literal, NamedTuple

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from gossamer.model.outcome import Failure
from gossamer.model.states import UrlState
from gossamer.observe.snapshot import Snapshot

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
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
        *("bad_xml", "not_a_sitemap", "parse_limit", "sitemap_limit", "sitemap_location"),
    }
)
"""All that docs/OPERATING.md lists."""
OTHER: Final = "other"
STATUSES: Final = ("1xx", "2xx", "3xx", "4xx", "5xx")

Values = float | Mapping[str, float]


class Metric(NamedTuple):
    """One figure. With a `label` there is one for each of its values."""

    name: str
    kind: Literal["counter", "gauge"]
    help: str
    value: Callable[[Snapshot], Values]
    label: str | None = None


def _by_reason(counts: Mapping[str, int]) -> dict[str, float]:
    found: dict[str, float] = {}
    for reason, n in counts.items():
        known = reason if reason in REASONS else OTHER
        found[known] = found.get(known, 0) + n
    return found


def _by_front(figures: Iterable[float]) -> dict[str, float]:
    found: dict[str, float] = {}
    for front, n in enumerate(figures):
        label = str(min(front, _FRONTS - 1))
        found[label] = found.get(label, 0) + n
    return found


def _by_state(s: Snapshot) -> dict[str, float]:
    counts = {
        UrlState.QUEUED: s.queued,
        UrlState.STORED: s.pages,
        UrlState.REDIRECT: s.redirects,
        UrlState.MISSING: s.missing,
        UrlState.GONE: s.gone,
        UrlState.DEAD: s.dead,
    }
    return {state.word: n for state, n in counts.items()}


def _by_status(s: Snapshot) -> dict[str, float]:
    return {status: s.statuses.get(status, 0) for status in STATUSES}


def _hosts(s: Snapshot) -> dict[str, float]:
    return {"ready": s.hosts_ready, "waiting": s.hosts_waiting, "parked": s.hosts_parked, "in_flight": s.in_flight}


def _failing(s: Snapshot) -> dict[str, float]:
    return {"store": s.store_failing, "dns": s.dns_failing, "proxy": s.proxy_failing}


METRICS: Final[tuple[Metric, ...]] = (
    Metric("gossamer_urls", "gauge", "Known URLs by state", _by_state, "state"),
    Metric("gossamer_discovered", "counter", "URLs that have entered", lambda s: s.discovered),
    Metric("gossamer_fetched", "counter", "Answers received to requests for pages", lambda s: s.fetched),
    Metric("gossamer_fetched_bytes", "counter", "Bytes of those answers, heads included", lambda s: s.bytes),
    Metric("gossamer_responses", "counter", "Answers by class of status", _by_status, "status"),
    Metric("gossamer_errors", "counter", "Visits that failed, by reason", lambda s: _by_reason(s.errors), "reason"),
    Metric("gossamer_excluded", "counter", "URLs kept out, by reason", lambda s: _by_reason(s.excluded), "reason"),
    Metric("gossamer_duplicates", "counter", "Documents that were stored already", lambda s: s.duplicates),
    Metric("gossamer_near_duplicates", "counter", "Documents that almost were", lambda s: s.near_duplicates),
    Metric("gossamer_dead_letters", "gauge", "URLs whose tries are used up", lambda s: s.dead),
    Metric("gossamer_sitemaps", "counter", "Sitemaps read", lambda s: s.sitemaps),
    Metric("gossamer_robots_fetched", "counter", "Requests for robots.txt", lambda s: s.robots_fetched),
    Metric("gossamer_dns_queries", "counter", "Names looked up in this run", lambda s: s.dns_queries),
    Metric("gossamer_known_hosts", "gauge", "Hosts with at least one URL", lambda s: s.hosts_known),
    Metric("gossamer_hosts", "gauge", "Hosts in memory, by what they wait for", _hosts, "state"),
    Metric("gossamer_hosts_in_memory", "gauge", "Hosts with a back queue", lambda s: s.hosts_in_memory),
    Metric("gossamer_in_flight", "gauge", "Visits that are out", lambda s: s.in_flight),
    Metric(
        "gossamer_front_queue_urls", "gauge", "URLs in memory by class", lambda s: _by_front(s.urls_by_front), "front"
    ),
    Metric(
        "gossamer_selector_turns", "counter", "Turns of each class, this run", lambda s: _by_front(s.drawn), "front"
    ),
    Metric(
        "gossamer_selector_share_percent",
        "gauge",
        "Observed share of each class",
        lambda s: _by_front(s.selector_shares),
        "front",
    ),
    Metric("gossamer_load_high", "gauge", "1 while the selector works under load", lambda s: s.load == "high"),
    Metric("gossamer_documents_waiting", "gauge", "Documents fetched and not read yet", lambda s: s.documents_waiting),
    Metric(
        "gossamer_store_saturation", "gauge", "Fullness of the open batch, 1 is its bound", lambda s: s.store_saturation
    ),
    Metric("gossamer_breaker_open", "gauge", "1 while what it names fails and is waited for", _failing, "part"),
    Metric("gossamer_commits", "counter", "Transactions of this run", lambda s: s.commits),
    Metric("gossamer_commit_seconds", "counter", "Time spent in them", lambda s: s.commit_seconds),
    Metric("gossamer_event_loop_delay_seconds", "gauge", "Worst of the last second", lambda s: s.loop_lag),
    Metric("gossamer_politeness_violations", "counter", "Gaps shortened: must be 0", lambda s: s.politeness_violations),
    Metric("gossamer_cpu_seconds", "counter", "CPU time of this run", lambda s: s.cpu_seconds),
    Metric("gossamer_max_rss_bytes", "gauge", "The most memory held", lambda s: s.max_rss_bytes),
    Metric("gossamer_uptime_seconds", "gauge", "Since the start of this run", lambda s: s.elapsed),
)


class CrawlCollector(Collector):
    """Hands the figures of the last picture to the client library."""

    def __init__(self, latest: Callable[[], Snapshot | None]) -> None:
        self._latest = latest

    def describe(self) -> Iterable[GaugeMetricFamily | CounterMetricFamily]:
        return [_family(metric) for metric in METRICS]

    def collect(self) -> Iterator[GaugeMetricFamily | CounterMetricFamily]:
        snapshot = self._latest()
        if snapshot is None:
            return
        for metric in METRICS:
            family = _family(metric)
            value = metric.value(snapshot)
            if isinstance(value, Mapping):
                for label, n in sorted(value.items()):
                    family.add_metric([label], float(n))
            else:
                family.add_metric([], float(value))
            yield family


def _family(metric: Metric) -> GaugeMetricFamily | CounterMetricFamily:
    kind = GaugeMetricFamily if metric.kind == "gauge" else CounterMetricFamily
    return kind(metric.name, metric.help, labels=[metric.label] if metric.label else [])


class Metrics:
    """The figures, in both forms."""

    def __init__(self, latest: Callable[[], Snapshot | None]) -> None:
        self._latest = latest
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(CrawlCollector(latest))

    def text(self) -> bytes:
        return generate_latest(self._registry)

    def plain(self) -> dict[str, Values]:
        """Name to figure, or to figures by label."""
        snapshot = self._latest()
        if snapshot is None:
            return {}
        found: dict[str, Values] = {}
        for metric in METRICS:
            value = metric.value(snapshot)
            found[metric.name] = dict(value) if isinstance(value, Mapping) else float(value)
        return found
