"""Everything about a page that is of interest to exports and users of the library.

The crawl itself uses `crawl_page.extract_page`, which takes a third of the time and finds the same links; a test
compares the two. `Wanted` says what to extract, so that only that is computed. Also here: the text of links, and the
`srcset` attribute of images as the HTML standard parses it.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from turbohtml import Document, Element, Text

from gossamer.extract.crawl_page import (
    MAX_HREF,
    MAX_LINKS,
    NO_PAGES,
    base_of,
    canonical_in_header,
    canonical_of,
    refresh_target,
    svg_href,
    title_of,
    trim,
)
from gossamer.extract.main_text import (
    MainText,
    TextExtractor,
    TextSource,
    guessed_language,
    main_text,
    trafilatura_text,
)
from gossamer.extract.page_meta import OUR_NAME, DirectivesFor, declared_language, language_tag
from gossamer.extract.tree import page_tree

MAX_ANCHOR_TEXT = 300
"""Characters of a link's text that are kept."""

_HIDDEN = frozenset({"script", "style"})


class AnchorTexts:
    """The texts of the links of one page.

    Anchors do not nest in valid HTML, but foreign elements and parser repairs can make them: a thousand anchors, each
    containing all later ones, would take quadratic time. So visited nodes are counted, and once there are more than the
    page has bytes, links that contain more than plain text get no text.
    """

    def __init__(self, body_bytes: int) -> None:
        self._left = body_bytes + 1_000

    def text_of(self, element: Element) -> str:
        """White space as single spaces. If there is no text, the `alt` of its images, then its `title`."""
        tag = element.tag
        if tag == "a" or tag == "form":
            children = element.children
            if len(children) == 1 and isinstance(children[0], Text):
                text = _tidy(children[0].data)
            else:
                text = self._inside(element)
            return text or _tidy(element.attr("title") or "")
        return _tidy(element.attr("alt") or element.attr("title") or "")

    def _inside(self, element: Element) -> str:
        texts: list[str] = []
        images: list[str] = []
        length = 0
        for node in element.descendants:
            self._left -= 1
            if self._left < 0 or length > 10 * MAX_ANCHOR_TEXT:
                break
            if isinstance(node, Text):
                parent = node.parent
                if not isinstance(parent, Element) or parent.tag not in _HIDDEN:
                    texts.append(node.data[: 10 * MAX_ANCHOR_TEXT])
                    length += len(texts[-1])
            elif isinstance(node, Element) and node.tag == "img":
                images.append((node.attr("alt") or "")[: 10 * MAX_ANCHOR_TEXT])
                length += len(images[-1])
        return _tidy("".join(texts)) or _tidy(" ".join(images))


def _tidy(text: str) -> str:
    return " ".join(text[: 10 * MAX_ANCHOR_TEXT].split())[:MAX_ANCHOR_TEXT].rstrip()


_SPACE = "\t\n\f\r "
# White space and commas, then everything up to the next white space. Possessive, so that no input is read twice.
_URL = re.compile(r"[\t\n\f\r ,]*+([^\t\n\f\r ]++)")
# The descriptors end at a comma outside parentheses; an unclosed parenthesis extends to the end.
_DESCRIPTORS = re.compile(r"((?:[^,(]++|\([^)]*+(?:\)|\Z))*+)(?:,|\Z)")
_DESCRIPTOR = re.compile(r"(?:[^\t\n\f\r (]++|\([^)]*+(?:\)|\Z))++")
_INTEGER = re.compile(r"[0-9]+").fullmatch
_FLOAT = re.compile(r"-?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?").fullmatch

_MAX_CANDIDATES = 200
_MAX_DIGITS = 300


class Candidate(NamedTuple):
    """One image of a set. Its address is as written."""

    url: str
    density: float | None = None
    width: int | None = None


def srcset_candidates(value: str) -> list[Candidate]:
    """The images that an attribute names, in order, without those with invalid descriptors; at most 200."""
    candidates: list[Candidate] = []
    position = 0
    while len(candidates) < _MAX_CANDIDATES and (match := _URL.match(value, position)) is not None:
        url = match[1]
        position = match.end()
        if url.endswith(","):
            candidates.append(Candidate(url.rstrip(",")))
            continue
        described = _DESCRIPTORS.match(value, position)
        assert described is not None, "the expression matches the empty string before the end"
        position = described.end()
        found = _read_candidate(url, _DESCRIPTOR.findall(described[1]))
        if found is not None:
            candidates.append(found)
    return candidates


def _read_candidate(url: str, descriptors: list[str]) -> Candidate | None:
    width: int | None = None
    density: float | None = None
    height: int | None = None
    for descriptor in descriptors:
        number, unit = descriptor[:-1], descriptor[-1]
        if len(number) > _MAX_DIGITS:
            return None
        if unit == "w" and _INTEGER(number) and width is None and density is None and int(number) > 0:
            width = int(number)
        elif unit == "x" and _FLOAT(number) and width is density is height is None and float(number) >= 0:
            density = float(number)
        elif unit == "h" and _INTEGER(number) and height is None and density is None and int(number) > 0:
            height = int(number)
        else:
            return None
    if height is not None and width is None:
        return None
    return Candidate(url, density, width)


MAX_DESCRIPTION = 1_000
"""Characters of a description that are kept."""


class LinkKind(StrEnum):
    """The kind of element that a link comes from."""

    ANCHOR = "a"
    AREA = "area"
    CANONICAL = "canonical"
    ALTERNATE = "alternate"  # the page in another language, or as a feed
    NEXT = "next"
    PREV = "prev"
    LINK = "link"  # any other <link> that leads to a page
    FRAME = "frame"  # <frame> and <iframe>
    REFRESH = "refresh"
    FORM = "form"  # only if requested
    IMAGE = "image"  # only if requested


class Link(NamedTuple):
    """One link. `href` is as written: relative to the page's `base`, which is relative to the page's URL."""

    href: str
    kind: LinkKind
    text: str = ""  # the visible text, white space as single spaces
    rel: str = ""  # its rel attribute in lower case, separated by single spaces
    hreflang: str | None = None

    @property
    def nofollow(self) -> bool:
        """Whether the link is marked nofollow. (`ugc` and `sponsored` do not imply that.)"""
        return "nofollow" in self.rel.split()


class Alternate(NamedTuple):
    """The same page in another language. `language` may be `x-default`."""

    language: str
    href: str


class LanguageSource(StrEnum):
    """How the language of a page is known."""

    DECLARED = "declared"
    GUESSED = "guessed"


class Page(NamedTuple):
    """A page and its metadata."""

    base: str | None  # the first <base href>, as written
    links: list[Link]  # in document order, repetitions included, those marked nofollow too
    title: str | None
    description: str | None
    language: str | None  # as declared, or guessed if requested
    language_source: LanguageSource | None  # None if there is no language
    canonical: str | None  # as written: in the page, else in its response header, where `base` does not apply
    alternates: list[Alternate]
    text: str | None  # None if not requested
    text_source: TextSource | None
    markdown: str | None  # None if not requested
    noindex: bool
    nofollow: bool
    encoding: str
    dropped_links: int


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to extract in addition to links and metadata."""

    anchor_text: bool = True
    text: bool = True  # the main text
    markdown: bool = False  # the main text as Markdown, with absolute links
    extractor: TextExtractor = TextExtractor.FAST  # of the main text
    forms: bool = False  # the actions of GET forms, as links
    images: bool = False  # img and source, srcset included, as links
    guess_language: bool = False  # from the text, if the page does not declare it


def read_page(
    body: bytes,
    content_type: str | None,
    url: str,
    *,
    robots_tag: str | None = None,
    content_language: str | None = None,
    link: str | None = None,
    refresh: str | None = None,
    agent: str = OUR_NAME,
    want: Wanted | None = None,
) -> Page:
    """Parse a page. Never raises for any input, except MissingExtra for an extractor that is not installed; the time is
    linear in its size.

    `content_type`, `robots_tag`, `content_language`, `link` and `refresh` are headers, `url` is the page's own address:
    a canonical link or a refresh to it is not a link. `agent` is the product token that robots directives may name.
    """
    want = want or Wanted()
    tree, encoding, _ = page_tree(body, content_type)
    reader = _Reader(url, DirectivesFor(agent, robots_tag), want, AnchorTexts(len(body)) if want.anchor_text else None)
    if refresh is not None:
        reader.add_refresh(refresh)
    reader.read(tree)
    directives = reader.directives.directives()
    canonical = canonical_of(tree.find_all("link"))
    if canonical is None and link is not None:
        canonical = canonical_in_header(link)
    language = declared_language(tree, reader.meta_language, content_language)
    source = None if language is None else LanguageSource.DECLARED
    base, title = base_of(tree), title_of(tree)
    text: MainText | None = None  # the last: finding it changes the tree
    if want.text or want.markdown or (want.guess_language and language is None):
        text = _main_text(tree, body, encoding, url, want)
        if language is None and want.guess_language:
            language = guessed_language(text.text)
            source = None if language is None else LanguageSource.GUESSED
    return Page(
        base,
        reader.links,
        title,
        reader.description,
        language,
        source,
        canonical,
        reader.alternates,
        text.text if text is not None and want.text else None,
        text.source if text is not None and want.text else None,
        None if text is None else text.markdown,
        directives.noindex,
        directives.nofollow,
        encoding,
        reader.dropped,
    )


def _main_text(tree: Document, body: bytes, encoding: str, url: str, want: Wanted) -> MainText:
    if want.extractor is TextExtractor.TRAFILATURA:
        return trafilatura_text(body, encoding, url, markdown=want.markdown)
    if want.markdown:
        tree.resolve_links(tree.base_url(url))
    return main_text(tree, len(body), markdown=want.markdown)


class _Reader:
    """One walk over the relevant elements, in document order."""

    def __init__(self, url: str, directives: DirectivesFor, want: Wanted, texts: AnchorTexts | None) -> None:
        self._url = url
        self._want = want
        self._texts = texts
        self.directives = directives
        self.links: list[Link] = []
        self.description: str | None = None
        self.alternates: list[Alternate] = []
        self.meta_language: str | None = None
        self.dropped = 0

    def read(self, tree: Document) -> None:
        names = ["a", "area", "link", "iframe", "frame", "meta"]
        names += ["form"] if self._want.forms else []
        names += ["img", "source"] if self._want.images else []
        for element in tree.iter_elements(names):
            tag = element.tag
            if tag == "a":
                href = element.attr("href")
                self._add(svg_href(element) if href is None else href, LinkKind.ANCHOR, element)
            elif tag == "area":
                self._add(element.attr("href"), LinkKind.AREA, element)
            elif tag == "iframe" or tag == "frame":
                self._add(element.attr("src"), LinkKind.FRAME, element)
            elif tag == "link":
                self._link(element)
            elif tag == "meta":
                self._meta(element)
            elif tag == "form":
                if (element.attr("method") or "get").strip().lower() == "get":
                    self._add(element.attr("action"), LinkKind.FORM, element)
            elif tag == "img" or tag == "source":
                self._image(element)

    def add_refresh(self, content: str, element: Element | None = None) -> None:
        """Add the target of a refresh, from a meta element or, without one, from the header."""
        target = refresh_target(content)
        if target is not None and target != self._url:
            self._add(target, LinkKind.REFRESH, element)

    def _add(self, href: str | None, kind: LinkKind, element: Element | None, hreflang: str | None = None) -> None:
        if href is None:
            return
        if len(href) > MAX_HREF or len(self.links) >= MAX_LINKS:
            self.dropped += 1
            return
        rel = element.attr("rel") if element is not None else None
        text = self._texts.text_of(element) if self._texts is not None and element is not None else ""
        self.links.append(Link(href, kind, text, " ".join(rel.lower().split()) if rel else "", hreflang))

    def _link(self, element: Element) -> None:
        href = element.attr("href")
        words = (element.attr("rel") or "").lower().split()
        if href is None or not words or not NO_PAGES.isdisjoint(words):
            return
        kind = LinkKind.LINK
        language: str | None = None
        if "canonical" in words:
            kind = LinkKind.CANONICAL
        elif "alternate" in words:
            kind = LinkKind.ALTERNATE
            written = element.attr("hreflang")
            if written is not None:
                language = "x-default" if written.strip().lower() == "x-default" else language_tag(written)
            if language is not None and len(self.alternates) < MAX_LINKS and len(href) <= MAX_HREF:
                self.alternates.append(Alternate(language, href))
        elif "next" in words:
            kind = LinkKind.NEXT
        elif "prev" in words or "previous" in words:
            kind = LinkKind.PREV
        if href != self._url:
            self._add(href, kind, element, language)

    def _meta(self, element: Element) -> None:
        content = element.attr("content")
        if content is None:
            return
        name = element.attr("name")
        if name:
            self.directives.on_meta(name, content)
            if self.description is None and name.strip().lower() == "description":
                self.description = trim(content, MAX_DESCRIPTION)
        equivalent = (element.attr("http-equiv") or "").lower()
        if equivalent == "refresh":
            self.add_refresh(content, element)
        elif equivalent == "content-language" and self.meta_language is None:
            self.meta_language = content

    def _image(self, element: Element) -> None:
        self._add(element.attr("src"), LinkKind.IMAGE, element)
        srcset = element.attr("srcset")
        for candidate in srcset_candidates(srcset) if srcset else ():
            self._add(candidate.url, LinkKind.IMAGE, element)
