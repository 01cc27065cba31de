"""`open`: a crawl on disk, for reading. It may be running."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from datetime import date, datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from gossamer.config.load import DELAYS_KEY, Config, delays_from_text, known_shape, make_config
from gossamer.config.policies import PolicyCache
from gossamer.crawl.document.announcer import POSITION_KEY
from gossamer.crawl.events import Outcome
from gossamer.crawl.page import Page
from gossamer.crawl.run.cache import missing_documents
from gossamer.crawl.run.location import CrawlLocation, resolve_urls, store_kind
from gossamer.crawl.run.opener import OpenCrawl, crawl_exists, open_crawl, shown_crawl
from gossamer.crawl.run.private_store import reachable
from gossamer.crawl.run.workers import is_running
from gossamer.errors import ArchiveError, GossamerWarning, MissingExtra, NotThisCrawl, UsageError
from gossamer.extract.full_page import Wanted
from gossamer.extract.main_text import TextExtractor
from gossamer.model.states import UrlState
from gossamer.model.units import Instant, Seconds, Url
from gossamer.observe.formatter import number_of
from gossamer.reports.explain.render import story_object
from gossamer.reports.export.crawl_tables import CrawlTables, Table
from gossamer.reports.export.formats import row_objects
from gossamer.reports.export.parquet import ArrowColumns
from gossamer.reports.export.reader import ExportReader
from gossamer.reports.export.tables import Selection, Value, mimes_from, moment_from, statuses_from
from gossamer.reports.queries import explain_url, find_page
from gossamer.reports.readback import read_response
from gossamer.reports.records import Json, PageRow

if TYPE_CHECKING:
    import pandas
    import pyarrow

Moment = str | date | datetime
"""A point in time: ISO 8601 text, or an object; UTC unless it says otherwise."""


def open(place: str | Path, *, dir: str | Path | None = None) -> "StoredCrawl":
    """Open a crawl for reading by its directory or the URL of its store (`sqlite:DIR`, `postgresql://HOST/DATABASE`).
    `dir` is the directory of its archive, if the store is on a server. It may be running. Raises NotThisCrawl if there
    is none."""
    return StoredCrawl(_location_of(place, dir))


def _location_of(place: str | Path, directory: str | Path | None) -> CrawlLocation:
    is_url = isinstance(place, str) and ":" in place and not Path(place).exists()
    named = {} if directory is None else {"dir": str(directory)}
    config = make_config({}, resolve_urls({**named, "store" if is_url else "dir": str(place)}))
    if store_kind(config.store).one_process:
        raise UsageError(f"{config.store} exists only in the process of its crawl, so it cannot be read")
    return CrawlLocation.of(config)


class StoredCrawl:
    """A crawl on disk, open for reading until `close` or the end of its `with` block. Shows every commit of a crawl
    that is running. Use it in one thread at a time."""

    def __init__(self, location: CrawlLocation, extractor: TextExtractor | None = None) -> None:
        """`extractor` is that of the main text of pages; the default is that with which the crawl was started. Raises
        NotThisCrawl if there is no crawl."""
        with ExitStack() as stack:
            self._location = stack.enter_context(reachable(location))
            if not crawl_exists(self._location):
                raise NotThisCrawl(f"there is no crawl in {shown_crawl(self._location)!r}")
            self._crawl: OpenCrawl = stack.enter_context(open_crawl(self._location))
            self._config = self._remembered_config()
            self._stack = stack.pop_all()
        self._extractor = extractor or TextExtractor(self._config.content.text)

    @property
    def dir(self) -> Path:
        """The crawl's directory."""
        return self._location.directory

    def __repr__(self) -> str:
        totals = self._totals()
        return f"<StoredCrawl {self.dir}: {number_of(_whole(totals['pages']), 'page')}, {totals['queued']} queued>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._stack.close()

    # --- pages -----------------------------------------------------------------------------------------------

    def pages(
        self,
        *,
        host: str | None = None,
        since: Moment | None = None,
        until: Moment | None = None,
        status: int | str | None = None,
        mime: str | None = None,
        language: str | None = None,
    ) -> Iterator[Page]:
        """The stored pages in the order in which their URLs were found, read from the archive one at a time.

        The filters are those of `gossamer export`: `since` and `until` (excluded) limit the time of the last visit;
        `status` is `200`, `"4xx"` or several separated by commas; `mime` is `"text/html"`, `"image/*"` or several;
        `language` is a tag, `"pt"` being also `"pt-BR"`. A page that cannot be read is left out, with a
        GossamerWarning. Raises UsageError for a filter that cannot be used.
        """
        wanted = Selection(
            since=moment_from(_moment_text(since), "since"),
            until=moment_from(_moment_text(until), "until"),
            statuses=statuses_from(None if status is None else str(status)),
            mimes=mimes_from(mime),
            language=language,
        )
        return self._pages(ExportReader(self._crawl.reader, host).pages(), wanted)

    def pages_as_stored(self) -> Iterator[Page]:
        """All pages in the order in which they were stored, as the crawl delivered them. Takes about 2 KB of memory for
        each."""
        rows = [row for row in ExportReader(self._crawl.reader).pages() if row.warc_file is not None]
        return self._pages(sorted(rows, key=lambda row: (row.warc_file, row.warc_offset)), Selection())

    def _pages(self, rows: Iterable[PageRow], wanted: Selection) -> Iterator[Page]:
        for row in rows:
            if not wanted.wants(*row.visited):
                continue
            place = (row.warc_file, row.warc_offset, row.warc_length)
            try:
                page = self._read(row.url, row.state, row.depth, row.at, row.took, row.title, place)
            except ArchiveError as error:
                _warn_of_record(str(error))
                continue
            if page is not None and (wanted.language is None or wanted.wants_language(_language_of(page))):
                yield page

    def page(self, url: str) -> Page | None:
        """The stored page at a URL; None if there is none. Raises ArchiveError if it cannot be read."""
        found = find_page(self._crawl.reader.urls, PolicyCache(self._config), url)
        if found is None:
            return None
        known, visit = found
        place = (visit.warc_file, visit.warc_offset, visit.warc_length)
        return self._read(known.url, known.state, known.depth, visit.at, visit.took, visit.title, place)

    def _read(
        self,
        url: str,
        state: UrlState,
        depth: int,
        at: Instant | None,
        took: float | None,
        title: str | None,
        place: tuple[str | None, int | None, int | None],
    ) -> Page | None:
        """The page in the archive; None if it was not archived."""
        file, offset, length = place
        if file is None or offset is None or length is None:
            return None
        response = read_response(self._crawl.archive, file, offset, length)
        if response is None:
            return None
        at = at or Instant(0.0)
        response = response._replace(url=Url(url), started=at, took=Seconds(took or 0.0))
        outcome = Outcome(Url(url), state, at, depth, response.status, None, title, None, response)
        return Page(outcome, self._extractor)

    # --- tables ----------------------------------------------------------------------------------------------

    def urls(self, *, state: str | None = None) -> Iterator[dict[str, Value]]:
        """All known URLs, or those in a state such as `"queued"`, as the objects of `gossamer export --what pages`.
        Raises UsageError for a state that does not exist."""
        states = [each.word for each in UrlState]
        if state is not None and state not in states:
            raise UsageError(f"state: there is no state {state!r}; there are {', '.join(states)}")
        found = self._objects(self._tables().pages())
        return found if state is None else (each for each in found if each["state"] == state)

    def links(self) -> Iterator[dict[str, Value]]:
        """All links of the stored pages, as the objects of `gossamer export --what links`."""
        return self._objects(self._tables().links())

    def _objects(self, table: Table) -> Iterator[dict[str, Value]]:
        columns, rows = table
        yield from row_objects(rows, columns)  # holds the crawl open until the last row

    def to_arrow(self, table: str) -> "pyarrow.Table":
        """A table of `gossamer export` as a pyarrow.Table: `pages`, `links` or `text`. Raises MissingExtra without
        pyarrow, UsageError for a table that does not exist."""
        return self._arrow(table, "StoredCrawl.to_arrow")

    def to_pandas(self, table: str) -> "pandas.DataFrame":
        """As `to_arrow`, as a pandas.DataFrame. Raises MissingExtra without pandas."""
        try:
            import pandas as _  # noqa: F401 - pyarrow needs it
        except ImportError:
            raise MissingExtra("StoredCrawl.to_pandas", "pandas", "pandas") from None
        return self._arrow(table, "StoredCrawl.to_pandas").to_pandas()

    def _arrow(self, table: str, feature: str) -> "pyarrow.Table":
        tables = self._tables()
        known: dict[str, Callable[[], Table]] = {"pages": tables.pages, "links": tables.links, "text": tables.texts}
        if table not in known:
            raise UsageError(f"there is no table {table!r}; there are {', '.join(known)}")
        columns, rows = known[table]()
        return ArrowColumns(columns, feature).table_of_all(rows)

    def _tables(self) -> CrawlTables:
        crawl = self._crawl
        return CrawlTables(
            ExportReader(crawl.reader), crawl.reader, crawl.archive, self._config, Selection(), _warn_of_record
        )

    # --- the crawl -------------------------------------------------------------------------------------------

    def status(self) -> Json:
        """The status of the crawl, as the object of `gossamer status --json`."""
        from gossamer.library.crawl_status import read_status, status_object

        return status_object(read_status(self._location, self._crawl))

    def missing_in_stream(self, url: str, *, group: str) -> int:
        """How many stored documents a group of the document stream (`gossamer.stream`) lacks, besides the gaps of those
        that it has received. Documents that the group has yet to read count, so ask after it has read everything. `url`
        is that of the Redis. Raises UsageError if there is no such group, ConnectionLost."""
        status = self._crawl.reader.status
        return missing_documents(url, status.fact("crawl_id") or "", group, status.worker_facts(POSITION_KEY))

    def explain(self, url: str) -> Json:
        """Everything that is known about a URL, as the object of `gossamer explain --json`."""
        book = PolicyCache(self._config)
        crawl = self._crawl
        return story_object(explain_url(crawl.reader.urls, crawl.archive, book, url, running=self._is_running))

    @property
    def _is_running(self) -> bool:
        return is_running(self._location)

    def _totals(self) -> Json:
        return self._crawl.reader.status.totals()

    def _remembered_config(self) -> Config:
        """The options that the crawl was last started with, as far as it remembers them."""
        options = known_shape(self._crawl.reader.status.options())
        delays = delays_from_text(self._crawl.reader.status.fact(DELAYS_KEY))
        return make_config({**options, **delays}, {"dir": str(self.dir), "store": self._location.store})


def _moment_text(moment: Moment | None) -> str | None:
    return moment.isoformat() if isinstance(moment, date) else moment


def _language_of(page: Page) -> str | None:
    found = page.read(Wanted(anchor_text=False, text=False, guess_language=True))
    return None if found is None else found.language


def _warn_of_record(problem: str) -> None:
    GossamerWarning.issue(f"left out: {problem} (see gossamer verify)")


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0
