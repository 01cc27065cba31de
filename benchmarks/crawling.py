"""Running the real command against the simulated web, each in a process of its own, for the benchmarks."""

import contextlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gossamer.lab.simweb.config import SimWebConfig
from gossamer.lab.simweb.run import SimwebProcess
from gossamer.lab.simweb.server import Request, read_log


@dataclass(frozen=True, slots=True)
class Run:
    """What a crawl did: its own report, the server's record, and CPU seconds as the kernel counts them."""

    report: dict[str, object]
    requests: list[Request]
    cpu_seconds: float

    def number(self, key: str) -> float:
        value = self.report[key]
        assert isinstance(value, int | float)
        return float(value)


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """A directory that goes away."""
    path = Path(tempfile.mkdtemp(prefix="gossamer-bench-"))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


@contextlib.contextmanager
def a_core_each(server: SimwebProcess) -> Iterator[SimwebProcess]:
    """This process on one core and the server on another, where there are two.

    Two that take turns on both cores move each other's data out of the caches; how much that costs depends on what
    else runs, by a tenth and more, and says nothing about either.
    """
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) > 1:
        os.sched_setaffinity(server.pid, cores[1:])
        os.sched_setaffinity(0, cores[:1])
    try:
        yield server
    finally:
        os.sched_setaffinity(0, cores)


def crawl(web: SimWebConfig, *options: str, seconds: float | None = None, seeds: int | None = None) -> Run:
    """Crawl a simulated web with the command line, to its end or for so many seconds from its first request."""
    with scratch() as place:
        log = place / "server.log"
        with SimwebProcess(web, log=log) as server:
            urls = server.seeds[:seeds]
            command = [sys.executable, "-m", "gossamer", "crawl", *urls, "--dir", str(place / "crawl"), "--json"]
            command += ["--quiet", "--scope", "tld:test", "--allow-private", "--dns", server.dns_address, *options]
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            if seconds is not None:
                _first_request(log)
                time.sleep(seconds)
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGINT)
            out, _ = process.communicate(timeout=600)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime - server.cpu_seconds_at_exit
        with log.open(encoding="utf-8") as lines:
            requests = list(read_log(lines))
        return Run(json.loads(out.splitlines()[-1]), requests, cpu)


def _first_request(log: Path) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and not (log.exists() and log.stat().st_size):
        time.sleep(0.02)


def rate(requests: list[Request], start: float, stop: float) -> float:
    """Requests per second between two moments, counted from the first request."""
    if not requests:
        return 0.0
    zero = min(request.read_at for request in requests)
    return sum(1 for request in requests if start <= request.read_at - zero < stop) / (stop - start)
