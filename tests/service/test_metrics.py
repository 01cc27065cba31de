"""Figures for Prometheus: in its own parser's eyes, and with labels from fixed lists."""

from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from gossamer.model.units import Instant
from gossamer.observe.snapshot import Snapshot
from gossamer.service.metrics import METRICS, REASONS, Metrics
from test_docs import OPERATING, rows, unquoted

PAGE = Path(__file__).resolve().parents[2] / "docs" / "SERVICE.md"
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
)


def series(snapshot: Snapshot) -> dict[tuple[str, str], float]:
    text = Metrics(lambda: snapshot).text().decode()
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    return {(sample.name, ",".join(sample.labels.values())): sample.value for sample in samples}


def test_the_official_parser_reads_every_figure() -> None:
    found = series(BUSY)

    assert found["gossamer_urls", "stored"] == 7
    assert found["gossamer_responses_total", "2xx"] == 9
    assert found["gossamer_excluded_total", "trap:same"] == 5
    assert found["gossamer_breaker_open", "store"] == 1
    assert {name.removesuffix("_total") for name, _ in found} == {metric.name for metric in METRICS}


def test_labels_come_from_fixed_lists_whatever_happens() -> None:
    found = series(BUSY)

    assert found["gossamer_errors_total", "other"] == 2
    assert ("gossamer_responses_total", "9xx") not in found
    assert found["gossamer_front_queue_urls", "15"] == sum(range(15, 40))
    assert len(found) < 200


def test_json_has_the_same_figures() -> None:
    plain = Metrics(lambda: BUSY).plain()

    assert plain["gossamer_errors"] == {"conn_refused": 2, "other": 2}
    assert plain.keys() == {metric.name for metric in METRICS}


def test_before_the_first_picture_there_is_nothing_to_tell() -> None:
    assert Metrics(lambda: None).text() == b"" and Metrics(lambda: None).plain() == {}


def test_every_documented_reason_has_its_label() -> None:
    assert {unquoted(row[0]) for row in rows(OPERATING["Reasons"])} <= REASONS


def test_every_figure_is_documented() -> None:
    text = PAGE.read_text(encoding="utf-8")

    assert [metric.name for metric in METRICS if f"`{metric.name}" not in text] == []
