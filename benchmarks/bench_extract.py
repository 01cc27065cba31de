"""What extracting a page costs: `extract_page`, which the crawl asks, beside the standard library's `html.parser` and
beside `read_page`, which exports ask, in one run. The goal: `extract_page` takes 400 µs for 29 KB with 90 links.

`python -m benchmarks.bench_extract` from the root of the repository. CPU time, not wall time; the ways
take turns so that a busy machine slows all of them. The pages come from a fixed seed.
"""

import argparse
import platform
import random
import statistics
import time
from collections.abc import Callable
from html.parser import HTMLParser

from gossamer.extract.crawl_page import extract_page
from gossamer.extract.full_page import Wanted, read_page

_HTML = "text/html; charset=utf-8"
_URL = "https://www.example/"

_TEXT = (
    "river stone garden letter market winter engine harbour window paper north signal copper field music "
    "travel silver bridge morning forest number story valley station circle orange planet summer history water"
)
_WORDS = _TEXT.split()


def _words(rng: random.Random, count: int) -> str:
    return " ".join(rng.choices(_WORDS, k=count))


def _href(rng: random.Random) -> str:
    """Mostly paths of the same host, some elsewhere, some to a place in the page: as sites link."""
    kind = rng.random()
    path = "/".join(rng.choices(_WORDS, k=rng.randint(1, 3)))
    if kind < 0.15:
        return f"https://{rng.choice(_WORDS)}.example/{path}"
    if kind < 0.25:
        return f"#{rng.choice(_WORDS)}"
    if kind < 0.55:
        return f"/{path}/{rng.randint(1, 400)}.html"
    return f"{path}.html?id={rng.randint(1, 90)}&amp;lang=en"


def _link(rng: random.Random) -> str:
    extra = rng.choice(("", "", ' class="ref"', ' title="more about it"', ' target="_blank" rel="noopener"'))
    return f'<a href="{_href(rng)}"{extra}>{_words(rng, rng.randint(1, 4))}</a>'


def _paragraph(rng: random.Random, links: int) -> str:
    parts = [_words(rng, rng.randint(25, 45))]
    for _ in range(links):
        parts += [_link(rng), f"<em>{_words(rng, 2)}</em>, {_words(rng, 8)} <code>{rng.choice(_WORDS)}</code>"]
    return f'<p class="text">{" ".join(parts)}.</p>\n'


def _table(rng: random.Random, rows: int) -> str:
    head = "<thead><tr><th>name</th><th>page</th><th>count</th></tr></thead>"
    body = "".join(
        f'<tr class="row{i % 2}"><td>{_words(rng, 2)}</td><td>{_link(rng)}</td>'
        f"<td><b>{rng.randint(1, 9999)}</b></td></tr>\n"
        for i in range(rows)
    )
    return f'<table class="data">{head}<tbody>{body}</tbody></table>\n'


def make_page(seed: int, size: int, links: int) -> bytes:
    """An HTML page of about `size` bytes with exactly `links` anchors: navigation, text, tables, a footer."""
    rng = random.Random(seed)
    nav, listed, tabled = links // 4, links // 6, links // 6
    left = links - nav - listed - tabled
    head = (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width"><title>{_words(rng, 6)}</title>'
        '<link rel="stylesheet" href="/static/site.css"><link rel="icon" href="/favicon.ico">'
        f'<link rel="canonical" href="https://www.example/{rng.choice(_WORDS)}">'
        f'<meta name="description" content="{_words(rng, 15)}">'
        "<script>window.dataLayer=window.dataLayer||[];function g(){dataLayer.push(arguments)}</script></head>\n"
    )
    items = "".join(f'<li class="nav-item" id="n{i}">{_link(rng)}</li>\n' for i in range(nav))
    entries = "".join(f"<li><span>{_link(rng)}</span> {_words(rng, 5)}</li>" for _ in range(listed))
    out = [
        head,
        f'<body class="page"><header><nav><ul class="nav">{items}</ul></nav></header>\n<main><article>',
        f'<ul class="list">{entries}</ul>',
    ]
    out.append(_table(rng, tabled))
    while left > 0:
        out.append(_paragraph(rng, min(left, 2)))
        left -= 2
    written = sum(map(len, out))
    while written < size:
        note = f'<div class="note"><span>{_words(rng, 9)}</span></div>'
        extra = f"<section><h2>{_words(rng, 3)}</h2>{_paragraph(rng, 0)}{note}</section>\n"
        out.append(extra)
        written += len(extra)
    out.append(
        "</article></main><footer><p>&copy; 2026 <small>all rights reserved</small></p></footer></body></html>\n"
    )
    return "".join(out).encode()


class _Stdlib(HTMLParser):
    """What one writes first: collect the hrefs of anchors."""

    def __init__(self) -> None:
        super().__init__()
        self.hrefs: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self.hrefs += [value for name, value in attrs if name == "href" and value is not None]


def _by_stdlib(page: bytes) -> int:
    parser = _Stdlib()
    parser.feed(page.decode())
    parser.close()
    return len(parser.hrefs)


def _by_crawl(page: bytes) -> int:
    return len(extract_page(page, _HTML, _URL).hrefs)


def _with_texts(page: bytes) -> int:
    return len(read_page(page, _HTML, _URL, want=Wanted(text=False)).links)


def _with_everything(page: bytes) -> int:
    return len(read_page(page, _HTML, _URL, want=Wanted(forms=True, images=True)).links)


_WAYS: dict[str, Callable[[bytes], int]] = {
    "extract_page": _by_crawl,
    "read_page, links and their texts": _with_texts,
    "read_page, main text too": _with_everything,
    "html.parser, hrefs only": _by_stdlib,
}


def _microseconds(way: Callable[[bytes], int], pages: list[bytes]) -> float:
    start = time.process_time()
    for page in pages:
        way(page)
    return (time.process_time() - start) * 1e6 / len(pages)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--pages", type=int, default=100)
    arguments.add_argument("--rounds", type=int, default=7)
    asked = arguments.parse_args()

    print(f"python {platform.python_version()} on {platform.machine()}, {asked.pages} pages, median of {asked.rounds}")
    for size, links in ((25_000, 60), (29_000, 90)):
        pages = [make_page(seed, size, links) for seed in range(asked.pages)]
        taken: dict[str, list[float]] = {name: [] for name in _WAYS}
        for _ in range(asked.rounds):
            for name, way in _WAYS.items():
                taken[name].append(_microseconds(way, pages))
        mean = sum(map(len, pages)) / len(pages)
        print(f"{mean / 1000:.1f} KB, {links} links")
        slowest = statistics.median(taken["html.parser, hrefs only"])
        for name, times in taken.items():
            median = statistics.median(times)
            print(f"  {name:33s} {median:6.0f} us (best {min(times):.0f}), {slowest / median:4.1f} times as fast")


if __name__ == "__main__":
    main()
