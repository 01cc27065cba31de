"""Metrics for Prometheus: valid for its own parser, with labels from fixed lists."""

import subprocess

import pytest
from prometheus_client.parser import text_string_to_metric_families

from gossamer.crawl.status import QUEUES
from gossamer.model.queue_depth import QueueDepth
from gossamer.model.units import Instant
from gossamer.observe.freshness import FreshnessMetrics
from gossamer.observe.snapshot import PHASES, Internals, SharingCounts, Snapshot
from gossamer.service.metrics import FIRST_CLASS, LAST_CLASS, METRICS, REASONS, Metrics, prefers_json
from gossamer.sketch import Durations, Spread
from tests.debian import unpacked
from tests.test_docs import OPERATING, rows, unquoted


def spread(*microseconds: int) -> Spread:
    durations = Durations()
    for each in microseconds:
        durations.note(each)
    return durations.spread()


BUSY = Snapshot(
    at=Instant(1.0),
    pages=7,
    queued=3,
    statuses={"2xx": 9, "9xx": 4},
    errors={"conn_refused": 2, "made-up-1": 1, "made-up-2": 1},
    excluded={"trap:same": 5},
    urls_by_front=tuple(range(40)),
    drawn=(6, 3, 1),
    selector_shares=(60.0, 30.0, 10.0),
    store_failing=True,
    queues={name: QueueDepth(40, 80) for name in QUEUES},
    freshness=FreshnessMetrics(fresh=0.9, price=0.25, budget=1000.0),
    sharing=SharingCounts(lease=8.0, partitions=16, workers=4),
    internals=Internals(
        phases={name: spread(100, 1_000, 2_000_000, 10**9) for name in PHASES},
        links_recent=70,
        links_new=20,
        links_asked=10,
        dns_hits=5,
        hosts_failing=2,
        rss_bytes=1000,
    ),
)
FULL = Snapshot(
    at=Instant(1.0),
    errors=dict.fromkeys(REASONS, 1),
    excluded=dict.fromkeys(REASONS, 1),
    urls_by_front=tuple(range(1000)),
    drawn=tuple(range(1000)),
    selector_shares=(0.1,) * 1000,
    queues=BUSY.queues,
    freshness=BUSY.freshness,
    sharing=BUSY.sharing,
    internals=BUSY.internals,
)
"""Every series there can be."""


def series(snapshot: Snapshot) -> dict[tuple[str, ...], float]:
    text = Metrics(lambda: snapshot).text().decode()
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    return {(s.name, *(s.labels[name] for name in sorted(s.labels, key="le".__eq__))): s.value for s in samples}


def base(name: str) -> str:
    for ending in ("_total", "_bucket", "_count", "_sum"):
        name = name.removesuffix(ending)
    return name


def test_the_official_parser_reads_every_figure() -> None:
    found = series(BUSY)

    assert found["gossamer_urls", "stored"] == 7
    assert found["gossamer_responses_total", "2xx"] == 9
    assert found["gossamer_excluded_total", "trap:same"] == 5
    assert found["gossamer_breaker_open", "store"] == 1
    assert found["gossamer_queue_saturation", "batch"] == 0.5
    assert found["gossamer_seen_test_total", "memory"] == 70
    assert found["gossamer_refresh_budget",] == 1000
    assert {base(name) for name, *_ in found} == {metric.name for metric in METRICS}


def test_a_histogram_counts_up_to_each_of_its_bounds() -> None:
    found = series(BUSY)

    buckets = [(float(key[2]), n) for key, n in found.items() if key[:2] == ("gossamer_phase_seconds_bucket", "body")]
    assert len(buckets) == LAST_CLASS - FIRST_CLASS + 2
    assert buckets == sorted(buckets)
    values = dict(buckets)
    assert (values[0.000128], values[0.001024], values[2.097152], values[134.217728]) == (1, 2, 3, 3)
    assert values[float("inf")] == found["gossamer_phase_seconds_count", "body"] == 4
    assert found["gossamer_phase_seconds_sum", "body"] == pytest.approx(1002.0011)


def test_promtool_finds_nothing_wrong_with_the_text() -> None:
    promtool = unpacked("prometheus") / "usr" / "bin" / "promtool"
    for snapshot in (BUSY, FULL):
        text = Metrics(lambda values=snapshot: values).text()  # type: ignore[misc]

        done = subprocess.run([promtool, "check", "metrics"], input=text, capture_output=True, timeout=60)

        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_labels_come_from_fixed_lists_whatever_happens() -> None:
    found = series(BUSY)

    assert found["gossamer_errors_total", "other"] == 2
    assert ("gossamer_responses_total", "9xx") not in found
    assert found["gossamer_front_queue_urls", "15"] == sum(range(15, 40))
    assert len(series(FULL)) < 500


@pytest.mark.parametrize("snapshot", [BUSY, FULL], ids=["busy", "full"])
def test_every_label_is_one_of_those_that_are_documented(snapshot: Snapshot) -> None:
    plain = Metrics(lambda: snapshot).plain()

    for metric in METRICS:
        values = plain.get(metric.name, {})
        if metric.label is not None:
            assert isinstance(values, dict)
            assert values.keys() <= set(metric.values), metric.name
        assert bool(metric.label) is bool(metric.values)


def test_json_has_the_same_values() -> None:
    plain = Metrics(lambda: BUSY).plain()

    assert plain["gossamer_errors"] == {"conn_refused": 2, "other": 2}
    assert plain.keys() == {metric.name for metric in METRICS}
    phases = plain["gossamer_phase_seconds"]
    assert isinstance(phases, dict) and phases.keys() == set(PHASES)


def test_unknown_values_are_left_out() -> None:
    nothing = Snapshot(at=Instant(1.0))

    assert "gossamer_freshness" not in Metrics(lambda: nothing).plain()
    assert ("gossamer_freshness",) not in series(nothing)


def test_there_are_no_metrics_before_the_first_snapshot() -> None:
    assert Metrics(lambda: None).text() == b"" and Metrics(lambda: None).plain() == {}


def test_every_documented_reason_has_its_label() -> None:
    assert {unquoted(row[0]) for row in rows(OPERATING["Reasons"])} <= REASONS


@pytest.mark.parametrize(
    ("accept", "as_json"),
    [
        ("", False),
        ("*/*", False),
        ("application/json", True),
        ("Application/JSON; charset=utf-8", True),
        ("application/*", True),
        ("application/json, text/plain, */*", True),
        ("text/plain;q=0.5, application/json", True),
        ("application/json;q=0", False),
        ("application/json;q=0.2, */*;q=0.1", True),
        ("application/json;q=x, text/plain", False),
        ("application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1", False),
        ("image/png", False),
    ],
)
def test_json_must_be_named_and_not_ranked_below_text(accept: str, as_json: bool) -> None:
    assert prefers_json(accept) is as_json
