"""What a page links to and says about itself. Hot: `benchmarks/bench_extract.py`.

One parse by turbohtml (ADR 8), one walk over the few elements that matter, in document order.
"""

from typing import NamedTuple

from turbohtml import Document, Namespace

from gossamer.extract.charset import replaced_in_utf8
from gossamer.extract.refresh import refresh_target
from gossamer.extract.robots import OUR_NAME, WishesFor
from gossamer.extract.signing import page_signature
from gossamer.extract.tree import page_tree
from gossamer.model.shown import LongLink, long_link

MAX_TITLE = 300
"""Characters of a title that are kept."""

MAX_HREF = 16_384
"""Characters. A longer link is a data: URI or an accident, and is dropped before anybody copies it about."""

MAX_LINKS = 5_000
"""Links of one page that are kept, repetitions included (HOSTILE_WEB BD-18)."""

LARGE_BODY = 1 << 18
"""Bytes. The slowest page of this size that we could build takes some 45 ms (ADR 8)."""

DEEPEST = 512
"""Levels of a tree. What is nested deeper the parser puts side by side on the last one, so that no link is lost."""

MOST_LONG_LINKS = 5
"""Of the links that are too long, the first so many of a page are told."""

_ELEMENTS = ("a", "area", "link", "iframe", "frame", "meta", "base", "title")

# `link` elements that fetch a part of this page, or name a service, and lead to no page.
NO_PAGES = frozenset(
    {
        "stylesheet",
        "preconnect",
        "dns-prefetch",
        "preload",
        "modulepreload",
        "icon",
        "mask-icon",
        "fluid-icon",
        "apple-touch-icon",
        "apple-touch-icon-precomposed",
        "apple-touch-startup-image",
        "manifest",
        "search",
        "pingback",
        "edituri",
        "wlwmanifest",
        "profile",
        "image_src",
    }
)


class PageContent(NamedTuple):
    """What one page holds for us. `hrefs` are as written, in document order, repetitions included."""

    base: str | None  # the first <base href>, as written
    hrefs: list[str]
    title: str | None  # white space as single spaces, cut at MAX_TITLE; None if absent or empty
    nofollow: bool  # the page asks that none of its links be followed; they are listed all the same
    noindex: bool
    encoding: str  # its name in the Encoding Standard
    nofollow_links: int  # left out of `hrefs` for their own rel=nofollow
    dropped_links: int  # left out for being too many
    long_links: int  # left out for being longer than MAX_HREF
    first_long: list[LongLink]  # of these, but no data: URIs
    replaced: int  # characters that are none in its encoding
    deep_links: int  # among `hrefs`, those nested deeper than DEEPEST; counted in large pages only
    signature: bytes | None = None  # of its text (gossamer.sketch.minhash), if asked for and if there is enough text


def is_large(body: bytes) -> bool:
    """Whether extracting may stall the event loop. If so, use another process: the parser keeps the GIL."""
    return len(body) > LARGE_BODY


def extract_page(
    body: bytes, content_type: str | None, url: str, *, robots_tag: str | None = None, sign: bool = False
) -> PageContent:
    """Read a page. Never raises, whatever the bytes, and takes time in proportion to their number.

    `content_type` and `robots_tag` are the headers Content-Type and X-Robots-Tag. `url` is the page's own
    address: a canonical link or a refresh that merely names it again is no link. What stands in templates,
    scripts and comments is not part of the page.
    """
    tree, encoding = page_tree(body, content_type)
    # A walk up from every link would cost more than the rest of the reading. In a page that has levels by the hundred
    # thousand, and is read in another process, it does not matter.
    deep = is_large(body)
    page = _read(tree, url, encoding, WishesFor(OUR_NAME, robots_tag), _replaced(tree, body, encoding), deep)
    return page._replace(signature=page_signature(tree)) if sign else page


def _replaced(tree: Document, body: bytes, encoding: str) -> int:
    """How many characters had to be replaced; in other encodings than UTF-8, of those in the text."""
    if encoding == "UTF-8":
        return replaced_in_utf8(body)
    return 0 if encoding == "windows-1252" else tree.text.count("\ufffd")  # every byte is a windows-1252 character


def _read(tree: Document, url: str, encoding: str, asked: WishesFor, replaced: int, count_deep: bool) -> PageContent:
    base: str | None = None
    title: str | None = None
    hrefs: list[str] = []
    nofollow_links = 0
    dropped = long = deep = 0
    first_long: list[LongLink] = []
    for element in tree.iter_elements(_ELEMENTS):
        attribute = element.attr
        tag = element.tag
        if tag == "a" or tag == "area":
            href = attribute("href")
            if href is None:
                continue
            rel = attribute("rel")
            if rel is not None and "nofollow" in rel.lower().split():
                nofollow_links += 1
                continue
        elif tag == "link":
            href = attribute("href")
            kinds = (attribute("rel") or "").lower().split()
            if href is None or href == url or not kinds or not NO_PAGES.isdisjoint(kinds):
                continue
            if "nofollow" in kinds:
                nofollow_links += 1
                continue
        elif tag == "meta":
            content = attribute("content")
            if content is None:
                continue
            name = attribute("name")
            if name is not None:
                asked.heed_meta(name.strip().lower(), content)
            if (attribute("http-equiv") or "").lower() != "refresh":
                continue
            href = refresh_target(content)
            if href is None or href == url:
                continue
        elif tag == "base":
            if base is None and element.namespace is Namespace.HTML:
                base = attribute("href")
            continue
        elif tag == "title":
            # Drawings have titles too.
            if title is None and element.namespace is Namespace.HTML:
                title = trimmed(element.text)
            continue
        else:  # iframe, frame
            href = attribute("src")
            if href is None:
                continue
        if len(href) > MAX_HREF:
            long += 1
            if len(first_long) < MOST_LONG_LINKS and href[:5].lower() != "data:":
                first_long.append(long_link(href))
        elif len(hrefs) >= MAX_LINKS:
            dropped += 1
        else:
            hrefs.append(href)
            if count_deep and sum(1 for _ in element.ancestors) > DEEPEST:
                deep += 1
    wishes = asked.wishes()
    return PageContent(
        base,
        hrefs,
        title,
        wishes.nofollow,
        wishes.noindex,
        encoding,
        nofollow_links,
        dropped,
        long,
        first_long,
        replaced,
        deep,
    )


def trimmed(text: str, most: int = MAX_TITLE) -> str | None:
    """White space as single spaces, cut at `most` characters; None if nothing is left."""
    # Cut before splitting: an unclosed title swallows the rest of the page.
    return " ".join(text[: 10 * most].split())[:most].rstrip() or None
