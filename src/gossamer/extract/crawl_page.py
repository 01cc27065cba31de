"""What the crawl needs of a page: its links, and what it says about itself. Hot: `benchmarks/bench_extract.py`.

One parse by turbohtml (ADR 15), then one question per kind of element. turbohtml answers each of them in C, and for the
anchors, which are nearly all that a page has, it hands over their addresses in a single list. `page.read_page` walks
over the elements one by one, finds more, and takes longer.

`<meta http-equiv=refresh>`: where a page sends its reader after a while.

`Link:` in the head of an answer (RFC 8288): where any document can say which address it wants to go by.
"""

import re
from itertools import islice
from typing import NamedTuple, cast

from turbohtml import Document, Element, Namespace, XPath

from gossamer.extract.charset import replaced_in_utf8
from gossamer.extract.page_meta import OUR_NAME, DirectivesFor, declared_language
from gossamer.extract.tree import page_tree
from gossamer.model.formats import LongLink, long_link
from gossamer.sketch.minhash import signature

# The standard's steps: a number (only its digits and dots are looked at), a separator, perhaps `url=`, the target.
# Possessive quantifiers: a megabyte of digits is read once.
_REFRESH = re.compile(
    r"[\t\n\f\r ]*+(?:[0-9]++[0-9.]*+|\.[0-9.]*+)(?=[;,\t\n\f\r ])"
    r"[\t\n\f\r ]*+[;,]?[\t\n\f\r ]*+"
    r"(?:url[\t\n\f\r ]*+=[\t\n\f\r ]*+)?"
    r"""(?:"([^"]*)|'([^']*)|(.*))""",
    re.IGNORECASE | re.DOTALL,
)


def refresh_target(content: str) -> str | None:
    """The target in a refresh's content attribute, as written; None if there is none or it is the page itself."""
    match = _REFRESH.match(content)
    if match is None:
        return None
    return match[1] or match[2] or match[3] or None


MAX_TITLE = 300
"""Characters of a title that are kept."""

MAX_HREF = 16_384
"""Characters. A longer link is a data: URI or an accident, and is dropped before anybody copies it about."""

MAX_LINKS = 5_000
"""Links of one page that are kept, repetitions included (docs/HOSTILE.md, BD-18)."""

LARGE_BODY = 1 << 18
"""Bytes. The slowest page of this size that we could build takes some 45 ms (ADR 15)."""

DEEPEST = 512
"""Levels of a tree. What is nested deeper the parser puts side by side on the last one, so that no link is lost."""

MOST_LONG_LINKS = 5
"""Of the links that are too long, the first so many of a page are told."""

_HTML = Namespace.HTML  # to look a member up costs as much as a call
_ADDRESSES = XPath("descendant::a/@href")
_FORBIDDEN = 'a[href][rel~="nofollow" i]'
_DRAWN = "svg a:not([href])"
_ALLOWED = 'a[href]:not([rel~="nofollow" i])'

_NO_TEXT = ("script", "style", "noscript", "title", "nav", "header", "footer", "aside")
"""What is not shown, and what the page says of itself to be around its text rather than in it. A menu in a plain `div`
cannot be told from text; the distance is so small that it seldom matters (docs/TRAPS.md)."""

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
    """What one page holds for the crawl. Addresses are as written.

    `hrefs` stand in groups: link elements, refreshes, anchors, areas, frames; each group in document order, repetitions
    included.
    """

    base: str | None  # the first <base href>
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
    canonical: str | None = None  # the first rel=canonical in the head, even if it names this very page
    language: str | None = None  # as declared, in the form of BCP 47


def is_large(body: bytes) -> bool:
    """Whether extracting may stall the event loop. If so, use another process: the parser keeps the GIL."""
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
    """Read a page. Never raises, whatever the bytes, and takes time in proportion to their number.

    `content_type`, `robots_tag` and `content_language` are the headers Content-Type, X-Robots-Tag and
    Content-Language. `url` is the page's own address: a canonical link or a refresh that merely names it again is no
    link. `agent` is the product token by which directives may address us. What stands in templates, scripts and
    comments is not part of the page. `sign` asks for the signature of its text.
    """
    tree, encoding, sound = page_tree(body, content_type)
    links = tree.find_all("link")
    hrefs, nofollow_links = _linked(links, url)
    asked = DirectivesFor(agent, robots_tag)
    meta_language = _heeded(tree.find_all("meta"), url, asked, hrefs)
    nofollow_links += _anchored(tree, hrefs)
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
        0 if sound else _replaced(tree, body, encoding),
        _deep(tree) if is_large(body) else 0,
        canonical=canonical_of(links),
        language=declared_language(tree, meta_language, content_language),
        signature=page_signature(tree) if sign else None,  # last: it leaves little of the tree
    )


def base_of(tree: Document) -> str | None:
    """The first base that has an address. (Drawings may hold elements of that name too.)"""
    for element in tree.find_all("base"):
        href = element.attr("href")
        if href is not None and element.namespace is Namespace.HTML:
            return href if len(href) <= MAX_HREF else None
    return None


def title_of(tree: Document) -> str | None:
    """The first title of the page, not of a drawing in it."""
    for element in tree.find_all("title"):
        if element.namespace is _HTML:
            return trimmed(element.text)
    return None


def canonical_of(links: list[Element]) -> str | None:
    """The address that the page wants to go by. One in the body is not believed: a guest may have written it."""
    for element in links:
        rel = element.attr("rel")
        if rel is not None and "canonical" in rel.lower().split():
            href = element.attr("href")
            parent = element.parent
            if href and len(href) <= MAX_HREF and isinstance(parent, Element) and parent.tag == "head":
                return href
    return None


def drawn_href(anchor: Element) -> str | None:
    """The address of an anchor in a drawing, where it may be written in the old way."""
    return anchor.attr("xlink:href") if anchor.namespace is Namespace.SVG else None


def trimmed(text: str, most: int = MAX_TITLE) -> str | None:
    """White space as single spaces, cut at `most` characters; None if nothing is left."""
    # Cut before splitting: an unclosed title swallows the rest of the page.
    return " ".join(text[: 10 * most].split())[:most].rstrip() or None


def _replaced(tree: Document, body: bytes, encoding: str) -> int:
    """How many characters had to be replaced; in other encodings than UTF-8, of those in the text."""
    if encoding == "UTF-8":
        return replaced_in_utf8(body)
    return 0 if encoding == "windows-1252" else tree.text.count("\ufffd")  # every byte is a windows-1252 character


def _deep(tree: Document) -> int:
    """How many links are nested too deep. A walk up from every link costs more than the rest of the reading; in a page
    that has levels by the hundred thousand, and is read in another process, that does not matter."""
    anchors = (anchor for anchor in tree.iter_elements("a") if anchor.attr("href") is not None)
    return sum(1 for anchor in islice(anchors, MAX_LINKS) if sum(1 for _ in anchor.ancestors) > DEEPEST)


def _without_long(hrefs: list[str]) -> tuple[list[str], int, list[LongLink]]:
    """The links that are not too long, how many are, and the first few of these."""
    kept = [href for href in hrefs if len(href) <= MAX_HREF]
    told = (href for href in hrefs if len(href) > MAX_HREF and href[:5].lower() != "data:")
    return kept, len(hrefs) - len(kept), [long_link(href) for href in islice(told, MOST_LONG_LINKS)]


def _linked(links: list[Element], url: str) -> tuple[list[str], int]:
    """The addresses in link elements that lead to pages, and how many of them ask not to be followed."""
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


def _heeded(metas: list[Element], url: str, asked: DirectivesFor, hrefs: list[str]) -> str | None:
    """Take in what meta elements ask for and where they lead. Returns the language that one declares."""
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


def _anchored(tree: Document, hrefs: list[str]) -> int:
    """Add the addresses of anchors and areas. Returns how many of these ask not to be followed."""
    forbidden = len(tree.select(_FORBIDDEN))
    if forbidden:
        hrefs += [element.attr("href") or "" for element in tree.select(_ALLOWED)]
    else:
        hrefs += cast("list[str]", _ADDRESSES(tree))
    others = [(area, area.attr("href")) for area in tree.find_all("area")]
    if tree.find("svg") is not None:
        others += [(anchor, drawn_href(anchor)) for anchor in tree.select(_DRAWN)]
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
    """The signature of a page's own text; None if there is too little of it. The tree is of no use afterwards.
    Hot: `benchmarks/bench_neardup.py`."""
    # A list first: the iterator loses its way when what it stands on goes. A selector does the same at twice the price.
    for element in list(tree.iter_elements(_NO_TEXT)):
        element.decompose()
    return signature(tree.text)


_TARGET = re.compile(r"[\s,]*<([^>]*)>\s*")
_PARAMETER = re.compile(r";\s*([^\s=;,\"<>]*)\s*(?:=\s*(?:\"((?:[^\"\\]|\\.)*)\"|([^\s;,\"]*)))?\s*")


def canonical_in_header(value: str) -> str | None:
    """The first target with `rel=canonical`, as written; None if there is none. Links of other documents than this one
    (`anchor`) are passed over, and nothing is read past what is no list of links."""
    at = 0
    while (target := _TARGET.match(value, at)) is not None:
        at = target.end()
        relations: str | None = None
        elsewhere = False
        while (parameter := _PARAMETER.match(value, at)) is not None:
            at = parameter.end()
            name = parameter[1].lower()
            if name == "rel" and relations is None:  # of several the first counts
                relations = parameter[2] or parameter[3] or ""
            elsewhere = elsewhere or name == "anchor"
        href = target[1].strip()
        if relations is not None and "canonical" in relations.lower().split() and not elsewhere:
            return href if href and len(href) <= MAX_HREF else None
    return None
