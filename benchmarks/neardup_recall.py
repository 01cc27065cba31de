"""How many near-duplicates a window of the latest originals finds, out of those that an index of all originals finds.

`python -m benchmarks.neardup_recall` makes the signatures of a million pages of the simulated web, in the order of a
polite crawl, and looks for near-duplicates with windows of several sizes. `--signatures FILE` keeps the signatures:
making them takes minutes, looking takes seconds.
"""

import argparse
import time
from collections import deque
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from gossamer.dedup import WINDOW, NearDuplicates, NearMode
from gossamer.extract.crawl_page import page_signature
from gossamer.extract.tree import page_tree
from gossamer.lab.simweb.config import preset
from gossamer.lab.simweb.graph import Place
from gossamer.lab.simweb.hosts import HostPlan, Kind, path_of
from gossamer.lab.simweb.web import SimWeb
from gossamer.model.units import Instant
from gossamer.sketch import BINS

_HTML = "text/html; charset=utf-8"
_UNSIGNED = bytes(BINS)
GOAL = 0.95


def crawl_order(web: SimWeb) -> Iterator[Place]:
    """The documents of a web as a polite crawl meets them: breadth first on each host, the hosts in turn."""
    graph = web.graph
    waiting: list[deque[int]] = [deque() for _ in web.hosts]
    found = [bytearray(host.pages) for host in web.hosts]
    turns: deque[HostPlan] = deque()

    def find(host: HostPlan, page: int) -> None:
        if not found[host.number][page]:
            found[host.number][page] = 1
            if not waiting[host.number]:
                turns.append(host)
            waiting[host.number].append(page)

    for host in web.hosts[: web.config.seed_hosts]:
        find(host, 0)
    while turns:
        host = turns.popleft()
        page = waiting[host.number][0]
        kind = host.kind(page)
        if not host.robots.forbids("gossamer", host.family(page)) and kind is not Kind.MISSING:
            inside: list[int] = []
            if kind is Kind.REDIRECT:
                outside = [graph.redirect(host, page).target]
            else:
                yield host, page
                if kind is Kind.DUPLICATE:
                    outside = graph.duplicate_links(graph.duplicate_group(host, page))
                else:
                    inside, outside = graph.links(host, page)
                    inside.extend(graph.nav(host) if page == 0 else ())
            for number in inside:
                find(host, number)
            for place in outside:
                find(*place)
        waiting[host.number].popleft()
        if waiting[host.number]:
            turns.append(host)


def write_signatures(path: Path, pages: int, hosts: int) -> None:
    """The signatures of so many pages, one after the other; zeros for a page without one."""
    settings = {"fault_rate": 0.0, "change_rate_per_day": 0.0, "max_host_pages": 0}
    web = SimWeb(preset("demo", hosts=hosts, pages=pages + pages // 8, near_copies=True, **settings))
    written = 0
    with path.open("wb") as file:
        for host, page in islice(crawl_order(web), pages):
            body = web.respond(host.name, path_of(host, page), Instant(1_000.0)).body
            file.write(page_signature(page_tree(body, _HTML)[0]) or _UNSIGNED)
            written += 1
    if written < pages:
        raise SystemExit(f"the web has only {written:,} documents")


def signatures_of(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while signature := file.read(BINS):
            yield signature


def near_duplicates(path: Path, window: int) -> tuple[int, int]:
    """How many pages nearly repeat an original in the window, and how many originals there are."""
    near = NearDuplicates(NearMode.MARK, window)
    found = originals = 0
    for number, signature in enumerate(signatures_of(path), 1):
        if signature == _UNSIGNED:
            continue
        if near.judge(number, signature) is None:
            originals += 1
        else:
            found += 1
    return found, originals


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--pages", type=int, default=1_000_000)
    arguments.add_argument("--hosts", type=int, default=4_000)
    arguments.add_argument("--signatures", type=Path, default=Path("signatures.bin"), help="kept here (%(default)s)")
    arguments.add_argument("--windows", type=int, nargs="*", default=[250_000, WINDOW])
    asked = arguments.parse_args()

    if not asked.signatures.exists():
        write_signatures(asked.signatures, asked.pages, asked.hosts)
    pages = asked.signatures.stat().st_size // BINS
    everything, originals = near_duplicates(asked.signatures, pages)
    print(f"{pages:,} pages: {everything:,} near-duplicates of {originals:,} originals, if all are kept")
    share = 0.0
    for window in asked.windows:
        began = time.process_time()
        found, _ = near_duplicates(asked.signatures, window)
        spent = (time.process_time() - began) * 1e6 / pages
        share = found / everything
        print(f"the latest {window:9,}: {found:,}, {share:.1%} (goal {GOAL:.0%} for the last), {spent:.1f} us a page")
    return 0 if share >= GOAL else 1


if __name__ == "__main__":
    raise SystemExit(main())
