"""Traps: what is fetched of each kind, whether large honest hosts are crawled whole, and what the rules cost.

`python -m benchmarks.bench_traps` from the root of the repository. The crawl is that of the preset `traps` of the
simulated web with the defaults of the command (but for politeness, which would only make it longer); what was fetched
is what the server saw. Targets: at most 1,000 pages of every trap, none lost of honest hosts of 20,000 pages each. The
costs are CPU time of the functions alone, by URL and by page; targets: 2 and 10 microseconds.
"""

import argparse
import platform
import random
import sys
import time
from collections import Counter
from collections.abc import Callable

from benchmarks.crawling import crawl
from gossamer.filter.identity import Identities, IdentityRules, LearningPolicy, ParameterLearner
from gossamer.filter.rules import repeats_itself
from gossamer.filter.trap_budget import HostBudget, PageValue, TrapPolicy
from gossamer.filter.url_shape import shape_of
from gossamer.lab.simweb.config import preset
from gossamer.lab.simweb.endless import EndlessHosts
from gossamer.lab.simweb.server import Request
from gossamer.model.units import HostKey, Url

MOST = 1_000
HOST = HostKey("h.test")


def fetched_of(requests: list[Request], endless: EndlessHosts) -> tuple[Counter[str], set[str]]:
    """Pages fetched of each kind, its honest ones left out, and all that was asked for."""
    counts: Counter[str] = Counter()
    asked = set()
    honest = set().union(*endless.honest_urls().values())
    for request in requests:
        kind = endless.kind_of(request.host)
        if kind is None or request.target == "/robots.txt":
            continue
        url = endless.base_of(request.host) + request.target
        asked.add(url)
        if kind[0] == "large" or (url not in honest and not request.target.startswith("/item/")):
            counts["-".join(kind)] += 1
    return counts, asked


def crawl_traps(pages: int, traps: str, large: str) -> bool:
    web = preset("traps", large_pages=pages, trap_kinds=traps, large_kinds=large)
    run = crawl(web, "--delay", "0", "--delay-factor", "0")
    endless = EndlessHosts(web)
    counts, asked = fetched_of(run.requests, endless)
    good = True
    for kind, number in sorted(counts.items()):
        family, _, name = kind.partition("-")
        if family == "trap":
            met = number <= MOST
            print(f"{kind:<20} {number:>7,} fetched   {'met' if met else 'MISSED'}")
        else:
            wanted = endless.honest_urls()[endless.large_host(name)]
            lost = len(wanted - asked)
            met = not lost
            print(f"{kind:<20} {number:>7,} fetched   {lost} of {len(wanted):,} lost   {'met' if met else 'MISSED'}")
        good = good and met
    print(
        f"{run.number('fetched'):,.0f} pages in {run.number('seconds'):.0f} s, "
        f"{run.number('fetched') / run.cpu_seconds:.0f} a CPU-second; kept out: {run.report['excluded']}"
    )
    return good


def microseconds(function: Callable[[], object], calls: int, rounds: int = 5) -> float:
    """The best of some rounds, by call."""
    best = float("inf")
    for _ in range(rounds):
        begun = time.process_time()
        function()
        best = min(best, time.process_time() - begun)
    return 1e6 * best / calls


def costs() -> bool:
    chance = random.Random(5)
    urls = [Url(f"http://h.test/news/{chance.randrange(3000)}/{chance.choice('abc')}-title.html") for _ in range(4000)]
    urls += [Url(f"http://h.test/shop/list?page={n}&sort=price&id={chance.randrange(99)}") for n in range(1000)]
    start = len("http://h.test")
    policy = TrapPolicy()
    shapes = [shape_of(url, start) for url in urls]

    def structural() -> None:
        for url in urls:
            path, _, query = url.partition("?")
            repeats_itself(path, query)

    def statistics() -> None:
        budget = HostBudget(pages=policy.grace)
        for url in urls:
            budget.count(shape_of(url, start), PageValue.NEW, policy)

    def links() -> None:
        budget = HostBudget(pages=policy.grace)
        budget.count(shapes[0], PageValue.NEW, policy)
        for first in range(0, 4500, 90):
            some = urls[first : first + 90 : 4]
            budget.count_links(shapes[0], iter([(shape_of(url, start), True) for url in some]), policy)

    identities = Identities(IdentityRules())
    hosts = [HOST] * 90
    fresh = [Url(f"http://h.test/shop/list?page={n}&sort=price") for n in range(100_000)]

    def identity() -> None:
        for n in range(50):  # a page of 90 links: four of them have queries that nobody has met, six that all have
            identities.identities_of(urls[n * 80 : n * 80 + 80] + urls[-6:] + [fresh.pop() for _ in range(4)], hosts)

    learner = ParameterLearner(LearningPolicy())

    def learning() -> None:
        for n, url in enumerate(urls[4000:]):
            learner.on_page(url, HOST, start, b"%d" % n)

    good = True
    for what, function, calls, target in (
        ("structural rules, by URL", structural, len(urls), 2.0),
        ("budgets, by page", statistics, len(urls), 10.0),
        ("links of one page in sixteen, by page", links, 50 * 16, 10.0),
        ("identities of 90 links, by page", identity, 50, None),
        ("learning, by page with a query", learning, 1000, 10.0),
    ):
        cost = microseconds(function, calls)
        said = "" if target is None else f"   target {target:g}   {'met' if cost <= target else 'MISSED'}"
        print(f"{what:<40} {cost:6.2f} µs{said}")
        good = good and (target is None or cost <= target)
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=20_000, help="of each large honest host")
    parser.add_argument("--traps", default="all", help="kinds of trap, joined by commas; none if empty")
    parser.add_argument("--large", default="all", help="kinds of large honest hosts, joined by commas; none if empty")
    parser.add_argument("--only", choices=("crawl", "costs"))
    chosen = parser.parse_args()
    print(f"traps: CPython {platform.python_version()}")
    good = True
    if chosen.only != "crawl":
        good = costs()
    if chosen.only != "costs":
        good = crawl_traps(chosen.pages, chosen.traps, chosen.large) and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
