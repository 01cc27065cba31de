"""CPU time of a page in a crawl on SQLite and local files, and on PostgreSQL, object storage and Redis, in one run.

`python -m benchmarks.bench_stack` from the root of the repository, on Linux. Every combination crawls the same
simulated web twice, up to a smaller and to a larger number of pages; the difference is what a page costs, without the
start and the end of a crawl. The CPU time of the worker and of each server is printed, that of the simulated web is not
counted. PostgreSQL is set up as for `--workers N`; the object storage is SeaweedFS.
"""

import json
import os
import platform
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.crawling import scratch
from benchmarks.postgres import cpu_of, postgres
from gossamer.lab.simweb.config import preset
from gossamer.lab.simweb.run import SimwebProcess
from tests.redis_server import running_redis
from tests.s3_keys import KEYS
from tests.s3_server import BUCKET, s3_server

FEW, MANY = 1_000, 4_000
SERVERS = ("PostgreSQL", "object storage", "Redis")


class Cost(NamedTuple):
    """Seconds of CPU time."""

    worker: float
    servers: dict[str, float]


def crawl(web: SimwebProcess, pages: int, options: Sequence[str], servers: Callable[[], dict[str, float]]) -> Cost:
    """Of a whole crawl of this many pages."""
    with scratch() as place:
        command = [sys.executable, "-m", "gossamer", "crawl", *web.seeds, "--dir", str(place / "crawl"), "--json"]
        command += ["--quiet", "--scope", "tld:test", "--allow-private", "--dns", web.dns_address]
        command += ["--delay", "0", "--delay-factor", "0", "--max-pages", str(pages), *options]
        before = servers()
        process = subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, **KEYS})
        assert process.stdout is not None
        out = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0 and json.loads(out.splitlines()[-1])["pages"] == pages, out
        after = servers()
    return Cost(used.ru_utime + used.ru_stime, {name: after[name] - before[name] for name in after})


def show(title: str, few: Cost, many: Cost) -> float:
    """Print what a page costs, in microseconds. Returns the sum."""
    worker = 1e6 * (many.worker - few.worker) / (MANY - FEW)
    servers = {name: 1e6 * (many.servers[name] - few.servers[name]) / (MANY - FEW) for name in SERVERS}
    total = worker + sum(servers.values())
    print(f"{title:36} {worker:8.0f} " + " ".join(f"{servers[name]:14.0f}" for name in SERVERS) + f" {total:8.0f}")
    return total


def main() -> None:
    print(f"{platform.platform()}, Python {platform.python_version()}, load {os.getloadavg()[0]:.1f}")
    print(f"µs of CPU per page, from page {FEW} to page {MANY}")
    print(f"{'':36} {'worker':>8} " + " ".join(f"{name:>14}" for name in SERVERS) + f" {'all':>8}")
    with (
        tempfile.TemporaryDirectory() as folder,
        SimwebProcess(preset("bench")) as web,
        postgres() as database,
        s3_server() as storage,
        running_redis(Path(folder)) as redis,
    ):

        def servers() -> dict[str, float]:
            used = (database.cost().cpu, cpu_of(storage.pid), cpu_of(redis.pid))
            return dict(zip(SERVERS, used, strict=True))

        def on_stack(*, objects: bool, cache: bool) -> list[str]:
            options = ["--store", database.create_database()]
            if objects:
                options += ["--blobs", storage.url(f"{BUCKET}/{secrets.token_hex(4)}")]
            return options + (["--cache", redis.url] if cache else [])

        combinations: dict[str, Callable[[], list[str]]] = {
            "SQLite, files": list,
            "PostgreSQL, files": lambda: on_stack(objects=False, cache=False),
            "PostgreSQL, object storage": lambda: on_stack(objects=True, cache=False),
            "PostgreSQL, object storage, Redis": lambda: on_stack(objects=True, cache=True),
        }
        totals = {
            title: show(title, *(crawl(web, pages, options(), servers) for pages in (FEW, MANY)))
            for title, options in combinations.items()
        }
    alone, *_, stack = totals.values()
    print(f"on all three servers a page costs {stack - alone:.0f} µs more, {stack / alone:.2f} times as much")


if __name__ == "__main__":
    main()
