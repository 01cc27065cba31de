"""The stores that a crawl can be kept in, and how the store and the archive of an existing crawl are opened for
reading and for changes (`store` opens those of a crawl that is about to run). Besides `store`, the only module that
imports backends.

Both are named by URLs. A store is `sqlite:DIR`, the database in a crawl directory, `postgresql://HOST/DATABASE`, or
another of `STORES`. A crawl by several workers on one machine has a private server in its directory: `reachable` and
`shared_store` start it and name its URL. An archive is `file:DIR`, a folder of WARC files, by default the
one in the crawl directory, or `s3://BUCKET/PREFIX` (`gs:`, `az:`), objects of captures. Light: a command that only
reads loads no fetcher.
"""

import re
from collections.abc import Callable, Container, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast
from urllib.parse import unquote

import msgspec

from gossamer.backends.contact_journal import ContactLog
from gossamer.backends.memory import MemoryContactJournal, MemoryTables
from gossamer.backends.objects.address import SCHEMES, check_url
from gossamer.backends.sqlite.driver import SqliteTables
from gossamer.clock import boot_time, sleep
from gossamer.cluster.lease import LeaseTerms
from gossamer.cluster.membership import end_silent_workers
from gossamer.cluster.ports import Session
from gossamer.config.load import Config, known_shape, split_cache_password
from gossamer.crawl.run.directory import (
    ARCHIVE,
    DATABASE,
    SERVER,
    SPOOL,
    STATUS,
    CrawlDirectory,
    refuse_old_workers,
)
from gossamer.errors import ConfigError, DirectoryError, MissingExtra, NotThisCrawl, OldSchema, UsageError
from gossamer.model.partition import PARTITIONS
from gossamer.model.units import Seconds
from gossamer.observe.snapshot import StatusFile
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
    """Where a crawl is, for people: its store, or its directory if that contains the store."""
    if location.store is None or store_kind(location.store).in_directory or has_private_store(location):
        return str(location.directory)
    return shown_store(location.store)


def is_on_server(location: CrawlLocation) -> bool:
    """Whether the store is neither in the directory nor in the process."""
    kind = store_kind(location.store)
    return not kind.in_directory and not kind.one_process


STORE_PASSWORD = ("postgresql:", "PGPASSWORD")
"""How URLs of stores with passwords begin, and the environment variable from which their driver takes a password."""


def take_password(url: str) -> tuple[str, str | None]:
    """The URL of a store without its password, and the password if it has one."""
    if (match := re.fullmatch(r"([a-z+]+://[^:/@]*):([^@]*)(@.*)", url)) is not None:
        return match[1] + match[3], unquote(match[2])
    if (match := re.fullmatch(r"([^?]*)\?(.*)", url)) is not None:
        given = match[2].split("&")
        kept = [each for each in given if not each.startswith("password=")]
        if len(kept) < len(given):
            (password,) = [each for each in given if each not in kept][-1:]
            return match[1] + ("?" + "&".join(kept) if kept else ""), unquote(password.partition("=")[2])
    return url, None


CACHE_PASSWORD = ("redis", "GOSSAMER_CACHE_PASSWORD")
"""The same of caches."""


def take_cache_password(url: str) -> tuple[str, str | None]:
    """The URL of a cache without its password, and the password if it has one. All servers of a cache have the same."""
    rest, password = split_cache_password(url)
    return rest, None if password is None else unquote(password)


def crawl_exists(location: CrawlLocation) -> bool:
    """Whether there is a crawl to be opened, by one worker or by several."""
    kind = store_kind(location.store)
    if kind.in_directory:
        refuse_old_workers(location.directory)
        return (location.directory / DATABASE).exists()
    return not kind.one_process and _tables_of(location).exist()


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


def _tables_of(location: CrawlLocation) -> Tables:
    """Of a crawl that exists, on whatever it was started."""
    return store_kind(location.store).open_tables(location.store or "", location.directory, True)


# --- private servers -------------------------------------------------------------------------------------


def has_private_store(location: CrawlLocation) -> bool:
    """Whether the store is a private server in the directory."""
    kind = store_kind(location.store)
    if not (kind.in_directory or kind.is_shared) or not (location.directory / SERVER).exists():
        return False
    return bool(_private_servers().has_private_server(location.directory))


@contextmanager
def reachable(location: CrawlLocation) -> Iterator[CrawlLocation]:
    """A crawl that exists, with a store that can be connected to: a private server runs until the end of the block, or
    longer if others use it. Raises UsageError, DirectoryError or StoreFailed if it cannot."""
    if not store_kind(location.store).in_directory or not has_private_store(location):
        yield location
        return
    with _private_servers().private_server(location.directory, create=False) as server:
        yield location._replace(store=server.url)


class SharedStore(NamedTuple):
    """The store of a crawl that is about to run."""

    config: Config  # names the store
    restart: Callable[[], None] | None = None
    """Starts a private server again, if it has ended. Call it now and then. Raises GossamerError."""


@contextmanager
def shared_store(config: Config) -> Iterator[SharedStore]:
    """A store for `config.workers` workers: if none is named and there are several, or were in an earlier run, a
    private server in the directory, which is created if there is none. It runs until the end of the block, or longer if
    others use it. Raises UsageError, DirectoryError or StoreFailed if there can be none."""
    location, kind = CrawlLocation.of(config), store_kind(config.store)
    if config.workers > PARTITIONS:
        raise UsageError(f"--workers: at most {PARTITIONS}, not {config.workers}")
    if config.workers > 1 and kind.one_process:
        raise UsageError(f"--store: {config.store} is for one process, not for {config.workers}")
    private = has_private_store(location)
    if not private and (config.workers == 1 or not kind.in_directory):
        yield SharedStore(config)
        return
    if (location.directory / DATABASE).exists():
        raise NotThisCrawl(
            f"{location.directory} holds a crawl by one worker, not by {config.workers}; omit --workers, or choose "
            "another --dir"
        )
    CrawlDirectory(location.directory, archive=False).close()  # raises if it is not ours, or in use
    with _private_servers().private_server(location.directory) as server:
        yield SharedStore(msgspec.structs.replace(config, store=server.url), server.start)


def _private_servers() -> ModuleType:
    try:
        from gossamer.backends.postgres import private_server  # not part of every installation
    except ImportError as error:
        raise MissingExtra("a crawl by several workers", error.name or "psycopg", "workers") from error
    return private_server


# --- reading ---------------------------------------------------------------------------------------------


class OpenCrawl:
    """A crawl that is open for reading: its store and its archive."""

    def __init__(self, location: CrawlLocation, reader: CrawlReader) -> None:
        self._location = location
        self.reader = reader

    @cached_property
    def archive(self) -> Archive:
        return open_archive(self._location, self.reader)


@contextmanager
def open_crawl(location: CrawlLocation) -> Iterator[OpenCrawl]:
    """For reading; the crawl may be running. A store with an older schema is migrated first. Raises NotThisCrawl."""
    try:
        reader = TableReader(_tables_of(location).open_reader())
    except OldSchema:
        if store_kind(location.store).is_shared:
            raise  # it takes a command: others may use the store
        _migrate(location)
        reader = TableReader(_tables_of(location).open_reader())
    with closing(reader):
        yield OpenCrawl(location, reader)


def remembered_options(location: CrawlLocation) -> dict[str, object]:
    """The options of the last start that a crawl remembers; none if there is no crawl, or none that can be opened: what
    opens it for more than this says what is wrong with it."""
    if not crawl_exists(location):
        return {}
    try:
        with open_crawl(location) as crawl:
            return known_shape(crawl.reader.status.options())
    except NotThisCrawl:
        return {}


def open_part(location: CrawlLocation) -> CrawlReader:
    """The store of a crawl, for a reader of which there are several. Raises NotThisCrawl, OldSchema or StoreFailed."""
    return TableReader(open_part_database(location))


def open_part_database(location: CrawlLocation) -> Database:
    """The same as a bare connection, which only reads."""
    return _tables_of(location).open_reader(small=True)


def open_steering(location: CrawlLocation) -> Database:
    """The store of a crawl, for orders and settings. Raises NotThisCrawl, OldSchema or StoreFailed."""
    return _tables_of(location).open_steering()


def live_status(location: CrawlLocation, *, read_only: bool = True, worker: str = SOLE_WORKER) -> LiveStatus:
    """Where a worker of a crawl leaves its status: in its directory, or in a store that is not there."""
    if is_on_server(location):
        open_database = open_part_database if read_only else open_steering
        return LiveRow(lambda: open_database(location), worker)
    return StatusFile(location.directory / STATUS)


def open_session(location: CrawlLocation) -> Session:
    """A connection for the protocol of workers, to a store that they share."""
    return cast(_SessionTables, _tables_of(location)).open_session(Seconds(5.0))


class _SessionTables(Protocol):
    def open_session(self, waiting: Seconds) -> Session: ...

    def schema_versions(self) -> tuple[int | None, int]: ...

    def pending_migrations(self) -> list[int]: ...

    def migrate(self) -> list[int]: ...


def open_archive(location: CrawlLocation, reader: CrawlReader) -> Archive:
    """The archive of a crawl."""
    return archive_in(_blobs_of(location.blobs, reader), location.directory)


def _blobs_of(blobs: str | None, reader: CrawlReader) -> str | None:
    remembered = reader.status.options().get("blobs") if blobs is None else blobs
    return None if remembered is None else str(remembered)


def archive_in(blobs: str | None, directory: Path, living: Callable[[], Container[int]] = frozenset[int]) -> Archive:
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


class HeldCrawl(NamedTuple):
    """The store and the archive of a crawl, held for changes."""

    directory: Path
    editor: CrawlEditor
    archive: Archive


@contextmanager
def hold_crawl(location: CrawlLocation) -> Iterator[HeldCrawl]:
    """For changes, while no other process uses the crawl. Raises NotThisCrawl or DirectoryInUse; then nothing was
    changed."""
    refuse_old_workers(location.directory)
    end_killed_workers(location)
    with ExitStack() as opened:
        directory = CrawlDirectory(location.directory, archive=False)
        opened.callback(directory.close)
        editor = opened.enter_context(closing(TableEditor(_tables_of(location).open_writer())))
        if not store_kind(location.store).in_directory:
            directory.check_owner(editor.status.fact("crawl_id") or "", shown_crawl(location))
        yield HeldCrawl(directory.path, editor, archive_in(_blobs_of(location.blobs, editor), directory.path))


def end_killed_workers(location: CrawlLocation) -> None:
    """Declare workers dead that were killed, where workers share the store: that takes some seconds. Raises
    StoreFailed."""
    if store_kind(location.store).is_shared:
        with closing(open_session(location)) as session:
            end_silent_workers(session, LeaseTerms(), boot_time, sleep)


def living_workers(location: CrawlLocation) -> frozenset[int]:
    """The epochs of the workers that are alive; none where workers do not share the store. Raises StoreFailed."""
    if not store_kind(location.store).is_shared:
        return frozenset()
    with closing(open_session(location)) as session:
        return frozenset(int(epoch) for epoch, *_ in session.fetch_all("members"))


def objects_of_the_dead(location: CrawlLocation, reader: CrawlReader) -> Archive | None:
    """The archive in object storage of a crawl whose workers are alive, without what those have put; None if it is
    elsewhere. Raises ConfigError, MissingExtra."""
    blobs = _blobs_of(location.blobs, reader)
    if blobs is None or not in_object_storage(blobs):
        return None
    return archive_in(blobs, location.directory, lambda: living_workers(location))


def forget_caches(location: CrawlLocation) -> None:
    """What caches know about documents may not hold any more, where workers share the store. Raises StoreFailed."""
    if store_kind(location.store).is_shared:
        with closing(open_session(location)) as session, session.transaction():
            _, generation, *_ = session.fetch_one("crawl_now") or (None, 0)
            session.execute("raise_generation", generation)


def remove_crawl(location: CrawlLocation) -> None:
    """Empty the directory of a crawl; nothing happens if there is none. Raises DirectoryInUse, or NotThisCrawl if its
    archive is elsewhere or there are other files; then nothing was changed."""
    directory = location.directory
    if not store_kind(location.store).in_directory:
        if crawl_exists(location):
            raise NotThisCrawl(
                f"{shown_crawl(location)} holds a crawl, and only one with all its files in its directory is removed: "
                "name an empty database"
            )
        return
    with reachable(location) as reached:
        if not crawl_exists(reached):
            return
        held = CrawlDirectory(directory, archive=False)
        with closing(held), open_crawl(reached) as crawl:
            blobs = _blobs_of(location.blobs, crawl.reader)
            if blobs is not None and archive_folder(blobs) != (directory / ARCHIVE).absolute():
                raise NotThisCrawl(
                    f"{directory} has its archive in {blobs}; only a crawl with all its files in its directory "
                    "is removed: choose another directory, or remove both yourself"
                )
    with closing(CrawlDirectory(directory, archive=False)) as held:
        if has_private_store(location):
            _private_servers().check_unused(directory)
        held.remove_crawl()


class SchemaState(NamedTuple):
    """The schema of a store that workers share."""

    version: int
    needed: int  # by this program
    pending: list[int]  # migrations


def schema_state(location: CrawlLocation) -> SchemaState:
    """Raises NotThisCrawl if there is no crawl, or none that can be migrated."""
    tables = cast(_SessionTables, _tables_of(location))
    pending = tables.pending_migrations()
    version, needed = tables.schema_versions()
    return SchemaState(version or 0, needed, pending)


def migrate_store(location: CrawlLocation) -> list[int]:
    """Bring a store that workers share up to date, while no worker is alive. Returns the migrations that were run.
    Raises DirectoryInUse, NotThisCrawl, StoreFailed."""
    with closing(open_session(location)) as session:
        end_silent_workers(session, LeaseTerms(), boot_time, sleep)
    return cast(_SessionTables, _tables_of(location)).migrate()


def _migrate(location: CrawlLocation) -> None:
    """Bring the store up to date. No other process may use the crawl."""
    try:
        with hold_crawl(location):
            pass
    except DirectoryError as error:
        raise type(error)(
            f"{shown_crawl(location)} was written by an older Gossamer and has to be upgraded once, but: {error}"
        ) from error
