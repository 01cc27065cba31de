"""A million hosts in the tables: how soon does a worker fetch, and in how much memory?

`python -m benchmarks.bench_join` from the root of the repository, on Linux. The tables are generated, with one queued
URL for each host; the first thousands of hosts are those of the simulated web. Then the real commands run on them: a
crawl with SQLite, a first worker with a PostgreSQL server, and a second one that joins it and gets half of the
partitions. Told are the seconds from the start of each process to its first page, its CPU time until then, which
hardly depends on what else the machine does, and its memory at most after some seconds of crawling. Which requests are
those of the second worker follows from its partitions.
"""

import argparse
import itertools
import platform
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import psycopg

from benchmarks.bench_memory import generate
from benchmarks.crawling import scratch
from benchmarks.postgres import cpu_of, postgres
from gossamer.filter.domains import domain_of
from gossamer.lab.simweb.config import preset
from gossamer.lab.simweb.run import SimwebProcess
from gossamer.lab.simweb.server import Request
from gossamer.model.partition import DEFAULT_PARTITIONS, ID_BITS
from gossamer.model.units import HostKey

HOSTS = 1_000_000
SERVED = 100_000
"""Hosts that exist; the others come later in the queue."""
SECONDS = 10.0
GOAL_SECONDS = 5.0
PATIENCE = 600.0
_FIRST = 1_000_000
"""Number of the first generated row of a partition: above those of the crawl that has created the tables."""


class Start(NamedTuple):
    """What a process has shown."""

    seconds: float  # to its first page
    cpu: float  # seconds of CPU time until then was noticed
    megabytes: float  # at most

    def row(self, title: str) -> str:
        return (
            f"{title:32} first page after {self.seconds:5.1f} s ({self.cpu:.1f} s of CPU time), "
            f"{self.megabytes:6.0f} MB at most"
        )


class _Process:
    """A command that runs until the end of its block."""

    def __init__(self, *arguments: str) -> None:
        self.started = time.time()
        self._process = subprocess.Popen([sys.executable, "-m", "gossamer", *arguments], stdout=subprocess.DEVNULL)

    def __enter__(self) -> "_Process":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def cpu(self) -> float:
        """Seconds of CPU time so far."""
        return cpu_of(self._process.pid)

    def megabytes(self) -> float:
        """Most memory so far."""
        lines = Path(f"/proc/{self._process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1000


def _partition_of(name: str) -> int:
    return domain_of(HostKey(name), DEFAULT_PARTITIONS)[1]


def _pages(web: SimwebProcess, since: float) -> list[Request]:
    return [request for request in web.requests() if request.read_at >= since and request.target != "/robots.txt"]


def _wait_for_page(web: SimwebProcess, since: float, of: set[int] | None = None) -> float:
    """When the first page was asked for; `of`: of a host in these partitions."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        found = [r.read_at for r in _pages(web, since) if of is None or _partition_of(r.host) in of]
        if found:
            return min(found)
        time.sleep(0.1)
    raise TimeoutError("no page was asked for")


def _options(web: SimwebProcess) -> list[str]:
    return ["--quiet", "--scope", "tld:test", "--allow-private", "--dns", web.dns_address]


def _with_sqlite(web: SimwebProcess, place: Path, names: Sequence[str]) -> Start:
    directory = place / "sqlite"
    directory.mkdir()
    generate(directory / "crawl.db", names, web.http_port, len(names))
    with _Process("crawl", "--dir", str(directory), *_options(web)) as process:
        first, cpu = _wait_for_page(web, process.started), process.cpu()
        time.sleep(SECONDS)
        return Start(first - process.started, cpu, process.megabytes())


def _fill(url: str, names: Sequence[str], port: int) -> None:
    """Generate the same tables on a server, but for the hosts that are there."""
    with psycopg.connect(url) as db:
        there = {domain for (domain,) in db.execute("SELECT domain FROM domains")}
    names = [name for name in names if name not in there]
    parts = [_partition_of(name) for name in names]
    numbers: Counter[int] = Counter()
    ids = []
    for part in parts:
        numbers[part] += 1
        ids.append(part << ID_BITS | _FIRST + numbers[part])
    places = [1000.0 + n * 0.001 for n in range(len(names))]
    fronts = list(itertools.islice(itertools.cycle((0, 1, 2)), len(names)))
    urls = [f"http://{name}:{port}/generated/section/page-number-{n}.html" for n, name in enumerate(names)]
    with psycopg.connect(url) as db, db.cursor() as cursor:

        def copy(table: str, columns: str, rows: Iterator[tuple[object, ...]]) -> None:
            with cursor.copy(f"COPY {table} ({columns}) FROM STDIN".encode()) as into:
                for row in rows:
                    into.write_row(row)

        copy("domains", "id, domain", zip(ids, names, strict=True))
        copy("hosts", "id, domain_id, host", zip(ids, ids, names, strict=True))
        columns = (
            "id, host_id, domain_id, fingerprint, url, state, front, available_at, place, priority, depth, tries, "
        )
        copy(
            "urls",
            columns + "hops, via, found_on, found_at",
            (
                (i, i, i, n * 7919 + 13, url, 0, front, place, place, 0.5, 2, 0, 0, 1, 1, 1000.0)
                for n, (i, url, front, place) in enumerate(zip(ids, urls, fronts, places, strict=True))
            ),
        )
        copy("queue", "host_id, front, place, url_id", zip(ids, fronts, places, ids, strict=True))
        copy("fronts", "host_id, front, place", zip(ids, fronts, places, strict=True))
        copy(
            "host_counts",
            "host_id, known, queued, stored, answered, excluded",
            ((i, 1, 1, 0, 0, 0) for i in ids),
        )
        totals = {"discovered": len(names), "state:queued": len(names), "hosts": len(names)}
        copy("counters", "name, epoch, value", ((name, 0, n) for name, n in totals.items()))
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("VACUUM ANALYZE")  # as the server has done long ago in a crawl of that size


@contextmanager
def _first_worker(web: SimwebProcess, place: Path, url: str, names: Sequence[str]) -> Iterator[_Process]:
    """A crawl on these tables."""
    options = ["--store", url, "--dir", str(place / "first"), *_options(web)]
    command = [sys.executable, "-m", "gossamer", "crawl", web.seeds[0], *options, "--max-pages", "1"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    _fill(url, names, web.http_port)
    with _Process("crawl", *options) as process:
        yield process


def _owned(url: str, name: str) -> set[int]:
    with psycopg.connect(url, autocommit=True) as db:
        found = db.execute(
            "SELECT part FROM partitions p JOIN fence f USING (epoch) JOIN workers w USING (epoch) "
            "WHERE f.alive AND w.name = %s",
            (name,),
        )
        return {int(part) for (part,) in found}


def _joining(web: SimwebProcess, place: Path, url: str) -> Start:
    """A second worker. From when it owns a partition, requests to its hosts are its own."""
    with _Process("worker", "--quiet", "--store", url, "--dir", str(place / "second"), "--name", "second") as process:
        deadline = time.monotonic() + PATIENCE
        while not (owned := _owned(url, "second")):
            assert time.monotonic() < deadline, "the second worker gets no partitions"
            time.sleep(0.02)
        print(f"  {len(owned)} partitions after {time.time() - process.started:.1f} s", flush=True)
        first, cpu = _wait_for_page(web, time.time(), owned), process.cpu()
        time.sleep(SECONDS)
        return Start(first - process.started, cpu, process.megabytes())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, default=HOSTS)
    hosts = parser.parse_args().hosts
    served = min(SERVED, hosts)
    print(f"python {platform.python_version()} on {platform.machine()}, {hosts:,} hosts")
    with scratch() as place, postgres() as server:
        web = SimwebProcess(preset("small", hosts=served, pages=2 * served), log=place / "server.log")
        with web:
            names = [str(host.name) for host in web.web().hosts]
            names = [name for name in names if str(domain_of(HostKey(name))[0]) == name]
            names += [f"generated{n}.test" for n in range(hosts - len(names))]
            alone = _with_sqlite(web, place, names)
            print(alone.row("SQLite"), flush=True)
            url = server.create_database()
            with _first_worker(web, place, url, names) as process:
                seconds, cpu = _wait_for_page(web, process.started) - process.started, process.cpu()
                second = _joining(web, place, url)
                first = Start(seconds, cpu, process.megabytes())
                print(first.row("PostgreSQL, first worker"))
                print(second.row("PostgreSQL, a worker that joins"))
    print(f"goal: {GOAL_SECONDS:.0f} s, and no more memory than with SQLite")
    met = max(first.seconds, second.seconds) <= GOAL_SECONDS
    return 0 if met and max(first.megabytes, second.megabytes) <= alone.megabytes else 1


if __name__ == "__main__":
    sys.exit(main())
