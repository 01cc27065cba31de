"""The main text of a page as plain text or Markdown, and its language.

The parser's readability score finds the main element of most articles, but keeps only a section of some pages and
misses others completely. So its result is compared with what the author marked as the main part (`main_element`).
"""

import re
from collections.abc import Mapping
from copy import deepcopy
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from turbohtml import Document, Element, Markdown
from turbohtml.detect import detect_language

from gossamer.errors import MissingExtra
from gossamer.extract.charset import charset_parameter, choose_encoding, decode

MAX_TEXT = 1 << 20
"""Characters of a text that are kept."""

_WEIGHED_BYTES = 1 << 20  # pages constructed to be slow take two seconds per megabyte; plain text a fiftieth of that
_WORDS = re.compile(r"\w+").findall
_MAIN_PARTS = ("main, [role=main]", "article", "#content, #main")  # in this order; the last are names by custom
_MAX_CANDIDATES = 50  # nested ones would take quadratic time

BOILERPLATE = (
    "nav, aside, footer, form, dialog, button, select, [hidden], [aria-hidden=true], "
    "#comments, .comments, #disqus_thread, #respond"
)
"""What is not part of the main text wherever it is: navigation, page furniture, controls, hidden elements, comments."""


class TextSource(StrEnum):
    """Where a text comes from."""

    MAIN = "main"  # the element with the highest readability score
    GUARD = "guard"  # the part that the author marked as the main one, or the body without its boilerplate
    BODY = "body"  # all visible text
    TRAFILATURA = "trafilatura"
    PDF = "pdf"
    PLAIN = "plain"  # a text document as it is


class TextExtractor(StrEnum):
    """What extracts the main text. Fast: about 1 ms per page; trafilatura: about 20 ms, fewer menus and more text."""

    FAST = "fast"
    TRAFILATURA = "trafilatura"


class MainText(NamedTuple):
    text: str
    source: TextSource
    markdown: str | None = None  # if requested


def main_text(tree: Document, body_bytes: int, *, markdown: bool = False) -> MainText:
    """The main text of a page, without navigation. Modifies the tree: boilerplate is removed from it, and with
    `markdown` its links must be absolute (`resolve_links`)."""
    element, source = main_element(tree, body_bytes)
    return MainText(element.to_text()[:MAX_TEXT], source, element.to_markdown()[:MAX_TEXT] if markdown else None)


def page_markdown(
    tree: Document, body_bytes: int, url: str, *, main: bool = True, options: Markdown | None = None
) -> str:
    """A page as Markdown with absolute links: its main text, or all of it. Modifies the tree."""
    tree.resolve_links(tree.base_url(url))
    part = main_element(tree, body_bytes)[0] if main else tree
    return part.to_markdown(options)[:MAX_TEXT]


def main_element(tree: Document, body_bytes: int) -> tuple[Element | Document, TextSource]:
    """The part of a page that has its main text. Removes boilerplate from the tree.

    The element with the highest readability score, unless it has less than a third of the text of the largest `main`
    (or else `article`, or else `#content` or `#main`) element, or on pages without these, of the body. Only words
    outside links count: lists of links are not text. The whole tree for pages so large that scoring would take long.
    """
    if body_bytes > _WEIGHED_BYTES:
        return tree, TextSource.BODY
    scored = tree.main_content()
    if scored is not None:
        scored.remove(BOILERPLATE)
    words = 0 if scored is None else _unlinked_words(scored)
    marked = next(filter(None, (_largest(tree, selector) for selector in _MAIN_PARTS)), None)
    if marked is not None:
        if scored is not None and 3 * words >= _unlinked_words(marked):
            return scored, TextSource.MAIN
        return marked, TextSource.GUARD
    body = tree.find("body")
    if body is None:
        return tree, TextSource.BODY
    # This may remove the scored element itself, where everything is inside a form; it stays usable.
    body.remove(BOILERPLATE + ", header")
    if scored is not None and 3 * words >= _unlinked_words(body):
        return scored, TextSource.MAIN
    return body, TextSource.GUARD


def _largest(tree: Document, selector: str) -> Element | None:
    """The element with the most words, without boilerplate; None if there is none with any."""
    largest, most = None, 0
    for element in tree.select(selector)[:_MAX_CANDIDATES]:
        element.remove(BOILERPLATE)
        words = _unlinked_words(element)
        if words > most:
            largest, most = element, words
    return largest


def _unlinked_words(element: Element) -> int:
    linked = sum(len(_WORDS(link.text)) for link in element.select("a:not(a a)"))
    return len(_WORDS(element.to_text())) - linked


def is_plain_text(content_type: str | None) -> bool:
    """Whether a document that is not HTML is text, to be taken as it is."""
    return (content_type or "").lower().startswith("text/")


def plain_text(body: bytes, content_type: str | None) -> str:
    """The text of such a document."""
    return decode(body, choose_encoding(body, charset_parameter(content_type)))


def trafilatura_text(body: bytes, encoding: str, url: str, *, markdown: bool = False) -> MainText:
    """The main text as trafilatura finds it; empty if it finds none. Raises MissingExtra."""
    try:
        from trafilatura import extract, load_html
    except ImportError:
        raise MissingExtra("content.text = 'trafilatura'", "trafilatura", "text") from None
    tree = load_html(decode(body, encoding))
    if tree is None:
        return MainText("", TextSource.TRAFILATURA, "" if markdown else None)

    def read(form: str) -> str:
        found = extract(
            deepcopy(tree), url=url, output_format=form, include_comments=False, include_links=form != "txt"
        )
        return (found or "")[:MAX_TEXT]

    return MainText(read("txt"), TextSource.TRAFILATURA, read("markdown") if markdown else None)


_ENOUGH = 4_000  # characters from which the language is guessed
_TOO_FEW = 40

# The detector returns ISO 639-3; BCP 47 requires the shorter code if there is one.
_PAIRS = """
afr=af aka=ak amh=am ara=ar aze=az bel=be ben=bn bul=bg cat=ca ces=cs cmn=zh cym=cy dan=da deu=de
ell=el eng=en epo=eo est=et eus=eu fas=fa fin=fi fra=fr gle=ga glg=gl guj=gu heb=he hin=hi hrv=hr
hun=hu hye=hy ind=id isl=is ita=it jav=jv jpn=ja kan=kn kat=ka kaz=kk khm=km kor=ko lat=la lav=lv
lit=lt mal=ml mar=mr mkd=mk mya=my nep=ne nld=nl nob=nb ori=or pan=pa pes=fa pol=pl por=pt ron=ro
rus=ru sin=si slk=sk slv=sl sna=sn spa=es sqi=sq srp=sr swe=sv tam=ta tel=te tgl=tl tha=th tuk=tk
tur=tr ukr=uk urd=ur uzb=uz vie=vi yid=yi zul=zu
"""
_SHORT: Mapping[str, str] = MappingProxyType(dict(pair.split("=") for pair in _PAIRS.split()))


def guessed_language(text: str) -> str | None:
    """The language of a text as a BCP 47 tag; None if there is too little text."""
    if len(text) < _TOO_FEW:
        return None
    found = detect_language(text[:_ENOUGH]).language
    return None if found is None else _SHORT.get(found, found)
