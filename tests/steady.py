"""Run the test suite repeatedly under bad conditions and list every test that ever failed (`make steady`).

Each run is pinned to one core that two busy loops share, takes the tests in a new random order, and has its temporary
files on a small tmpfs. The exit status is 1 if any test failed. A run takes about six times as long as `make test`.
"""

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUSY_LOOPS = 2


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    rng = random.Random(options.seed)
    failed: dict[str, list[str]] = defaultdict(list)
    broken = 0
    for number in range(1, options.runs + 1):
        seed = rng.randrange(2**32)
        print(f"run {number} of {options.runs}: core {options.core}, random order {seed}", flush=True)
        started = time.monotonic()
        with ExitStack() as conditions:
            report = Path(conditions.enter_context(tempfile.TemporaryDirectory())) / "report.xml"
            folder = conditions.enter_context(small_tmpfs(options.tmpfs))
            conditions.enter_context(busy_loops(options.core))
            status = run_suite(options, seed, folder, report)
            names = failures(report)
        broken += status != 0
        for name in names:
            failed[name].append(f"run {number}, seed {seed}")
        minutes = (time.monotonic() - started) / 60
        print(f"run {number}: {len(names)} failed, exit status {status}, {minutes:.1f} minutes", flush=True)
    print(f"\nruns: {options.runs}, failed: {broken}" + ("; tests that failed:" if failed else ""))
    for name, runs in sorted(failed.items(), key=lambda entry: (-len(entry[1]), entry[0])):
        print(f"  {name}: {'; '.join(runs)}")
    if failed:
        print("\nRepeat the order of a run with: .venv/bin/python -m pytest -p randomly --randomly-seed=SEED FILE")
    return 1 if broken else 0


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3, metavar="N", help="how many runs (default: 3)")
    parser.add_argument("--seed", type=int, help="seed from which the orders of the runs are drawn")
    parser.add_argument("--core", type=int, default=min(os.sched_getaffinity(0)), metavar="N", help="core to run on")
    parser.add_argument("--tmpfs", default="1g", metavar="SIZE", help="size of the tmpfs for TMPDIR (default: 1g)")
    parser.add_argument("--processes", type=int, default=4, metavar="N", help="test processes (default: 4)")
    parser.add_argument("pytest", nargs="*", metavar="ARG", help="arguments for pytest, after --: files, -k, -m ...")
    options = parser.parse_args(arguments)
    if options.runs < 1:
        parser.error(f"--runs {options.runs}: at least 1")
    if options.core not in os.sched_getaffinity(0):
        parser.error(f"--core {options.core}: not one of {sorted(os.sched_getaffinity(0))}")
    return options


@contextmanager
def small_tmpfs(size: str) -> Iterator[Path]:
    """A folder on a tmpfs of `size`, or in /dev/shm where mounting one is not permitted."""
    folder = Path(tempfile.mkdtemp(prefix="steady-", dir="/dev/shm"))
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "steady", str(folder)]
    mounted = subprocess.run(mount, stderr=subprocess.DEVNULL, check=False).returncode == 0
    if not mounted:
        print("  not permitted to mount a tmpfs: TMPDIR is in /dev/shm, with the size of that", flush=True)
    try:
        yield folder
    finally:
        if mounted:
            subprocess.run(["umount", "--lazy", str(folder)], check=True)
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def busy_loops(core: int) -> Iterator[None]:
    loops = [
        subprocess.Popen(["taskset", "-c", str(core), sys.executable, "-c", "while True: pass"])
        for _ in range(BUSY_LOOPS)
    ]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def run_suite(options: argparse.Namespace, seed: int, folder: Path, report: Path) -> int:
    command = [
        *("taskset", "-c", str(options.core), sys.executable, "-m", "pytest", "-q", "-p", "randomly"),
        *(f"--randomly-seed={seed}", "-n", str(options.processes), "--dist", "loadfile", "--no-loadscope-reorder"),
        *(f"--junitxml={report}", "-o", "junit_family=xunit1", *options.pytest),
    ]
    return subprocess.run(command, cwd=ROOT, env=os.environ | {"TMPDIR": str(folder)}, check=False).returncode


def failures(report: Path) -> list[str]:
    """The tests that failed or broke, as `file::name`; none if the run wrote no report."""
    if not report.exists():
        return []
    return sorted(
        {
            f"{case.get('file')}::{case.get('name')}"
            for case in ET.parse(report).iter("testcase")
            if case.find("failure") is not None or case.find("error") is not None
        }
    )


if __name__ == "__main__":
    sys.exit(main())
