"""Opens the store and the archive of an existing crawl. Together with `assemble`, the only place that knows backends.

A store is named by a URL: `sqlite:DIR` is the database in a crawl directory, or those of its workers. So is an archive:
`file:FOLDER`, by default the one in the crawl directory. Light: a command that only reads loads no fetcher.
"""

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from gossamer.backends.sqlite.crawl_reader import open_editor, open_reader
from gossamer.crawl.run.directory import ARCHIVE, DATABASE, CrawlDirectory, existing_parts
from gossamer.errors import DirectoryError, OldSchema
from gossamer.reports.all_workers import WorkerStore
from gossamer.reports.ports import Archive, CrawlEditor, CrawlReader

_SMALL_CACHE_KIB = 4_096


class OpenCrawl:
    """A crawl that is open for reading: the store of each worker, and the archive of all."""

    def __init__(self, directory: Path, parts: list[Path], readers: list[CrawlReader]) -> None:
        self._directory = directory
        self.parts = parts
        self.readers = readers

    @property
    def reader(self) -> CrawlReader:
        """The first store: what concerns the whole crawl is in every one."""
        return self.readers[0]

    @property
    def _is_by_one(self) -> bool:
        return self.parts == [self._directory]

    @property
    def stores(self) -> list[WorkerStore]:
        prefixes = [""] if self._is_by_one else [f"{part.name}/{ARCHIVE}/" for part in self.parts]
        return [WorkerStore(reader, prefix) for reader, prefix in zip(self.readers, prefixes, strict=True)]

    @cached_property
    def archive(self) -> Archive:
        """With the file names of `WorkerStore.full_name`."""
        return _archive(self._directory / ARCHIVE if self._is_by_one else self._directory)

    @property
    def archives(self) -> list[Archive]:
        """The archive of each worker, with the file names of its own store."""
        return [_archive(part / ARCHIVE) for part in self.parts]


class HeldPart(NamedTuple):
    """The store and the archive of one worker, held for changes."""

    directory: Path
    editor: CrawlEditor
    archive: Archive


@contextmanager
def open_crawl(directory: Path) -> Iterator[OpenCrawl]:
    """For reading; the crawl may be running. A store with an older schema is migrated first. Raises NotThisCrawl,
    naming the part that is missing or cannot be used."""
    parts = existing_parts(directory)
    with ExitStack() as opened:

        def open_all() -> list[CrawlReader]:
            return [opened.enter_context(closing(open_reader(part / DATABASE))) for part in parts]

        try:
            readers = open_all()
        except OldSchema:
            opened.close()
            _migrate(directory)
            readers = open_all()
        yield OpenCrawl(directory, parts, readers)


@contextmanager
def hold_crawl(directory: Path) -> Iterator[list[HeldPart]]:
    """For changes, while no other process uses the crawl: the parts of all workers. Raises NotThisCrawl or
    DirectoryInUse; then nothing was changed."""
    parts = existing_parts(directory)
    with ExitStack() as opened:
        if parts != [directory]:
            opened.callback(CrawlDirectory(directory, archive=False).close)
        held = []
        for part in parts:
            held.append(CrawlDirectory(part))
            opened.callback(held[-1].close)
        yield [
            HeldPart(one.path, opened.enter_context(closing(open_editor(one.database))), _archive(one.warcs))
            for one in held
        ]


def open_part(directory: Path) -> CrawlReader:
    """The store of a crawl by one worker, or of one of several, with a small cache: for a reader of which there are
    several. Raises NotThisCrawl, OldSchema or StoreFailed."""
    return open_reader(directory / DATABASE, cache_kib=_SMALL_CACHE_KIB)


def open_archive(directory: Path) -> Archive:
    """The archive of a crawl by one worker, or of one of several."""
    return _archive(directory / ARCHIVE)


def _archive(folder: Path) -> Archive:
    from gossamer.backends.warc.archive import WarcArchive  # few commands need it, and it takes long to load

    return WarcArchive(folder)


def _migrate(directory: Path) -> None:
    """Bring the stores of all workers up to date. No other process may use the crawl."""
    try:
        with hold_crawl(directory):
            pass
    except DirectoryError as error:
        raise type(error)(
            f"{directory} was written by an older Gossamer and has to be upgraded once, but: {error}"
        ) from error
