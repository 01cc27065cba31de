"""`gossamer simulate`: how fast would each ordering reach the important pages of a known web?"""

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from gossamer.commands import arguments as given
from gossamer.errors import UsageError

if TYPE_CHECKING:
    from gossamer.simulate.graph import LinkGraph
    from gossamer.simulate.replay import Plan

USAGE = "GRAPH | --web simweb [--order NAME ...] [options]"
DESCRIPTION = """\
Replay a link graph under the orderings, without fetching anything, and show
which share of the total PageRank the first 1, 5, 10, 25 and 50 % of the pages
hold. GRAPH is a file: the number of pages, then a line of page numbers for the
links of each page; plain or gzip. Orders: mercator bfs dfs novelty balance
importance backlink random omniscient (of the known pages the truly best) and
all-sorted (all pages by PageRank, which no crawl can do)."""
EXAMPLE = """\
  gossamer simulate --web simweb --pages 20000 --svg orders.svg
  gossamer simulate cnr-2000.graph-txt.gz --order importance --order bfs --rest 20"""

_WEBS = ("simweb",)
_POLITE = 20


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("graph", metavar="GRAPH", nargs="?", help="a graph file")
    parser.add_argument("--sites", metavar="FILE", help="first page of each site (default: GRAPH's .site-starts.txt)")
    parser.add_argument("--web", metavar="NAME", choices=_WEBS, help="instead of a file: simweb, the simulated web")
    parser.add_argument("--hosts", metavar="N", type=int, help="hosts of the simulated web")
    parser.add_argument("--pages", metavar="N", type=int, help="URLs of the simulated web")
    parser.add_argument("--seed", metavar="S", type=int, help="another seed is another web (default: 1)")
    parser.add_argument("--order", metavar="NAME", action="append", help="only this order (repeatable)")
    parser.add_argument(
        "--rest", metavar="K", type=int, action="append", help="slots a site rests (repeatable; default: 0 and 20)"
    )
    parser.add_argument("--seeds", metavar="N", type=int, help="random pages to start from (default: 10)")
    parser.add_argument("--sets", metavar="N", type=int, help="mean over so many seed sets (default: 3)")
    parser.add_argument("--svg", metavar="FILE", help="draw the curves")
    parser.add_argument("--json", action="store_true", help="one JSON object")


def run(arguments: argparse.Namespace) -> int:
    from gossamer.simulate.pagerank import pagerank
    from gossamer.simulate.plot import svg
    from gossamer.simulate.replay import compare
    from gossamer.simulate.tables import as_json, plain_table

    plan = plan_of(arguments)
    tell = _teller()
    tell("reading the graph")
    graph = graph_of(arguments)
    tell("PageRank")
    ranks = pagerank(graph)
    curves = compare(graph, ranks, plan, tell)
    tell("")
    drawing = given.path(arguments, "svg")
    if drawing is not None:
        write_drawing(drawing, svg(f"{graph.name}: {graph.pages:,} pages, {graph.sites:,} sites", curves))
    if given.flag(arguments, "json"):
        print(json.dumps(as_json(graph, curves, plan)))
        return 0
    print(f"{graph.name}: {graph.pages:,} pages, {graph.links:,} links, {graph.sites:,} sites")
    print(f"percent of the total PageRank in the first pages; {plan.seeds} seeds, mean of {len(plan.sets)} sets\n")
    sys.stdout.write(plain_table(curves, plan))
    return 0


def plan_of(arguments: argparse.Namespace) -> "Plan":
    """What was asked for. Raises UsageError naming what cannot be."""
    from gossamer.simulate.replay import Plan

    plan = Plan()
    orders = tuple(dict.fromkeys(given.texts(arguments, "order"))) or plan.orders
    for order in orders:
        if order not in plan.orders:
            raise UsageError(f"--order: {order!r} is none of {', '.join(plan.orders)}")
    rests = tuple(dict.fromkeys(int(text) for text in given.texts(arguments, "rest"))) or (0, _POLITE)
    for rest in rests:
        given.at_least(0, rest, "--rest")
    seeds = given.at_least(1, given.whole(arguments, "seeds"), "--seeds") or plan.seeds
    sets = given.at_least(1, given.whole(arguments, "sets"), "--sets") or len(plan.sets)
    return Plan(orders=orders, rests=rests, seeds=seeds, sets=tuple(range(1, sets + 1)))


def graph_of(arguments: argparse.Namespace) -> "LinkGraph":
    """The graph of the file, or of the simulated web. Raises UsageError where it is not clear which, or cannot be."""
    from gossamer.simulate.reading import read_graph
    from gossamer.simulate.web import graph_of_web
    from gossamer.simweb.config import preset

    path = given.path(arguments, "graph")
    numbers = {name: n for name in ("hosts", "pages", "seed") if (n := given.whole(arguments, name)) is not None}
    if given.text(arguments, "web") is None:
        if path is None:
            raise UsageError("nothing to simulate: give a graph file or --web simweb")
        if numbers:
            raise UsageError(f"--{next(iter(numbers))} is about the simulated web: give --web simweb")
        return read_graph(path, given.path(arguments, "sites"))
    if path is not None or given.path(arguments, "sites") is not None:
        raise UsageError("--web simweb takes no files")
    if {"hosts", "pages"} & numbers.keys():
        numbers.setdefault("max_host_pages", 0)  # the preset's cap was meant for its own size
    return graph_of_web(preset("demo", **numbers))


def write_drawing(path: Path, text: str) -> None:
    """Raises UsageError where the file cannot be written."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error


def _teller() -> Callable[[str], None]:
    """Shows on a terminal what is being done, each thing in place of the one before; elsewhere nothing."""
    if not sys.stderr.isatty():
        return lambda _: None

    def tell(what: str) -> None:
        sys.stderr.write(f"\r\x1b[K{what}")
        sys.stderr.flush()

    return tell
