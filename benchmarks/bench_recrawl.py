"""What a recrawl decision costs, and how fresh each policy keeps the copies.

`python -m benchmarks.bench_recrawl` measures decisions; CPU time, fixed seeds. With `--write-docs CHANGES` (as
../shared/data/changes/doc-site-changes.tsv.gz) it writes the tables and drawings of
benchmarks/results/recrawl.md, in about ten minutes; `--only SECTION` writes a part of them.
"""

import argparse
import platform
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from gossamer.lab.simulate.plot import svg
from gossamer.lab.simulate.recrawl_compare import Comparison, compare, plot
from gossamer.lab.simulate.recrawl_world import Drawn, World, drawn_world, recorded_world
from gossamer.model.units import DAY, Instant, Seconds
from gossamer.recrawl.estimate import Estimate, HostRates, changed
from gossamer.recrawl.policies import RECRAWL_POLICIES, estimate_of
from gossamer.recrawl.policy import Memory, RecrawlPolicy, Terms, Visited
from gossamer.recrawl.price import Price, gap_until, gap_until_unflagged

RESULTS = Path(__file__).parent / "results"
PAGE = RESULTS / "recrawl.md"
BEGIN, END = "<!-- made by bench_recrawl: {} -->", "<!-- end -->"
SEEDS = (1, 2, 3)
CYCLE, RECORDED_CYCLE = 14.0, 120.0
CAP = 0.04  # of the budget, for each of the 50 hosts
REDRAWN = 0.3
GOALS = {"drawn": 99.0, "capped": 96.5, "drifting": 95.0, "recorded": 99.0}  # percent of the optimum, for `optimal`
COST = "cost"
MOST_US = 30.0  # CPU microseconds for a decision

Case = tuple[Visited, Memory, Terms]


COLUMNS = ("fresh, weighted", "of the optimum", "fresh, plain", "weighted, from the start", "budget used")


def markdown_table(comparison: Comparison) -> str:
    lines = ["| policy | " + " | ".join(COLUMNS) + " |", "|---|" + "---:|" * len(COLUMNS)]
    best, plain = 100 * comparison.optimum, 100 * comparison.optimum_plain
    lines.append(f"| *optimum* | *{best:.1f}* | *100.0* | *{plain:.1f}* | | |")
    for f in comparison.policies:
        cells = (f.weighted, f.of_optimum, f.plain, f.whole, f.used)
        lines.append(f"| `{f.policy}` | " + " | ".join(f"{100 * cell:.1f}" for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def cases(n: int) -> list[Case]:
    chance = random.Random(1)
    found = []
    for _ in range(n):
        gap = 10 ** chance.uniform(-1, 2)
        visited = Visited(Instant(1.7e9), Seconds(gap * DAY), chance.random() < 0.4)
        memory = Memory(chance.uniform(0.5, 8), 10 ** chance.uniform(0, 3), 5, 2)
        found.append((visited, memory, Terms(10 ** chance.uniform(-6, -1), 2e-4)))
    return found


def per_case(found: list[Case], act: Callable[[Case], object]) -> float:
    """CPU microseconds, the least of three rounds."""
    rounds = []
    for _ in range(3):
        start = time.process_time()
        for case in found:
            act(case)
        rounds.append((time.process_time() - start) / len(found) * 1e6)
    return min(rounds)


def whole_decision(policy: RecrawlPolicy) -> Callable[[Case], object]:
    """All that a visit costs: price, prior, plan, demand, and what the host has learnt."""
    price, rates = Price(1_000.0, 2e-4), HostRates()
    now = 0.0

    def decide(case: Case) -> object:
        nonlocal now, rates
        visited, memory, terms = case
        now += 0.001
        terms = terms._replace(price=price.step(now), prior=rates.prior())
        plan = policy.after(visited, memory, terms)
        price.on_planned(14.0, plan.gap(visited.now) / DAY)
        after = estimate_of(plan.memory)
        if policy.moved_by_price and after is not None:
            rates = rates.updated(estimate_of(memory), after)
        return plan

    return decide


def costs(n: int) -> list[tuple[str, float]]:
    found = cases(n)
    rows = [
        (f"whole decision, `{name}`", per_case(found, whole_decision(make())))
        for name, make in RECRAWL_POLICIES.items()
    ]
    rows.append(("estimate after a change", per_case(found, lambda case: changed(_known(case), 7.0))))
    rows.append(
        ("gap until the price", per_case(found, lambda case: gap_until(_known(case), case[2].importance, 2e-4)))
    )
    rows.append(
        (
            "the same with reports of changes",
            per_case(found, lambda case: gap_until_unflagged(_known(case), case[2].importance, 2e-4, 0.8, 365.0)),
        )
    )
    return rows


def _known(case: Case) -> Estimate:
    return Estimate(case[1].rate_shape, case[1].rate_span)


def worlds(name: str, changes: Path) -> tuple[str, list[World], float]:
    """Title, worlds and cycle of a table."""
    usual = Drawn()
    if name == "recorded":
        found = [recorded_world(changes, seed=seed) for seed in SEEDS]
        return f"{found[0].name}: {found[0].pages:,} pages on {found[0].hosts} sites", found, RECORDED_CYCLE
    titles = {
        "drawn": "Log-normal rates, Zipf importance",
        "capped": f"The same, and no host of {usual.hosts} takes more than {100 * CAP:g} % of the budget",
        "drifting": f"Without caps, but {100 * REDRAWN:g} % of the rates are redrawn after a quarter of the time",
    }
    wish = {
        "drawn": usual,
        "capped": replace(usual, cap=CAP * usual.pages / CYCLE),
        "drifting": replace(usual, redrawn=REDRAWN),
    }[name]
    return titles[name], [drawn_world(wish.with_seed(seed)) for seed in SEEDS], CYCLE


def section(name: str, comparison: Comparison) -> str:
    """A section of the page; draws the curves beside it."""
    drawing = RESULTS / f"recrawl-{name}.svg"
    drawing.write_text(svg(plot(comparison)), encoding="utf-8")
    ours = next(found for found in comparison.policies if found.policy == "optimal")
    reached = 100 * ours.of_optimum
    verdict = "reached" if reached >= GOALS[name] else "**missed**"
    each = ", ".join(f"{100 * share:.1f}" for share in ours.each)
    return (
        f"### {comparison.name}\n\n{comparison.pages:,} pages, {comparison.days:g} days, budget: every page once in "
        f"{comparison.cycle:g} days; mean of {len(ours.each)} worlds.\n\n{markdown_table(comparison)}\n"
        f"Goal for `optimal`: {GOALS[name]:g} % of the optimum. {verdict.capitalize()}: {reached:.1f} % "
        f"(worlds: {each}).\n\n![freshness over time]({drawing.name})\n"
    )


def cost_section() -> str:
    rows = [f"| {what} | {took:.1f} |" for what, took in costs(20_000)]
    machine = f"Python {platform.python_version()}, {platform.machine()}"
    table = "\n".join(["| | µs |", "|---|---:|", *rows, ""])
    return f"### Cost\n\nCPU time ({machine}). Goal: {MOST_US:g} µs for a decision.\n\n{table}"


def write_docs(changes: Path, only: Sequence[str]) -> None:
    """Write each section in the place that is marked for it."""
    for name in only or (*GOALS, COST):
        if name == COST:
            made = cost_section()
        else:
            title, found, cycle = worlds(name, changes)
            print(title, flush=True)
            made = section(
                name, compare(title, found, cycle, RECRAWL_POLICIES, lambda what: print(f"  {what}", flush=True))
            )
        begin = BEGIN.format(name)
        head, _, rest = PAGE.read_text(encoding="utf-8").partition(begin)
        PAGE.write_text(f"{head}{begin}\n\n{made}\n{END}{rest.partition(END)[2]}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write-docs", metavar="CHANGES", type=Path)
    parser.add_argument("--only", choices=(*GOALS, COST), action="append", default=[], help="only this section")
    asked = parser.parse_args()
    if asked.write_docs is not None:
        write_docs(asked.write_docs, asked.only)
        return
    print(f"python {platform.python_version()} on {platform.machine()}")
    for what, took in costs(50_000):
        print(f"{what:<45} {took:6.2f} us")


if __name__ == "__main__":
    main()
