"""A crawl that leaves nothing on disk: `--store memory:`, for tests.

The contact journal and the archive are Python objects. The tables are an SQLite database in memory behind the same
statements as the one on disk (ADR 24): `MemoryTables` keeps it alive, and each connection to it is a `Database`.

All of it belongs to the process and is gone with `MemoryTables.close`.
"""

from collections.abc import Callable, Mapping
from itertools import count
from typing import NamedTuple

from gossamer.backends.sqlite.crawl_reader import SqliteCrawlEditor, SqliteCrawlReader
from gossamer.backends.sqlite.driver import SqliteDatabase, open_reader, open_writer
from gossamer.errors import StoreFailed
from gossamer.model.loads import LastContact
from gossamer.model.settlement import Capture
from gossamer.model.units import HostId, Instant
from gossamer.store.ports import Location

FILE = "memory"
"""The name of the one file that this archive seems to have."""

Encode = Callable[[Capture], tuple[bytes, ...]]
"""The records of a capture, the one with its document first."""


class _Record(NamedTuple):
    offset: int
    data: bytes


class MemoryCaptures:
    """`CaptureFiles` without files. A record can be read as soon as it is appended."""

    def __init__(self, encode: Encode) -> None:
        self._encode = encode
        self._records: dict[int, _Record] = {}  # by offset, in the order in which they were appended
        self._length = 0
        self._committed = 0

    def append(self, capture: Capture) -> Location:
        records = capture.records or self._encode(capture)
        first = self._length
        for data in records:
            self._records[self._length] = _Record(self._length, data)
            self._length += len(data)
        return Location(FILE, first, len(records[0]))

    def flush(self) -> Mapping[str, int]:
        return {FILE: self._length} if self._length > self._committed else {}

    def committed(self) -> None:
        self._committed = self._length

    def roll_back(self) -> None:
        for offset in [offset for offset in self._records if offset >= self._committed]:
            del self._records[offset]
        self._length = self._committed

    def close(self) -> None:
        """Nothing to give back: what is committed can still be read."""

    def read(self, at: Location) -> bytes:
        """The record at a location. Raises StoreFailed if there is none."""
        record = self._records.get(at.offset)
        if at.file != FILE or record is None or len(record.data) != at.length:
            raise StoreFailed(f"there is no record at {at.file}:{at.offset}, {at.length} bytes long")
        return record.data


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

    def open_reader(self) -> SqliteDatabase:
        """A connection that reads only. Raises StoreFailed."""
        return open_reader(self.name)

    def open_crawl_reader(self, *, small: bool = False) -> SqliteCrawlReader:
        """A connection for reports. Raises StoreFailed."""
        return SqliteCrawlReader(open_reader(self.name).connection)

    def open_crawl_editor(self) -> SqliteCrawlEditor:
        """A connection for changes. Raises StoreFailed."""
        return SqliteCrawlEditor(open_writer(self.name).connection)

    def close(self) -> None:
        """Drop the tables, once all other connections are closed."""
        if self._anchor is not None:
            self._anchor.close()
