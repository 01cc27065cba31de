"""A frontier far larger than memory: how soon does a crawl with millions of queued URLs fetch, and in how much memory?

The task table is generated (100,000 hosts of the simulated web, URLs spread evenly), then the real command resumes it
for some seconds. Two sizes, so that the growth per waiting URL shows.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.crawling import scratch
from gossamer.backends.sqlite.driver import SqliteDatabase, open_for_writing
from gossamer.frontier.orderings.mercator import Mercator
from gossamer.lab.simweb.config import preset
from gossamer.lab.simweb.run import SimwebProcess
from gossamer.lab.simweb.server import read_log
from gossamer.model.units import Instant
from gossamer.store.table.metadata import Metadata

HOSTS = 100_000
SIZES = (1_000_000, 5_000_000)
SECONDS = 12.0


def generate(path: Path, names: Sequence[str], port: int, urls: int) -> None:
    """A task table as a crawl would have left it: every URL queued, in three classes, on hosts of its own domain."""
    db = open_for_writing(path)
    facts = Metadata(SqliteDatabase(db))
    facts.settle_identity(Instant(1.0), "bench", 1)
    ordering = Mercator()
    facts.save_fact("order_settings", ordering.queue_settings)
    facts.save_fact("order", ordering.name)
    db.execute("PRAGMA synchronous = OFF")
    indexes = db.execute(
        "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name = 'urls' AND sql IS NOT NULL"
    )
    kept = indexes.fetchall()
    for name, _ in kept:
        db.execute(f"DROP INDEX {name}")
    db.execute("BEGIN")
    db.executemany(
        "INSERT INTO domains (id, domain, partition) VALUES (?, ?, ?)",
        [(i + 1, n, i % 64) for i, n in enumerate(names)],
    )
    db.executemany(
        "INSERT INTO hosts (id, host, domain_id) VALUES (?, ?, ?)", [(i + 1, n, i + 1) for i, n in enumerate(names)]
    )
    db.execute(
        """
        WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < :urls)
        INSERT INTO urls (host_id, domain_id, fingerprint, url, state, front, available_at, place, priority, depth,
                          tries, hops, via, found_on, found_at)
        SELECT h.id, h.id, n.i * 7919 + 13,
               'http://' || h.host || ':' || :port || '/generated/section/page-number-' || n.i || '.html',
               0, n.i % 3, 1000.0 + n.i * 0.001, 1000.0 + n.i * 0.001, 0.5, 2, 0, 0, 1, 1, 1000.0
        FROM n JOIN hosts h ON h.id = n.i % :hosts + 1
        """,
        {"urls": urls, "port": port, "hosts": len(names)},
    )
    for _, sql in kept:
        db.execute(sql)
    db.execute("INSERT INTO fronts SELECT host_id, front, min(place) FROM urls GROUP BY host_id, front")
    db.execute("INSERT INTO seeds SELECT url, url, 'generated', 1000.0 FROM urls WHERE id = 1")
    db.executemany(
        "INSERT INTO counters VALUES (?, ?)", [("discovered", urls), ("state:queued", urls), ("hosts", len(names))]
    )
    db.execute("COMMIT")
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()


def resume(size: int) -> tuple[float, float, float]:
    """Seconds to the first fetch, megabytes of memory at most, fetches per second afterwards."""
    with scratch() as place:
        log = place / "server.log"
        with SimwebProcess(preset("small", hosts=HOSTS, pages=2 * HOSTS), log=log) as web:
            names = [host.name for host in web.web().hosts][:HOSTS]
            directory = place / "crawl"
            directory.mkdir()
            began = time.monotonic()
            generate(directory / "crawl.db", names, web.http_port, size)
            print(
                f"  {size:,} URLs over {len(names):,} hosts generated in {time.monotonic() - began:.0f} s", flush=True
            )
            command = [sys.executable, "-m", "gossamer", "crawl", "--dir", str(directory), "--json", "--quiet"]
            command += ["--scope", "tld:test", "--allow-private", "--dns", web.dns_address]
            started = time.time()
            process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            time.sleep(SECONDS)
            os.kill(process.pid, signal.SIGINT)
            out, _ = process.communicate(timeout=60)
        report = json.loads(out.splitlines()[-1])
        with log.open(encoding="utf-8") as lines:
            requests = list(read_log(lines))
    first = min(request.read_at for request in requests) - started
    rate = len(requests) / (max(request.read_at for request in requests) - min(r.read_at for r in requests))
    return first, report["max_rss_bytes"] / 1e6, rate


def main() -> int:
    sizes = tuple(int(text) for text in sys.argv[1:]) or SIZES
    figures = {size: resume(size) for size in sizes}
    for size, (first, megabytes, rate) in figures.items():
        print(
            f"{size:>10,} queued: first fetch after {first:.1f} s (goal 5), {megabytes:.0f} MB at most (goal 600),",
            end=" ",
        )
        print(f"{rate:.0f} fetches/s")
    small, large = min(sizes), max(sizes)
    if small != large:
        growth = (figures[large][1] - figures[small][1]) * 1e6 / (large - small)
        print(f"memory per further waiting URL: {growth:.1f} bytes")
    first, megabytes, _ = figures[large]
    return 0 if first <= 5 and megabytes <= 600 else 1


if __name__ == "__main__":
    sys.exit(main())
