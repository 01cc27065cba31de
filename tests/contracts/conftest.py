"""The backends that the contract suites run against. A new backend is one more line in each table."""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from gossamer.backends.contact_journal import ContactLog
from gossamer.backends.memory import MemoryArchive, MemoryContactJournal, MemoryTables
from gossamer.backends.sqlite.driver import SqliteTables
from gossamer.backends.warc.captures import WarcCaptures
from gossamer.backends.warc.reader import WarcArchive
from gossamer.frontier.ports import OtherWorkers
from gossamer.reports.ports import Archive
from gossamer.store.ports import CaptureFiles, ContactJournal
from gossamer.workers.shared_gates import SharedGates, make_table
from tests.backends.sqlite.sqlite_store import AnyTables
from tests.backends.warc.warc_samples import new_ids, writer_in

TABLES: dict[str, Callable[[Path], AnyTables]] = {
    "sqlite": lambda directory: SqliteTables(directory / "crawl.db"),
    "memory": lambda directory: MemoryTables(),
}
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


ARCHIVES: dict[str, Callable[[Path], ArchivePorts]] = {"file": _in_files, "memory": _in_memory}


Gates = tuple[OtherWorkers, OtherWorkers]


@contextmanager
def _in_shared_memory() -> Iterator[Gates]:
    table = make_table()
    workers = SharedGates(table, 1), SharedGates(table, 2)
    yield workers
    for each in workers:
        each.close()
    os.close(table)


GATES: dict[str, Callable[[], AbstractContextManager[Gates]]] = {"shared memory": _in_shared_memory}


@pytest.fixture(params=TABLES)
def tables(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[AnyTables]:
    """The tables of a new crawl."""
    made = TABLES[request.param](tmp_path)
    yield made
    if isinstance(made, MemoryTables):
        made.close()
        assert list(tmp_path.iterdir()) == []  # it has left nothing on disk


@pytest.fixture(params=JOURNALS)
def journal(request: pytest.FixtureRequest, tmp_path: Path) -> ContactJournal:
    return JOURNALS[request.param](tmp_path)


@pytest.fixture(params=ARCHIVES)
def archive_ports(request: pytest.FixtureRequest, tmp_path: Path) -> ArchivePorts:
    return ARCHIVES[request.param](tmp_path)


@pytest.fixture(params=GATES)
def gates(request: pytest.FixtureRequest) -> Iterator[Gates]:
    """Those of two workers."""
    with GATES[request.param]() as made:
        yield made
