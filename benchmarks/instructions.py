"""Count the instructions of the whole path, the frontier and the recrawl decision, to compare two versions.

`python -m benchmarks.instructions` runs each workload twice under valgrind, at two sizes, and divides the difference
by the difference in size, so that starting up does not count. Where CPU time varies by a tenth on a busy machine,
instructions vary by far less than the 2 % that a comparison allows. Some ten minutes on an idle machine.

  python -m benchmarks.instructions --json before.json
  python -m benchmarks.instructions --compare before.json     exit status 1 if a row differs by more than --within

It measures the code of the checkout that this file is in, whatever is installed. The whole path is the command
`gossamer crawl` with one worker and one visit at a time, which makes the order of pages the same in every run;
the simulated web it crawls runs in a process of its own and is not counted. Timers do not run out in it, so that
neither the display nor a commit nor the counting of links depends on the speed of the machine.
"""

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HOSTS = 20  # of the simulated web; the smaller crawl has met them all
SLOWER = 10_000  # timers of the crawl run so much later: not at all


@dataclass(frozen=True, slots=True)
class Workload:
    """Something that is run at two sizes. `unit` is what it is divided by."""

    name: str
    title: str
    unit: str
    small: int
    large: int
    units_per_size: int = 1

    def per_unit(self, small: int, large: int) -> float:
        """Instructions for one unit, from the counts of the two runs."""
        return (large - small) / ((self.large - self.small) * self.units_per_size)


WORKLOADS = (
    Workload("whole_path", "whole path", "page", 100, 500),
    Workload("frontier", "frontier", "URL", 100, 500, 20),  # hosts, with 20 URLs each
    Workload("unchanged", "recrawl decision after a 304", "visit", 1, 2, 5_000),  # rounds over 5,000 pages
    Workload("changed", "recrawl decision after a change", "visit", 1, 2, 5_000),
    Workload("policy", "of that, the policy `optimal`", "decision", 1_000, 6_000),
)


class CannotCount(Exception):
    """No instructions could be counted; the message says why."""


# --- counting -------------------------------------------------------------------------------------------------


def environment(pycache: Path) -> dict[str, str]:
    """Nothing from outside but the path, so that two runs see the same; modules come from this checkout."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}",
        "PYTHONPYCACHEPREFIX": str(pycache),
        "OPENBLAS_NUM_THREADS": "1",
    }


def run(workload: str, arguments: list[str], place: Path, *, counted: bool) -> int:
    """Run a workload in a process of its own; the number of its instructions, or 0 if they are not counted.

    Not counted, it compiles the modules that it imports, for runs that are."""
    command = [sys.executable, "-m", "benchmarks.instructions", "--run", workload, *arguments]
    env = environment(place / "pycache")
    counts = place / "counts"
    if counted:
        # Instructions as callgrind counts them (0.3 % apart for a small program), in two thirds of the time.
        command = ["valgrind", "--tool=cachegrind", "--cache-sim=no", f"--cachegrind-out-file={counts}", *command]
        env["PYTHONDONTWRITEBYTECODE"] = "1"
    done = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise CannotCount(f"{workload} failed with exit status {done.returncode}:\n{done.stderr[-3_000:]}")
    return total(counts.read_text(encoding="utf-8")) if counted else 0


def total(text: str) -> int:
    """The count at the end of a file that cachegrind has written."""
    found = re.search(r"^summary: (\d+)", text, re.MULTILINE)
    if found is None:
        raise CannotCount("valgrind has left no count")
    return int(found[1])


def measure(workload: Workload, place: Path) -> float:
    """Instructions for one unit."""

    def count(size: int, *, counted: bool = True) -> int:
        if workload.name != "whole_path":
            return run(workload.name, [str(size)], place, counted=counted)
        from gossamer.lab.simweb.config import preset
        from gossamer.lab.simweb.run import SimwebProcess

        folder = place / "crawl"
        with SimwebProcess(preset("bench", hosts=HOSTS, pages=20_000, seed_hosts=HOSTS)) as web:
            fixed = ["--scope", "tld:test", "--allow-private", "--delay", "0", "--delay-factor", "0"]
            fixed += ["--concurrency", "1", "--quiet", "--dns", web.dns_address, "--dir", str(folder)]
            counts = run(workload.name, [*web.seeds, *fixed, "--max-pages", str(size)], place, counted=counted)
        shutil.rmtree(folder)
        return counts

    count(min(workload.small, 20), counted=False)
    return workload.per_unit(count(workload.small), count(workload.large))


# --- what is counted ------------------------------------------------------------------------------------------


def whole_path(arguments: list[str]) -> None:
    """`gossamer crawl` without what happens by the clock, like four looks a second at its figures and commits of
    batches that are not full: under valgrind, how often that is depends on how busy the machine is."""
    import uvloop

    from gossamer.cli.main import main as gossamer
    from gossamer.store.table import link_counts

    class SlowedLoop(uvloop.Loop):
        def call_later(self, delay, callback, *args, context=None):  # type: ignore[no-untyped-def, override]
            return super().call_later(delay * SLOWER, callback, *args, context=context)

    uvloop.Loop = SlowedLoop  # type: ignore[misc]
    link_counts.SECONDS_AT_MOST *= SLOWER
    sys.setswitchinterval(sys.getswitchinterval() * SLOWER)
    status = gossamer(["crawl", *arguments])
    if status:
        raise SystemExit(status)


def frontier(arguments: list[str]) -> None:
    """What bench_frontier measures, with its stand-in for the task table."""
    from benchmarks.bench_frontier import drive

    drive(int(arguments[0]))


def unchanged(arguments: list[str]) -> None:
    from benchmarks.bench_due import after_unchanged, per_decision

    per_decision(after_unchanged, 304, reporting=False, rounds=int(arguments[0]))


def changed(arguments: list[str]) -> None:
    from benchmarks.bench_due import after_change, per_decision

    per_decision(after_change, 200, reporting=False, rounds=int(arguments[0]))


def policy(arguments: list[str]) -> None:
    from benchmarks.bench_recrawl import cases, whole_decision
    from gossamer.recrawl.policies import RECRAWL_POLICIES

    decide = whole_decision(RECRAWL_POLICIES["optimal"]())
    for case in cases(int(arguments[0])):
        decide(case)


RUNS = {run.__name__: run for run in (whole_path, frontier, unchanged, changed, policy)}


# --- comparing ------------------------------------------------------------------------------------------------


def rows(found: Mapping[str, float], earlier: Mapping[str, float]) -> list[str]:
    """A table of the figures, with the ratio to the earlier ones where there are any."""
    lines = [f"{'':34} {'instructions':>14}" + (f" {'earlier':>14} {'ratio':>8}" if earlier else "")]
    for workload in WORKLOADS:
        if workload.name in found:
            figure, before = found[workload.name], earlier.get(workload.name)
            line = f"{workload.title:34} {figure:14,.0f}"
            if before is not None:
                line += f" {before:14,.0f} {figure / before:8.4f}"
            lines.append(f"{line}  per {workload.unit}")
    return lines


def beyond(found: Mapping[str, float], earlier: Mapping[str, float], percent: float) -> list[str]:
    """The names of the rows that differ by more than so much, more or less, and of those without an earlier figure."""
    return [
        name for name, figure in found.items() if name not in earlier or abs(figure / earlier[name] - 1) > percent / 100
    ]


def options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.instructions",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = [workload.name for workload in WORKLOADS]
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the figures to FILE")
    parser.add_argument("--compare", metavar="FILE", type=Path, help="show the ratio to the figures in FILE")
    parser.add_argument("--within", metavar="PERCENT", type=float, default=2.0, help="allowed difference (default: 2)")
    parser.add_argument("--only", choices=names, action="append", help="only this row (repeatable)")
    return parser


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--run"]:
        RUNS[arguments[1]](arguments[2:])
        return 0
    asked = options().parse_args(arguments)
    if shutil.which("valgrind") is None:
        print("valgrind is not installed: apt-get install valgrind", file=sys.stderr)
        return 2
    # For the simulated web as well: it is imported here, and started from here.
    sys.path.insert(0, str(ROOT / "src"))
    os.environ["PYTHONPATH"] = str(ROOT / "src")
    earlier = json.loads(asked.compare.read_text(encoding="utf-8"))["instructions"] if asked.compare else {}
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="gossamer-instructions-") as folder:
        for workload in WORKLOADS:
            if not asked.only or workload.name in asked.only:
                print(f"counting: {workload.title}", file=sys.stderr, flush=True)
                try:
                    found[workload.name] = measure(workload, Path(folder))
                except CannotCount as error:
                    print(error, file=sys.stderr)
                    return 2
    if asked.json:
        machine = f"Python {platform.python_version()}, {platform.machine()}"
        asked.json.write_text(
            json.dumps({"machine": machine, "instructions": found}, indent=2) + "\n", encoding="utf-8"
        )
    print("\n".join(rows(found, earlier)))
    if asked.compare and (apart := beyond(found, earlier, asked.within)):
        print(f"more than {asked.within:g} % apart: {', '.join(apart)}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
