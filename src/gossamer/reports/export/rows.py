"""The rows of each table, as streams. Links with their texts, the texts of pages and their languages are parsed again
from the archive (`Documents`). For the link graph, fingerprints are turned back into ids: 16 bytes of memory for each
known URL, and about 100 while the table is built.
"""

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from itertools import chain

from gossamer.errors import ArchiveError, GossamerError
from gossamer.extract.content_types import is_html
from gossamer.extract.full_page import Page, Wanted, read_page
from gossamer.extract.main_text import TextSource, is_plain_text, plain_text
from gossamer.extract.pdf import is_pdf, is_pdf_supported, pdf_text
from gossamer.filter.canonical import Canonical, Canonicaliser, Refusal
from gossamer.model.outcome import Response
from gossamer.reports.export.formats import MarkdownFolder
from gossamer.reports.export.reader import ExportReader
from gossamer.reports.export.tables import VERSION, PageColumns, Row, Selection, digest_text
from gossamer.reports.ports import Archive
from gossamer.reports.readback import document_in, read_response
from gossamer.reports.records import PageEdges, PageRow


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
        if is_plain_text(content_type):
            text = plain_text(body, content_type) if self._want.text else None
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


class NodeTable:
    """Finds URLs by fingerprint alone, though it is unique only within a domain: among 64 bits no collision is
    expected."""

    def __init__(self, ids: "array[int]", prints: "array[int]") -> None:
        order = array("q", sorted(range(len(prints)), key=prints.__getitem__))
        self._prints = array("q", (prints[place] for place in order))
        self._ids = array("q", (ids[place] for place in order))

    def ids_of(self, prints: Sequence[int]) -> list[int]:
        """The ids of those that are known, in the same order."""
        known, ids = self._prints, []
        for wanted in prints:
            place = bisect_left(known, wanted)
            if place < len(known) and known[place] == wanted:
                ids.append(self._ids[place])
        return ids


PAGES_OF_EDGES = 200
"""Pages whose targets are looked up at a time."""

Complaint = Callable[[str], None]


class ArchivedRows:
    """Rows for which pages are parsed again from the archive.

    A record that cannot be read is reported and left out: one bad sector must not fail the whole export. `gossamer
    verify` says what is wrong with it.
    """

    def __init__(self, reader: ExportReader, wanted: Selection, documents: Documents, complain: Complaint) -> None:
        self._reader = reader
        self._wanted = wanted
        self._documents = documents
        self._complain = complain

    def pages(self, columns: PageColumns) -> Iterator[Row]:
        """As `page_rows`, filtered by language."""
        for row, _ in self._found():
            yield columns.row(row)

    def links(self, canonicaliser: Canonicaliser) -> Iterator[Row]:
        for _, found in self._found():
            yield from link_rows(found, canonicaliser)

    def texts(self, *, markdown: bool = False) -> Iterator[Row]:
        for row, found in self._found():
            if found.text is None:
                continue
            page = found.page
            values: Row = (
                VERSION,
                row.url,
                row.at,
                row.status,
                row.mime,
                found.language,
                row.title if page is None else page.title,
                None if page is None else page.description,
                None if page is None else page.canonical,
                digest_text(row.digest),
                found.text,
                found.text_source,
                None if page is None else page.language_source,
            )
            yield (*values, None if page is None else page.markdown) if markdown else values

    def write_markdown(self, folder: MarkdownFolder) -> int:
        """Write the HTML pages as files. Returns how many."""
        number = 0
        for row, found in self._found():
            page = found.page
            if page is None or page.markdown is None:
                continue
            digest = digest_text(row.digest)
            folder.add(
                row.url, page.markdown, title=page.title, fetched_at=row.at, language=page.language, digest=digest
            )
            number += 1
        return number

    def _found(self) -> Iterator[tuple[PageRow, ArchivedPage]]:
        for row in self._reader.pages():
            if row.warc_file is None or row.warc_offset is None or row.warc_length is None:
                continue
            if not self._wanted.wants(*row.visited):
                continue
            try:
                found = self._documents.open(row.warc_file, row.warc_offset, row.warc_length)
            except ArchiveError as error:
                self._complain(str(error))
                continue
            if found is not None and self._wanted.wants_language(found.language):
                yield row, found


def page_rows(reader: ExportReader, wanted: Selection, columns: PageColumns) -> Iterator[Row]:
    """Every known page that passes the filter."""
    for row in reader.pages():
        if wanted.wants(*row.visited):
            yield columns.row(row)


def edge_rows(reader: ExportReader, wanted: Selection, *, by_id: bool) -> Iterator[Row]:
    """The links between known URLs, each once for its page, of pages that pass the filter."""
    if wanted.language is not None:
        raise GossamerError("the link graph has no languages")
    gathered: list[tuple[int, list[int]]] = []
    nodes = NodeTable(*reader.nodes())
    for page in reader.edges():
        if not wanted.wants(*page.visited):
            continue
        if by_id:
            yield from _by_id(page, nodes)
            continue
        gathered.append((page.url_id, nodes.ids_of(page.targets)))
        if len(gathered) >= PAGES_OF_EDGES:
            yield from _named(gathered, reader)
            gathered.clear()
    yield from _named(gathered, reader)


def _by_id(page: PageEdges, nodes: NodeTable) -> Iterator[Row]:
    for target in nodes.ids_of(page.targets):
        yield page.url_id, target


def _named(pages: list[tuple[int, list[int]]], reader: ExportReader) -> Iterator[Row]:
    names = reader.names_of(sorted(set(chain([url_id for url_id, _ in pages], *(ids for _, ids in pages)))))
    for url_id, ids in pages:
        for target in ids:
            if url_id in names and target in names:
                yield names[url_id], names[target]
