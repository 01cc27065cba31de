"""Several workers on one PostgreSQL server: how their rate grows with their number, and what a page costs.

`python -m benchmarks.bench_cluster` from the root of the repository, on Linux. Three parts, each of which can be asked
for alone:

  polite  Crawls that are limited by politeness: 25 hosts for each of 1, 2, 4 and 8 workers, one page a second from
          each host. Compared is the rate with that of one worker, times their number, and the CPU time of the server
          for a page. Rates need a machine with nothing else to do.
  busy    Crawls without delays: one worker with SQLite, one and two workers with a server. Compared is the CPU time
          for a page, of workers, their supervisor and the server together.
  gates   Addresses, taken and released in batches as workers do: CPU time for each.

A window of each crawl is measured, from some page to some later one, so that starting up does not count. Pages are
those in the log of the simulated web, whose CPU time is not counted. The server is set up as for `--workers N`.
"""

import argparse
import platform
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from benchmarks.crawling import scratch
from benchmarks.postgres import Cost, MeasuredServer, cpu_of, postgres
from gossamer.cluster.lease import LeaseTerms
from gossamer.cluster.membership import Membership
from gossamer.cluster.shared_addresses import GatePlan, exchange
from gossamer.lab.simweb.config import SimWebConfig, preset
from gossamer.lab.simweb.run import SimwebProcess
from gossamer.model.units import Epoch, Seconds

WORKERS = (1, 2, 4, 8)
HOSTS_EACH = 25
DELAY = 1.0
GOAL_LINEAR = 0.9
GOAL_SERVER = 0.1
WARM_UP = 10.0
WINDOW = 30.0

BUSY_FROM, BUSY_TO = 1_000, 6_000
GOAL_BUSY = 1.2

ADDRESSES, ROUNDS = 50, 200
GOAL_GATE = 40.0

PATIENCE = 600.0


class Window(NamedTuple):
    """A part of a crawl."""

    pages: int
    seconds: float
    workers_cpu: float  # seconds
    server: Cost

    @property
    def rate(self) -> float:
        return self.pages / self.seconds

    def workers(self) -> float:
        """Microseconds for a page."""
        return 1e6 * self.workers_cpu / self.pages

    def of_server(self) -> float:
        return 1e6 * self.server.cpu / self.pages

    def all(self) -> float:
        return self.workers() + self.of_server()

    def row(self, title: str) -> str:
        return (
            f"{title:28} {self.rate:7.1f} pages/s {self.workers():7.0f} µs CPU a page in workers "
            f"{self.of_server():6.0f} in the server {self.server.log / self.pages / 1000:6.1f} kB of log"
        )


class _Crawl:
    """A crawl that runs: `gossamer crawl`, and the workers that it has started."""

    def __init__(self, process: "subprocess.Popen[bytes]", log: Path, server: MeasuredServer | None) -> None:
        self._process, self._log, self._server = process, log, server

    def moment(self) -> tuple[float, float, Cost]:
        cost = Cost(0.0, 0) if self._server is None else self._server.cost()
        return time.time(), sum(map(cpu_of, _with_children(self._process.pid))), cost

    def wait_for_requests(self, number: int) -> None:
        deadline = time.monotonic() + PATIENCE
        while not self._log.exists() or self._log.read_bytes().count(b"\n") < number:
            assert self._process.poll() is None, f"the crawl has ended with status {self._process.returncode}"
            assert time.monotonic() < deadline, "the crawl hangs"
            time.sleep(0.05)


def _with_children(process: int) -> list[int]:
    """A process and all processes that it has started."""
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return [process, *(each for child in children for each in _with_children(int(child)))]


@contextmanager
def _crawling(web: SimwebProcess, log: Path, options: Sequence[str], server: MeasuredServer | None) -> Iterator[_Crawl]:
    """A crawl of this web. It is interrupted at the end of the block."""
    with scratch() as place:
        command = [sys.executable, "-m", "gossamer", "crawl", *web.seeds, "--dir", str(place / "crawl"), "--quiet"]
        command += ["--scope", "tld:test", "--allow-private", "--dns", web.dns_address, "--delay-factor", "0", *options]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        try:
            yield _Crawl(process, log, server)
        finally:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _measured(
    web: SimWebConfig, options: Sequence[str], server: MeasuredServer | None, *, first: int, last: int | None = None
) -> Window:
    """From one page to another; or, from `WARM_UP` after the first page, for some time."""
    with scratch() as place:
        log = place / "server.log"
        with SimwebProcess(web, log=log) as served, _crawling(served, log, options, server) as crawl:
            crawl.wait_for_requests(first)
            if last is None:
                time.sleep(WARM_UP)
            began, cpu, cost = crawl.moment()
            if last is None:
                time.sleep(WINDOW)
            else:
                crawl.wait_for_requests(last)
            ended, later_cpu, later_cost = crawl.moment()
        pages = [r for r in served.requests() if began <= r.read_at < ended and r.target != "/robots.txt"]
    return Window(len(pages), ended - began, later_cpu - cpu, later_cost.since(cost))


def _store(server: MeasuredServer, workers: int) -> list[str]:
    return ["--store", server.create_database(), "--workers", str(workers)]


def polite(server: MeasuredServer, numbers: Sequence[int]) -> bool:
    """Whether the goals are met."""
    found: dict[int, Window] = {}
    for number in numbers:
        hosts = HOSTS_EACH * number
        web = preset("bench", hosts=hosts, pages=10_000 * hosts, host_exponent=0.0, seed_hosts=hosts)
        options = ["--delay", str(DELAY), *_store(server, number)]
        found[number] = _measured(web, options, server, first=2 * hosts)
        print(found[number].row(f"polite, {number} workers"), flush=True)
    alone = found[min(found)]
    each = alone.rate / min(found)
    linear = {number: window.rate / (number * each) for number, window in found.items()}
    server_cpu = {number: window.of_server() / alone.of_server() for number, window in found.items()}
    for number in found:
        print(f"  {number} workers: {linear[number]:.2f} of linear (goal {GOAL_LINEAR}), the server's CPU for a page "
              f"x{server_cpu[number]:.2f} (goal 1 ± {GOAL_SERVER})")  # fmt: skip
    return min(linear.values()) >= GOAL_LINEAR and all(abs(x - 1.0) <= GOAL_SERVER for x in server_cpu.values())


def busy(server: MeasuredServer, pages: int) -> bool:
    """Whether the goal is met."""
    web = preset("bench", hosts=400, pages=200_000)
    options = ["--delay", "0", "--concurrency", "80"]
    first, last = BUSY_FROM, BUSY_FROM + pages
    ways: dict[str, list[str]] = {
        "SQLite, 1 worker": [],
        "PostgreSQL, 1 worker": _store(server, 1),
        "PostgreSQL, 2 workers": _store(server, 2),
    }
    found = {}
    for title, store in ways.items():
        window = _measured(web, [*options, *store], server if store else None, first=first, last=last)
        print(window.row(f"busy, {title}"), flush=True)
        found[title] = window.all()
    alone = found["SQLite, 1 worker"]
    for title, each in found.items():
        print(f"  {title}: {each:.0f} µs of all CPU a page, x{each / alone:.2f}")
    print(f"  goal for 2 workers: x{GOAL_BUSY}")
    return found["PostgreSQL, 2 workers"] <= GOAL_BUSY * alone


def gates(server: MeasuredServer) -> bool:
    """Whether the goal is met."""
    from gossamer.backends.postgres.tables import PostgresTables  # not part of every installation

    chance = random.Random(3)
    tables, terms = PostgresTables(server.create_database()), LeaseTerms()
    tables.prepare()
    epoch = Epoch(chance.getrandbits(62))
    with closing(tables.open_session(terms.waiting)) as session:
        Membership(session, epoch, "bench", terms, weight=1.0, version="1").join()
        lists = [[f"10.{n}.{chance.randrange(256)}.{m}" for m in range(ADDRESSES)] for n in range(ROUNDS)]
        before, used = server.cost(), _own_cpu()
        held: tuple[tuple[str, Seconds], ...] = ()
        for addresses in lists:
            answer = exchange(session, epoch, GatePlan(tuple(sorted(addresses)), held))
            assert len(answer.taken) == ADDRESSES
            held = tuple((address, Seconds(1.0)) for address in sorted(addresses))
        client, spent = _own_cpu() - used, server.cost().since(before)
    number = ADDRESSES * ROUNDS
    in_worker, in_server = 1e6 * client / number, 1e6 * spent.cpu / number
    each = in_worker + in_server
    print(f"gates: {in_worker:.1f} µs in the worker and {in_server:.1f} in the server for an address taken and "
          f"released, {ADDRESSES} at a time: {each:.1f} (goal {GOAL_GATE:.0f})")  # fmt: skip
    return each <= GOAL_GATE


def _own_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=["polite", "busy", "gates", []], help="default: all")
    parser.add_argument("--workers", type=int, nargs="+", default=list(WORKERS), help="of the polite crawls")
    parser.add_argument("--pages", type=int, default=BUSY_TO - BUSY_FROM, help="of the busy crawls")
    given = parser.parse_args()
    parts = given.parts or ["polite", "busy", "gates"]
    met = True
    with postgres() as server:
        print(f"python {platform.python_version()} on {platform.machine()}")
        if "polite" in parts:
            met &= polite(server, given.workers)
        if "busy" in parts:
            met &= busy(server, given.pages)
        if "gates" in parts:
            met &= gates(server)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
