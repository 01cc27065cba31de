"""Run a crawl by four workers while a seeded schedule makes everything fail (`make faults`).

Workers are killed, stopped for three lease times, drained, started, and lose their machine; PostgreSQL is killed, cut
off, slowed down, and its clock is stepped; Redis is killed, flushed, failed over, hangs, has no memory; object storage
refuses, hangs, loses its answers, is full or slow; the disk of a spool is full. Then the faults stop, and the crawl has
to finish without help. It is checked against the log of the simulated web, the database and the archive. The exit
status is 1 if anything is wrong. The times in the table are those until

  * the partitions of a worker are owned again, after it was killed, stopped, drained or cut off;
  * workers commit and fetch again, after PostgreSQL is back;
  * no worker does without the cache, after Redis is back;
  * all spools are empty, after the storage is back.

Faults during which PostgreSQL was away too have no time.
"""

import argparse
import asyncio
import json
import math
import os
import shutil
import signal
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TextIO

from tests.faults.fleet import Fleet
from tests.faults.judge import Judge
from tests.faults.schedule import REQUIRED, Event, Schedule
from tests.faults.server_clock import ServerClock
from tests.faults.surroundings import Surroundings, lasting_web, small_disk, surroundings
from tests.integration.crawl_process import Command, Json, wait_until
from tests.integration.shared_crawls import is_started
from tests.machine import why_no_machine
from tests.postgres_server import open_folder

WORKERS = 4
STUCK_SECONDS = 240.0
"""Without a request or a commit, a crawl that has not finished needs help."""
SHORT_RUN = 10.0
"""Minutes up to which any number of faults will do."""
TURN = 0.05


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    folder = options.keep or Path(tempfile.mkdtemp(prefix="gossamer-faults-"))
    folder.mkdir(parents=True, exist_ok=True)
    try:
        found = Run(options, folder).run()
    finally:
        if options.keep is None:
            shutil.rmtree(folder, ignore_errors=True)
    print(json.dumps(found) if options.json else table(found))
    return 1 if found["problems"] else 0


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60.0, metavar="N", help="how long faults happen (default: 60)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="decides web and faults (default: 1)")
    parser.add_argument("--faults", type=int, metavar="N", help="N faults of each lane, however long that takes")
    parser.add_argument("--ttl", type=float, default=10.0, metavar="SECONDS", help="of a lease (default: 10)")
    parser.add_argument("--json", action="store_true", help="print one object instead of the table")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="work in this directory, and leave it")
    return parser.parse_args(arguments)


class Run:
    """One run: servers, crawl, faults, judgement."""

    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        self._options, self._folder = options, folder
        self._began = time.monotonic()
        self._left_out: list[str] = []
        self._stuck: str | None = None

    def run(self) -> Json:
        options = self._options
        web = lasting_web(options.seed, 60 * options.minutes)
        with ExitStack() as stack:
            clock = self._server_clock(stack)
            around = stack.enter_context(surroundings(self._folder, web, options.ttl, clock))
            disk = stack.enter_context(small_disk(around.stage.dir / "worker-1" / "spool"))
            if not disk:
                self._left_out.append("disk of a spool full: not permitted to mount a tmpfs")
            if (reason := why_no_machine()) is not None:
                self._left_out.append(f"machine lost: {reason}")
            fleet = Fleet(around, WORKERS, machines=reason is None)
            stack.callback(fleet.close)
            schedule = Schedule(around, fleet, options.seed, options.ttl, disk=disk)
            judge = Judge(around, fleet)
            started = time.monotonic()
            asyncio.run(self._crawl(around, fleet, schedule))
            took = time.monotonic() - started
            if self._stuck is None:
                judge.judge_crawl()
            fleet.close()
        judge.judge_requests()
        return self._figures(schedule.events, fleet, judge, took)

    def _server_clock(self, stack: ExitStack) -> ServerClock | None:
        try:
            return ServerClock(stack.enter_context(open_folder()))
        except (RuntimeError, StopIteration) as error:
            self._left_out.append(f"clock of PostgreSQL stepped: no libfaketime ({error})")
            return None

    async def _crawl(self, around: Surroundings, fleet: Fleet, schedule: Schedule) -> None:
        with Command(*around.stage.command) as starter:
            wait_until(lambda: is_started(around.stage) or not starter.runs, "the crawl to start")
            assert starter.runs, starter.ended()
            for worker in fleet.workers:
                worker.start()
            wait_until(lambda: any(fleet.epoch_of(worker) for worker in fleet.workers), "a worker to join")
            starter.process.send_signal(signal.SIGTERM)
            starter.ended()
        faults = asyncio.create_task(schedule.run(60 * self._options.minutes, self._options.faults))
        await self._tend(fleet, schedule, faults)
        if self._stuck is None:
            await faults  # the last ones end what they have begun
        else:
            faults.cancel()
            await asyncio.gather(faults, return_exceptions=True)

    async def _tend(self, fleet: Fleet, schedule: Schedule, faults: "asyncio.Task[None]") -> None:
        """Until the crawl has finished and all workers have ended."""
        progress = Progress(sys.stderr, self._options.minutes)
        moved, seen = time.monotonic(), 0
        while not fleet.is_finished or any(worker.runs for worker in fleet.workers):
            fleet.tend()
            if faults.done():
                faults.result()
            if (answered := fleet.answered_bytes()) != seen:
                moved, seen = time.monotonic(), answered
            if time.monotonic() - moved > STUCK_SECONDS:
                self._stuck = self._diagnosis(fleet)
                break
            progress.show(fleet, schedule.events)
            await asyncio.sleep(TURN)
        progress.close()

    def _diagnosis(self, fleet: Fleet) -> str:
        crawl = fleet.rows("SELECT state, generation FROM crawl")
        left = {name: fleet.rows(f"SELECT count(*) FROM {name}") for name in ("queue", "inbox", "uncounted")}
        alive = fleet.rows("SELECT name, state, stats FROM workers JOIN fence USING (epoch) WHERE alive")
        return f"the crawl does not go on: {crawl}, {left}, workers {alive}"

    def _figures(self, events: list[Event], fleet: Fleet, judge: Judge, took: float) -> Json:
        stuck = [] if self._stuck is None else [self._stuck]
        not_over = sorted({event.kind for event in events if not event.recovered})
        return {
            "seed": self._options.seed,
            "seconds": round(took, 1),
            "documents": judge.documents,
            "requests": judge.requests,
            "fetched_again": judge.fetched_again,
            "copies": judge.copies,
            "orphans": judge.orphans,
            "faults": len(events),
            "kinds": recoveries(events),
            "events": [[event.at, event.kind, event.seconds] for event in events],
            "ended_by_themselves": dict(fleet.deaths),
            "left_out": self._left_out,
            "problems": [
                *stuck,
                *(f"not over: {kind}" for kind in not_over),
                *too_few(events, self._options.minutes if self._options.faults is None else 0.0),
                *judge.problems,
            ],
        }


def recoveries(events: list[Event]) -> dict[str, dict[str, float]]:
    """By kind of fault: how many there were, how many are over, and how long that took (`Event`)."""
    kinds: dict[str, list[Event]] = defaultdict(list)
    for event in events:
        kinds[event.kind].append(event)
    found = {}
    for kind, of_kind in sorted(kinds.items()):
        times = sorted(event.seconds for event in of_kind if event.seconds is not None)
        figures: dict[str, float] = {"faults": len(of_kind), "recovered": sum(event.recovered for event in of_kind)}
        if times:
            figures |= {"p50": _quantile(times, 0.5), "p99": _quantile(times, 0.99), "longest": round(times[-1], 2)}
        found[kind] = figures
    return found


def too_few(events: list[Event], minutes: float) -> list[str]:
    """The kinds of faults that have happened less often than required in a run of this length."""
    if minutes <= SHORT_RUN:
        return []
    least = {kind: int(number * minutes / 60) for kind, number in REQUIRED.items()}
    found = {kind: sum(event.kind.startswith(kind) for event in events) for kind in least}
    return [f"{kind}: {found[kind]} times, {least[kind]} required" for kind in least if found[kind] < least[kind]]


def _quantile(times: list[float], share: float) -> float:
    return round(times[math.ceil(share * len(times)) - 1], 2)


def table(found: Json) -> str:
    """For people."""
    kinds = found["kinds"]
    assert isinstance(kinds, dict)
    lines = [f"{'fault':42} {'times':>6} {'over':>6} {'p50 s':>7} {'p99 s':>7} {'longest':>8}"]
    for kind, row in kinds.items():
        times = "".join(
            f" {row[name]:>{width}.2f}" for name, width in (("p50", 7), ("p99", 7), ("longest", 8)) if name in row
        )
        lines.append(f"{kind:42} {row['faults']:>6} {row['recovered']:>6}{times}")
    lines.append(
        f"\nseed {found['seed']}: {found['faults']} faults in {found['seconds']} s; {found['documents']} documents, "
        f"{found['requests']} requests, {found['fetched_again']} pages fetched again, {found['copies']} redundant "
        f"copies, {found['orphans']} orphaned objects"
    )
    for name, title in (("ended_by_themselves", "workers that ended by themselves"), ("left_out", "not included")):
        listed = found[name]
        assert isinstance(listed, dict | list)
        of_each = [f"{n} x {what}" for what, n in listed.items()] if isinstance(listed, dict) else listed
        lines += [f"{title}: {each}" for each in of_each]
    problems = found["problems"]
    assert isinstance(problems, list)
    lines += [f"PROBLEM: {problem}" for problem in problems] or [
        "nothing lost, nothing stored twice, no gap too short, no help needed"
    ]
    return "\n".join(lines)


class Progress:
    """A line that says how far a run is: always the same one on a terminal, else one every half minute."""

    def __init__(self, stream: TextIO, minutes: float) -> None:
        self._stream, self._minutes = stream, minutes
        self._began = time.monotonic()
        self._pause = 1.0 if stream.isatty() else 30.0
        self._next = self._began

    def show(self, fleet: Fleet, events: list[Event]) -> None:
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + self._pause
        under_way = ", ".join(event.kind for event in events if not event.is_over) or "nothing"
        line = (
            f"{(now - self._began) / 60:.1f} of {self._minutes:g} min, {fleet.pages():,} pages, {len(events)} faults; "
            f"under way: {under_way}"
        )
        if self._stream.isatty():
            width = os.get_terminal_size(self._stream.fileno()).columns
            print(line[: width - 1], end="\x1b[K\r", file=self._stream, flush=True)
        else:
            print(line, file=self._stream, flush=True)

    def close(self) -> None:
        if self._stream.isatty():
            print(file=self._stream)


if __name__ == "__main__":
    sys.exit(main())
