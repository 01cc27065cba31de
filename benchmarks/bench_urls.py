"""What resolving links costs: ours beside `ada_url.join_url` and `urllib.parse` on the same pages, in one run.

`python -m benchmarks.bench_urls [--pages N]` from the root of the repository. CPU time, not wall time; the ways take
turns so that a busy machine slows all of them. Three kinds of pages, from a fixed seed:

docs    91 raw links, about 28 URLs: relative links, many fragments, the same navigation on every page
site    60 raw links, about 50 URLs: root-relative navigation, absolute links to other hosts, queries
worst   75 raw links, all different: escapes, text beyond ASCII, dots in the middle, no repetition at all
"""

import argparse
import platform
import random
import statistics
import time
from collections.abc import Callable
from urllib.parse import urldefrag, urljoin

from ada_url import join_url

from gossamer.filter.canonical import Canonical, canonicalise
from gossamer.filter.links import LinkResolver
from gossamer.filter.rules import EntryRules
from gossamer.filter.scope import parse_scope
from gossamer.model.units import HostKey, Url

Page = tuple[Canonical, list[str]]
Way = Callable[[list[Page]], int]


def _page(url: str) -> Canonical:
    found = canonicalise(url)
    assert isinstance(found, Canonical)
    return found


def docs_page(rng: random.Random, number: int) -> Page:
    nav = [f"/nav/section-{n}/" for n in range(7)] + ["https://www.example.org/", "../index.html", "../genindex.html"]
    own = [f"{rng.choice(['', '', '../api/'])}module_{rng.randrange(4_000)}.html" for _ in range(17)]
    hrefs = nav + own
    while len(hrefs) < 91:
        kind = rng.random()
        target = "" if kind < 0.25 else rng.choice(own + nav)
        hrefs.append(target + (f"#section-{rng.randrange(40)}" if kind < 0.75 else ""))
    rng.shuffle(hrefs)
    return _page(f"https://docs.example.org/lib/part{number % 20}/page{number}.html"), hrefs


def site_page(rng: random.Random, number: int) -> Page:
    nav = [f"/category/{n}" for n in range(12)] + ["/", "/about", "/contact", "https://social.example/us", "mailto:a@b"]
    own = [f"/story/{rng.randrange(100_000)}/a-title-of-some-words" for _ in range(25)]
    away = [f"https://host{rng.randrange(500)}.example/{rng.randrange(9_999)}?ref={number}" for _ in range(8)]
    hrefs = nav + own + away + ["#", "#main", *rng.choices(nav, k=8)]
    return _page(f"https://www.site{number % 50}.example/story/{number}/x"), hrefs


def worst_page(rng: random.Random, number: int) -> Page:
    hrefs = []
    for n in range(75):
        unique = f"{number}-{n}"
        kinds = (f"/wiki/Stra%c3%9fe_{unique}", f"/wiki/Straße_{unique}", f"a/./b/../{unique}", f"?q=a b&n={unique}")
        hrefs.append(kinds[n % 4])
    return _page(f"https://w.example/{number}/{rng.randrange(9)}/"), hrefs


def with_urllib(pages: list[Page]) -> int:
    return sum(len({urldefrag(urljoin(page.url, href)).url for href in hrefs}) for page, hrefs in pages)


def with_ada(pages: list[Page]) -> int:
    return sum(len({join_url(page.url, href).partition("#")[0] for href in hrefs}) for page, hrefs in pages)


def with_ours(pages: list[Page]) -> int:
    resolver = LinkResolver()
    return sum(len(resolver.resolve_page(page.url, page, hrefs).links) for page, hrefs in pages)


def seconds(way: Way, pages: list[Page]) -> float:
    started = time.process_time()
    way(pages)
    return time.process_time() - started


def compare(name: str, pages: list[Page], rounds: int) -> None:
    ways: dict[str, Way] = {"urljoin + urldefrag": with_urllib, "ada_url.join_url": with_ada, "ours": with_ours}
    taken: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(rounds):
        for way, run in ways.items():
            taken[way].append(seconds(run, pages))
    raw = sum(len(hrefs) for _, hrefs in pages)
    distinct_raw = sum(len(set(hrefs)) for _, hrefs in pages)
    urls = with_ours(pages)
    print(f"{name}: {raw / len(pages):.0f} raw, {distinct_raw / len(pages):.0f} distinct, {urls / len(pages):.0f} URLs")
    ours = statistics.median(taken["ours"])
    for way, times in taken.items():
        median = statistics.median(times)
        print(
            f"  {way:20} {median / len(pages) * 1e6:8.1f} µs/page  {median / raw * 1e6:6.2f} µs/raw link"
            f"  {median / distinct_raw * 1e6:6.2f} µs/distinct raw  {median / ours:6.1f} x ours"
        )


def decide(pages: list[Page], rounds: int) -> None:
    resolver = LinkResolver()
    links: list[tuple[Url, HostKey]] = []
    for page, hrefs in pages:
        links.extend(resolver.resolve_page(page.url, page, hrefs).links.items())
    for name, rules in {
        "any": EntryRules(),
        "domain": EntryRules(scope=parse_scope("domain").with_seeds({host for _, host in links[:50]})),
    }.items():
        times = []
        for _ in range(rounds):
            started = time.process_time()
            for url, host in links:
                rules.may_enter(url, host, 3)
            times.append(time.process_time() - started)
        print(f"may_enter, scope {name:7} {statistics.median(times) / len(links) * 1e6:6.2f} µs/URL")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    print(f"Python {platform.python_version()}, {platform.machine()}, {options.pages} pages, seed {options.seed}, CPU")
    rng = random.Random(options.seed)
    for name, make in {"docs": docs_page, "site": site_page, "worst": worst_page}.items():
        compare(name, [make(rng, number) for number in range(options.pages)], options.rounds)
    decide([site_page(rng, number) for number in range(options.pages)], options.rounds)


if __name__ == "__main__":
    main()
