"""The comparison in words: a table for people, an object for programs."""

from collections.abc import Sequence

from gossamer.simulate.freshness.compare import Comparison

PARTS = 6  # of the time, for freshness over time

Json = dict[str, object]


def plain_table(comparison: Comparison) -> str:
    """Policies down, percentages across."""
    width = max(len("optimum"), *(len(found.policy) for found in comparison.policies))
    lines = [f"  {'policy':<{width}}  weighted  of optimum   plain  from start    used"]
    best, plain = comparison.optimum, comparison.optimum_plain
    lines.append(f"  {'optimum':<{width}}  {100 * best:8.1f}  {100:10.1f}  {100 * plain:6.1f}")
    lines += [
        f"  {f.policy:<{width}}  {100 * f.weighted:8.1f}  {100 * f.of_optimum:10.1f}  {100 * f.plain:6.1f}"
        f"  {100 * f.whole:10.1f}  {100 * f.used:6.1f}"
        for f in comparison.policies
    ]
    return "\n".join(lines) + "\n"


def time_tables(comparison: Comparison) -> str:
    """Policies down, time across: what was fresh in the days up to each day, weighted and then plain."""
    width = max(len(found.policy) for found in comparison.policies)
    ends = [comparison.days * (k + 1) / PARTS for k in range(PARTS)]
    blocks = []
    for title, plain in (("weighted", False), ("plain", True)):
        lines = [f"  {title + ', to day':<{width}}" + "".join(f"{end:8.4g}" for end in ends)]
        lines += [
            f"  {f.policy:<{width}}"
            + "".join(f"{100 * share:8.1f}" for share in _parts(f.plain_curve if plain else f.curve, ends))
            for f in comparison.policies
        ]
        blocks.append("\n".join(lines) + "\n")
    return "\n".join(blocks)


def _parts(curve: Sequence[tuple[float, float]], ends: Sequence[float]) -> list[float]:
    """The mean of a curve in each part of the time."""
    starts = [0.0, *ends]
    found = []
    for start, end in zip(starts, ends, strict=False):
        shares = [share for day, share in curve if start < day <= end + 1e-9]
        found.append(sum(shares) / len(shares))
    return found


def as_json(comparison: Comparison) -> Json:
    """Shares of 1."""
    return {
        "world": comparison.name,
        "pages": comparison.pages,
        "hosts": comparison.hosts,
        "days": comparison.days,
        "cycle": comparison.cycle,
        "optimum": round(comparison.optimum, 5),
        "optimum_plain": round(comparison.optimum_plain, 5),
        "policies": [
            {
                "policy": f.policy,
                "weighted": round(f.weighted, 5),
                "of_optimum": round(f.of_optimum, 5),
                "of_optimum_each": [round(share, 5) for share in f.each],
                "plain": round(f.plain, 5),
                "whole": round(f.whole, 5),
                "used": round(f.used, 5),
                "curve": _rounded(f.curve),
                "plain_curve": _rounded(f.plain_curve),
            }
            for f in comparison.policies
        ],
    }


def _rounded(curve: Sequence[tuple[float, float]]) -> list[list[float]]:
    return [[round(day, 2), round(share, 4)] for day, share in curve]
