"""How fresh does a crawl keep its copies over HTTP, and is it what the simulation says? (docs/RECRAWL.md)

`python -m benchmarks.bench_keep_fresh` rehearses 60 days of webs that change, with a kill and a stop on the way: first
where only the budget limits visits, then on hosts that allow half of what the budget pays for.
"""

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from statistics import mean

from benchmarks.crawling import scratch
from benchmarks.keeping import KILL, SPEED, STOP, Kept, Rehearsal, changing_web, rehearse
from gossamer.lab.simulate.recrawl_compare import optimum
from gossamer.lab.simulate.recrawl_world import with_cap
from gossamer.lab.simulate.time_travel import travel
from gossamer.model.units import DAY
from gossamer.recrawl.policies import RECRAWL_POLICIES

MOST = 2.0  # points between measured and predicted, on average over the seeds
OF_OPTIMUM = 91.0  # percent of the optimum under the caps, likewise
HALF = "weighted, second half"
REST = 4 * 3600.0  # seconds after each visit, where hosts allow too little

Row = tuple[str, list[float]]
"""A quantity, and its value for each seed."""


def compared(runs: Sequence[Kept]) -> tuple[list[Row], bool]:
    """Freshness in percent, measured and predicted; and whether the mean difference is small enough."""
    rows: list[Row] = []
    well = True
    for name in runs[0].fresh(runs[0].measured):
        measured = [100 * kept.fresh(kept.measured)[name] for kept in runs]
        predicted = [100 * kept.fresh(kept.predicted)[name] for kept in runs]
        differences = [one - other for one, other in zip(measured, predicted, strict=True)]
        rows += [(f"{name}: measured", measured), ("predicted", predicted), ("difference", differences)]
        well = well and abs(mean(differences)) <= MOST
    used = [100 * len(kept.measured.starts) / (kept.wish.budget * kept.wish.days) for kept in runs]
    return [*rows, ("budget used", used), *conditional(runs)], well and polite(runs)


def compared_under_caps(runs: Sequence[Kept]) -> tuple[list[Row], bool]:
    """The same where hosts allow too little: also with one price for all hosts, and the optimum under the caps."""

    def simulated(kept: Kept, *, host_prices: bool) -> float:
        world = with_cap(kept.world, kept.wish.cap)
        journey = travel(world, RECRAWL_POLICIES["optimal"](), kept.wish.budget, host_prices=host_prices)
        return 100 * kept.fresh(journey)[HALF]

    def best(kept: Kept, *, caps: bool) -> float:
        world, wish = kept.world, kept.wish
        limits = (world.host_of, wish.cap) if caps else ()
        return 100 * optimum(world.importance, world.rates, wish.budget, *limits).freshness

    measured = [100 * kept.fresh(kept.measured)[HALF] for kept in runs]
    own_prices = [simulated(kept, host_prices=True) for kept in runs]
    one_price = [simulated(kept, host_prices=False) for kept in runs]
    bounds = [best(kept, caps=True) for kept in runs]
    shares = [100 * one / bound for one, bound in zip(measured, bounds, strict=True)]
    allowed = [kept.world.hosts * kept.wish.cap * kept.wish.days for kept in runs]
    rows: list[Row] = [
        (f"{HALF}: measured", measured),
        ("simulated", own_prices),
        ("simulated, one price for all hosts", one_price),
        ("optimum under the caps", bounds),
        ("optimum without them", [best(kept, caps=False) for kept in runs]),
        ("measured, of the optimum under the caps", shares),
        ("of what hosts allow, used", [100 * len(k.measured.starts) / n for k, n in zip(runs, allowed, strict=True)]),
        *conditional(runs),
    ]
    well = abs(mean(measured) - mean(own_prices)) <= MOST and mean(measured) > mean(one_price)
    return rows, well and mean(shares) >= OF_OPTIMUM and polite(runs)


def conditional(runs: Sequence[Kept]) -> list[Row]:
    def answered_by_304(kept: Kept) -> float:
        unchanged = [status for _, changed, status in kept.revisits() if not changed]
        return 100 * unchanged.count(304) / max(len(unchanged), 1)

    return [("visits to unchanged pages answered by 304", [answered_by_304(kept) for kept in runs])]


def polite(runs: Iterable[Kept]) -> bool:
    return all(not kept.violations() and not kept.own_violations() for kept in runs)


def table(runs: Sequence[Kept], rows: Iterable[Row]) -> str:
    """As Markdown: each quantity in percent, its mean and its range over the seeds."""
    wish, seconds = runs[0].wish, sum(kept.seconds for kept in runs)
    days = wish.days * DAY * len(runs)
    lines = [
        f"{wish.web.pages:,} pages on {wish.web.hosts} hosts, {wish.days:g} days, budget: every page once in "
        f"{wish.cycle:g}, hosts rest {wish.delay:,.0f} s; {len(runs)} seeds; {days / seconds:,.0f} times as fast as "
        f"the world. Politeness violations: {'none' if polite(runs) else 'yes'}.",
        "",
        "| percent | mean | lowest | highest |",
        "|---|---:|---:|---:|",
    ]
    lines += [f"| {name} | {mean(each):.1f} | {min(each):.1f} | {max(each):.1f} |" for name, each in rows]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--speed", type=float, default=SPEED, help="how fast time passes while the crawl waits")
    parser.add_argument("--days", type=float, default=60.0)
    parser.add_argument("--pages", type=int, default=150)
    parser.add_argument("--hosts", type=int, default=5)
    parser.add_argument("--cycle", type=float, default=5.0, help="days in which the budget pays a visit to every page")
    parser.add_argument("--capped-cycle", type=float, default=3.0, help="the same, where hosts allow too little")
    parser.add_argument("--seeds", type=int, default=3, help="how many webs of each kind")
    parser.add_argument("--only", choices=["plain", "capped"], help="one of the two kinds")
    given = parser.parse_args()
    ends = ((given.days / 3, KILL), (given.days * 2 / 3, STOP))
    patience = 1.5 * given.days * DAY / given.speed + 3_600

    def shown(kind: Callable[[Sequence[Kept]], tuple[list[Row], bool]], cycle: float, **other: float) -> bool:
        with scratch() as place:
            runs = []
            for seed in range(1, given.seeds + 1):
                web = changing_web(given.pages, given.hosts, seed)
                wish = Rehearsal(web, given.days, cycle, given.speed, ends, **other)
                runs.append(rehearse(wish, place / str(seed), patience))
            rows, well = kind(runs)
            print(table(runs, rows), end="\n\n", flush=True)
        return well

    well = [
        given.only == "capped" or shown(compared, given.cycle),
        given.only == "plain" or shown(compared_under_caps, given.capped_cycle, delay=REST),
    ]
    print(f"Goals: at most {MOST:g} points from the prediction on average; under caps fresher than with one price,")
    print(f"and {OF_OPTIMUM:g} % of the optimum. {'Reached.' if all(well) else 'Missed.'}")
    return 0 if all(well) else 1


if __name__ == "__main__":
    sys.exit(main())
