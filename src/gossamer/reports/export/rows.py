"""The rows of each table, as streams. For the link graph, fingerprints are turned back into ids: 16 bytes of memory for
each known URL, and about 100 while the table is built."""

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from itertools import chain

from gossamer.errors import ArchiveError, GossamerError
from gossamer.filter.canonical import Canonicaliser
from gossamer.reports.all_workers import ExportReader
from gossamer.reports.export.documents import ArchivedPage, Documents, link_rows
from gossamer.reports.export.markdown import MarkdownFolder
from gossamer.reports.export.tables import PageColumns, Row, Selection, digest_text
from gossamer.reports.records import PageEdges, PageRow


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
    for graph in reader.graphs():
        nodes = NodeTable(*graph.nodes())
        for page in graph.edges():
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
