"""What callers cost a crawl: a thousand requests a second, mixed reads, while `gossamer serve` crawls at full speed.

The crawl runs alone, then with callers, then alone again, since a crawl grows dearer as it grows. Compared is the CPU
time a page of the whole service, its threads and children and what the callers cost included. The callers and the
simulated web have processes of their own and are not counted.
"""

import http.client
import json
import os
import random
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from benchmarks.calling import Callers
from benchmarks.crawling import scratch
from gossamer.simweb.config import preset
from gossamer.simweb.process import SimwebProcess

RATE = 1000.0
SECONDS = 20.0
ALONE = 10.0
WARM_UP = 3_000  # pages; the first ones are dear: names, rules, new connections
CONCURRENCY = 80
GOAL_COST = 0.20
GOAL_P99 = 0.100
DIFFERENT = 8
"""Windows and stories that are asked for, each again and again."""
ROUTES = ("/metrics", "/status", "/hosts", "/pages", "/explain", "/healthz")


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of the crawl."""

    pages: int
    cpu: float
    wall: float
    front: float  # of the CPU time, what the process of the connections took

    @property
    def per_cpu_second(self) -> float:
        return self.pages / self.cpu

    def __add__(self, other: "Stretch") -> "Stretch":
        return Stretch(self.pages + other.pages, self.cpu + other.cpu, self.wall + other.wall, self.front + other.front)


class Serving:
    """A running service."""

    def __init__(self, process: subprocess.Popen[str], port: int) -> None:
        self.pid = process.pid
        self.port = port

    def get(self, path: str) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            body = answer.read()
            assert answer.status == 200, (path, answer.status, body[:200])
            return json.loads(body)
        finally:
            connection.close()

    def pages(self) -> int:
        return int(self.get("/status")["pages"])

    def front_seconds(self) -> float:
        """CPU time of the front, by its own word."""
        return float(self.get("/status")["front"]["cpu_seconds"])

    def cpu_seconds(self) -> float:
        """Of all its threads, and of the children that read large pages."""
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        return sum(_ticks(pid) for pid in (self.pid, *map(int, children))) / os.sysconf("SC_CLK_TCK")


def _ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])  # utime and stime of proc(5)


@contextmanager
def serving(web: SimwebProcess, place: Path) -> Iterator[Serving]:
    """The service over a crawl of this web. Ended by its id."""
    command = [sys.executable, "-m", "gossamer", "serve", *web.seeds, "--dir", str(place / "crawl"), "--port", "0"]
    command += ["--json", "--scope", "tld:test", "--allow-private", "--dns", web.dns_address]
    command += ["--delay", "0", "--delay-factor", "0", "--concurrency", str(CONCURRENCY)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        readable, _, _ = select.select([process.stdout], [], [], 60)
        line = process.stdout.readline() if readable else ""
        assert line, "the service did not start"
        yield Serving(process, int(json.loads(line)["address"].rstrip("/").rpartition(":")[2]))
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextmanager
def stretch(service: Serving, found: list[Stretch]) -> Iterator[None]:
    pages, cpu, front, began = service.pages(), service.cpu_seconds(), service.front_seconds(), time.monotonic()
    yield
    after = service.pages() - pages, service.cpu_seconds() - cpu, time.monotonic() - began
    found.append(Stretch(*after, service.front_seconds() - front))


def paths_of(service: Serving, routes: tuple[str, ...], different: int) -> list[str]:
    """Calls in turn to each route, as dashboards and scripts make them that ask again and again: of windows of twenty
    pages and of stories so many different ones, of hosts in every order."""
    chance = random.Random(7)
    last = int(service.get("/status")["discovered"])
    urls = [page["url"] for page in service.get("/pages?limit=500&state=stored")["pages"]]
    turns: dict[str, list[str]] = {
        "/hosts": [f"/hosts?limit=20&sort={sort}" for sort in ("queued", "fetched", "next", "host")],
        "/pages": [f"/pages?limit=20&after={chance.randrange(last)}" for _ in range(different)],
        "/explain": [f"/explain?url={quote(chance.choice(urls), safe='')}" for _ in range(different)],
    }
    return [
        turns[route][turn % len(turns[route])] if route in turns else route for turn in range(600) for route in routes
    ]


def wait_for_pages(service: Serving, pages: int) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and service.pages() < pages:
        time.sleep(0.2)


def main() -> int:
    different = int(sys.argv[1]) if len(sys.argv) > 1 else DIFFERENT
    routes = tuple(sys.argv[2:]) or ROUTES
    alone: list[Stretch] = []
    called: list[Stretch] = []
    shape = preset("bench", hosts=400, pages=200_000)
    with SimwebProcess(shape) as web, scratch() as place, serving(web, place) as service:
        wait_for_pages(service, WARM_UP)
        paths = paths_of(service, routes, different)
        with stretch(service, alone):
            time.sleep(ALONE)
        with Callers(service.port, paths, RATE, SECONDS) as callers, stretch(service, called):
            calls = callers.called()
        with stretch(service, alone):
            time.sleep(ALONE)
    without, under = alone[0] + alone[1], called[0]
    cost = 1.0 - under.per_cpu_second / without.per_cpu_second
    each = under.cpu - under.pages / without.per_cpu_second
    print(f"alone            {', '.join(f'{part.per_cpu_second:.0f}' for part in alone)} pages per CPU-second")
    print(f"with callers     {under.per_cpu_second:.0f} pages per CPU-second ({under.cpu / under.wall:.2f} CPUs)")
    print(f"calls            {calls.calls} in {calls.seconds:.1f} s, {calls.bad} not answered with 200", end="")
    print(f", {calls.left} not made: this machine was too busy" if calls.left else "")
    print(f"a call           {1e6 * each / calls.calls:.0f} µs CPU, with what it disturbs")
    print(f"the front        {1e6 * under.front / calls.calls:.0f} µs CPU a call of that")
    for route in calls.took:
        times = ", ".join(f"{1000 * calls.quantile(route, share):.1f}" for share in (0.5, 0.99))
        print(f"  {route:10} median and p99 {times} ms")
    slowest = calls.quantile("/metrics", 0.99) if "/metrics" in calls.took else 0.0
    print(f"cost             {cost:.1%} of its pages per CPU-second (goal: at most {GOAL_COST:.0%})")
    print(f"p99 of /metrics  {1000 * slowest:.0f} ms (goal: below {1000 * GOAL_P99:.0f} on an idle machine)")
    return 0 if cost <= GOAL_COST and slowest < GOAL_P99 and not calls.bad and not calls.left else 1


if __name__ == "__main__":
    sys.exit(main())
