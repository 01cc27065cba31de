"""What the crawl needs from a page: its links and its metadata. Hot: benchmarks/bench_extract.py.

The page is parsed once by turbohtml (ADR 15) and queried once per kind of element. turbohtml answers each query in C,
and returns the addresses of anchors, which are nearly all links of a page, in a single list. `full_page.read_page`
walks over the elements one by one: it finds the same links, reads more about the page, and takes three times as long.

Also here: `<meta http-equiv=refresh>`, the `Refresh:` header, which means the same, and `Link:` headers (RFC 8288), by
which any document can name its canonical address.
"""

import re
from bisect import bisect_right
from itertools import accumulate, islice
from typing import NamedTuple, cast

from turbohtml import Document, Element, Namespace, XPath

from gossamer.extract.charset import replaced_in_utf8
from gossamer.extract.page_meta import OUR_NAME, DirectivesFor, declared_language
from gossamer.extract.tree import page_tree
from gossamer.model.formats import LongLink, long_link
from gossamer.sketch import signature

# The standard's steps: a number (only its digits and dots matter), a separator, an optional `url=`, the target.
# Possessive quantifiers: a megabyte of digits is read once.
_REFRESH = re.compile(
    r"[\t\n\f\r ]*+(?:[0-9]++[0-9.]*+|\.[0-9.]*+)(?=[;,\t\n\f\r ])"
    r"[\t\n\f\r ]*+[;,]?[\t\n\f\r ]*+"
    r"(?:url[\t\n\f\r ]*+=[\t\n\f\r ]*+)?"
    r"""(?:"([^"]*)|'([^']*)|(.*))""",
    re.IGNORECASE | re.DOTALL,
)


def refresh_target(content: str) -> str | None:
    """The target in the content attribute of a refresh, as written; None if there is none or it is the page itself."""
    match = _REFRESH.match(content)
    if match is None:
        return None
    return match[1] or match[2] or match[3] or None


def add_refresh_header(page: "PageContent", value: str, url: str) -> None:
    """Add the target of a `Refresh` header to the links of a page, as for the meta element."""
    target = refresh_target(value)
    if target is not None and target != url and len(target) <= MAX_HREF:
        page.hrefs.insert(0, target)


MAX_TITLE = 300
"""Characters of a title that are kept."""

MAX_HREF = 16_384
"""Characters. A longer link is a data: URI or an accident, and is dropped before it is copied anywhere."""

MAX_LINKS = 5_000
"""Links of one page that are kept, repetitions included (docs/HOSTILE.md, BD-18)."""

MAX_LINK_CHARS = 2 * 1024 * 1024
"""Characters that they may have in total."""

LARGE_BODY = 1 << 18
"""Bytes. The slowest page of this size that we could construct takes about 45 ms (ADR 15)."""

DEEPEST = 512
"""Levels of a tree. Elements nested deeper are put side by side on the last level by the parser, so that no link is
lost."""

MAX_LONG_LINKS = 5
"""How many of the links that are too long are reported per page."""

_HTML = Namespace.HTML  # a member lookup costs as much as a call
_ADDRESSES = XPath("descendant::a/@href")
_FORBIDDEN = 'a[href][rel~="nofollow" i]'
_DRAWN = "svg a:not([href])"
_ALLOWED = 'a[href]:not([rel~="nofollow" i])'

_NO_TEXT = ("script", "style", "noscript", "title", "nav", "header", "footer", "aside")
"""Elements that are not shown, or that are marked as being around the page's text rather than in it. A menu in a plain
`div` cannot be distinguished from text; the difference is so small that it seldom matters (docs/TRAPS.md)."""

# `link` elements that load a part of this page or name a service, and do not lead to a page.
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
    """What one page contains for the crawl. Addresses are as written.

    `hrefs` come in groups: link elements, refreshes, anchors, areas, frames; each group in document order, repetitions
    included.
    """

    base: str | None  # the first <base href>
    hrefs: list[str]
    title: str | None  # white space as single spaces, cut at MAX_TITLE; None if absent or empty
    nofollow: bool  # the page asks not to follow its links; they are listed nevertheless
    noindex: bool
    encoding: str  # its name in the Encoding Standard
    nofollow_links: int  # left out of `hrefs` because of their rel=nofollow
    dropped_links: int  # left out because there were too many, or they were too long in total
    long_links: int  # left out because they are longer than MAX_HREF
    first_long: list[LongLink]  # of these, without data: URIs
    replaced: int  # characters that were invalid in its encoding
    deep_links: int  # among `hrefs`, those nested deeper than DEEPEST; counted in large pages only
    signature: bytes | None = None  # of its text (gossamer.sketch), if requested and if there is enough text
    canonical: str | None = None  # the first rel=canonical in the head, even if it is this page
    language: str | None = None  # as declared, in the form of BCP 47


def is_large(body: bytes) -> bool:
    """Whether extraction may block the event loop. If so, use another process: the parser holds the GIL."""
    return len(body) > LARGE_BODY


def extract_page(
    body: bytes,
    content_type: str | None,
    url: str,
    *,
    robots_tag: str | None = None,
    content_language: str | None = None,
    agent: str = OUR_NAME,
    sign: bool = False,
) -> PageContent:
    """Parse a page. Never raises for any input; the time is linear in its size.

    `content_type`, `robots_tag` and `content_language` are the headers Content-Type, X-Robots-Tag and Content-Language.
    `url` is the page's own address: a canonical link or a refresh to it is not a link. `agent` is the product token by
    which directives may address us. Templates, scripts and comments are not part of the page. `sign` requests the
    signature of its text.
    """
    tree, encoding, sound = page_tree(body, content_type)
    links = tree.find_all("link")
    hrefs, nofollow_links = _link_targets(links, url)
    asked = DirectivesFor(agent, robots_tag)
    meta_language = _read_metas(tree.find_all("meta"), url, asked, hrefs)
    nofollow_links += _add_anchors(tree, hrefs)
    hrefs += [
        src for name in ("iframe", "frame") for frame in tree.find_all(name) if (src := frame.attr("src")) is not None
    ]
    first_long: list[LongLink] = []
    long = 0
    if max(map(len, hrefs), default=0) > MAX_HREF:
        hrefs, long, first_long = _without_long(hrefs)
    dropped = max(0, len(hrefs) - MAX_LINKS)
    if dropped:
        del hrefs[MAX_LINKS:]
    if is_large(body):  # the links of a small page have no more characters than the page
        dropped += _drop_last(hrefs)
    directives = asked.directives()
    return PageContent(
        base_of(tree),
        hrefs,
        title_of(tree),
        directives.nofollow,
        directives.noindex,
        encoding,
        nofollow_links,
        dropped,
        long,
        first_long,
        0 if sound else _count_replaced(tree, body, encoding),
        _count_deep(tree) if is_large(body) else 0,
        canonical=canonical_of(links),
        language=declared_language(tree, meta_language, content_language),
        signature=page_signature(tree) if sign else None,  # last: it destroys the tree
    )


def base_of(tree: Document) -> str | None:
    """The first base element with an address. (SVG images may contain elements of that name too.)"""
    for element in tree.find_all("base"):
        href = element.attr("href")
        if href is not None and element.namespace is Namespace.HTML:
            return href if len(href) <= MAX_HREF else None
    return None


def title_of(tree: Document) -> str | None:
    """The first title of the page, not of an SVG image in it."""
    for element in tree.find_all("title"):
        if element.namespace is _HTML:
            return trim(element.text)
    return None


def canonical_of(links: list[Element]) -> str | None:
    """The canonical address that the page declares. One in the body is ignored: a visitor may have written it."""
    for element in links:
        rel = element.attr("rel")
        if rel is not None and "canonical" in rel.lower().split():
            href = element.attr("href")
            parent = element.parent
            if href and len(href) <= MAX_HREF and isinstance(parent, Element) and parent.tag == "head":
                return href
    return None


def svg_href(anchor: Element) -> str | None:
    """The address of an anchor in an SVG image, which may use the old attribute."""
    return anchor.attr("xlink:href") if anchor.namespace is Namespace.SVG else None


def trim(text: str, most: int = MAX_TITLE) -> str | None:
    """White space as single spaces, cut at `most` characters; None if nothing is left."""
    # Cut before splitting: an unclosed title contains the rest of the page.
    return " ".join(text[: 10 * most].split())[:most].rstrip() or None


def _count_replaced(tree: Document, body: bytes, encoding: str) -> int:
    """How many characters had to be replaced; in encodings other than UTF-8, only those in the text."""
    if encoding == "UTF-8":
        return replaced_in_utf8(body)
    return 0 if encoding == "windows-1252" else tree.text.count("\ufffd")  # every byte is valid in windows-1252


def _count_deep(tree: Document) -> int:
    """How many links are nested too deep. Walking up from every link costs more than everything else; for pages with
    hundreds of thousands of levels, which are parsed in another process, that does not matter."""
    anchors = (anchor for anchor in tree.iter_elements("a") if anchor.attr("href") is not None)
    return sum(1 for anchor in islice(anchors, MAX_LINKS) if sum(1 for _ in anchor.ancestors) > DEEPEST)


def _without_long(hrefs: list[str]) -> tuple[list[str], int, list[LongLink]]:
    """The links that are not too long, the number that are, and the first few of these."""
    kept = [href for href in hrefs if len(href) <= MAX_HREF]
    too_long = (href for href in hrefs if len(href) > MAX_HREF and href[:5].lower() != "data:")
    return kept, len(hrefs) - len(kept), [long_link(href) for href in islice(too_long, MAX_LONG_LINKS)]


def _drop_last(hrefs: list[str]) -> int:
    """Drop the links that follow the first `MAX_LINK_CHARS` characters of links. Returns their number."""
    kept = bisect_right(list(accumulate(map(len, hrefs))), MAX_LINK_CHARS)
    dropped = len(hrefs) - kept
    del hrefs[kept:]
    return dropped


def _link_targets(links: list[Element], url: str) -> tuple[list[str], int]:
    """The addresses in link elements that lead to pages, and how many of them are marked nofollow."""
    hrefs: list[str] = []
    forbidden = 0
    for element in links:
        rel, href = element.attr("rel"), element.attr("href")
        if rel is None or href is None or href == url:
            continue
        words = rel.lower().split()
        if not words or not NO_PAGES.isdisjoint(words):
            continue
        if "nofollow" in words:
            forbidden += 1
        else:
            hrefs.append(href)
    return hrefs, forbidden


def _read_metas(metas: list[Element], url: str, asked: DirectivesFor, hrefs: list[str]) -> str | None:
    """Process meta elements: directives and refreshes. Returns the language that one declares."""
    language: str | None = None
    for element in metas:
        attribute = element.attr
        content = attribute("content")
        if content is None:
            continue
        name = attribute("name")
        if name is not None:
            asked.on_meta(name, content)
        equivalent = attribute("http-equiv")
        if equivalent is None:
            continue
        equivalent = equivalent.lower()
        if equivalent == "refresh":
            target = refresh_target(content)
            if target is not None and target != url:
                hrefs.append(target)
        elif equivalent == "content-language" and language is None:
            language = content
    return language


def _add_anchors(tree: Document, hrefs: list[str]) -> int:
    """Add the addresses of anchors and areas. Returns how many of these are marked nofollow."""
    forbidden = len(tree.select(_FORBIDDEN))
    if forbidden:
        hrefs += [element.attr("href") or "" for element in tree.select(_ALLOWED)]
    else:
        hrefs += cast("list[str]", _ADDRESSES(tree))
    others = [(area, area.attr("href")) for area in tree.find_all("area")]
    if tree.find("svg") is not None:
        others += [(anchor, svg_href(anchor)) for anchor in tree.select(_DRAWN)]
    for element, href in others:
        if href is None:
            continue
        rel = element.attr("rel")
        if rel is not None and "nofollow" in rel.lower().split():
            forbidden += 1
        else:
            hrefs.append(href)
    return forbidden


def page_signature(tree: Document) -> bytes | None:
    """The signature of a page's own text; None if there is too little. Destroys the tree.

    Hot: benchmarks/bench_neardup.py.
    """
    # A list first: the iterator breaks when its current element is removed. A selector would cost twice as much.
    for element in list(tree.iter_elements(_NO_TEXT)):
        element.decompose()
    return signature(tree.text)


_TARGET = re.compile(r"[\s,]*<([^>]*)>\s*")
_PARAMETER = re.compile(r";\s*([^\s=;,\"<>]*)\s*(?:=\s*(?:\"((?:[^\"\\]|\\.)*)\"|([^\s;,\"]*)))?\s*")


def canonical_in_header(value: str) -> str | None:
    """The first target with `rel=canonical`, as written; None if there is none. Links of other documents (`anchor`) are
    skipped, and parsing stops at the first syntax error."""
    at = 0
    while (target := _TARGET.match(value, at)) is not None:
        at = target.end()
        relations: str | None = None
        elsewhere = False
        while (parameter := _PARAMETER.match(value, at)) is not None:
            at = parameter.end()
            name = parameter[1].lower()
            if name == "rel" and relations is None:  # the first one counts
                relations = parameter[2] or parameter[3] or ""
            elsewhere = elsewhere or name == "anchor"
        href = target[1].strip()
        if relations is not None and "canonical" in relations.lower().split() and not elsewhere:
            return href if href and len(href) <= MAX_HREF else None
    return None
