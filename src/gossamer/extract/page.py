"""Everything about a page that is worth telling its reader: for exports and for users of the library.

The crawl itself asks `links.extract_page`, which takes a third of the time and finds the same links; a test holds the
two together. What is asked for is in `Wanted`, so that nobody waits for what he does not use.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from turbohtml import Document, Element

from gossamer.extract.anchors import AnchorTexts
from gossamer.extract.language import declared_language, language_tag
from gossamer.extract.link_header import canonical_in_header
from gossamer.extract.links import MAX_HREF, MAX_LINKS, NO_PAGES, base_of, canonical_of, drawn_href, title_of, trimmed
from gossamer.extract.refresh import refresh_target
from gossamer.extract.robots import OUR_NAME, WishesFor
from gossamer.extract.srcset import srcset_candidates
from gossamer.extract.text import guessed_language, main_text
from gossamer.extract.tree import page_tree

MAX_DESCRIPTION = 1_000
"""Characters of a description that are kept."""


class LinkKind(StrEnum):
    """Where a link stands in its page."""

    ANCHOR = "a"
    AREA = "area"
    CANONICAL = "canonical"
    ALTERNATE = "alternate"  # the page in another language, or as a feed
    NEXT = "next"
    PREV = "prev"
    LINK = "link"  # any other <link> that leads to a page
    FRAME = "frame"  # <frame> and <iframe>
    REFRESH = "refresh"
    FORM = "form"  # only if asked for
    IMAGE = "image"  # only if asked for


class Link(NamedTuple):
    """One link. `href` is as written: it is relative to the page's `base`, which is relative to the page's URL."""

    href: str
    kind: LinkKind
    text: str = ""  # what the reader clicks on, white space as single spaces
    rel: str = ""  # the words of its rel attribute in lower case, single spaces between them
    hreflang: str | None = None

    @property
    def nofollow(self) -> bool:
        """Whether the page asks that this link be not followed. (`ugc` and `sponsored` do not ask that.)"""
        return "nofollow" in self.rel.split()


class Alternate(NamedTuple):
    """The same page in another language. `language` may be `x-default`."""

    language: str
    href: str


class Page(NamedTuple):
    """What a page is and what it says of itself."""

    base: str | None  # the first <base href>, as written
    links: list[Link]  # in document order, repetitions included, those marked nofollow too
    title: str | None
    description: str | None
    language: str | None  # as declared, or guessed if asked for
    canonical: str | None  # as written: in the page, or else in the head of its answer, where no `base` counts
    alternates: list[Alternate]
    text: str | None  # None if not asked for
    noindex: bool
    nofollow: bool
    encoding: str
    dropped_links: int


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to look for besides the links and what the head of the page says."""

    anchor_text: bool = True
    text: bool = True  # the main text
    forms: bool = False  # the actions of GET forms, as links
    images: bool = False  # img and source, srcset included, as links
    guess_language: bool = False  # from the text, where the page does not say


def read_page(
    body: bytes,
    content_type: str | None,
    url: str,
    *,
    robots_tag: str | None = None,
    content_language: str | None = None,
    link: str | None = None,
    agent: str = OUR_NAME,
    want: Wanted | None = None,
) -> Page:
    """Read a page. Never raises, whatever the bytes, and takes time in proportion to their number.

    `content_type`, `robots_tag`, `content_language` and `link` are headers, `url` the page's own address: a canonical
    link or a refresh that merely names it again is no link. `agent` is the product token that directives for robots
    may name.
    """
    want = want or Wanted()
    tree, encoding, _ = page_tree(body, content_type)
    reader = _Reader(url, WishesFor(agent, robots_tag), want, AnchorTexts(len(body)) if want.anchor_text else None)
    reader.read(tree)
    wishes = reader.wishes.wishes()
    text = main_text(tree, len(body)) if want.text else None
    canonical = canonical_of(tree.find_all("link"))
    if canonical is None and link is not None:
        canonical = canonical_in_header(link)
    language = declared_language(tree, reader.meta_language, content_language)
    if language is None and want.guess_language:
        language = guessed_language(main_text(tree, len(body)) if text is None else text)
    return Page(
        base_of(tree),
        reader.links,
        title_of(tree),
        reader.description,
        language,
        canonical,
        reader.alternates,
        text,
        wishes.noindex,
        wishes.nofollow,
        encoding,
        reader.dropped,
    )


class _Reader:
    """One walk over the elements that matter, in document order."""

    def __init__(self, url: str, wishes: WishesFor, want: Wanted, texts: AnchorTexts | None) -> None:
        self._url = url
        self._want = want
        self._texts = texts
        self.wishes = wishes
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
                self._add(drawn_href(element) if href is None else href, LinkKind.ANCHOR, element)
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

    def _add(self, href: str | None, kind: LinkKind, element: Element, hreflang: str | None = None) -> None:
        if href is None:
            return
        if len(href) > MAX_HREF or len(self.links) >= MAX_LINKS:
            self.dropped += 1
            return
        rel = element.attr("rel")
        text = self._texts.of(element) if self._texts is not None else ""
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
            self.wishes.heed_meta(name, content)
            if self.description is None and name.strip().lower() == "description":
                self.description = trimmed(content, MAX_DESCRIPTION)
        equivalent = (element.attr("http-equiv") or "").lower()
        if equivalent == "refresh":
            target = refresh_target(content)
            if target is not None and target != self._url:
                self._add(target, LinkKind.REFRESH, element)
        elif equivalent == "content-language" and self.meta_language is None:
            self.meta_language = content

    def _image(self, element: Element) -> None:
        self._add(element.attr("src"), LinkKind.IMAGE, element)
        srcset = element.attr("srcset")
        for candidate in srcset_candidates(srcset) if srcset else ():
            self._add(candidate.url, LinkKind.IMAGE, element)
