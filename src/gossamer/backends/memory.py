"""A crawl that leaves nothing on disk: `--store memory:`, for tests.

The contact journal and the archive are Python objects; the records in the archive are those of WARC files. The tables
are an SQLite database in memory behind the same statements as the one on disk (ADR 24): `MemoryTables` keeps it alive,
and each connection to it is a `Database`.

All of it belongs to the process and is gone with `MemoryTables.close`.
"""

from collections.abc import Iterator, Mapping
from io import BytesIO
from itertools import count
from typing import NamedTuple

from gossamer.backends.sqlite.driver import SqliteDatabase, open_reader, open_steering, open_writer
from gossamer.backends.warc.captures import WarcEncoder
from gossamer.backends.warc.reader import record_in, scan_records_in
from gossamer.backends.warc.record import RecordIds
from gossamer.errors import ArchiveError
from gossamer.model.archive_record import ArchivedRecord
from gossamer.model.loads import LastContact
from gossamer.model.settlement import Capture
from gossamer.model.units import HostId, Instant
from gossamer.store.ports import Location

FILE = "memory"
"""The name of the one file that this archive has."""


class MemoryArchive:
    """`CaptureFiles`, and `reports.ports.Archive` for the same process. A record can be read as soon as it is appended,
    from any thread."""

    def __init__(self, ids: RecordIds) -> None:
        self._encoder = WarcEncoder(ids)  # for captures that come without their records
        self._content = bytearray()  # every change of it is one step
        self._committed = 0

    def append(self, capture: Capture) -> Location:
        records = capture.records or self._encoder.encode(capture)
        at = Location(FILE, len(self._content), len(records[0]))
        self._content += b"".join(records)
        return at

    def flush(self) -> Mapping[str, int]:
        return {FILE: len(self._content)} if len(self._content) > self._committed else {}

    def moves(self) -> Mapping[str, bool]:
        return {}

    def committed(self) -> None:
        self._committed = len(self._content)

    def roll_back(self) -> None:
        del self._content[self._committed :]

    def close(self) -> None:
        """Nothing to give back: what is committed can still be read."""

    def read(self, file: str, offset: int, length: int) -> ArchivedRecord:
        self._check(file)
        return record_in(bytes(self._content[offset : offset + length]), file, offset, length)

    def scan(self, file: str, end: int | None = None, start: int = 0) -> Iterator[tuple[int, int, ArchivedRecord]]:
        self._check(file)
        yield from scan_records_in(BytesIO(self._content), file, end, start)

    def content(self, file: str, end: int) -> Iterator[bytes]:
        self._check(file)
        yield bytes(self._content[:end])

    def size(self, file: str) -> int | None:
        return len(self._content) if file in self.files() else None

    def files(self) -> list[str]:
        return [FILE] if self._content else []

    def cut(self, file: str, length: int) -> None:
        self._check(file)
        del self._content[length:]

    def put_aside(self, file: str) -> None:
        """Forgets its records: there is no place aside."""
        self.cut(file, 0)

    def _check(self, file: str) -> None:
        if file not in self.files():
            raise ArchiveError(f"{file}: no file of this name in memory")


class _Contact(NamedTuple):
    host_id: HostId
    is_open: bool
    time: Instant  # when it started if it is open, else of the next contact
    took: float
    address: str


class MemoryContactJournal:
    """`ContactJournal` without files."""

    def __init__(self) -> None:
        self._older: list[_Contact] = []
        self._current: list[_Contact] = []

    def last_contacts(self) -> dict[HostId, LastContact]:
        found: dict[HostId, LastContact] = {}
        for host_id, is_open, time, took, address in (*self._older, *self._current):
            before = found.get(host_id)
            next_contact = before.next_contact if before else Instant(0.0)
            if is_open:
                found[host_id] = LastContact(time, next_contact, took, address)
            else:
                found[host_id] = LastContact(None, max(next_contact, time), took, address)
        return found

    def begin(self) -> None:
        self.clear()

    def started(self, host_id: HostId, at: Instant, last_took: float, address: str) -> None:
        self._current.append(_Contact(host_id, True, at, last_took, address))

    def finished(self, host_id: HostId, next_contact: Instant, took: float, address: str) -> None:
        self._current.append(_Contact(host_id, False, next_contact, took, address))

    def turn_over(self, still_open: list[tuple[HostId, Instant, float, str]]) -> None:
        self._older, self._current = self._current, []
        for contact in still_open:
            self.started(*contact)

    def forget(self) -> None:
        self._older = []

    def close(self) -> None:
        """Nothing to give back."""

    def clear(self) -> None:
        self._older, self._current = [], []


_numbers = count(1)


class MemoryTables:
    """A database in memory and the connections to it, which all see the same data, from any thread.

    Unlike a file with a write-ahead log it has one lock: who reads waits for a transaction that is under way, and a
    commit waits for who reads.
    """

    def __init__(self) -> None:
        self.name = f"gossamer-{next(_numbers)}"
        self._anchor: SqliteDatabase | None = None  # the database lives as long as a connection to it is open

    def exist(self) -> bool:
        return self._anchor is not None

    def open_writer(self) -> SqliteDatabase:
        """A connection that writes. The first creates the tables. Raises StoreFailed."""
        if self._anchor is None:
            self._anchor = open_writer(self.name)
        return open_writer(self.name)

    def open_reader(self, *, small: bool = False) -> SqliteDatabase:
        """A connection that reads only. Raises StoreFailed."""
        return open_reader(self.name, small=small)

    def open_steering(self) -> SqliteDatabase:
        return open_steering(self.name)

    def close(self) -> None:
        """Drop the tables, once all other connections are closed."""
        if self._anchor is not None:
            self._anchor.close()
