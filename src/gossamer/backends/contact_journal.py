"""The contact journal in files: which hosts were contacted that the database does not know of yet?

The database learns of a contact when its batch is committed, shortly after it. A process killed in between would come
back and contact the host too early. So every contact is recorded in a small append-only file first: one record when a
request is about to be sent, one when it is over. Writing to the page cache survives `kill -9`, costs about two
microseconds and needs no fsync (after a power cut the machine was away longer than a gap).

Records have a fixed size and go to two memory-mapped files in turn; a file is void when a batch that knows all its
contacts has been committed. The files are mapped because a store into a shared mapping survives the process like a
write does, and costs no system call (each of which would release the interpreter's lock, twice for every fetch). For
the same reason the files stay where they are: creating and removing them with every batch would block the event loop
whenever the disk is busy.
"""

import mmap
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gossamer.errors import NO_ROOM, DiskFull, StoreFailed
from gossamer.model.loads import LastContact
from gossamer.model.units import HostId, Instant

# A record counts when its kind is set, which is done last: a process killed in between leaves nothing.
_RECORD = struct.Struct("<xQdd46sx")  # kind, host id, a time, seconds, address
_KIND_AND_ALL = struct.Struct("<BQdd46sx")
_NONE, _BEGIN, _STARTED, _FINISHED = 0, 1, 2, 3
_FIRST_BYTES = 1024 * _RECORD.size


class _MappedFile:
    """A file that grows by doubling, filled from the front, again and again."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with _our_errors(path):
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        self._size = 0
        try:
            self._allocate(_FIRST_BYTES)
            self._map = mmap.mmap(self._fd, self._size)
        except BaseException:
            os.close(self._fd)
            raise
        self._end = 0

    def _allocate(self, size: int) -> None:
        """Allocated, not only made longer: a full disk must show here, as an error, and not as a fault in a store."""
        with _our_errors(self._path):
            os.posix_fallocate(self._fd, 0, size)
        self._size = size

    def add(self, kind: int, number: int, time: float, seconds: float, address: bytes) -> None:
        at = self._end
        if at + _RECORD.size > self._size:
            self._allocate(2 * self._size)
            with _our_errors(self._path):
                self._map.resize(self._size)
        _RECORD.pack_into(self._map, at, number, time, seconds, address)
        self._map[at] = kind
        self._end = at + _RECORD.size

    def forget(self) -> None:
        """Its records do not count any more."""
        self._map[0] = _NONE

    def begin(self, turn: int) -> None:
        """Afresh; the first record says which of the two files is the newer."""
        self.forget()  # first: a process killed in the middle leaves an empty file
        self._map[: self._end] = bytes(self._end)
        self._end = 0
        self.add(_BEGIN, turn, 0.0, 0.0, b"")

    def close(self) -> None:
        self._map.close()
        with _our_errors(self._path):
            os.close(self._fd)


class ContactLog:
    """`ContactJournal` in two files."""

    def __init__(self, paths: tuple[Path, Path]) -> None:
        self._paths = paths
        self._files: list[_MappedFile] = []
        self._turns = 0
        self._file: _MappedFile  # from `begin` on

    def last_contacts(self) -> dict[HostId, LastContact]:
        """What the files know, by host. A torn last record is ignored: its contact did not begin, because the request
        is sent only after its record was complete."""
        found: dict[HostId, LastContact] = {}
        for records in sorted(map(_read, self._paths)):
            for kind, host, time, took, raw in records:
                host_id = HostId(host)
                address = raw.rstrip(b"\0").decode("ascii", "replace")
                before = found.get(host_id)
                next_contact = before.next_contact if before else Instant(0.0)
                if kind == _STARTED:
                    found[host_id] = LastContact(Instant(time), next_contact, took, address)
                elif kind == _FINISHED:
                    found[host_id] = LastContact(None, max(next_contact, Instant(time)), took, address)
        return found

    def begin(self) -> None:
        self.clear()
        self._file = self._begun(0)

    def _begun(self, turn: int) -> _MappedFile:
        if turn == len(self._files) < 2:
            self._files.append(_MappedFile(self._paths[turn]))
        file = self._files[turn % 2]
        file.begin(turn)
        return file

    def started(self, host_id: HostId, at: Instant, last_took: float, address: str) -> None:
        self._file.add(_STARTED, host_id, at, last_took, address.encode())

    def finished(self, host_id: HostId, next_contact: Instant, took: float, address: str) -> None:
        self._file.add(_FINISHED, host_id, next_contact, took, address.encode())

    def turn_over(self, still_open: list[tuple[HostId, Instant, float, str]]) -> None:
        self._file = self._begun(self._turns + 1)
        self._turns += 1
        for host_id, at, last_took, address in still_open:
            self.started(host_id, at, last_took, address)

    def forget(self) -> None:
        for file in self._files:
            if file is not self._file:
                file.forget()

    def close(self) -> None:
        for file in self._files:
            file.close()
        self._files.clear()

    def clear(self) -> None:
        for path in self._paths:
            with _our_errors(path):
                path.unlink(missing_ok=True)


def _read(path: Path) -> list[tuple[int, int, float, float, bytes]]:
    """The complete records of a file. The first is the number of its turn, so that lists sort by age."""
    with _our_errors(path):
        data = path.read_bytes() if path.exists() else b""
    usable = len(data) - len(data) % _RECORD.size
    records = []
    for record in _KIND_AND_ALL.iter_unpack(data[:usable]):
        if record[0] == _NONE:
            break
        records.append(record)
    return records


def _failure(error: OSError, path: Path) -> StoreFailed:
    kind = DiskFull if error.errno in NO_ROOM else StoreFailed
    return kind(f"{path}: {error.strerror or error}")


@contextmanager
def _our_errors(path: Path) -> Iterator[None]:
    """Errors of the file system as StoreFailed (DiskFull)."""
    try:
        yield
    except OSError as error:
        raise _failure(error, path) from error
