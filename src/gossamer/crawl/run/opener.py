"""Opens the store and the archive of an existing crawl for readers (`store` does so for a running crawl). Besides
`store`, the only module that imports backends.

Both are named by URLs. A store is `sqlite:DIR`, the database in a crawl directory or those of its workers. An archive
is `file:DIR`, a folder of WARC files, by default the one in the crawl directory. Light: a command that only reads loads
no fetcher.
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from gossamer.backends.sqlite.crawl_reader import open_editor, open_reader
from gossamer.crawl.run.directory import ARCHIVE, DATABASE, CrawlDirectory, existing_parts
from gossamer.errors import ConfigError, DirectoryError, OldSchema
from gossamer.reports.all_workers import WorkerStore
from gossamer.reports.ports import Archive, CrawlEditor, CrawlReader

MEMORY = "memory:"
"""The store of a crawl that keeps everything in memory, for tests. It ends with its process."""
_SMALL_CACHE_KIB = 4_096


# --- URLs ------------------------------------------------------------------------------------------------


class CrawlLocation(NamedTuple):
    """Where a crawl is. Without `blobs` its archive is where it was when the crawl last started."""

    directory: Path
    blobs: str | None = None


def resolve_urls(options: Mapping[str, object]) -> dict[str, object]:
    """Options with both `dir` and `store` if one of them was given, and with an absolute `blobs`, which is remembered.
    Raises ConfigError naming the value that cannot be used."""
    found = dict(options)
    store = found.get("store")
    if store is not None and store != MEMORY:
        directory = _path_in(store, "store", "sqlite")
        if Path(str(found.setdefault("dir", directory))) != Path(directory):
            raise ConfigError("store", f"{store} is not in the directory {found['dir']}; give one of them")
    elif store is None and found.get("dir") is not None:
        found["store"] = f"sqlite:{found['dir']}"
    if (blobs := found.get("blobs")) is not None:
        found["blobs"] = f"file:{Path(_path_in(blobs, 'blobs', 'file')).absolute()}"
    return found


def archive_folder(blobs: str | None) -> Path | None:
    """The folder of an archive; None without a URL. Raises ConfigError."""
    return None if blobs is None else Path(_path_in(blobs, "blobs", "file"))


def _path_in(url: object, key: str, scheme: str) -> str:
    found, colon, path = str(url).partition(":")
    if not colon or found != scheme or not path:
        raise ConfigError(key, f"{str(url)!r} is not a URL of the form {scheme}:DIR")
    return path


# --- reading ---------------------------------------------------------------------------------------------


class OpenCrawl:
    """A crawl that is open for reading: the store of each worker, and the archive of all."""

    def __init__(self, location: CrawlLocation, parts: list[Path], readers: list[CrawlReader]) -> None:
        self._location = location
        self.parts = parts
        self.readers = readers

    @property
    def reader(self) -> CrawlReader:
        """The first store: what concerns the whole crawl is in every one."""
        return self.readers[0]

    @property
    def _is_by_one(self) -> bool:
        return self.parts == [self._location.directory]

    @property
    def stores(self) -> list[WorkerStore]:
        prefixes = [""] if self._is_by_one else [f"{part.name}/{ARCHIVE}/" for part in self.parts]
        return [WorkerStore(reader, prefix) for reader, prefix in zip(self.readers, prefixes, strict=True)]

    @cached_property
    def archive(self) -> Archive:
        """With the file names of `WorkerStore.full_name`."""
        return self.archives[0] if self._is_by_one else archive_in(self._location.directory)

    @cached_property
    def archives(self) -> list[Archive]:
        """The archive of each worker, with the file names of its own store."""
        return [
            archive_in(_archive_folder(self._location.blobs, part, reader))
            for part, reader in zip(self.parts, self.readers, strict=True)
        ]


@contextmanager
def open_crawl(location: CrawlLocation) -> Iterator[OpenCrawl]:
    """For reading; the crawl may be running. A store with an older schema is migrated first. Raises NotThisCrawl,
    naming the part that is missing or cannot be used."""
    parts = existing_parts(location.directory)
    with ExitStack() as opened:

        def open_all() -> list[CrawlReader]:
            return [opened.enter_context(closing(open_reader(part / DATABASE))) for part in parts]

        try:
            readers = open_all()
        except OldSchema:
            opened.close()
            _migrate(location)
            readers = open_all()
        yield OpenCrawl(location, parts, readers)


def open_part(directory: Path) -> CrawlReader:
    """The store of a crawl by one worker, or of one of several, with a small cache: for a reader of which there are
    several. Raises NotThisCrawl, OldSchema or StoreFailed."""
    return open_reader(directory / DATABASE, cache_kib=_SMALL_CACHE_KIB)


def open_archive(location: CrawlLocation, reader: CrawlReader) -> Archive:
    """The archive of a crawl by one worker."""
    return archive_in(_archive_folder(location.blobs, location.directory, reader))


def _archive_folder(blobs: str | None, directory: Path, reader: CrawlReader) -> Path:
    remembered = reader.status.options().get("blobs") if blobs is None else blobs
    return archive_folder(None if remembered is None else str(remembered)) or directory / ARCHIVE


def archive_in(folder: Path) -> Archive:
    """The archive in a folder."""
    from gossamer.backends.warc.archive import WarcArchive  # few commands need it, and it takes long to load

    return WarcArchive(folder)


# --- changing --------------------------------------------------------------------------------------------


class HeldPart(NamedTuple):
    """The store and the archive of one worker, held for changes."""

    directory: Path
    editor: CrawlEditor
    archive: Archive


@contextmanager
def hold_crawl(location: CrawlLocation) -> Iterator[list[HeldPart]]:
    """For changes, while no other process uses the crawl: the parts of all workers. Raises NotThisCrawl or
    DirectoryInUse; then nothing was changed."""
    parts = existing_parts(location.directory)
    with ExitStack() as opened:
        if parts != [location.directory]:
            opened.callback(CrawlDirectory(location.directory, archive=False).close)
        held = []
        for part in parts:
            held.append(CrawlDirectory(part, archive=False))
            opened.callback(held[-1].close)
        editors = [opened.enter_context(closing(open_editor(one.database))) for one in held]
        yield [
            HeldPart(one.path, editor, archive_in(_archive_folder(location.blobs, one.path, editor)))
            for one, editor in zip(held, editors, strict=True)
        ]


def _migrate(location: CrawlLocation) -> None:
    """Bring the stores of all workers up to date. No other process may use the crawl."""
    try:
        with hold_crawl(location):
            pass
    except DirectoryError as error:
        raise type(error)(
            f"{location.directory} was written by an older Gossamer and has to be upgraded once, but: {error}"
        ) from error
