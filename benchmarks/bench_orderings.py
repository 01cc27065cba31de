"""What each ordering costs for a page, and how fast it gathers PageRank.

`python -m benchmarks.bench_orderings` replays a simulated web; CPU time, fixed seeds. With `--write-docs GRAPH` (as
../shared/data/webgraph/cnr-2000.graph-txt.gz) it writes the tables and drawings of
benchmarks/results/orderings.md, from that graph file and from a simulated web, in about ten minutes.
"""

import argparse
import platform
import random
import time
from collections.abc import Sequence
from pathlib import Path

from gossamer.lab.simulate.graph import LinkGraph, graph_of_web, pagerank, read_graph
from gossamer.lab.simulate.plot import plot, svg
from gossamer.lab.simulate.policies import POLICIES, CrawlFacts
from gossamer.lab.simulate.replay import Curve, Plan, compare, crawl_order, heading, seed_pages
from gossamer.lab.simweb.config import preset

RESULTS = Path(__file__).parent / "results"
PAGE = RESULTS / "orderings.md"
BEGIN, END = "<!-- made by bench_orderings -->", "<!-- end -->"
RESTS = (0, 20)
GOALS = {  # rest -> percent of the pages -> (goal, stretch goal) for cnr-2000
    0: {1.0: (12.5, 13.0), 5.0: (25.0, 27.0), 10.0: (32.0, 34.0), 25.0: (50.0, 51.0), 50.0: (72.0, 73.0)},
    20: {5.0: (25.5, 27.5), 10.0: (32.0, 34.0), 25.0: (50.5, 51.0)},
}
OF_OMNISCIENT = (85.0, 91.0)  # at 10 %, no politeness
JUDGED = ("importance", "mercator", "push")


def markdown_table(curves: Sequence[Curve], plan: Plan) -> str:
    """The same for one rest, as Markdown."""
    lines = [
        "| order | " + " | ".join(f"{x:g} %" for x in plan.points) + " |",
        "|---|" + "---:|" * len(plan.points),
    ]
    lines += [f"| `{c.order}` | " + " | ".join(f"{share:.1f}" for share in c.shares) + " |" for c in curves]
    return "\n".join(lines) + "\n"


def simulated(pages: int) -> LinkGraph:
    return graph_of_web(preset("demo", hosts=pages // 30, pages=pages, max_host_pages=0))


def costs(graph: LinkGraph, ranks: Sequence[float]) -> list[tuple[str, float, float]]:
    """Order, and CPU microseconds for a page and for a link, of a crawl of the whole graph. No politeness."""
    seeds = seed_pages(graph, 10, 1)
    found = []
    for order, make in POLICIES.items():
        policy = make(CrawlFacts(graph.site_of, graph.suffix_of, graph.urls, ranks, random.Random(1)))
        start = time.process_time()
        fetched = sum(1 for _ in crawl_order(graph, policy, seeds))
        took = (time.process_time() - start) * 1e6
        found.append((order, took / fetched, took / graph.links))
    return found


def compared(graph: LinkGraph, ranks: Sequence[float], name: str) -> list[Curve]:
    return compare(graph, ranks, Plan(rests=RESTS), lambda what: print(f"{name}: {what}", flush=True))


def document(graph: LinkGraph, curves: Sequence[Curve], name: str) -> str:
    """A section of the page; draws the curves beside it."""
    plan = Plan()
    title = f"{name}: {graph.pages:,} pages, {graph.links:,} links, {graph.sites:,} sites"
    drawing = RESULTS / f"ordering-{name}.svg"
    drawing.write_text(svg(plot(title, curves)), encoding="utf-8")
    parts = [f"### {name}\n\n{graph.pages:,} pages, {graph.links:,} links, {graph.sites:,} sites.\n"]
    for rest in RESTS:
        table = markdown_table([curve for curve in curves if curve.rest == rest], plan)
        parts.append(f"{heading(rest).capitalize()}:\n\n{table}")
    parts.append(f"![PageRank gathered over pages fetched]({drawing.name})\n")
    return "\n".join(parts)


def goals_table(curves: Sequence[Curve]) -> str:
    """Which goals are reached. As shown, that is to a tenth of a percent."""
    shares = {(c.order, c.rest): dict(zip(Plan().points, c.shares, strict=True)) for c in curves}
    lines = ["| | goal | stretch | " + " | ".join(f"`{order}`" for order in JUDGED) + " |"]
    lines.append("|---|---:|---:|" + "---|" * len(JUDGED))
    for rest, points in GOALS.items():
        for point, goals in points.items():
            cells = [_verdict(shares[order, rest][point], goals) for order in JUDGED]
            lines.append(_row(f"{point:g} %, {heading(rest)}", goals, cells))
    best = shares["omniscient", 0][10.0]
    cells = [_verdict(100 * shares[order, 0][10.0] / best, OF_OMNISCIENT) for order in JUDGED]
    lines.append(_row("10 % as share of `omniscient`", OF_OMNISCIENT, cells))
    return "\n".join([*lines, ""])


def _row(name: str, goals: tuple[float, float], cells: Sequence[str]) -> str:
    return f"| {name} | {goals[0]:g} | {goals[1]:g} | " + " | ".join(cells) + " |"


def _verdict(found: float, goals: tuple[float, float]) -> str:
    shown = round(found, 1)
    return f"{shown} " + ("stretch" if shown >= goals[1] else "goal" if shown >= goals[0] else "**missed**")


def cost_table(graph: LinkGraph, ranks: Sequence[float]) -> str:
    rows = [f"| `{order}` | {page:.1f} | {link:.2f} |" for order, page, link in costs(graph, ranks)]
    return "\n".join(["| order | µs a page | µs a link |", "|---|---:|---:|", *rows, ""])


def write_docs(path: Path) -> None:
    web = simulated(20_000)
    graph = read_graph(path)
    start = time.process_time()
    ranks = pagerank(graph)
    took = time.process_time() - start
    curves = compared(graph, ranks, graph.name)
    parts = [
        f"### Goals on {graph.name}\n\n{goals_table(curves)}",
        document(graph, curves, graph.name),
        document(web, compared(web, pagerank(web), "simweb"), "simweb"),
    ]
    parts.append(
        f"### Cost\n\nCPU time of a whole crawl of {graph.name} without politeness, everything included (Python "
        f"{platform.python_version()}, {platform.machine()}). PageRank itself takes {took:.0f} s.\n\n"
        + cost_table(graph, ranks)
    )
    head, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    made = "\n".join(parts)
    PAGE.write_text(f"{head}{BEGIN}\n\n{made}\n{END}{rest.partition(END)[2]}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=20_000, help="URLs of the simulated web")
    parser.add_argument("--write-docs", metavar="GRAPH", type=Path)
    asked = parser.parse_args()
    if asked.write_docs is not None:
        write_docs(asked.write_docs)
        return
    graph = simulated(asked.pages)
    start = time.process_time()
    ranks = pagerank(graph)
    print(f"python {platform.python_version()} on {platform.machine()}; {graph.pages} pages, {graph.links} links")
    print(f"pagerank    {time.process_time() - start:.2f} s")
    for order, page, link in costs(graph, ranks):
        print(f"{order:<11} {page:6.1f} us a page, {link:5.2f} us a link")


if __name__ == "__main__":
    main()
