"""The whole path over https: as `bench_crawl`, with TLS 1.3, certificates verified, ten requests to a connection.

A connection is kept between the visits to its host, and closed by the server after its tenth answer; the next one
resumes the TLS session. Few hosts, so that each is visited often enough to fill its connections.
"""

import sys
from collections import Counter

from benchmarks.bench_crawl import best_of_three, tell_stages
from benchmarks.crawling import scratch
from gossamer.lab.simweb.config import SimWebConfig, preset
from gossamer.lab.simweb.server import read_log

PAGES = 8000
PER_CONNECTION = 10
GOAL_PER_SECOND = 650


def shape() -> SimWebConfig:
    return preset("bench", hosts=160, pages=200_000, tls=True, requests_per_connection=PER_CONNECTION)


def main() -> int:
    pages = int(sys.argv[1]) if len(sys.argv) > 1 else PAGES
    each = best_of_three(shape(), pages, GOAL_PER_SECOND)
    with scratch() as place:
        log = place / "server.log"
        tell_stages(shape(), pages, log)
        with log.open(encoding="utf-8") as lines:
            requests = read_log(lines)
    connections = Counter(request.connection for request in requests)
    full = sum(n for n in connections.values() if n == PER_CONNECTION)
    print(
        f"{len(requests) / len(connections):.1f} requests a connection, {100 * full / len(requests):.0f} % on full ones"
    )
    return 0 if 1e6 / each >= GOAL_PER_SECOND else 1


if __name__ == "__main__":
    sys.exit(main())
