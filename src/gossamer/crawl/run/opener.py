"""The stores that a crawl can be kept in, and how the store and the archive of an existing crawl are opened for
reading and for changes (`store` opens those of a crawl that is about to run). Besides `store`, the only module that
imports backends.

Both are named by URLs. A store is `sqlite:DIR`, the database in a crawl directory or those of its workers,
`postgresql://HOST/DATABASE`, or another of `STORES`. An archive is `file:DIR`, a folder of WARC files, by default the
one in the crawl directory, or `s3://BUCKET/PREFIX` (`gs:`, `az:`), objects of captures. Light: a command that only
reads loads no fetcher.
"""

import re
from collections.abc import Callable, Container, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast
from urllib.parse import unquote

from gossamer.backends.contact_journal import ContactLog
from gossamer.backends.memory import MemoryContactJournal, MemoryTables
from gossamer.backends.objects.address import SCHEMES, check_url
from gossamer.backends.sqlite.driver import SqliteTables
from gossamer.clock import boot_time, sleep
from gossamer.cluster.lease import LeaseTerms
from gossamer.cluster.membership import end_silent_workers
from gossamer.cluster.ports import Session
from gossamer.config.load import Config, known_shape
from gossamer.crawl.run.directory import (
    ARCHIVE,
    DATABASE,
    SPOOL,
    STATUS,
    CrawlDirectory,
    existing_parts,
    holds_crawl,
    parts_of,
    read_layout,
)
from gossamer.errors import ConfigError, DirectoryError, MissingExtra, NotThisCrawl, OldSchema
from gossamer.model.units import Seconds
from gossamer.observe.snapshot import StatusFile
from gossamer.reports.all_workers import WorkerStore
from gossamer.reports.ports import Archive, CrawlEditor, CrawlReader
from gossamer.reports.table.reader import TableEditor, TableReader
from gossamer.store.ports import ContactJournal, Database, LiveStatus, Tables
from gossamer.store.table.orders import LiveRow

SOLE_WORKER = "worker"
"""The name under which the worker of a crawl by one leaves its live status."""

if TYPE_CHECKING:
    from gossamer.backends.objects.storage import ObjectStorage


class StoreKind(NamedTuple):
    """What the stores with URLs of one scheme have in common."""

    form: str  # of the URLs, for messages
    open_tables: Callable[[str, Path, bool], Tables]
    """The tables of one worker, by the URL of the store, the directory of the worker, and whether a store that may lose
    commits will do."""
    open_journal: Callable[[CrawlDirectory], ContactJournal]
    """The contact journal that goes with them."""
    poll_seconds: float = 0.05  # between two looks for new orders
    in_directory: bool = False  # the tables are in the crawl's directory, which is what the URL names
    one_process: bool = False  # the store ends with the process that has made it
    is_shared: bool = False  # several workers can share it: the tables are `crawl.run.member.SharedTables`


def _postgres_tables(url: str, directory: Path, unsafe: bool) -> Tables:
    try:
        from gossamer.backends.postgres.driver import PostgresTables  # not part of every installation
    except ImportError as error:
        raise MissingExtra("a store on PostgreSQL", error.name or "psycopg", "cluster") from error
    return PostgresTables(url, unsafe=unsafe)


STORES: dict[str, StoreKind] = {
    "sqlite": StoreKind(
        "sqlite:DIR",
        lambda url, directory, unsafe: SqliteTables(directory / DATABASE),
        lambda directory: ContactLog(directory.contacts),
        in_directory=True,
    ),
    "memory": StoreKind(
        "memory:",
        lambda url, directory, unsafe: MemoryTables(),
        lambda directory: MemoryContactJournal(),
        one_process=True,
    ),
    "postgresql": StoreKind(
        "postgresql://HOST/DATABASE",
        _postgres_tables,
        lambda directory: ContactLog(directory.contacts),
        poll_seconds=0.25,
        is_shared=True,
    ),
}
"""The scheme of a store's URL -> what is kept there. The first is that of a crawl whose directory alone is given."""


# --- URLs ------------------------------------------------------------------------------------------------


class CrawlLocation(NamedTuple):
    """Where a crawl is. Without `blobs` its archive is where it was when the crawl last started; without `store` its
    tables are in the directory."""

    directory: Path
    blobs: str | None = None
    store: str | None = None

    @classmethod
    def of(cls, config: Config) -> "CrawlLocation":
        """The crawl that a configuration names."""
        return cls(Path(config.dir), config.blobs, config.store)


def resolve_urls(options: Mapping[str, object]) -> dict[str, object]:
    """Options with both `dir` and `store` if one of them was given, and with an absolute `blobs`, which is remembered.
    Raises ConfigError naming the value that cannot be used."""
    found = dict(options)
    store = found.get("store")
    if store is not None and store_kind(str(store)).in_directory:
        directory = str(store).partition(":")[2]
        if Path(str(found.setdefault("dir", directory))) != Path(directory):
            raise ConfigError("store", f"{store} is not in the directory {found['dir']}; give one of them")
    elif store is None and found.get("dir") is not None:
        found["store"] = f"{next(iter(STORES))}:{found['dir']}"
    if (blobs := found.get("blobs")) is not None:
        folder = archive_folder(str(blobs))
        found["blobs"] = str(blobs) if folder is None else f"file:{folder.absolute()}"
    return found


def store_kind(url: str | None) -> StoreKind:
    """The kind of the store with this URL; None: in the directory. Raises ConfigError for a URL that names none."""
    if url is None:
        return next(iter(STORES.values()))
    scheme, colon, rest = url.partition(":")
    kind = STORES.get(scheme)
    if kind is None or not colon or (kind.in_directory and not rest):
        forms = " or ".join(kind.form for kind in STORES.values())
        raise ConfigError("store", f"{shown_store(url)!r} is not a URL of the form {forms}")
    return kind


def shown_store(url: str) -> str:
    """The URL of a store for people: without its password."""
    return re.sub(r"([?&]password=)[^&]*", r"\1***", re.sub(r"(://[^:/@]*):.*@", r"\1@", url))


def shown_crawl(location: CrawlLocation) -> str:
    """Where a crawl is, for people: its store, or its directory if that is the store."""
    if location.store is None or store_kind(location.store).in_directory:
        return str(location.directory)
    return shown_store(location.store)


def is_on_server(location: CrawlLocation) -> bool:
    """Whether the store is neither in the directory nor in the process."""
    kind = store_kind(location.store)
    return not kind.in_directory and not kind.one_process


def take_password(url: str) -> tuple[str, str | None]:
    """The URL of a store without its password, and the password if it has one."""
    match = re.fullmatch(r"([a-z+]+://[^:/@]*):([^@]*)(@.*)", url)
    return (url, None) if match is None else (match[1] + match[3], unquote(match[2]))


def crawl_exists(location: CrawlLocation) -> bool:
    """Whether there is a crawl to be opened, by one worker or by several."""
    kind = store_kind(location.store)
    if kind.in_directory:
        return holds_crawl(location.directory)
    return not kind.one_process and _tables_of(location, location.directory).exist()


def archive_folder(blobs: str | None) -> Path | None:
    """The folder of an archive; None without a URL, and for one in object storage. Raises ConfigError."""
    if blobs is None or in_object_storage(blobs):
        return None
    scheme, _, path = blobs.partition(":")
    if scheme != "file" or not path:
        raise ConfigError("blobs", f"{blobs!r} is not a URL of the form file:DIR or s3://BUCKET/PREFIX (gs:, az:)")
    return Path(path)


def in_object_storage(blobs: str | None) -> bool:
    """Whether an archive consists of objects. Raises ConfigError for a URL that names none."""
    if blobs is None or not blobs.startswith(tuple(f"{scheme}:" for scheme in SCHEMES)):
        return False
    check_url(blobs)
    return True


def object_storage(blobs: str, seconds: float | None = None) -> "ObjectStorage":
    """The storage at a URL; `seconds` is another limit for a request than usual. Raises ConfigError, MissingExtra."""
    try:
        from gossamer.backends.objects.storage import READ_SECONDS, ObjectStorage  # not part of every installation
    except ImportError as error:
        raise MissingExtra("an archive in object storage", error.name or "obstore", "cluster") from error
    return ObjectStorage(blobs, seconds=seconds or READ_SECONDS)


def _tables_of(location: CrawlLocation, part: Path) -> Tables:
    """Of a crawl that exists, on whatever it was started."""
    return store_kind(location.store).open_tables(location.store or "", part, True)


def _parts_of(location: CrawlLocation) -> list[Path]:
    """The directories of all workers. Raises NotThisCrawl where the tables of one are missing."""
    if store_kind(location.store).in_directory:
        return existing_parts(location.directory)
    return [location.directory]


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
        return self.archives[0] if self._is_by_one else _warc_files(self._location.directory)

    @cached_property
    def archives(self) -> list[Archive]:
        """The archive of each worker, with the file names of its own store."""
        return [
            archive_in(_blobs_of(self._location.blobs, reader), part)
            for part, reader in zip(self.parts, self.readers, strict=True)
        ]


@contextmanager
def open_crawl(location: CrawlLocation) -> Iterator[OpenCrawl]:
    """For reading; the crawl may be running. A store with an older schema is migrated first. Raises NotThisCrawl,
    naming the part that is missing or cannot be used."""
    parts = _parts_of(location)
    with ExitStack() as opened:

        def open_all() -> list[CrawlReader]:
            tables = [_tables_of(location, part) for part in parts]
            return [opened.enter_context(closing(TableReader(each.open_reader()))) for each in tables]

        try:
            readers = open_all()
        except OldSchema:
            opened.close()
            _migrate(location)
            readers = open_all()
        yield OpenCrawl(location, parts, readers)


def remembered_options(location: CrawlLocation) -> dict[str, object]:
    """The options of the last start that a crawl remembers; none if there is no crawl, or none that can be opened: what
    opens it for more than this says what is wrong with it."""
    if not crawl_exists(location):
        return {}
    try:
        if (layout := read_layout(location.directory)) is not None:
            return known_shape(layout[1])
        with open_crawl(location) as crawl:
            return known_shape(crawl.reader.status.options())
    except NotThisCrawl:
        return {}


def open_part(location: CrawlLocation) -> CrawlReader:
    """The store of a crawl by one worker, or of one of several, for a reader of which there are several. Raises
    NotThisCrawl, OldSchema or StoreFailed."""
    return TableReader(open_part_database(location))


def open_part_database(location: CrawlLocation) -> Database:
    """The same as a bare connection, which only reads."""
    return _tables_of(location, location.directory).open_reader(small=True)


def open_steering(location: CrawlLocation) -> Database:
    """The store of a crawl by one worker, for orders and settings. Raises NotThisCrawl, OldSchema or StoreFailed."""
    return _tables_of(location, location.directory).open_steering()


def live_status(location: CrawlLocation, *, read_only: bool = True, worker: str = SOLE_WORKER) -> LiveStatus:
    """Where a worker of a crawl leaves its status: in its directory, or in a store that is not there."""
    if is_on_server(location):
        open_database = open_part_database if read_only else open_steering
        return LiveRow(lambda: open_database(location), worker)
    return StatusFile(location.directory / STATUS)


def open_session(location: CrawlLocation) -> Session:
    """A connection for the protocol of workers, to a store that they share."""
    tables = store_kind(location.store).open_tables(location.store or "", location.directory, True)
    return cast(_SessionTables, tables).open_session(Seconds(5.0))


class _SessionTables(Protocol):
    def open_session(self, waiting: Seconds) -> Session: ...


def open_archive(location: CrawlLocation, reader: CrawlReader) -> Archive:
    """The archive of a crawl by one worker."""
    return archive_in(_blobs_of(location.blobs, reader), location.directory)


def _blobs_of(blobs: str | None, reader: CrawlReader) -> str | None:
    remembered = reader.status.options().get("blobs") if blobs is None else blobs
    return None if remembered is None else str(remembered)


def archive_in(blobs: str | None, directory: Path, living: Container[int] = ()) -> Archive:
    """The archive with this URL; without one, the folder in the directory of its worker. Objects that the worker could
    not deliver yet are read from its spool there; those of `living` epochs are not listed, since more may come at any
    time. Raises ConfigError, MissingExtra."""
    if blobs is not None and in_object_storage(blobs):
        storage = object_storage(blobs)
        from gossamer.backends.objects.reader import ObjectArchive
        from gossamer.backends.objects.spool import Spool

        return ObjectArchive(storage, Spool(directory / SPOOL), living)
    return _warc_files(archive_folder(blobs) or directory / ARCHIVE)


def check_archive_owner(location: CrawlLocation, reader: CrawlReader) -> None:
    """Raises NotThisCrawl if an archive in object storage is not that of this crawl, and ArchiveError if it cannot be
    reached."""
    blobs = _blobs_of(location.blobs, reader)
    if blobs is not None and in_object_storage(blobs):
        storage = object_storage(blobs)
        from gossamer.backends.objects.owner import check_owner

        check_owner(storage, reader.status.fact("crawl_id") or "")


def spooled_in(location: CrawlLocation) -> list[int]:
    """The lengths of the objects in the spool: those that could not be delivered to object storage yet."""
    from gossamer.backends.objects.spool import Spool

    return [entry.length for entry in Spool(location.directory / SPOOL).entries()]


def _warc_files(folder: Path) -> Archive:
    from gossamer.backends.warc.reader import WarcArchive  # few commands need it, and it takes long to load

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
    parts = _parts_of(location)
    if store_kind(location.store).is_shared:
        with closing(open_session(location)) as session:
            end_silent_workers(session, LeaseTerms(), boot_time, sleep)
    with ExitStack() as opened:
        if parts != [location.directory]:
            opened.callback(CrawlDirectory(location.directory, archive=False).close)
        held = []
        for part in parts:
            held.append(CrawlDirectory(part, archive=False))
            opened.callback(held[-1].close)
        tables = [_tables_of(location, one.path) for one in held]
        editors = [opened.enter_context(closing(TableEditor(each.open_writer()))) for each in tables]
        if not store_kind(location.store).in_directory:
            held[0].check_owner(editors[0].status.fact("crawl_id") or "")
        yield [
            HeldPart(one.path, editor, archive_in(_blobs_of(location.blobs, editor), one.path))
            for one, editor in zip(held, editors, strict=True)
        ]


def remove_crawl(location: CrawlLocation) -> None:
    """Empty the directory of a crawl; nothing happens if there is none. Raises DirectoryInUse, or NotThisCrawl if its
    archive is elsewhere or there are other files; then nothing was changed."""
    directory = location.directory
    if not crawl_exists(location):
        return
    if not store_kind(location.store).in_directory:
        raise NotThisCrawl(
            f"{shown_crawl(location)} holds a crawl, and only one with all its files in its directory is removed: name "
            "an empty database"
        )
    with ExitStack() as held:
        whole = CrawlDirectory(directory, archive=False)
        held.callback(whole.close)
        for part in parts_of(directory):
            if part != directory and part.exists():
                held.callback(CrawlDirectory(part, archive=False).close)
        with open_crawl(location) as crawl:
            for part, reader in zip(crawl.parts, crawl.readers, strict=True):
                blobs = _blobs_of(location.blobs, reader)
                if blobs is not None and archive_folder(blobs) != (part / ARCHIVE).absolute():
                    raise NotThisCrawl(
                        f"{directory} has its archive in {blobs}; only a crawl with all its files in its directory "
                        "is removed: choose another directory, or remove both yourself"
                    )
        whole.remove_crawl()


def _migrate(location: CrawlLocation) -> None:
    """Bring the stores of all workers up to date. No other process may use the crawl."""
    try:
        with hold_crawl(location):
            pass
    except DirectoryError as error:
        raise type(error)(
            f"{shown_crawl(location)} was written by an older Gossamer and has to be upgraded once, but: {error}"
        ) from error
