"""What each ordering costs for a page, and how fast it gathers PageRank.

`python -m benchmarks.bench_orderings` replays a simulated web; CPU time, fixed seeds. With `--write-docs FOLDER` (as
../shared/data/webgraph) it replays the graphs of that folder and a simulated web, and writes the tables and drawings
of benchmarks/results/orderings.md and the table of docs/PRIORITY.md, in about half an hour. What is in
benchmarks/results/orderings.json is not replayed again: delete from it what has changed.
"""

import argparse
import json
import math
import platform
import random
import time
from collections.abc import Sequence
from pathlib import Path

from gossamer.lab.simulate.graph import LinkGraph, graph_of_web, pagerank, read_graph, with_domains, without_urls
from gossamer.lab.simulate.knowledge import CrawlFacts
from gossamer.lab.simulate.plot import plot, svg
from gossamer.lab.simulate.policies import POLICIES
from gossamer.lab.simulate.replay import Curve, Plan, compare, crawl_order, heading, seed_pages
from gossamer.lab.simweb.config import preset

RESULTS = Path(__file__).parent / "results"
PAGE = RESULTS / "orderings.md"
SUMMARY = RESULTS.parents[1] / "docs" / "PRIORITY.md"
KEPT = RESULTS / "orderings.json"
BEGIN, END = "<!-- made by bench_orderings -->", "<!-- end -->"
RESTS = (0, 20)
SETS = (1, 2, 3, 4, 5)
ORDERS = ("best-first", "mercator", "importance", "bfs", "omniscient")
GRAPHS = ("cnr-2000", "apache-sites", "apache-sites with URLs", "notredame-1999", "simweb", "simweb with URLs")
NO_SITES = ("notredame-1999",)  # one site: with politeness the order is the same
DRAWN = ("cnr-2000", "simweb with URLs")
GOALS = {  # at 10 and 25 % of the pages, no politeness: goals and stretch goals
    "cnr-2000": ((36.5, 55.0), (38.0, 57.0)),
    "apache-sites": ((40.5, 56.0), (42.0, 57.0)),
    "apache-sites with URLs": ((45.5, 61.0), (47.0, 62.5)),
    "notredame-1999": ((20.0, 33.5), (20.6, 34.5)),
    "simweb": ((25.5, 47.5), (26.7, 48.2)),
}
OF_OMNISCIENT = ((68.0, 65.0), (70.0, 67.0))  # the worst share of these graphs
JUDGED = ("best-first", "mercator")
AT = (2, 3)  # 10 and 25 % among the points

Kept = dict[str, dict[str, dict[str, list[float]]]]
"""Graph -> order and rest -> shares, errors and the line for drawing."""


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


def graph_named(name: str, folder: Path) -> LinkGraph:
    stem, _, urls = name.partition(" ")
    graph = simulated(20_000) if stem == "simweb" else read_graph(folder / f"{stem}.graph-txt.gz")
    return with_domains(graph) if urls else without_urls(graph)


def replay_all(folder: Path) -> Kept:
    """What is not kept yet is replayed and kept."""
    kept: Kept = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    for name in GRAPHS:
        rests = RESTS[:1] if name in NO_SITES else RESTS
        wanted = [(order, rest) for rest in rests for order in ORDERS]
        wanted = [(order, rest) for order, rest in wanted if f"{order} {rest}" not in kept.get(name, {})]
        if not wanted:
            continue
        graph = graph_named(name, folder)
        ranks = pagerank(graph)
        for order, rest in wanted:
            (curve,) = compare(graph, ranks, Plan((order,), (rest,), sets=SETS), lambda _: None)
            line = [round(share, 2) for _, share in curve.line]
            shares, errors = ([round(x, 3) for x in row] for row in (curve.shares, curve.errors))
            kept.setdefault(name, {})[f"{order} {rest}"] = {"shares": shares, "errors": errors, "line": line}
            print(f"{name}, {order}, rest {rest}: {shares}", flush=True)
            KEPT.write_text(json.dumps(kept), encoding="utf-8")
    return kept


def document(name: str, found: dict[str, dict[str, list[float]]]) -> str:
    """A section of the page; draws the curves next to it."""
    parts = [f"### {name}\n"]
    points = Plan().points
    for rest in RESTS:
        rows = [(order, found[f"{order} {rest}"]) for order in ORDERS if f"{order} {rest}" in found]
        if rows:
            lines = ["| order | " + " | ".join(f"{x:g} %" for x in points) + " |", "|---|" + "---:|" * len(points)]
            for order, row in rows:
                cells = [
                    f"{share:.1f} ± {error:.1f}" for share, error in zip(row["shares"], row["errors"], strict=True)
                ]
                lines.append(f"| `{order}` | " + " | ".join(cells) + " |")
            parts.append(f"{heading(rest).capitalize()}:\n\n" + "\n".join(lines) + "\n")
    if name in DRAWN:
        drawing = RESULTS / f"ordering-{name.split()[0]}.svg"
        drawing.write_text(svg(plot(name, [curve_of(key, row) for key, row in found.items()])), encoding="utf-8")
        parts.append(f"![PageRank gathered over pages fetched]({drawing.name})\n")
    return "\n".join(parts)


def curve_of(key: str, row: dict[str, list[float]]) -> Curve:
    order, rest = key.split()
    steps = len(row["line"]) - 1
    line = tuple((max(Plan().points) * n / steps, share) for n, share in enumerate(row["line"]))
    return Curve(order, int(rest), tuple(row["shares"]), tuple(row["errors"]), line)


def goals_table(kept: Kept) -> str:
    """Which goals are reached. As shown, that is to a tenth of a percent."""
    lines = ["| at 10 / 25 % | goal | stretch | " + " | ".join(f"`{order}`" for order in JUDGED) + " |"]
    lines.append("|---|---:|---:|" + "---|" * len(JUDGED))
    worst = {order: [math.inf, math.inf] for order in JUDGED}
    for name, goals in GOALS.items():
        cells = []
        for order in JUDGED:
            shares, best = (kept[name][f"{which} 0"]["shares"] for which in (order, "omniscient"))
            found = [shares[at] for at in AT]
            worst[order] = [min(w, 100 * shares[at] / best[at]) for w, at in zip(worst[order], AT, strict=True)]
            cells.append(_verdict(found, goals))
        lines.append(_row(name, goals, cells))
    lines.append(
        _row("worst share of `omniscient`", OF_OMNISCIENT, [_verdict(worst[o], OF_OMNISCIENT) for o in JUDGED])
    )
    return "\n".join([*lines, ""])


def _row(name: str, goals: tuple[tuple[float, float], tuple[float, float]], cells: Sequence[str]) -> str:
    both = " | ".join(" / ".join(f"{x:g}" for x in pair) for pair in goals)
    return f"| {name} | {both} | " + " | ".join(cells) + " |"


def _verdict(found: Sequence[float], goals: tuple[tuple[float, float], tuple[float, float]]) -> str:
    words = []
    for x, goal, stretch in zip(found, *goals, strict=True):
        shown = round(x, 1)
        words.append(f"{shown} " + ("stretch" if shown >= stretch else "goal" if shown >= goal else "**missed**"))
    return " / ".join(words)


def summary_table(kept: Kept) -> str:
    """All graphs at 10 and 25 % of the pages, no politeness."""
    lines = ["| at 10 / 25 % | " + " | ".join(f"`{order}`" for order in ORDERS) + " |", "|---|" + "---:|" * len(ORDERS)]
    for name in GRAPHS:
        rows = [kept[name][f"{order} 0"] for order in ORDERS]
        cells = (" / ".join(f"{row['shares'][at]:.1f} ± {row['errors'][at]:.1f}" for at in AT) for row in rows)
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join([*lines, ""])


def write_between_marks(page: Path, made: str) -> None:
    head, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    page.write_text(f"{head}{BEGIN}\n\n{made}\n{END}{rest.partition(END)[2]}", encoding="utf-8")


def write_docs(folder: Path) -> None:
    kept = replay_all(folder)
    parts = [f"### Goals\n\n{goals_table(kept)}", *(document(name, kept[name]) for name in GRAPHS)]
    write_between_marks(PAGE, "\n".join(parts))
    write_between_marks(SUMMARY, summary_table(kept))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=20_000, help="URLs of the simulated web")
    parser.add_argument("--write-docs", metavar="FOLDER", type=Path)
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
