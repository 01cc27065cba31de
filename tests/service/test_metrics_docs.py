"""The table of metrics in docs/SERVICE.md is generated. Run as a script (`make docs`) it is written."""

from pathlib import Path

from gossamer.observe.snapshot import PHASES
from gossamer.service.metrics import (
    FIRST_CLASS,
    LAST_CLASS,
    METRICS,
    OTHER,
    REASONS,
    WORKER_METRICS,
    Metric,
    WorkerMetric,
)

PAGE = Path(__file__).resolve().parents[2] / "docs" / "SERVICE.md"
BEGIN, END = "<!-- made by `make docs` from service/metrics.py -->", "<!-- end -->"


def label_of(metric: Metric) -> str:
    """The label and its values; a number stands for classes, which have one each, and reasons are in a list below."""
    if metric.label is None:
        return ""
    if metric.label == "front":
        return f"`front`: `{metric.values[0]}` to `{metric.values[-1]}`"
    if metric.label == "reason":
        return "`reason`: see below"
    return f"`{metric.label}`: " + ", ".join(f"`{value}`" for value in metric.values)


def with_metrics(text: str) -> str:
    lines = ["| name | kind | label | meaning |", "|---|---|---|---|"]
    lines += [f"| `{m.shown_name}` | {m.kind} | {label_of(m)} | {m.help} |" for m in METRICS]
    lines += [f"| `{m.shown_name}` | {m.kind} | `worker`: its name | {m.help} |" for m in WORKER_METRICS]
    classes = f"{LAST_CLASS - FIRST_CLASS + 1} buckets from {2**FIRST_CLASS} µs to {2**LAST_CLASS / 1e6:.0f} s"
    lines += ["", f"Histograms have {classes}, each bound twice the one before. Values of `reason` (see"]
    lines += [f"[reasons](OPERATING.md#reasons)); all others are counted as `{OTHER}`:", ""]
    lines += [", ".join(f"`{reason}`" for reason in sorted(REASONS))]
    head, _, rest = text.partition(BEGIN)
    return "\n".join([f"{head}{BEGIN}", "", *lines, "", f"{END}{rest.partition(END)[2]}"])


def test_the_table_is_generated_from_the_code() -> None:
    text = PAGE.read_text(encoding="utf-8")

    assert text == with_metrics(text), "run `make docs`"


def test_names_follow_the_customs_of_prometheus() -> None:
    both: list[Metric | WorkerMetric] = [*METRICS, *WORKER_METRICS]
    names = [metric.name for metric in both]

    assert len(set(names)) == len(names)
    for metric in both:
        assert metric.name.startswith("gossamer_") and not metric.name.endswith("_total")
        assert metric.help[0].isupper() or metric.help[0].isdigit()
        assert metric.kind != "histogram" or metric.name.endswith("_seconds")
        assert "|" not in metric.help and "\n" not in metric.help


def test_every_phase_is_explained() -> None:
    (phases,) = [metric for metric in METRICS if metric.label == "phase"]

    assert all(name in phases.help for name in PHASES)


if __name__ == "__main__":
    PAGE.write_text(with_metrics(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
