"""The comparison in words: a table for people, an object for programs."""

from collections.abc import Sequence

from gossamer.simulate.graph import LinkGraph
from gossamer.simulate.replay import Curve, Plan

Json = dict[str, object]


def heading(rest: int) -> str:
    return f"a site rests {rest} slots" if rest > 1 else "no politeness"


def plain_table(curves: Sequence[Curve], plan: Plan) -> str:
    """Orders down, points across, a block for each rest."""
    width = max(len(curve.order) for curve in curves)
    blocks = []
    for rest in dict.fromkeys(curve.rest for curve in curves):
        lines = [heading(rest), f"  {'order':<{width}}" + "".join(f"{x:>7g} %" for x in plan.points)]
        lines += [
            f"  {curve.order:<{width}}" + "".join(f"{share:>7.1f}  " for share in curve.shares).rstrip()
            for curve in curves
            if curve.rest == rest
        ]
        blocks.append("\n".join(lines) + "\n")
    return "\n".join(blocks)


def as_json(graph: LinkGraph, curves: Sequence[Curve], plan: Plan) -> Json:
    return {
        "graph": {"name": graph.name, "pages": graph.pages, "links": graph.links, "sites": graph.sites},
        "seeds": len(graph.seeds) if plan.seeds is None else plan.seeds,
        "sets": list(plan.sets),
        "points": list(plan.points),
        "curves": [
            {"order": c.order, "rest": c.rest, "shares": [round(share, 3) for share in c.shares]} for c in curves
        ],
    }
