"""`gossamer simulate`: how fast would each ordering reach the important pages of a known web? With `--recrawl`: how
fresh would each recrawl policy keep the copies?
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

from gossamer.cli import argparse_types as given
from gossamer.errors import MissingExtra, UsageError
from gossamer.observe.formatter import number_of

if TYPE_CHECKING:
    from gossamer.crawl.run.location import CrawlLocation
    from gossamer.lab.simulate.graph import LinkGraph
    from gossamer.lab.simulate.plot import Drawing
    from gossamer.lab.simulate.recrawl_compare import Comparison, Maker
    from gossamer.lab.simulate.recrawl_world import World
    from gossamer.lab.simulate.replay import Curve, Plan

_CYCLE, _RECORDED_CYCLE = 14.0, 120.0
_SETS = 3
_MOST_VISITS = 20_000_000  # some ten minutes for each policy and world
RECRAWL_OPTIONS = ("changes", "policy", "days", "cycle", "cap", "redrawn", "zipf")
"""Those that are of use only here; `--pages`, `--hosts`, `--seed`, `--sets`, `--plot` and `--json` are shared."""
_NOT_HERE = ("graph", "sites", "crawl", "order", "rest", "seeds")
_WEB_BEGINS = 1_700_000_000.0  # the simulated web has a past: its dates are those of a clock


def _configure_recrawl(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--recrawl", action="store_true", help="compare recrawl policies instead of orderings")
    parser.add_argument("--changes", metavar="FILE", help="use the change times recorded in FILE")
    parser.add_argument("--policy", metavar="NAME", action="append", help="only this recrawl policy (repeatable)")
    parser.add_argument("--days", metavar="N", type=int, help="simulated days (default: 365)")
    parser.add_argument("--cycle", metavar="DAYS", type=float, help="budget: every page once per DAYS on average")
    parser.add_argument("--cap", metavar="X", type=float, help="no host gets more than this share of the budget")
    parser.add_argument(
        "--redrawn",
        metavar="X",
        type=float,
        help="this share of the pages changes its rate after a quarter of the time",
    )
    parser.add_argument("--zipf", metavar="X", type=float, help="importance is 1 / rank to the power X (default: 1)")


def check_installed() -> None:
    """Raises MissingExtra where the lab's packages are not installed."""
    try:
        import numpy  # noqa: F401
    except ImportError as error:
        raise MissingExtra("gossamer simulate --recrawl", "numpy", "lab") from error


def compare_policies(arguments: argparse.Namespace, tell: Callable[[str], None]) -> "Comparison":
    """The comparison that was asked for, printed. Raises UsageError naming what cannot be."""
    from gossamer.lab.simulate.recrawl_compare import as_json, compare, plain_table, time_tables

    for name in _NOT_HERE:
        if getattr(arguments, name) is not None:
            raise UsageError(f"{'GRAPH' if name == 'graph' else '--' + name}: cannot be combined with --recrawl")
    makers = makers_of(arguments)
    recorded = given.text(arguments, "changes") is not None
    cycle = _positive(arguments, "cycle") or (_RECORDED_CYCLE if recorded else _CYCLE)
    tell("drawing the world")
    worlds = worlds_of(arguments, cycle)
    _check_budget(worlds[0], cycle)
    name = f"{worlds[0].name}: {worlds[0].pages:,} pages, {worlds[0].days:g} days, each once in {cycle:g}"
    comparison = compare(name, worlds, cycle, makers, tell)
    tell("")
    if given.flag(arguments, "json"):
        print(json.dumps(as_json(comparison)))
    else:
        mean = f"; mean of {len(worlds)}" if len(worlds) > 1 else ""
        print(f"{name}\npercent of the copies that are fresh, in the second half of the time{mean}\n")
        sys.stdout.write(f"{plain_table(comparison)}\nover time\n\n{time_tables(comparison)}")
    return comparison


def _check_budget(world: "World", cycle: float) -> None:
    """Raises UsageError for a budget with which nothing would happen, or far too much."""
    visits = world.days * world.pages / cycle
    if visits < 1:
        raise UsageError(f"--cycle: {cycle:g} is too long: not one visit in {world.days:g} days")
    if visits > _MOST_VISITS:
        raise UsageError(f"--cycle: {cycle:g} is too short: {visits:,.0f} visits, and {_MOST_VISITS:,} are simulated")
    if world.cap * world.days < 1:
        raise UsageError(f"--cap: too little: not one visit to a host in {world.days:g} days")


def makers_of(arguments: argparse.Namespace) -> "dict[str, Maker]":
    """The policies that were asked for, or all. A broken plugin is reported before the long part begins."""
    from gossamer.config.plugins import recrawl_policies

    found = recrawl_policies()
    wanted = tuple(dict.fromkeys(given.texts(arguments, "policy"))) or tuple(found)
    for name in wanted:
        if name not in found:
            raise UsageError(f"--policy: {name!r} is none of {', '.join(found)}")
        found[name]()
    return {name: found[name] for name in wanted}


def worlds_of(arguments: argparse.Namespace, cycle: float) -> "list[World]":
    """As many as `--sets` says: they differ in what is drawn."""
    from gossamer.lab.simulate.recrawl_world import Drawn, drawn_world, recorded_world, with_cap

    sets = given.at_least(1, given.whole(arguments, "sets"), "--sets") or _SETS
    first = given.whole(arguments, "seed") or 1
    zipf = _share(arguments, "zipf", most=inf)
    zipf = 1.0 if zipf is None else zipf
    cap = _share(arguments, "cap")
    path = given.path(arguments, "changes")
    if given.text(arguments, "web") is not None:
        worlds = webs_of(arguments, range(first, first + sets))
    elif path is not None:
        for name in ("pages", "hosts", "days", "redrawn"):
            if getattr(arguments, name) is not None:
                raise UsageError(f"--{name}: cannot be combined with --changes")
        worlds = [recorded_world(path, zipf, seed) for seed in range(first, first + sets)]
    else:
        usual = Drawn()
        drawn = Drawn(
            pages=given.at_least(1, given.whole(arguments, "pages"), "--pages") or usual.pages,
            days=given.at_least(1, given.whole(arguments, "days"), "--days") or usual.days,
            hosts=given.at_least(1, given.whole(arguments, "hosts"), "--hosts") or usual.hosts,
            zipf=zipf,
            redrawn=_share(arguments, "redrawn") or 0.0,
        )
        worlds = [drawn_world(drawn.with_seed(seed)) for seed in range(first, first + sets)]
    if cap is None:
        return worlds
    if cap == 0:
        raise UsageError("--cap: must be more than 0")
    return [with_cap(world, cap * world.pages / cycle) for world in worlds]


def webs_of(arguments: argparse.Namespace, seeds: Iterable[int]) -> "list[World]":
    """The simulated web, as `gossamer simweb` with the same options serves it; importance is PageRank."""
    from gossamer.lab.simulate.recrawl_world import Drawn, served_world
    from gossamer.lab.simweb.config import preset
    from gossamer.model.units import Instant

    for name in ("changes", "redrawn", "zipf"):
        if getattr(arguments, name) is not None:
            raise UsageError(f"--{name}: cannot be combined with --web simweb")
    numbers = {name: n for name in ("hosts", "pages") if (n := given.whole(arguments, name)) is not None}
    if numbers:
        numbers["max_host_pages"] = 0  # the preset's cap was meant for its own size
    days = given.at_least(1, given.whole(arguments, "days"), "--days") or Drawn().days
    webs = [preset("demo", seed=seed, **numbers) for seed in seeds]
    return [served_world(web, Instant(_WEB_BEGINS), float(days)) for web in webs]


def _share(arguments: argparse.Namespace, name: str, most: float = 1.0) -> float | None:
    value = getattr(arguments, name)
    if value is not None and not 0 <= float(value) <= most:
        wanted = f"from 0 to {most:g}" if most < inf else "0 or more"
        raise UsageError(f"--{name}: must be {wanted}, not {value}")
    return None if value is None else float(value)


def _positive(arguments: argparse.Namespace, name: str) -> float | None:
    value = getattr(arguments, name)
    if value is not None and not 0 < float(value) < inf:
        raise UsageError(f"--{name}: must be more than 0, not {value}")
    return None if value is None else float(value)


USAGE = "GRAPH | --crawl DIR | --web simweb | --recrawl [...]"
DESCRIPTION = """\
Replay a link graph under the orderings, without fetching anything, and show
which share of the total PageRank the first 1, 5, 10, 25 and 50 % of the pages
hold. GRAPH is a file: the number of pages, then a line of page numbers for the
links of each page; plain or gzip. A file NAME.urls.gz next to it has the URLs
of its pages, one per line. Or it is the directory of a crawl, whose
stored links are replayed from its own seeds. Orders: mercator best-first bfs
dfs novelty balance importance, those of plugins, push (importance with all
links kept), backlink random omniscient (known pages by true PageRank) and
all-sorted (all pages by PageRank, an upper bound). With --recrawl:
months of visits to pages that change, and how fresh each recrawl policy keeps
the copies.
Policies: adaptive optimal fixed nutch-adaptive stormcrawler-adaptive, those of
plugins, and known-rates (optimal with the true rates)."""
EXAMPLE = """\
  gossamer simulate --web simweb --pages 20000 --plot orders.svg
  gossamer simulate --crawl crawl --order importance --plot orders.svg
  gossamer simulate cnr-2000.graph-txt.gz --rest 20
  gossamer simulate --recrawl --plot fresh.svg
  gossamer simulate --recrawl --web simweb --hosts 40 --pages 1000
  gossamer simulate --recrawl --changes doc-site-changes.tsv.gz --policy optimal"""

_WEBS = ("simweb",)
_POLITE = 20


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("graph", metavar="GRAPH", nargs="?", help="a graph file, or the directory of a crawl")
    parser.add_argument(
        "--sites", metavar="FILE", help="file with the first page of each site (default: GRAPH's .site-starts.txt)"
    )
    parser.add_argument("--no-urls", action="store_true", help="ignore the URLs of the pages")
    parser.add_argument("--crawl", metavar="DIR", help="replay the links that the crawl in DIR has stored")
    parser.add_argument("--store", metavar="URL", help="store of the crawl: sqlite:DIR is the same as --crawl DIR")
    parser.add_argument("--web", metavar="NAME", choices=_WEBS, help="simweb: replay the simulated web")
    parser.add_argument("--hosts", metavar="N", type=int, help="hosts of the simulated web")
    parser.add_argument("--pages", metavar="N", type=int, help="URLs of the simulated web")
    parser.add_argument("--seed", metavar="S", type=int, help="seed of the random generator (default: 1)")
    parser.add_argument("--order", metavar="NAME", action="append", help="only this ordering (repeatable)")
    parser.add_argument(
        "--rest",
        metavar="K",
        type=int,
        action="append",
        help="fetch slots between visits to a site (repeatable; default: 0 and 20)",
    )
    parser.add_argument(
        "--seeds", metavar="N", type=int, help="number of random seeds (default: 10; for a crawl, its own seeds)"
    )
    parser.add_argument("--sets", metavar="N", type=int, help="average over N sets of random seeds (default: 5)")
    parser.add_argument("--plot", metavar="FILE", help="draw the curves as SVG; FILE ends in .svg")
    parser.add_argument("--json", action="store_true", help="print a JSON object")
    _configure_recrawl(parser)


def run(arguments: argparse.Namespace) -> int:
    if given.flag(arguments, "recrawl"):
        return _run_recrawl(arguments)
    for name in RECRAWL_OPTIONS:
        if getattr(arguments, name) is not None:
            raise UsageError(f"--{name}: requires --recrawl")
    from gossamer.config.plugins import orderings
    from gossamer.lab.simulate.graph import pagerank
    from gossamer.lab.simulate.policies import POLICIES, policy_of
    from gossamer.lab.simulate.replay import as_json, compare, plain_table

    found = orderings()
    drawing = drawing_of(arguments)
    plan = plan_of(arguments, found)
    for order in found.keys() & plan.orders:
        found[order]()  # report a broken plugin before the long part begins
    policies = {**{name: policy_of(make) for name, make in found.items()}, **POLICIES}
    tell = _teller()
    tell("reading the graph")
    graph = graph_of(arguments)
    if graph.seeds:
        plan = from_own_seeds(plan, arguments)
    tell("PageRank")
    ranks = pagerank(graph)
    curves = compare(graph, ranks, plan, tell, policies)
    tell("")
    if drawing is not None:
        draw(drawing, f"{graph.name}: {number_of(graph.pages, 'page')}, {number_of(graph.sites, 'site')}", curves)
    if given.flag(arguments, "json"):
        print(json.dumps(as_json(graph, curves, plan)))
        return 0
    own = f"the crawl's own {number_of(len(graph.seeds), 'seed')}"
    start = own if plan.seeds is None else number_of(plan.seeds, "seed")
    mean = f", mean and standard error of {len(plan.sets)} sets" if len(plan.sets) > 1 else ""
    size = (number_of(graph.pages, "page"), number_of(graph.links, "link"), number_of(graph.sites, "site"))
    print(f"{graph.name}: {', '.join(size)}")
    print(f"percent of the total PageRank in the first pages; {start}{mean}\n")
    sys.stdout.write(plain_table(curves, plan))
    return 0


def _run_recrawl(arguments: argparse.Namespace) -> int:
    check_installed()
    from gossamer.lab.simulate.recrawl_compare import plot

    drawing = drawing_of(arguments)
    comparison = compare_policies(arguments, _teller())
    if drawing is not None:
        write_drawing(drawing, plot(comparison))
    return 0


def plan_of(arguments: argparse.Namespace, installed: Iterable[str]) -> "Plan":
    """What was asked for, with orderings that are built in or `installed`. Raises UsageError naming what cannot be."""
    from gossamer.lab.simulate.replay import Plan

    plan = Plan()
    orders = tuple(dict.fromkeys(given.texts(arguments, "order"))) or plan.orders
    known = (*plan.orders, *(name for name in installed if name not in plan.orders))
    for order in orders:
        if order not in known:
            raise UsageError(f"--order: {order!r} is none of {', '.join(known)}")
    rests = tuple(dict.fromkeys(int(text) for text in given.texts(arguments, "rest"))) or (0, _POLITE)
    for rest in rests:
        given.at_least(0, rest, "--rest")
    seeds = given.at_least(1, given.whole(arguments, "seeds"), "--seeds") or plan.seeds
    sets = given.at_least(1, given.whole(arguments, "sets"), "--sets") or len(plan.sets)
    return Plan(orders=orders, rests=rests, seeds=seeds, sets=tuple(range(1, sets + 1)))


def from_own_seeds(plan: "Plan", arguments: argparse.Namespace) -> "Plan":
    """The plan for a graph that says where its crawl began, unless other seeds were asked for."""
    if given.whole(arguments, "seeds") is not None:
        return plan
    if given.whole(arguments, "sets") is not None:
        raise UsageError("--sets: requires --seeds; without it, the seeds of the crawl are used")
    return replace(plan, seeds=None, sets=(1,))


def graph_of(arguments: argparse.Namespace) -> "LinkGraph":
    """The graph of the file, the crawl or the simulated web, with URLs and domains unless these are to be left out.
    Raises UsageError where it is not clear which."""
    from gossamer.lab.simulate.graph import with_domains, without_urls

    graph = _graph_of(arguments)
    return without_urls(graph) if given.flag(arguments, "no_urls") else with_domains(graph)


def _graph_of(arguments: argparse.Namespace) -> "LinkGraph":
    from gossamer.lab.simulate.graph import graph_of_web, read_graph
    from gossamer.lab.simweb.config import preset

    path, crawl, sites = (given.path(arguments, name) for name in ("graph", "crawl", "sites"))
    web, store = given.text(arguments, "web"), given.text(arguments, "store")
    numbers = {name: n for name in ("hosts", "pages", "seed") if (n := given.whole(arguments, name)) is not None}
    if web is not None and (store is not None or not path is crawl is sites is None):
        raise UsageError("--web simweb: cannot be combined with a graph, a crawl or --sites")
    if web is None and numbers:
        raise UsageError(f"--{next(iter(numbers))}: requires --web simweb")
    if path is not None and path.is_dir():
        path, crawl = None, crawl or path
    if crawl is not None or store is not None:
        from gossamer.cli.open_crawl import location_named

        if not path is sites is None:
            raise UsageError("--crawl: cannot be combined with a graph or --sites")
        return graph_of_crawl(location_named({"dir": None if crawl is None else str(crawl), "store": store}))
    if path is not None:
        return read_graph(path, sites)
    if web is None:
        raise UsageError("nothing to simulate: give a graph file, --crawl DIR, --store URL or --web simweb")
    if {"hosts", "pages"} & numbers.keys():
        numbers.setdefault("max_host_pages", 0)  # the preset's cap was meant for its own size
    return graph_of_web(preset("demo", **numbers))


def graph_of_crawl(location: "CrawlLocation") -> "LinkGraph":
    """The links that a crawl has stored. Raises NotThisCrawl where there is none, UsageError where it has no pages."""
    from gossamer.crawl.run.opener import open_crawl
    from gossamer.crawl.run.private_store import reachable
    from gossamer.lab.simulate.graph import make_graph
    from gossamer.reports.link_graph import StoredGraph

    directory = location.directory
    with reachable(location) as served, open_crawl(served) as crawl:
        stored = StoredGraph(crawl.reader.links)
        pages = stored.pages
        if not pages.seeds:
            raise UsageError(f"the crawl in {directory} has no seeds to start from")
        return make_graph(
            directory.resolve().name,
            stored.links(),
            pages.site_of,
            suffix_of=pages.suffix_of,
            urls=pages.urls,
            seeds=pages.seeds,
        )


def drawing_of(arguments: argparse.Namespace) -> Path | None:
    """Where to draw. Raises UsageError for what cannot be drawn or written, before anything long has begun."""
    path = given.path(arguments, "plot")
    if path is None:
        return None
    if path.suffix.lower() != ".svg":
        raise UsageError(f"--plot: {str(path)!r} must end in .svg")
    if not path.parent.is_dir():
        raise UsageError(f"cannot write {path}: there is no directory {path.parent}")
    return path


def draw(path: Path, title: str, curves: "Sequence[Curve]") -> None:
    """Raises UsageError where the file cannot be written."""
    from gossamer.lab.simulate.plot import plot

    write_drawing(path, plot(title, curves))


def write_drawing(path: Path, drawing: "Drawing") -> None:
    """Raises UsageError as `draw` does."""
    from gossamer.lab.simulate.plot import svg

    try:
        path.write_text(svg(drawing), encoding="utf-8")
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
