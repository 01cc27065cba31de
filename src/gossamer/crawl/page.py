"""`Page`: a stored page as programs receive it, from a running crawl, in a hook or from a crawl on disk."""

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cached_property
from typing import NamedTuple

from turbohtml import Document, Markdown

from gossamer.crawl.events import Outcome
from gossamer.errors import GossamerWarning, MissingExtra, SelectorError
from gossamer.extract.charset import decode
from gossamer.extract.content_types import is_html
from gossamer.extract.full_page import LanguageSource, LinkKind, Wanted, read_page
from gossamer.extract.full_page import Page as Contents
from gossamer.extract.main_text import (
    TextExtractor,
    TextSource,
    is_plain_text,
    page_markdown,
    plain_text,
    trafilatura_text,
)
from gossamer.extract.pdf import is_pdf, pdf_text
from gossamer.extract.selection import JSON, Form, Selection, Variable, form_in, microdata_of, opengraph_of
from gossamer.extract.tree import page_tree
from gossamer.fetch.http.body import payload
from gossamer.filter.canonical import Canonical, canonicalise
from gossamer.model.outcome import Response


class PageLink(NamedTuple):
    """A link of a page, with its absolute URL."""

    url: str
    text: str  # the anchor text
    kind: LinkKind
    nofollow: bool


class Page:
    """A document that was fetched, archived and committed. Expensive properties are computed on first use."""

    def __init__(self, outcome: Outcome, extractor: TextExtractor = TextExtractor.FAST) -> None:
        """`extractor` is that of the main text."""
        assert outcome.response is not None
        self._outcome = outcome
        self._extractor = extractor
        self.response: Response = outcome.response
        """The response as received."""

    def __repr__(self) -> str:
        return f"<Page {self.status} {self.url}>"

    @property
    def url(self) -> str:
        return self._outcome.url

    @property
    def status(self) -> int:
        return self.response.status

    @property
    def headers(self) -> Mapping[str, str]:
        """Names in lower case."""
        return self.response.headers

    @property
    def content_type(self) -> str | None:
        return self.response.headers.get("content-type")

    @property
    def depth(self) -> int:
        """Links followed from a seed."""
        return self._outcome.depth

    @property
    def title(self) -> str | None:
        return self._outcome.title

    @property
    def fetched_at(self) -> datetime:
        return datetime.fromtimestamp(self.response.started, UTC)

    @cached_property
    def body(self) -> bytes:
        """The body without its content codings."""
        return payload(self.response).body

    @property
    def is_html(self) -> bool:
        return is_html(self.content_type, self.body[:1024])

    @cached_property
    def _parsed(self) -> tuple[Document, str]:
        tree, encoding, _ = page_tree(self.body if self.is_html else b"", self.content_type)
        return tree, encoding

    @property
    def tree(self) -> Document:
        """The parsed page, without inert templates; that of an empty page if it is not HTML. About ten times as large
        as the page."""
        return self._parsed[0]

    @property
    def encoding(self) -> str:
        """The encoding of the page, by its name in the Encoding Standard."""
        return self._parsed[1]

    @cached_property
    def html(self) -> str:
        """The decoded page; empty if it is not HTML."""
        return decode(self.body, self.encoding) if self.is_html else ""

    @cached_property
    def _selection(self) -> Selection:
        return Selection([self.tree] if self.is_html else [])

    def css(self, selector: str) -> Selection:
        """The matches of a CSS selector, with `::text` and `::attr(name)`; none if the page is not HTML. Raises
        SelectorError."""
        return self._selection.css(selector)

    def xpath(self, expression: str, /, **variables: Variable) -> Selection:
        """The results of an XPath expression, relative to the `html` element; none if the page is not HTML. Raises
        SelectorError."""
        return self.css(":root").xpath(expression, **variables)

    def markdown(self, *, main: bool = True, options: Markdown | None = None) -> str:
        """The page as Markdown with absolute links: its main text, or all of it. The text of a document that is not
        HTML. `options` are those of `turbohtml.Markdown`; with them the main text is that of the extractor `fast`."""
        if not self.is_html:
            return self.text
        if main and options is None and self._extractor is TextExtractor.TRAFILATURA:
            return trafilatura_text(self.body, self.encoding, self.url, markdown=True).markdown or ""
        tree, _, _ = page_tree(self.body, self.content_type)  # its own: it is modified
        return page_markdown(tree, len(self.body), self.url, main=main, options=options)

    @property
    def json_ld(self) -> list[JSON]:
        """The values of all JSON-LD blocks; invalid ones are left out."""
        return list(self.tree.json_ld())

    @property
    def opengraph(self) -> dict[str, str]:
        """The Open Graph properties by their names without `og:`."""
        return opengraph_of(self.tree, self.url)

    @property
    def microdata(self) -> list[JSON]:
        """The microdata items in the JSON form of the HTML standard."""
        return microdata_of(self.tree, self.url)

    @property
    def tables(self) -> list[list[list[str]]]:
        """The text of the cells of all tables, by row."""
        return self.tree.tables()

    @property
    def forms(self) -> list[Form]:
        return self._forms(self.css("form"))

    def form(self, selector: str = "form") -> Form:
        """The first form that matches. Raises SelectorError if there is none."""
        found = self._forms(self.css(selector))
        if not found:
            raise SelectorError("CSS selector", selector, f"it matches no form on {self.url}")
        return found[0]

    def _forms(self, found: Selection) -> list[Form]:
        elements = [each.element for each in found]
        base = self.tree.base_url(self.url)
        return [
            form_in(element, self._absolute(element.attr("action") or self.url, base))
            for element in elements
            if element is not None and element.tag == "form"
        ]

    @staticmethod
    def _absolute(written: str, base: str) -> str:
        found = canonicalise(written, base)
        return found.url if isinstance(found, Canonical) else written

    def read(self, want: Wanted | None = None) -> Contents | None:
        """Parse the page, as much as `want` asks for; None if it is not HTML."""
        if not self.is_html:
            return None
        headers = self.response.headers
        return read_page(
            self.body,
            self.content_type,
            self.url,
            robots_tag=headers.get("x-robots-tag"),
            content_language=headers.get("content-language"),
            link=headers.get("link"),
            refresh=headers.get("refresh"),
            want=want,
        )

    @cached_property
    def _contents(self) -> Contents | None:
        return self.read(Wanted(extractor=self._extractor))

    @property
    def text(self) -> str:
        """The main text of an HTML page, as the extractor of the crawl (`content.text`) finds it; a text document
        as it is; the text of a PDF document. Empty for other documents and, with a GossamerWarning, for a PDF document
        if the extra `pdf` is not installed."""
        if self._contents is not None:
            return self._contents.text or ""
        return self._other_text[0]

    @property
    def text_source(self) -> TextSource | None:
        """Where the text comes from; None if there is none."""
        if self._contents is not None:
            return self._contents.text_source
        return self._other_text[1]

    @cached_property
    def _other_text(self) -> tuple[str, TextSource | None]:
        """The text of a document that is not HTML, and where it comes from."""
        if is_plain_text(self.content_type):
            return plain_text(self.body, self.content_type), TextSource.PLAIN
        if not is_pdf(self.content_type, self.body):
            return "", None
        try:
            text = pdf_text(self.body)
        except MissingExtra as error:
            GossamerWarning.issue(f"no text of {self.url}: {error}")
            return "", None
        return ("", None) if text is None else (text, TextSource.PDF)

    @property
    def description(self) -> str | None:
        """The description in the page's metadata."""
        return self._contents.description if self._contents is not None else None

    @property
    def language(self) -> str | None:
        return self._contents.language if self._contents is not None else None

    @property
    def language_source(self) -> LanguageSource | None:
        return self._contents.language_source if self._contents is not None else None

    @cached_property
    def links(self) -> list[PageLink]:
        """The links of an HTML page in document order, as absolute URLs; invalid ones are left out."""
        contents = self._contents
        if contents is None:
            return []
        base = self.url
        if contents.base is not None:
            found = canonicalise(contents.base, self.url)
            base = found.url if isinstance(found, Canonical) else base
        links = []
        for link in contents.links:
            target = canonicalise(link.href, base)
            if isinstance(target, Canonical):
                links.append(PageLink(target.url, link.text, link.kind, link.nofollow))
        return links
