"""The backends that the contract suites run against. A new backend is one more line in each table."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from gossamer.backends.contact_journal import ContactLog
from gossamer.backends.memory import MemoryArchive, MemoryContactJournal, MemoryTables
from gossamer.backends.objects.captures import ObjectCaptures
from gossamer.backends.objects.delivery import ObjectDelivery, Storage
from gossamer.backends.objects.reader import ObjectArchive
from gossamer.backends.objects.spool import Spool
from gossamer.backends.objects.storage import ObjectStorage
from gossamer.backends.postgres.tables import PostgresTables
from gossamer.backends.sqlite.driver import SqliteTables
from gossamer.backends.warc.captures import WarcCaptures
from gossamer.backends.warc.reader import WarcArchive
from gossamer.clock import VirtualClock
from gossamer.errors import StoreFailed
from gossamer.reports.ports import Archive
from gossamer.store.ports import CaptureFiles, ContactJournal
from tests.backends.postgres.postgres_databases import PostgresDatabases
from tests.backends.table_store import AnyTables
from tests.backends.warc.warc_samples import INFO, STARTED, new_ids, writer_in
from tests.s3_server import BUCKET, S3Server

TABLES = ("sqlite", "memory", "postgres")
JOURNALS: dict[str, Callable[[Path], ContactJournal]] = {
    "file": lambda directory: ContactLog((directory / "contacts.0", directory / "contacts.1")),
    "memory": lambda directory: MemoryContactJournal(),
}


class ArchivePorts(NamedTuple):
    """One archive, for writing and for reading."""

    captures: CaptureFiles
    archive: Archive


def _in_files(directory: Path) -> ArchivePorts:
    return ArchivePorts(WarcCaptures(writer_in(directory), new_ids(1)), WarcArchive(directory))


def _in_memory(directory: Path) -> ArchivePorts:
    made = MemoryArchive(new_ids(1))
    return ArchivePorts(made, made)


class _Down:
    """A storage that cannot be reached."""

    def put(self, name: str, data: bytes) -> None:
        raise StoreFailed(f"{name}: connection refused")


def _in_objects(directory: Path, url: str, *, down: bool = False) -> ArchivePorts:
    storage, spool = ObjectStorage(url), Spool(directory, 1_000_000)
    to: Storage = _Down() if down else storage
    delivery = ObjectDelivery(to, lambda seconds: to, spool, 1_000_000)
    captures = ObjectCaptures(delivery, epoch=17, info=INFO, ids=new_ids(1), clock=VirtualClock(STARTED))
    return ArchivePorts(captures, ObjectArchive(storage, spool))


ARCHIVES = ("file", "memory", "objects", "spool")
"""`spool`: objects, while the storage takes none."""


@pytest.fixture(params=TABLES)
def tables(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[AnyTables]:
    """The tables of a new crawl."""
    if request.param == "postgres":
        databases: PostgresDatabases = request.getfixturevalue("postgres_databases")
        with databases.one() as url:
            yield PostgresTables(url, unsafe=True)
    elif request.param == "sqlite":
        yield SqliteTables(tmp_path / "crawl.db")
    else:
        made = MemoryTables()
        yield made
        made.close()
        assert list(tmp_path.iterdir()) == []  # it has left nothing on disk


@pytest.fixture(params=JOURNALS)
def journal(request: pytest.FixtureRequest, tmp_path: Path) -> ContactJournal:
    return JOURNALS[request.param](tmp_path)


@pytest.fixture(params=ARCHIVES)
def archive_ports(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ArchivePorts]:
    if request.param == "file":
        yield _in_files(tmp_path)
    elif request.param == "memory":
        yield _in_memory(tmp_path)
    else:
        server: S3Server = request.getfixturevalue("s3")
        ports = _in_objects(tmp_path, server.url(f"{BUCKET}/{tmp_path.name}"), down=request.param == "spool")
        yield ports
        ports.captures.close()
