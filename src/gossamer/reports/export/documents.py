"""Pages parsed again from the archive: their links with texts, their own text, their language."""

from collections.abc import Iterator

from gossamer.extract.charset import charset_parameter, choose_encoding, decode
from gossamer.extract.content_types import is_html
from gossamer.extract.full_page import Page, Wanted, read_page
from gossamer.extract.main_text import TextSource
from gossamer.extract.pdf import is_pdf, is_pdf_supported, pdf_text
from gossamer.filter.canonical import Canonical, Canonicaliser, Refusal
from gossamer.model.outcome import Response
from gossamer.reports.export.tables import VERSION, Row
from gossamer.reports.ports import Archive
from gossamer.reports.readback import document_in, read_response


class ArchivedPage:
    """A page as it was archived."""

    def __init__(
        self, response: Response, page: Page | None, text: str | None, source: TextSource | None = None
    ) -> None:
        self.response = response
        self.page = page  # None: it is not HTML
        self.text = text
        self.text_source = source

    @property
    def language(self) -> str | None:
        return self.page.language if self.page is not None else None


class Documents:
    """Opens archived pages. `want` says what to extract from them."""

    def __init__(self, archive: Archive, want: Wanted) -> None:
        self._archive = archive
        self._want = want
        self.pdf_skipped = 0  # the extra `pdf` is not installed
        self.pdf_unreadable = 0

    def open(self, file: str, offset: int, length: int) -> ArchivedPage | None:
        """None where there is no text: images and the like, and revisits. Raises ArchiveError."""
        response = read_response(self._archive, file, offset, length)
        if response is None:
            return None
        found = document_in(response)
        body, content_type = found.body, response.headers.get("content-type")
        if not body or found.unknown_coding:
            return None
        if is_html(content_type, body[:1024]):
            headers = response.headers
            page = read_page(
                body,
                content_type,
                response.url,
                robots_tag=headers.get("x-robots-tag"),
                content_language=headers.get("content-language"),
                link=headers.get("link"),
                refresh=headers.get("refresh"),
                want=self._want,
            )
            return ArchivedPage(response, page, page.text, page.text_source)
        if (content_type or "").lower().startswith("text/"):
            text = _plain_text(body, content_type) if self._want.text else None
            return ArchivedPage(response, None, text, TextSource.PLAIN)
        if self._want.text and is_pdf(content_type, body):
            return self._open_pdf(response, body)
        return None

    def _open_pdf(self, response: Response, body: bytes) -> ArchivedPage | None:
        if not is_pdf_supported():
            self.pdf_skipped += 1
            return None
        text = pdf_text(body)
        if text is None:
            self.pdf_unreadable += 1
            return None
        return ArchivedPage(response, None, text, TextSource.PDF)


def link_rows(found: ArchivedPage, canonicaliser: Canonicaliser) -> Iterator[Row]:
    """The links of a page as rows of `tables.LINKS`, in document order; what is no URL of ours is left out."""
    page = found.page
    if page is None:
        return
    base = str(found.response.url)
    if page.base is not None:
        base = _absolute(page.base, base, canonicaliser) or base
    for link in page.links:
        target = _absolute(link.href, base, canonicaliser)
        if target is not None:
            nofollow = page.nofollow or link.nofollow
            yield VERSION, found.response.url, target, link.text, link.kind.value, link.rel, nofollow, link.hreflang


def _absolute(href: str, base: str, canonicaliser: Canonicaliser) -> str | None:
    match canonicaliser.canonicalise(href, base):
        case Canonical() as target:
            return target.url
        case Refusal():
            return None


def _plain_text(body: bytes, content_type: str | None) -> str:
    return decode(body, choose_encoding(body, charset_parameter(content_type)))
