"""docs/METRICS.md is made from the table of metrics. Run as a script (`make docs`) it is written."""

from pathlib import Path

from gossamer.observe.workings import PHASES
from gossamer.service.metric_table import METRICS, OTHER, REASONS, Metric
from gossamer.service.metrics import FIRST_CLASS, LAST_CLASS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "METRICS.md"
HEAD = f"""\
# Metrics

What `GET /metrics` of [the service](SERVICE.md) tells, in Prometheus' text format; as JSON with
`Accept: application/json` (there the names of counters have no `_total`, and a histogram is its `count`, its `sum` in
seconds and its `buckets`). Made by `make docs` from `service/metric_table.py`.

Figures are of the last look at the crawl, a second old or so. Counters are of the whole crawl, former
runs included, unless they say otherwise. Labels come from fixed lists: no host and no URL is ever a label, and there
are fewer than 500 series whatever happens. A figure that is not known yet is left out. Histograms have
{LAST_CLASS - FIRST_CLASS + 1} classes from {2**FIRST_CLASS} µs to {2**LAST_CLASS / 1e6:.0f} s, each up to twice the
time of the one before.

`deploy/` has a Grafana dashboard and alert rules for them; [OPERATING](OPERATING.md) says how to use these.
"""


def label_of(metric: Metric) -> str:
    """The label and its values; a number stands for classes, which have one each, and reasons are in a list below."""
    if metric.label is None:
        return ""
    if metric.label == "front":
        return f"`front`: `{metric.values[0]}` to `{metric.values[-1]}`"
    if metric.label == "reason":
        return "`reason`: [see below](#reasons)"
    return f"`{metric.label}`: " + ", ".join(f"`{value}`" for value in metric.values)


def written() -> str:
    lines = [HEAD, "| name | kind | label | meaning |", "|---|---|---|---|"]
    lines += [f"| `{m.shown_name}` | {m.kind} | {label_of(m)} | {m.help} |" for m in METRICS]
    lines += ["", "## Reasons", "", "As [OPERATING](OPERATING.md#reasons) explains them; what is not among them is"]
    lines += [f"counted as `{OTHER}`.", "", ", ".join(f"`{reason}`" for reason in sorted(REASONS)), ""]
    return "\n".join(lines)


def test_the_page_is_made_from_the_table() -> None:
    assert PAGE.read_text(encoding="utf-8") == written(), "run `make docs`"


def test_names_follow_the_customs_of_prometheus() -> None:
    names = [metric.name for metric in METRICS]

    assert len(set(names)) == len(names)
    for metric in METRICS:
        assert metric.name.startswith("gossamer_") and not metric.name.endswith("_total")
        assert metric.help[0].isupper() or metric.help[0].isdigit()
        assert metric.kind != "histogram" or metric.name.endswith("_seconds")
        assert "|" not in metric.help and "\n" not in metric.help


def test_every_phase_is_explained() -> None:
    (phases,) = [metric for metric in METRICS if metric.label == "phase"]

    assert all(name in phases.help for name in PHASES)


if __name__ == "__main__":
    PAGE.write_text(written(), encoding="utf-8")
