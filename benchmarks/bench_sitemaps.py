"""CPU time of reading sitemaps and feeds, for 1,000 entries; and the longest step, for which the event loop is held.

.venv/bin/python -m benchmarks.bench_sitemaps
"""

import gzip
import platform
import random
import time

from gossamer.extract.sitemaps import read_list
from gossamer.model.units import Instant

SEED = 50_000
NOW = Instant(1_760_000_000.0)
WORDS = ("news", "shop", "item", "about", "archive", "2024", "reports", "people", "products", "help")


def some_url(rng: random.Random, number: int) -> str:
    return "https://www.example.test/" + "/".join(rng.choice(WORDS) for _ in range(rng.randint(1, 4))) + f"/{number}"


def some_date(rng: random.Random) -> str:
    return (
        f"20{rng.randint(10, 24)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}T{rng.randint(0, 23):02}:30:00+00:00"
    )


def urlset(entries: int, *, full: bool) -> bytes:
    rng = random.Random(SEED)
    more = "<lastmod>{}</lastmod>\n  <changefreq>weekly</changefreq>\n  <priority>0.8</priority>\n  " if full else ""
    items = (f"<url>\n  <loc>{some_url(rng, n)}</loc>\n  {more.format(some_date(rng))}</url>\n" for n in range(entries))
    return ('<?xml version="1.0" encoding="UTF-8"?>\n<urlset>\n' + "".join(items) + "</urlset>").encode()


def rss(entries: int) -> bytes:
    rng = random.Random(SEED)
    items = (
        f"<item><title>Title {n}</title><link>{some_url(rng, n)}</link><guid>{n}</guid>"
        f"<pubDate>{rng.randint(1, 28):02} Jan 2024 12:00:00 GMT</pubDate><description>{'word ' * 40}</description>"
        "</item>\n"
        for n in range(entries)
    )
    return ("<rss version='2.0'><channel>" + "".join(items) + "</channel></rss>").encode()


def text(entries: int) -> bytes:
    rng = random.Random(SEED)
    return "\n".join(some_url(rng, n) for n in range(entries)).encode()


def measured(name: str, body: bytes, entries: int, rounds: int = 5) -> None:
    least = longest = float("inf")
    for _ in range(rounds):
        began = now = time.process_time()
        found, worst = 0, 0.0
        for _, entries_of_slice in read_list(body, NOW):
            found += len(entries_of_slice)
            before, now = now, time.process_time()
            worst = max(worst, now - before)
        assert found == entries, (name, found)
        least, longest = min(least, now - began), min(longest, worst)
    per_thousand = least * 1e6 / entries * 1000
    print(
        f"{name:28} {len(body) / 1e6:7.2f} MB {per_thousand:9.0f} µs per 1,000   longest step {longest * 1e3:5.2f} ms"
    )


def main() -> None:
    print(f"{platform.python_implementation()} {platform.python_version()}, {platform.machine()}, seed {SEED}")
    full = urlset(50_000, full=True)
    measured("urlset, locations only", urlset(50_000, full=False), 50_000)
    measured("urlset, all fields", full, 50_000)
    measured("urlset, all fields, gzip", gzip.compress(full), 50_000)
    measured("text", text(50_000), 50_000)
    measured("rss", rss(5_000), 5_000)


if __name__ == "__main__":
    main()
