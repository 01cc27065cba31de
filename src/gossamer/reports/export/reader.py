"""What the rows of exports are made of."""

from collections.abc import Iterable, Iterator

from gossamer.reports.ports import CrawlReader
from gossamer.reports.records import Nodes, PageEdges, PageFilter, PageRow, Progress


class ExportReader:
    """Rows for exports. With `host`, those of this host only."""

    def __init__(self, reader: CrawlReader, host: str | None = None, progress: Progress | None = None) -> None:
        self._reader = reader
        self._host = host
        self._progress = progress

    def pages(self) -> Iterator[PageRow]:
        """In order of discovery."""
        return self._reader.pages.stream(PageFilter(host=self._host), self._progress)

    def nodes(self) -> Nodes:
        """The ids of all URLs and their fingerprints."""
        return self._reader.links.nodes()

    def edges(self) -> Iterator[PageEdges]:
        """The pages with their links."""
        return self._reader.links.edges(self._host, self._progress)

    def names(self) -> Iterator[tuple[int, str]]:
        """Every URL with its id."""
        return self._reader.links.names()

    def names_of(self, ids: Iterable[int]) -> dict[int, str]:
        return self._reader.links.names_of(list(ids))
