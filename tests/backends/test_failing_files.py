"""A disk that fails below every method of the ports that are files: what comes out is StoreFailed."""

import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from gossamer.backends import contact_journal
from gossamer.backends.contact_journal import ContactLog
from gossamer.backends.sqlite.driver import SqliteTables
from gossamer.backends.warc import writer as warc_writer
from gossamer.backends.warc.captures import WarcCaptures
from gossamer.backends.warc.writer import cut_back
from gossamer.errors import StoreFailed
from gossamer.model.settlement import Capture
from gossamer.model.units import HostId, Instant
from gossamer.store.ports import CaptureFiles, ContactJournal, Tables
from tests.backends.warc.warc_samples import new_ids, response_of, writer_in

ADDRESS = "192.0.2.7"
LARGE = Capture(response_of(random.Random(1).randbytes(1_200_000)), bytes(20))
"""More than is gathered before it is written."""


class FailingDisk:
    """The module `os` or a path, with a failure in place of every call."""

    def __truediv__(self, name: str) -> "FailingDisk":
        return self

    def __getattr__(self, name: str) -> Any:
        found = getattr(os, name, None)
        return found if isinstance(found, int) else self._fail

    def _fail(self, *_: object, **__: object) -> Any:
        raise OSError(5, os.strerror(5))


FAILING_PATH = cast(Path, FailingDisk())


def repeated(act: Callable[..., None], *values: object) -> None:
    """Until the file has to grow."""
    for number in range(1_100):
        act(HostId(number), *values)


CAPTURES: dict[str, Callable[[CaptureFiles], object]] = {
    "append": lambda captures: captures.append(LARGE),
    "flush": lambda captures: captures.flush(),
    "roll_back": lambda captures: captures.roll_back(),
    "close": lambda captures: captures.close(),
}
JOURNAL: dict[str, Callable[[ContactJournal], object]] = {
    "started": lambda journal: repeated(journal.started, Instant(1.0), 0.5, ADDRESS),
    "finished": lambda journal: repeated(journal.finished, Instant(1.0), 0.5, ADDRESS),
    "turn_over": lambda journal: journal.turn_over([]),
    "close": lambda journal: journal.close(),
}
NO_CALLS = {"committed", "moves", "forget"}
"""They change memory, or memory that is mapped."""


def methods_of(port: type) -> set[str]:
    return {name for base in port.__mro__ for name in vars(base) if not name.startswith("_")}


def test_every_method_of_the_ports_is_tried_here() -> None:
    assert CAPTURES.keys() == methods_of(CaptureFiles) - NO_CALLS
    assert JOURNAL.keys() == methods_of(ContactJournal) - NO_CALLS - {"begin", "last_contacts", "clear"}
    assert methods_of(Tables) == {"exist", "open_writer", "open_reader", "open_steering", "close"}


@pytest.mark.parametrize("method", CAPTURES)
def test_captures_that_cannot_be_written_are_a_failure_of_the_store(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    captures = WarcCaptures(writer_in(tmp_path), new_ids(7))
    captures.append(Capture(response_of(b"first"), bytes(20)))
    with monkeypatch.context() as patched:
        patched.setattr(warc_writer, "os", FailingDisk())
        with pytest.raises(StoreFailed, match="Input/output error"):
            CAPTURES[method](captures)


def test_an_archive_that_cannot_be_opened_is_a_failure_of_the_store(tmp_path: Path) -> None:
    for act in (lambda: cut_back(FAILING_PATH, {"one.warc.gz": 1}), lambda: writer_in(FAILING_PATH)):
        with pytest.raises(StoreFailed, match="Input/output error"):
            act()


@pytest.mark.parametrize("method", JOURNAL)
def test_a_journal_that_cannot_be_written_is_a_failure_of_the_store(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = ContactLog((tmp_path / "0", tmp_path / "1"))
    journal.begin()
    with monkeypatch.context() as patched:
        patched.setattr(contact_journal, "os", FailingDisk())
        with pytest.raises(StoreFailed, match="Input/output error"):
            JOURNAL[method](journal)


def test_a_journal_that_cannot_be_opened_is_a_failure_of_the_store() -> None:
    journal = ContactLog((FAILING_PATH, FAILING_PATH))

    for act in (journal.last_contacts, journal.begin, journal.clear):
        with pytest.raises(StoreFailed, match="Input/output error"):
            act()


def test_tables_that_cannot_be_opened_are_a_failure_of_the_store(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    tables = SqliteTables(tmp_path / "file" / "crawl.db")

    with pytest.raises(StoreFailed, match=r"crawl\.db"):
        tables.open_writer()
    with pytest.raises(StoreFailed, match="Input/output error"):
        SqliteTables(FAILING_PATH).exist()
