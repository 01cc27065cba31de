"""The tables of a crawl: pages, links and texts with their columns. The only source of rows for `gossamer export` and
for stored crawls in Python."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from gossamer.config.load import Config
from gossamer.config.policies import PolicyCache
from gossamer.reports.export import tables
from gossamer.reports.export.reader import ExportReader
from gossamer.reports.export.tables import Column, Row, Selection
from gossamer.reports.ports import Archive, CrawlReader
from gossamer.reports.scores import scores_of

if TYPE_CHECKING:
    from gossamer.extract.full_page import Wanted
    from gossamer.extract.main_text import TextExtractor
    from gossamer.reports.export.rows import ArchivedRows, Complaint, Documents

Table = tuple[Sequence[Column], Iterator[Row]]


class CrawlTables:
    """The tables of an open crawl. What parses pages again takes as long to import as a crawl, so it is imported only
    if it is needed."""

    def __init__(
        self,
        reader: ExportReader,
        store: CrawlReader,
        archive: Archive,
        config: Config,
        wanted: Selection,
        complain: "Complaint",
    ) -> None:
        """`config` has the rules of the crawl; `complain` is called for each record that
        cannot be read, which is left out."""
        self._reader = reader
        self._store = store
        self._archive = archive
        self._config = config
        self._wanted = wanted
        self._complain = complain
        self.documents: Documents | None = None  # what the pages are read with, if they are

    def _rows(self, want: "Wanted") -> "ArchivedRows":
        from gossamer.reports.export.rows import ArchivedRows, Documents

        self.documents = Documents(self._archive, want)
        return ArchivedRows(self._reader, self._wanted, self.documents, self._complain)

    def pages(self, *, parts: bool = False) -> Table:
        """All pages; they are parsed only to find those in one language."""
        from gossamer.reports.export.rows import page_rows

        policies = PolicyCache(self._config)
        scores = scores_of(self._store, policies, policies.clock.now())
        columns = tables.PageColumns(scores.total, scores.parts if parts else None)
        if self._wanted.language is None:
            return columns.columns, page_rows(self._reader, self._wanted, columns)

        from gossamer.extract.full_page import Wanted

        want = Wanted(anchor_text=False, text=False, guess_language=True)
        return columns.columns, self._rows(want).pages(columns)

    def links(self) -> Table:
        from gossamer.config.policies import canonicaliser_for
        from gossamer.extract.full_page import Wanted

        want = Wanted(text=False, guess_language=self._wanted.language is not None)
        return tables.LINKS, self._rows(want).links(canonicaliser_for(self._config))

    def texts(self, extractor: str | None = None, *, markdown: bool = False) -> Table:
        from gossamer.extract.full_page import Wanted

        want = Wanted(anchor_text=False, guess_language=True, markdown=markdown, extractor=self._extractor(extractor))
        columns = tables.TEXT_WITH_MARKDOWN if markdown else tables.TEXT
        return columns, self._rows(want).texts(markdown=markdown)

    def write_markdown(self, output: str, extractor: str | None = None) -> int:
        """Write one file per page into a new directory. Returns how many. Raises UsageError."""
        from gossamer.extract.full_page import Wanted
        from gossamer.reports.export.formats import open_folder

        want = Wanted(
            anchor_text=False, text=False, guess_language=True, markdown=True, extractor=self._extractor(extractor)
        )
        with open_folder(output) as folder:
            return self._rows(want).write_markdown(folder)

    def _extractor(self, name: str | None) -> "TextExtractor":
        from gossamer.extract.main_text import TextExtractor

        return TextExtractor(name or self._config.content.text)
