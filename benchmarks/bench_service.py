"""What callers cost a crawl: 50 mixed reads a second while `gossamer serve` crawls at full speed.

The crawl runs alone, then with callers, then alone again, since pages become more expensive as a crawl grows. Compared
is its rate in pages a second. That needs a machine with nothing else to do; CPU time, which hardly depends on it, is
shown as well: of the crawl's process for a page, and of the connections' process for a call.
"""

import http.client
import json
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
from gossamer.lab.simweb.config import preset
from gossamer.lab.simweb.run import SimwebProcess

RATE = 50.0
SECONDS = 20.0
ALONE = 10.0
WARM_UP = 3_000  # pages; the first ones need names, robots.txt and new connections
CONCURRENCY = 80
GOAL_COST = 0.05
GOAL_P99 = 0.100
WINDOWS = 100  # different windows of /pages, and different stories


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of the crawl."""

    pages: int
    seconds: float
    crawl_cpu: float
    front_cpu: float  # of the process that has the connections

    @property
    def rate(self) -> float:
        return self.pages / self.seconds

    @property
    def page_cpu(self) -> float:
        """Microseconds of the crawl's process for a page."""
        return 1e6 * self.crawl_cpu / self.pages

    def __add__(self, other: "Stretch") -> "Stretch":
        return Stretch(
            self.pages + other.pages,
            self.seconds + other.seconds,
            self.crawl_cpu + other.crawl_cpu,
            self.front_cpu + other.front_cpu,
        )


class Serving:
    """A running service."""

    def __init__(self, port: int) -> None:
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
        yield Serving(int(json.loads(line)["address"].rstrip("/").rpartition(":")[2]))
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextmanager
def stretch(service: Serving, found: list[Stretch]) -> Iterator[None]:
    before = service.get("/status")
    yield
    after = service.get("/status")
    crawl, front = (told["cpu_seconds"] for told in (after, after["front"]))
    crawl_before, front_before = (told["cpu_seconds"] for told in (before, before["front"]))
    pages, seconds = after["pages"] - before["pages"], after["seconds"] - before["seconds"]
    found.append(Stretch(pages, seconds, crawl - crawl_before, front - front_before))


def mixed_paths(service: Serving) -> list[str]:
    """Each route in turn, as dashboards, scrapers and scripts ask for them."""
    chance = random.Random(7)
    last = int(service.get("/status")["discovered"])
    urls = [page["url"] for page in service.get("/pages?limit=500&state=stored")["pages"]]
    paths = []
    for turn in range(WINDOWS):
        sort = ("queued", "fetched", "next", "host")[turn % 4]
        paths += ["/metrics", "/status", "/healthz", f"/hosts?limit=20&sort={sort}"]
        paths += [f"/pages?limit=20&after={chance.randrange(last)}"]
        paths += [f"/explain?url={quote(chance.choice(urls), safe='')}"]
    return paths


def wait_for_pages(service: Serving, pages: int) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and service.pages() < pages:
        time.sleep(0.2)


def main() -> int:
    alone: list[Stretch] = []
    called: list[Stretch] = []
    shape = preset("bench", hosts=400, pages=200_000)
    with SimwebProcess(shape) as web, scratch() as place, serving(web, place) as service:
        wait_for_pages(service, WARM_UP)
        paths = mixed_paths(service)
        with stretch(service, alone):
            time.sleep(ALONE)
        with Callers(service.port, paths, RATE, SECONDS) as callers, stretch(service, called):
            calls = callers.called()
        with stretch(service, alone):
            time.sleep(ALONE)
    without, under = alone[0] + alone[1], called[0]
    cost, p99 = 1.0 - under.rate / without.rate, calls.quantile(None, 0.99)
    parts = ", ".join(f"{part.rate:.0f}" for part in alone)
    print(f"alone         {without.rate:.0f} pages a second ({parts}), {without.page_cpu:.0f} µs CPU a page")
    print(f"with callers  {under.rate:.0f} pages a second, {under.page_cpu:.0f} µs CPU a page")
    print(f"calls         {calls.calls} in {calls.seconds:.1f} s, {calls.bad} not answered with 200", end="")
    print(f", {calls.left} not made in time")
    print(f"a call        {1e6 * under.front_cpu / calls.calls:.0f} µs CPU of the process of the connections")
    for route in calls.took:
        times = ", ".join(f"{1000 * calls.quantile(route, share):.1f}" for share in (0.5, 0.99))
        print(f"  {route:10}  median and p99 {times} ms")
    print(f"p99           {1000 * p99:.0f} ms (goal: below {1000 * GOAL_P99:.0f})")
    print(f"cost          {cost:.1%} of the crawl's rate (goal: at most {GOAL_COST:.0%})")
    return 0 if cost <= GOAL_COST and p99 < GOAL_P99 and not calls.bad and not calls.left else 1


if __name__ == "__main__":
    sys.exit(main())
