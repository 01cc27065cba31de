"""The figures of a crawl (`metric_table`) in the two forms in which they are asked for: Prometheus' text and JSON.

Both are made from the last picture: whatever the size of the crawl, a scrape costs the making of some hundred lines.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

from gossamer.observe.snapshot import Snapshot
from gossamer.service.metric_table import METRICS, Metric, Value
from gossamer.sketch.durations import Spread

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
FIRST_CLASS, LAST_CLASS = 7, 27
"""The buckets of histograms: from 128 microseconds to two minutes, each twice the one before."""

Family = CounterMetricFamily | GaugeMetricFamily | HistogramMetricFamily
Plain = float | dict[str, object]


class CrawlCollector(Collector):
    """Hands the figures of the last picture to the client library."""

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
    """Whether an Accept field names JSON and does not rank it below text; text is told to whoever does not care."""
    said = _ranks(accept)
    json = _first(said, "application/json", "application/*")
    return json > 0 and json >= _first(said, "text/plain", "text/*", "*/*")


def _first(said: Mapping[str, float], *names: str) -> float:
    return next((said[name] for name in names if name in said), 0.0)


def _ranks(accept: str) -> dict[str, float]:
    """How much each kind is wanted, by its name."""
    said: dict[str, float] = {}
    for part in accept.lower().split(","):
        name, *parameters = (each.strip() for each in part.split(";"))
        wanted = [each[2:] for each in parameters if each.startswith("q=")]
        try:
            said[name] = float(wanted[0]) if wanted else 1.0
        except ValueError:
            said[name] = 0.0
    return said


class Metrics:
    """The figures, in both forms."""

    def __init__(self, latest: Callable[[], Snapshot | None]) -> None:
        self._latest = latest
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(CrawlCollector(latest))

    def text(self) -> bytes:
        return generate_latest(self._registry)

    def plain(self) -> dict[str, Plain]:
        """Name to figure, or to figures by label. A histogram has `count`, `sum` in seconds, and `buckets`."""
        snapshot = self._latest()
        if snapshot is None:
            return {}
        return {metric.name: told for metric in METRICS if (told := _plain(metric, snapshot)) is not None}


def _plain(metric: Metric, snapshot: Snapshot) -> Plain | None:
    found = metric.value(snapshot)
    if isinstance(found, Mapping):
        return {label: _figure(value) for label, value in found.items() if value is not None}
    return None if found is None else _figure(found)


def _figure(value: Value) -> Plain:
    assert value is not None
    if not isinstance(value, Spread):
        return float(value)
    buckets = {repr(bound): n for bound, n in value.up_to(FIRST_CLASS, LAST_CLASS)}
    return {"count": value.number, "sum": value.seconds, "buckets": buckets}
