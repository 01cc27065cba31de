"""Opens the store and the archive of an existing crawl for reading and for changes. `store` opens those of a crawl that
is about to run.

Light: a command that only reads loads no fetcher.
"""

from collections.abc import Callable, Container, Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast

from gossamer.clock import boot_time, sleep
from gossamer.cluster.lease import LeaseTerms
from gossamer.cluster.membership import end_silent_workers, list_workers
from gossamer.cluster.ports import Session
from gossamer.config.load import known_shape
from gossamer.crawl.run.directory import (
    ARCHIVE,
    DATABASE,
    STATUS,
    CrawlDirectory,
    holds_files_of,
    refuse_old_workers,
    spool_folders,
)
from gossamer.crawl.run.location import (
    CrawlLocation,
    archive_folder,
    in_object_storage,
    is_on_server,
    shown_store,
    store_kind,
)
from gossamer.crawl.run.private_store import check_unused, has_private_store, reachable
from gossamer.errors import ArchiveAway, DirectoryError, MissingExtra, NotThisCrawl, OldSchema
from gossamer.model.archive_record import ArchivedRecord
from gossamer.model.units import Seconds
from gossamer.observe.snapshot import StatusFile
from gossamer.reports.ports import Archive, CrawlEditor, CrawlReader, RecordReader
from gossamer.reports.table.reader import TableEditor, TableReader
from gossamer.store.ports import Database, LiveStatus, Tables
from gossamer.store.table.orders import LiveRow

if TYPE_CHECKING:
    from gossamer.backends.objects.spool import Spooled
    from gossamer.backends.objects.storage import ObjectStorage

SOLE_WORKER = "worker"
"""The name under which the worker of a crawl by one leaves its live status."""


def shown_crawl(location: CrawlLocation) -> str:
    """Where a crawl is, for people: its store, or its directory if that contains the store."""
    if location.store is None or store_kind(location.store).in_directory or has_private_store(location):
        return str(location.directory)
    return shown_store(location.store)


def crawl_exists(location: CrawlLocation) -> bool:
    """Whether there is a crawl to be opened, by one worker or by several."""
    kind = store_kind(location.store)
    if kind.in_directory:
        refuse_old_workers(location.directory)
        return (location.directory / DATABASE).exists()
    return not kind.one_process and _tables_of(location).exist()


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


# --- reading ---------------------------------------------------------------------------------------------


class _ArchiveElsewhere:
    """Stands for an archive that is not here."""

    def __init__(self, problem: str) -> None:
        self._problem = problem

    def read(self, file: str, offset: int, length: int) -> ArchivedRecord:
        raise ArchiveAway(self._problem)


class OpenCrawl:
    """A crawl that is open for reading: its store and its archive."""

    def __init__(self, location: CrawlLocation, reader: CrawlReader) -> None:
        self._location = location
        self.reader = reader

    @cached_property
    def archive(self) -> Archive:
        return open_archive(self._location, self.reader)

    @property
    def records(self) -> RecordReader:
        """The archive, for a reader that can do without it. It is not looked for on other machines."""
        try:
            check_local_archive(self._location, self.reader)
        except NotThisCrawl as error:
            return _ArchiveElsewhere(str(error))
        return self.archive


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
        from gossamer.store.threads import ConnectionThread  # loads asyncio

        return LiveRow(ConnectionThread(lambda: open_database(location), "gossamer-live-row"), worker)
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
    return archive_in(_blobs_of(location.blobs, reader), location.directory, lambda: living_workers(location))


def _blobs_of(blobs: str | None, reader: CrawlReader) -> str | None:
    remembered = reader.status.options().get("blobs") if blobs is None else blobs
    return None if remembered is None else str(remembered)


def archive_in(blobs: str | None, directory: Path, living: Callable[[], Container[int]] = frozenset[int]) -> Archive:
    """The archive with this URL; without one, the folder in the directory of its worker. Objects that could not be
    delivered yet are read from the spools there; those of `living` epochs are not listed, since more may come at any
    time. Raises ConfigError, MissingExtra."""
    if blobs is not None and in_object_storage(blobs):
        storage = object_storage(blobs)
        from gossamer.backends.objects.reader import ObjectArchive
        from gossamer.backends.objects.spool import SpooledObjects

        return ObjectArchive(storage, SpooledObjects(lambda: spool_folders(directory)), living)
    return _warc_files(archive_folder(blobs) or directory / ARCHIVE)


def check_local_archive(location: CrawlLocation, reader: CrawlReader) -> None:
    """Raises NotThisCrawl if the archive of a crawl whose store is elsewhere consists of files on another machine, or
    in another directory than the one that was named."""
    if not is_on_server(location) or location.blobs is not None:
        return
    blobs = _blobs_of(None, reader)
    if blobs is not None and in_object_storage(blobs):
        return
    folder = archive_folder(blobs)
    looked_in = folder or location.directory
    if folder is not None:
        is_here = folder.is_dir()
    else:
        is_here = holds_files_of(location.directory, reader.status.fact("crawl_id") or "")
    if not is_here and reader.audit.archive_lengths():
        raise NotThisCrawl(
            f"the archive of the crawl in {shown_crawl(location)} is in local files that are not here: looked in "
            f"{looked_in}; give --dir of the machine that has them, or --blobs"
        )


def check_archive_owner(location: CrawlLocation, reader: CrawlReader) -> None:
    """Raises NotThisCrawl if the archive is not that of this crawl, and ArchiveError if it cannot be reached."""
    check_local_archive(location, reader)
    blobs = _blobs_of(location.blobs, reader)
    if blobs is not None and in_object_storage(blobs):
        storage = object_storage(blobs)
        from gossamer.backends.objects.owner import check_owner

        check_owner(storage, reader.status.fact("crawl_id") or "")


def spooled_in(location: CrawlLocation) -> "dict[Path, list[Spooled]]":
    """What is in each spool that is not empty: objects that could not be delivered to object storage yet."""
    from gossamer.backends.objects.spool import SpooledObjects

    folders = spool_folders(location.directory)
    found = {folder: SpooledObjects(partial(iter, (folder,))).entries() for folder in folders}
    return {folder: entries for folder, entries in found.items() if entries}


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
def hold_crawl(location: CrawlLocation, tell: Callable[[str], None] = lambda text: None) -> Iterator[HeldCrawl]:
    """For changes, while no other process uses the crawl; until the end of the block no worker can join it. `tell`
    gets a line about a long wait. Raises NotThisCrawl or DirectoryInUse; then nothing was changed."""
    refuse_old_workers(location.directory)
    end_killed_workers(location, tell)
    with ExitStack() as opened:
        directory = CrawlDirectory(location.directory, archive=False)
        refused = opened.enter_context(ExitStack())
        refused.callback(directory.discard)
        kind = store_kind(location.store)
        editor = TableEditor(_tables_of(location).open_writer(), is_shared=kind.is_shared)
        opened.enter_context(closing(editor))
        if not kind.in_directory:
            directory.check_owner(editor.status.fact("crawl_id") or "", shown_crawl(location))
        refused.pop_all()
        opened.callback(directory.close)
        yield HeldCrawl(directory.path, editor, open_archive(location._replace(directory=directory.path), editor))


def end_killed_workers(location: CrawlLocation, tell: Callable[[str], None] = lambda text: None) -> None:
    """Declare workers dead that were killed, where workers share the store: that takes some seconds, and `tell` gets a
    line about it. Raises StoreFailed."""
    if store_kind(location.store).is_shared:
        with closing(open_session(location)) as session:
            terms, waited = _terms_in(session), 0.0

            def pause(seconds: float) -> None:
                nonlocal waited
                before, waited = waited, waited + seconds
                if before <= terms.heartbeat < waited:  # a worker that lives would have been heard of
                    names = ", ".join(each.name for each in list_workers(session))
                    longest = f"{1.3 * terms.ttl:.0f} seconds"
                    tell(f"waiting until it is certain that these workers have ended: {names} (up to {longest})")
                sleep(seconds)

            end_silent_workers(session, terms, boot_time, pause)


def _terms_in(session: Session) -> LeaseTerms:
    """Of the leases of a crawl, whose schema may be an older one. Raises StoreFailed."""
    return LeaseTerms(Seconds(session.fetch_value("lease_time_of_any_schema")))


def living_workers(location: CrawlLocation) -> frozenset[int]:
    """The epochs of the workers that are alive; none where workers do not share the store. Raises StoreFailed."""
    if not store_kind(location.store).is_shared:
        return frozenset()
    with closing(open_session(location)) as session:
        return frozenset(int(epoch) for epoch, *_ in session.fetch_all("members"))


def delivering_epochs(location: CrawlLocation) -> frozenset[int]:
    """The same with earlier lives of these workers: what those have left in their spools is being delivered."""
    if not store_kind(location.store).is_shared:
        return frozenset()
    with closing(open_session(location)) as session:
        return frozenset(int(epoch) for (epoch,) in session.fetch_all("lives_of_living"))


def objects_of_the_dead(location: CrawlLocation, reader: CrawlReader) -> Archive | None:
    """The archive in object storage of a crawl whose workers are alive, without what those have put; None if it is
    elsewhere. Raises ConfigError, MissingExtra."""
    blobs = _blobs_of(location.blobs, reader)
    if blobs is None or not in_object_storage(blobs):
        return None
    return open_archive(location, reader)


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
            check_unused(directory)
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
        end_silent_workers(session, _terms_in(session), boot_time, sleep)
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
