"""`gossamer simulate --recrawl`: how fresh would each recrawl policy keep the copies?"""

import argparse
import json
import sys
from collections.abc import Callable, Iterable
from math import inf
from typing import TYPE_CHECKING

from gossamer.cli import argparse_types as given
from gossamer.errors import MissingExtra, UsageError

if TYPE_CHECKING:
    from gossamer.lab.simulate.recrawl_compare import Comparison, Maker
    from gossamer.lab.simulate.recrawl_world import World


_CYCLE, _RECORDED_CYCLE = 14.0, 120.0
_SETS = 3
_MOST_VISITS = 20_000_000  # some ten minutes for each policy and world
OPTIONS = ("changes", "policy", "days", "cycle", "cap", "redrawn", "zipf")
"""Those that are of use only here; `--pages`, `--hosts`, `--seed`, `--sets`, `--plot` and `--json` are shared."""
_NOT_HERE = ("graph", "sites", "crawl", "order", "rest", "seeds")
_WEB_BEGINS = 1_700_000_000.0  # the simulated web has a past: its dates are those of a clock


def configure(parser: argparse.ArgumentParser) -> None:
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


def run(arguments: argparse.Namespace, tell: Callable[[str], None]) -> "Comparison":
    """The comparison that was asked for, printed. Raises UsageError naming what cannot be."""
    from gossamer.lab.simulate.recrawl_compare import as_json, compare, plain_table, time_tables

    for name in _NOT_HERE:
        if getattr(arguments, name) is not None:
            raise UsageError(f"--{name} is about orders: --recrawl takes none" if name != "graph" else "no GRAPH here")
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
                raise UsageError(f"--{name} is about drawn worlds, but --changes has recorded ones")
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
        raise UsageError("--cap: a host that allows nothing is not worth visiting")
    return [with_cap(world, cap * world.pages / cycle) for world in worlds]


def webs_of(arguments: argparse.Namespace, seeds: Iterable[int]) -> "list[World]":
    """The simulated web, as `gossamer simweb` with the same options serves it; importance is PageRank."""
    from gossamer.lab.simulate.recrawl_world import Drawn, served_world
    from gossamer.lab.simweb.config import preset
    from gossamer.model.units import Instant

    for name in ("changes", "redrawn", "zipf"):
        if getattr(arguments, name) is not None:
            raise UsageError(
                f"--{name} is not about the simulated web: its pages change as they do, and link as they do"
            )
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
