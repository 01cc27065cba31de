"""What a priority costs: CPU microseconds for each URL, beside a formula of two terms in the same run.

`python -m benchmarks.bench_priority [--urls N]` from the root of the repository. CPU time, not wall time; the ways take
turns, and the median of the rounds is told. URLs are those of a simulated web and of other kinds, from a fixed seed.

plain          home pages first, then by nesting of the path and by depth: what `mercator` was before it had signals
mercator       the default weights
with trust     the same with 1,000 trusted domains and patterns
known pages    the same for pages that have been visited and have a date of modification
signals        the small functions that say what a score means: the parts that `gossamer explain` shows
"""

import argparse
import platform
import random
import statistics
import time
from collections.abc import Callable

from gossamer.frontier.orderings.mercator import Mercator
from gossamer.model.facts import BIRTH_CREDIT, DomainFacts, UrlFacts
from gossamer.model.units import Url

ROUNDS = 7
GOAL = 2.5  # microseconds

Way = Callable[[UrlFacts], object]


def plain(url: UrlFacts) -> float:
    """A score of two terms, as the measure of cost."""
    text = url.url
    nesting = text.count("/") - 3 + (1 if text[-1] != "/" else 0)
    if "?" in text:
        nesting += 1
    return round(0.7 / (1 + 0.5 * nesting) + 0.3 / (1 + url.depth), 4)


def some_urls(count: int, rng: random.Random) -> list[UrlFacts]:
    """Articles mostly; some directories, home pages, queries and documents."""
    forms = (
        *("https://www.site{host}.example/news/story-of-{n}.html",) * 4,
        *("https://h{host}.cluster.example/{n}/a-title-of-some-words",) * 3,
        *("http://blog{host}.example.org:8080/2024/05/{n}/",) * 2,
        *("http://shop{host}.example/item?id={n}&from=/list/",) * 2,
        "https://site{host}.example/",
        "https://docs{host}.example/manuals/part-{n}.pdf",
    )
    found = []
    for number in range(count):
        text = rng.choice(forms).format(host=rng.randrange(2_000), n=number)
        links = 1 + int(rng.expovariate(0.4))
        credit = BIRTH_CREDIT + int(rng.expovariate(8) * BIRTH_CREDIT)
        found.append(UrlFacts(number, Url(text), rng.randrange(9), links, rng.randrange(min(links, 3)), credit))
    return found


def microseconds(way: Way, urls: list[UrlFacts]) -> float:
    start = time.process_time()
    for url in urls:
        way(url)
    return (time.process_time() - start) * 1e6 / len(urls)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--urls", type=int, default=50_000)
    asked = parser.parse_args()
    urls = some_urls(asked.urls, random.Random(1))
    known = [url._replace(visits=3, changes=1, age=1e6) for url in urls]
    trusting = Mercator(trusted=[*(f"h{n}.cluster.example" for n in range(998)), "*.gov", "news.*"])
    nowhere = DomainFacts()
    default = Mercator()
    ways: dict[str, tuple[Way, list[UrlFacts]]] = {
        "plain": (plain, urls),
        "mercator": (default.score, urls),
        "with trust": (trusting.score, urls),
        "known pages": (trusting.score, known),
        "signals": (lambda url: default.parts(url, nowhere, 0), urls[: max(1, len(urls) // 10)]),
    }
    took: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, (way, over) in ways.items():
            took[name].append(microseconds(way, over))
    print(f"python {platform.python_version()} on {platform.machine()}; {asked.urls} URLs, median of {ROUNDS} rounds")
    measure = statistics.median(took["plain"])
    for name, rounds in took.items():
        middle = statistics.median(rounds)
        goal = f", at most {GOAL} wanted" if name == "mercator" else ""
        print(f"{name:<12} {middle:6.2f} us a URL, {middle / measure:5.2f} times plain{goal}")


if __name__ == "__main__":
    main()
