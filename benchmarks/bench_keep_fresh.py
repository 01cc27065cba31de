"""How fresh does a crawl keep its copies over HTTP, and is it what the simulation says? (docs/RECRAWL.md)

`python -m benchmarks.bench_keep_fresh` rehearses 60 days of a web that changes, with a kill and a stop on the way.
"""

import argparse
import sys

from benchmarks.crawling import scratch
from benchmarks.keeping import KILL, SPEED, STOP, Kept, Rehearsal, changing_web, rehearse
from gossamer.recrawl.policy import DAY

MOST = 2.0  # points between measured and predicted


def table(kept: Kept) -> tuple[str, bool]:
    """As Markdown, and whether everything is as it should be."""
    wish, world = kept.wish, kept.world
    measured, predicted = kept.fresh(kept.measured), kept.fresh(kept.predicted)
    worst = max(abs(100 * (measured[name] - predicted[name])) for name in measured)
    lines = [
        f"{world.pages:,} pages on {world.hosts} hosts, {wish.days:g} days, budget: every page once in {wish.cycle:g}; "
        f"{wish.days * DAY / kept.seconds:,.0f} times as fast as the world, {kept.seconds:.0f} s.",
        "",
        "| percent fresh | predicted | measured | difference |",
        "|---|---:|---:|---:|",
    ]
    for name, share in measured.items():
        told = predicted[name]
        lines.append(f"| {name} | {100 * told:.1f} | {100 * share:.1f} | {100 * (share - told):+.1f} |")
    again = list(kept.revisits())
    unchanged = [status for _, changed, status in again if not changed]
    server, own = len(kept.violations()), kept.own_violations()
    ends = ", ".join(f"{'killed' if how is KILL else 'stopped'} on day {day:g}" for day, how in wish.ends) or "none"
    lines += [
        "",
        "| | |",
        "|---|---:|",
        f"| visits to known pages, simulated | {len(kept.predicted.starts) - world.pages:,} |",
        f"| visits to known pages, made | {len(again):,} |",
        f"| of these, the page had not changed | {len(unchanged):,} |",
        f"| and was answered by 304 | {100 * unchanged.count(304) / max(len(unchanged), 1):.1f} % |",
        f"| breaches of politeness by the server's record | {server} |",
        f"| and by the crawl's own | {own} |",
        f"| restarts | {ends} |",
        "",
        f"Goal: no more than {MOST:g} points of difference. Reached: {worst:.1f}.",
    ]
    return "\n".join(lines), worst <= MOST and not server and not own


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--speed", type=float, default=SPEED, help="how fast time passes while the crawl waits")
    parser.add_argument("--days", type=float, default=60.0)
    parser.add_argument("--pages", type=int, default=300)
    parser.add_argument("--hosts", type=int, default=10)
    parser.add_argument("--cycle", type=float, default=5.0, help="days in which the budget pays a visit to every page")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    wish = Rehearsal(
        changing_web(given.pages, given.hosts, given.seed),
        given.days,
        given.cycle,
        given.speed,
        ((given.days / 3, KILL), (given.days * 2 / 3, STOP)),
    )
    with scratch() as place:
        text, well = table(rehearse(wish, place, patience=1.5 * given.days * DAY / given.speed + 3_600))
    print(text)
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
