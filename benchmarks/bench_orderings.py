"""What each ordering costs for a page, and how fast it gathers PageRank.

`python -m benchmarks.bench_orderings` replays a simulated web; CPU time, fixed seeds. With `--write-docs GRAPH` (as
../shared/data/webgraph/cnr-2000.graph-txt.gz) it writes the tables of docs/ORDERING.md and the drawings beside it
anew, from that graph file and from a simulated web; that takes some ten minutes.
"""

import argparse
import platform
import random
import time
from collections.abc import Sequence
from pathlib import Path

from gossamer.simulate.graph import LinkGraph
from gossamer.simulate.pagerank import pagerank
from gossamer.simulate.plot import plot
from gossamer.simulate.policies import POLICIES, Setting
from gossamer.simulate.reading import read_graph
from gossamer.simulate.replay import Plan, compare, crawl_order, seed_pages
from gossamer.simulate.svg import svg
from gossamer.simulate.tables import heading, markdown_table
from gossamer.simulate.web import graph_of_web
from gossamer.simweb.config import preset

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE = DOCS / "ORDERING.md"
BEGIN, END = "<!-- made by bench_orderings -->", "<!-- end -->"
RESTS = (0, 20)


def simulated(pages: int) -> LinkGraph:
    return graph_of_web(preset("demo", hosts=pages // 30, pages=pages, max_host_pages=0))


def costs(graph: LinkGraph, ranks: Sequence[float]) -> list[tuple[str, float, float]]:
    """Order, and CPU microseconds for a page and for a link, of a crawl of the whole graph. No politeness."""
    seeds = seed_pages(graph, 10, 1)
    found = []
    for order, make in POLICIES.items():
        policy = make(Setting(graph.site_of, graph.suffix_of, graph.urls, ranks, random.Random(1)))
        start = time.process_time()
        fetched = sum(1 for _ in crawl_order(graph, policy, seeds))
        took = (time.process_time() - start) * 1e6
        found.append((order, took / fetched, took / graph.links))
    return found


def document(graph: LinkGraph, ranks: Sequence[float], name: str, tell: bool = True) -> str:
    """A section of the page; draws the curves beside it."""
    plan = Plan(rests=RESTS)
    curves = compare(graph, ranks, plan, lambda what: print(f"{name}: {what}", flush=True) if tell else None)
    title = f"{name}: {graph.pages:,} pages, {graph.links:,} links, {graph.sites:,} sites"
    drawing = DOCS / f"ordering-{name}.svg"
    drawing.write_text(svg(plot(title, curves)), encoding="utf-8")
    parts = [f"### {name}\n\n{graph.pages:,} pages, {graph.links:,} links, {graph.sites:,} sites.\n"]
    for rest in RESTS:
        table = markdown_table([curve for curve in curves if curve.rest == rest], plan)
        parts.append(f"{heading(rest).capitalize()}:\n\n{table}")
    parts.append(f"![PageRank gathered over pages fetched]({drawing.name})\n")
    return "\n".join(parts)


def cost_table(graph: LinkGraph, ranks: Sequence[float]) -> str:
    rows = [f"| `{order}` | {page:.1f} | {link:.2f} |" for order, page, link in costs(graph, ranks)]
    return "\n".join(["| order | µs a page | µs a link |", "|---|---:|---:|", *rows, ""])


def write_docs(path: Path) -> None:
    web = simulated(20_000)
    graph = read_graph(path)
    start = time.process_time()
    ranks = pagerank(graph)
    took = time.process_time() - start
    parts = [document(graph, ranks, graph.name), document(web, pagerank(web), "simweb")]
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
