"""The comparison in words: a table for people, one for documents, an object for programs."""

from gossamer.simulate.freshness.compare import Comparison

Json = dict[str, object]

COLUMNS = ("fresh, weighted", "of the optimum", "fresh, plain", "weighted, from the start", "budget used")


def plain_table(comparison: Comparison) -> str:
    """Policies down, percentages across."""
    width = max(len("optimum"), *(len(found.policy) for found in comparison.policies))
    lines = [f"  {'policy':<{width}}  weighted  of optimum   plain  from start    used"]
    lines.append(f"  {'optimum':<{width}}  {100 * comparison.optimum:8.1f}  {100:10.1f}")
    lines += [
        f"  {f.policy:<{width}}  {100 * f.weighted:8.1f}  {100 * f.of_optimum:10.1f}  {100 * f.plain:6.1f}"
        f"  {100 * f.whole:10.1f}  {100 * f.used:6.1f}"
        for f in comparison.policies
    ]
    return "\n".join(lines) + "\n"


def markdown_table(comparison: Comparison) -> str:
    lines = ["| policy | " + " | ".join(COLUMNS) + " |", "|---|" + "---:|" * len(COLUMNS)]
    lines.append(f"| *optimum* | *{100 * comparison.optimum:.1f}* | *100.0* | | | |")
    for f in comparison.policies:
        cells = (f.weighted, f.of_optimum, f.plain, f.whole, f.used)
        lines.append(f"| `{f.policy}` | " + " | ".join(f"{100 * cell:.1f}" for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def as_json(comparison: Comparison) -> Json:
    """Shares of 1."""
    return {
        "world": comparison.name,
        "pages": comparison.pages,
        "hosts": comparison.hosts,
        "days": comparison.days,
        "cycle": comparison.cycle,
        "optimum": round(comparison.optimum, 5),
        "policies": [
            {
                "policy": f.policy,
                "weighted": round(f.weighted, 5),
                "of_optimum": round(f.of_optimum, 5),
                "of_optimum_each": [round(share, 5) for share in f.each],
                "plain": round(f.plain, 5),
                "whole": round(f.whole, 5),
                "used": round(f.used, 5),
                "curve": [[round(day, 2), round(share, 4)] for day, share in f.curve],
            }
            for f in comparison.policies
        ],
    }
