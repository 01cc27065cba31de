"""The HTML of pages, from prepared paragraphs, the host's frame and links. Hot: benchmarks/bench_simweb.py.

Also near-duplicates: pages that differ from another as little as pages on the web do, made by editing its HTML.
"""

import random
from dataclasses import dataclass
from datetime import date, timedelta
from enum import Enum
from html import escape

from gossamer.lab.simweb.chance import (
    ANCHORS,
    PARAGRAPHS,
    SLUGS,
    anchors,
    hash64,
    lognormal_quantiles,
    page_key,
    paragraphs,
    short_draws,
)
from gossamer.lab.simweb.config import SimWebConfig
from gossamer.lab.simweb.graph import Graph, Place
from gossamer.lab.simweb.hosts import HostPlan, RelativeTo, path_of, url_of

_SMALLEST, _LARGEST = 2_000, 200_000
_STYLE = (
    "body{margin:0 auto;max-width:60em;font:1em/1.5 serif}nav a{margin-right:1em}"
    "header,footer{background:#eee;padding:.5em}"
)


@dataclass(frozen=True, slots=True)
class _Frame:
    """What all pages of a host have around their text."""

    top: bytes
    bottom: bytes


class PageWriter:
    """Writes the pages of one web. Caches only frames."""

    def __init__(self, config: SimWebConfig, graph: Graph) -> None:
        self._seed = config.seed
        self._graph = graph
        self._paragraphs = paragraphs(config.seed)
        self._mean_paragraph = sum(map(len, self._paragraphs)) / PARAGRAPHS
        self._anchors = anchors(config.seed)
        self._sizes = [
            int(min(max(size, _SMALLEST), _LARGEST))
            for size in lognormal_quantiles(config.mean_bytes, config.bytes_spread)
        ]
        self._frames: dict[int, _Frame] = {}

    def page(self, host: HostPlan, page: int, version: int) -> bytes:
        """An ordinary or restricted page. Only its text depends on `version`, never its links."""
        frame = self._frames.get(host.number) or self._make_frame(host)
        inside, outside = self._graph.links(host, page)
        mixed = page_key(self._seed, host.number, page)
        links = self._links(host, page, inside, outside, mixed)
        half = len(links) // 2
        first, second = "\n".join(links[:half]), "\n".join(links[half:])
        title = f"{SLUGS[mixed % len(SLUGS)]} {SLUGS[(mixed >> 8) % len(SLUGS)]} {host.number}.{page}"
        shown = f", revision {version}" if version else ""
        head = f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{title}</title>\n'
        room = self._sizes[(mixed >> 16) & 255] - len(frame.top) - len(frame.bottom) - len(first) - len(second)
        text = self._text(b"%d/%d/%d" % (self._seed, host.number, page), room - 250)
        if version:
            # A change is an edit, not a new page: one paragraph in eight is different.
            changed = short_draws(b"%d/%d" % (mixed, version), len(text) // 8 + 1)
            for i, draw in enumerate(changed):
                text[(draw + i) % len(text)] = self._paragraphs[(draw >> 3) % PARAGRAPHS]
        middle = len(text) // 2
        return b"".join(
            (
                head.encode(),
                frame.top,
                f'<h1>{title}</h1>\n<p class="by">page {page} of {host.name}{shown}</p>\n'.encode(),
                *text[:middle],
                f"<ul>\n{first}\n</ul>\n".encode(),
                *text[middle:],
                f"<h2>See also</h2>\n<ul>\n{second}\n</ul>\n".encode(),
                frame.bottom,
            )
        )

    def copy(self, group: int) -> bytes:
        """The page at all URLs of a group of duplicates: no frame, absolute links, independent of time."""
        mixed = hash64(self._seed, "copy", group)
        links = "\n".join(
            f'<li><a href="{escape(url_of(*place))}{self._anchors[(mixed + i) % ANCHORS]}</li>'
            for i, place in enumerate(self._graph.duplicate_links(group))
        )
        text = self._text(b"%d/copy/%d" % (self._seed, group), self._sizes[mixed & 255] - len(links) - 200)
        head = (
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f"<title>document {group}</title>\n</head>\n<body>\n<h1>Document {group}</h1>\n"
        )
        return b"".join((head.encode(), *text, f"<ul>\n{links}\n</ul>\n</body>\n</html>\n".encode()))

    def missing(self, host_name: str) -> bytes:
        """The page for a URL that does not exist."""
        return (
            "<!DOCTYPE html>\n<html><head><title>Not found</title></head>"
            f"<body><h1>Not found</h1><p>There is no such page on {escape(host_name)}.</p></body></html>\n"
        ).encode()

    def _text(self, key: bytes, room: int) -> list[bytes]:
        count = max(1, round(room / self._mean_paragraph))
        pool = self._paragraphs
        return [pool[draw % PARAGRAPHS] for draw in short_draws(key, count)]

    def _links(self, host: HostPlan, page: int, inside: list[int], outside: list[Place], mixed: int) -> list[str]:
        """All links as list items, with those to other hosts spread among the others."""
        anchors = self._anchors
        mixed &= 0x3FFFFFF  # small numbers are faster to add
        relative = RelativeTo(path_of(host, page)).href
        escaped = host.path_style == 7  # the only paths with an ampersand
        items = []
        for i, target in enumerate(inside):
            style = (mixed + target * 7 + i * 5) & 31
            href = path_of(host, target)
            if style >= 20:
                href = host.base + href
            elif style >= 12:
                href = relative(href)
            if escaped:
                href = href.replace("&", "&amp;")
            if style & 15 == 1:
                href += "#part-2"
            items.append(f'<li><a href="{href}{anchors[(mixed + target) % ANCHORS]}</li>')
        for i, (other, target) in enumerate(outside):
            href = other.base + path_of(other, target)
            if other.path_style == 7:
                href = href.replace("&", "&amp;")
            items.insert(i * 7 + 3, f'<li><a href="{href}{anchors[(mixed + i) % ANCHORS]}</li>')
        return items

    def _make_frame(self, host: HostPlan) -> _Frame:
        bar = "\n".join(
            f'<a href="{escape(path_of(host, page))}{self._anchors[(host.salt + page) % ANCHORS]}'
            for page in self._graph.nav(host)
        )
        top = (
            f'<meta name="generator" content="simweb">\n<style>{_STYLE}</style>\n</head>\n<body>\n'
            f"<header>{host.name}</header>\n<nav>\n{bar}\n</nav>\n<main>\n"
        )
        # Neither the comment nor the mail address is a link to follow; real pages have many of both.
        bottom = (
            '</main>\n<!-- <a href="/retired/start.html">the old start page</a> -->\n'
            f'<footer><a href="mailto:webmaster@{host.name}">webmaster</a> <a href="#">top</a></footer>\n'
            "</body>\n</html>\n"
        )
        frame = _Frame(top.encode(), bottom.encode())
        self._frames[host.number] = frame
        return frame


class Variation(Enum):
    """How a near-duplicate differs from its original."""

    ONE_BYTE = "one byte"
    ONE_WORD = "one word"
    DATE = "another date"
    ADVERTISEMENT = "another advertisement block"
    NAVIGATION = "reordered navigation"


VARIATIONS = tuple(Variation)

_FIRST_DAY = date(2012, 1, 1)
_MENU = 12  # links of the menu that a page without navigation bar gets


def near_copy(body: bytes, seed: int, group: int, variation: Variation | None) -> bytes:
    """A page with a date, an advertisement and a menu inserted; varied, if requested. A function of its arguments."""
    rng = random.Random(f"{seed}/near/{group}")
    day = _FIRST_DAY + timedelta(days=rng.randrange(4000))
    advertisement = _advertisement(rng, seed)
    menu = [f"<span>{rng.choice(SLUGS)} {rng.choice(SLUGS)}</span>" for _ in range(_MENU)]
    match variation:
        case Variation.DATE:
            day += timedelta(days=rng.randrange(1, 400))
        case Variation.ADVERTISEMENT:
            advertisement = _advertisement(rng, seed)
        case Variation.NAVIGATION:
            rng.shuffle(menu)
            body = _shuffled_navigation(body, rng)
        case Variation.ONE_BYTE | Variation.ONE_WORD:
            body = _edit(body, rng, variation)
        case None:
            pass
    shown = f'<p class="date">Published on {day:%d %B %Y}, last seen {day:%Y-%m-%d}</p>\n'
    # A plain div, as on most sites: nothing in the markup says that it is not part of the text.
    bar = f'<div class="menu">\n{chr(10).join(menu)}\n</div>\n'
    head, opening, rest = body.partition(b"<h1>")
    return b"".join(
        (head, bar.encode(), opening, rest.replace(b"</h1>\n", b"</h1>\n" + shown.encode() + advertisement))
    )


def _advertisement(rng: random.Random, seed: int) -> bytes:
    sentence = rng.choice(paragraphs(seed))[3:].partition(b".")[0]
    return b'<div class="offer"><b>Advertisement</b> %s. Buy now for %d.99</div>\n' % (sentence, rng.randrange(3, 300))


def _shuffled_navigation(body: bytes, rng: random.Random) -> bytes:
    before, opening, rest = body.partition(b"<nav>\n")
    bar, closing, after = rest.partition(b"\n</nav>")
    if not closing:
        return body
    links = bar.split(b"\n")
    rng.shuffle(links)
    return b"".join((before, opening, b"\n".join(links), closing, after))


def _edit(body: bytes, rng: random.Random, variation: Variation) -> bytes:
    """One letter or one word of a paragraph is changed."""
    starts = [i for i in range(len(body)) if body.startswith(b"<p>", i)]
    start = rng.choice(starts) + 3
    words = body[start : body.index(b"</p>", start)].split(b" ")
    place = rng.randrange(len(words))
    if variation is Variation.ONE_WORD:
        words[place] = rng.choice(SLUGS).encode() + b"ish"
    else:
        letter = rng.randrange(len(words[place]))
        words[place] = words[place][:letter] + b"z" + words[place][letter + 1 :]
    changed = b" ".join(words)
    return body[:start] + changed + body[body.index(b"</p>", start) :]
