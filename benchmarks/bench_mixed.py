"""What hostile hosts cost the healthy ones: 200 healthy hosts among a hundred that are hostile, 50 among 160 silent.

`python -m benchmarks.bench_mixed` from the root of the repository. The command runs with its own deadlines, so that a
host that says nothing holds its slot as long as it can. The rate of the healthy hosts is what their server saw: pages,
by the time from the first request for one to the end of the last. Each crawl is stopped when all of them were fetched.
Target for both: 90 % of the rate alone. In the second web every hostile host is silent, half of them after two good
answers, and there are twice as many of them as slots: the worst that can be done to these.
"""

import argparse
import platform
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping

from benchmarks.crawling import scratch
from tests.hostile.mixed_web import HOSTILE, MixedWeb

TARGET = 0.9
WEBS: Mapping[str, tuple[int, int, Mapping[str, int]]] = {
    "100 hostile hosts": (200, 12, HOSTILE),
    "160 silent hosts": (50, 30, {"silent": 160}),
}
"""Company -> healthy hosts, pages of each, hostile hosts by kind."""


def healthy_rate(healthy: int, pages: int, hostile: Mapping[str, int], delay: float, patience: float) -> float:
    """Pages of healthy hosts a second. 0 if they were not all fetched within so many seconds."""
    with scratch() as place, MixedWeb(place / "requests.log", healthy=healthy, pages=pages, hostile=hostile) as web:
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
    parser.add_argument("--delay", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--patience", type=float, default=150.0, help="seconds for one crawl")
    parser.add_argument("--only", choices=WEBS, help="one of the two webs")
    chosen = parser.parse_args()
    print(f"mixed crawl: CPython {platform.python_version()}, delay {chosen.delay:g} s")
    good = True
    for company, (healthy, pages, hostile) in WEBS.items():
        if chosen.only not in (None, company):
            continue
        alone, among = [], []
        for _ in range(chosen.rounds):
            alone.append(healthy_rate(healthy, pages, {}, chosen.delay, chosen.patience))
            among.append(healthy_rate(healthy, pages, hostile, chosen.delay, chosen.patience))
        ratio = statistics.median(among) / statistics.median(alone)
        rates = f"{_shown(among)} pages/s, alone {_shown(alone)}"
        met = ratio >= TARGET
        print(f"{healthy} healthy hosts among {company:<18} {rates}   ratio {ratio:.2f}   {'met' if met else 'MISSED'}")
        good = good and met
    return 0 if good else 1


def _shown(rates: list[float]) -> str:
    return " ".join(f"{rate:.1f}" for rate in rates)


if __name__ == "__main__":
    sys.exit(main())
