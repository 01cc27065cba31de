"""The backends that the contract suites run against. A new backend is one more line in each table."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gossamer.backends.contact_journal import ContactLog
from gossamer.backends.memory import MemoryContactJournal, MemoryTables
from gossamer.backends.sqlite.driver import SqliteTables
from gossamer.store.ports import ContactJournal
from tests.backends.sqlite.sqlite_store import AnyTables

TABLES: dict[str, Callable[[Path], AnyTables]] = {
    "sqlite": lambda directory: SqliteTables(directory / "crawl.db"),
    "memory": lambda directory: MemoryTables(),
}
JOURNALS: dict[str, Callable[[Path], ContactJournal]] = {
    "file": lambda directory: ContactLog((directory / "contacts.0", directory / "contacts.1")),
    "memory": lambda directory: MemoryContactJournal(),
}


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
