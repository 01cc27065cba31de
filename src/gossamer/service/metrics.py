"""The metrics of `metric_table` in Prometheus text format and as JSON.

Both are made from the last snapshot, so the cost of a scrape does not depend on the size of the crawl.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

from gossamer.observe.snapshot import Snapshot
from gossamer.service.metric_table import METRICS, Metric, Value
from gossamer.sketch import Spread

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
FIRST_CLASS, LAST_CLASS = 7, 27
"""Histogram buckets: from 128 microseconds to two minutes, each twice as large as the previous one."""

Family = CounterMetricFamily | GaugeMetricFamily | HistogramMetricFamily
Plain = float | dict[str, object]


class CrawlCollector(Collector):
    """Passes the metrics of the last snapshot to the Prometheus client library."""

    def __init__(self, latest: Callable[[], Snapshot | None]) -> None:
        self._latest = latest

    def describe(self) -> Iterable[Family]:
        return [_family(metric) for metric in METRICS]

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


def _samples(metric: Metric, snapshot: Snapshot) -> Iterator[tuple[list[str], float | Spread]]:
    found = metric.value(snapshot)
    if isinstance(found, Mapping):
        for label, value in found.items():
            if value is not None:
                yield [label], value
    elif found is not None:
        yield [], found


def _family(metric: Metric) -> Family:
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

    def __init__(self, latest: Callable[[], Snapshot | None]) -> None:
        self._latest = latest
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(CrawlCollector(latest))

    def text(self) -> bytes:
        return generate_latest(self._registry)

    def plain(self) -> dict[str, Plain]:
        """Name to value, or to values by label. A histogram has `count`, `sum` in seconds, and `buckets`."""
        snapshot = self._latest()
        if snapshot is None:
            return {}
        return {metric.name: value for metric in METRICS if (value := _plain(metric, snapshot)) is not None}


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
