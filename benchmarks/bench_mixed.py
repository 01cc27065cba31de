"""What hostile hosts cost the healthy ones: 200 healthy hosts, alone and among a hundred that are hostile.

`python -m benchmarks.bench_mixed` from the root of the repository. The command runs with its own deadlines, so that a
host that says nothing holds its slot as long as it can. The rate of the healthy hosts is what their server saw: pages,
by the time from the first request for one to the end of the last. Each crawl is stopped when all of them were fetched.
Target: 90 % of the rate alone. The last line is a web in which every hostile host is silent, the worst that can be done
to the slots.
"""

import argparse
import platform
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from benchmarks.crawling import scratch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "hostile"))
from mixed_web import HOSTILE, MixedWeb

HEALTHY = 200
TARGET = 0.9


def healthy_rate(hostile: Mapping[str, int], pages: int, delay: float, patience: float) -> float:
    """Pages of healthy hosts a second. 0 if they were not all fetched within so many seconds."""
    with scratch() as place, MixedWeb(place / "requests.log", healthy=HEALTHY, pages=pages, hostile=hostile) as web:
        (place / "seeds.txt").write_text("\n".join(web.seeds))
        command = [sys.executable, "-m", "gossamer", "crawl", "--dir", str(place / "crawl"), "--dns", web.dns_address]
        command += ["--seeds", str(place / "seeds.txt"), "--allow-private", "--quiet", "--json"]
        command += ["--delay", str(delay), "--delay-factor", "0"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        try:
            deadline = time.monotonic() + patience
            while not web.is_done and time.monotonic() < deadline and process.poll() is None:
                time.sleep(0.1)
            done = web.is_done
            process.send_signal(signal.SIGINT)
            process.wait(60)
        finally:
            process.kill()
            process.wait()
        rows = web.healthy_pages()
    if not done:
        return 0.0
    return len(rows) / (max(row[3] for row in rows) - min(row[2] for row in rows))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=12, help="of each healthy host")
    parser.add_argument("--delay", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--patience", type=float, default=150.0, help="seconds for one crawl")
    chosen = parser.parse_args()
    web = f"{HEALTHY} healthy hosts of {chosen.pages} pages, delay {chosen.delay:g} s"
    print(f"mixed crawl: CPython {platform.python_version()}, {web}")
    webs: dict[str, Mapping[str, int]] = {
        "alone": {},
        "among 100 hostile hosts": HOSTILE,
        "among 100 silent hosts": {"silent": 100},
    }
    rates: dict[str, list[float]] = {name: [] for name in webs}
    for _ in range(chosen.rounds):
        for name, hostile in webs.items():
            rates[name].append(healthy_rate(hostile, chosen.pages, chosen.delay, chosen.patience))
    alone = statistics.median(rates["alone"])
    for name, found in rates.items():
        middle = statistics.median(found)
        print(
            f"{name:<26} {middle:7.1f} pages/s   ratio {middle / alone:.2f}   ({', '.join(f'{r:.1f}' for r in found)})"
        )
    good = statistics.median(rates["among 100 hostile hosts"]) / alone >= TARGET
    print(f"target {TARGET:.2f}: {'met' if good else 'MISSED'}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
