"""The open WARC file: appends whole records, and takes them back when a transaction fails.

For one thread (the store's writer). The order per transaction is: `append` ..., `sync`, commit the rows together with
`file_name` and `length` in the database, `mark_committed`. If the commit fails: `rollback`. If the process dies in
between, `cut_back` does the same at the next start: it cuts every file to its committed length, before the writer opens
one. After a clean stop it has nothing to do.
"""

import errno
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import Final

from gossamer.backends.warc.record import RecordIds, Warcinfo, build_warcinfo
from gossamer.clock import Clock
from gossamer.errors import NO_ROOM, DiskFull, StoreFailed
from gossamer.store.ports import Location

DEFAULT_ROTATE_BYTES: Final = 1_000_000_000


FILE_PREFIX: Final = "gossamer"


def file_names_of(prefix: str) -> re.Pattern[str]:
    """The names of our files: prefix, time of opening (UTC), serial number."""
    return re.compile(re.escape(prefix) + _ENDING)


_ENDING = r"-[0-9]{14}-([0-9]{5})\.warc\.gz"
ALL_FILE_NAMES: Final = re.compile(FILE_PREFIX + "(?:-.+)?" + _ENDING)
"""The names of the files of all workers: after the prefix comes the name of the worker, where several share a crawl."""


class WarcWriter:
    """Appends records. Opens its file at the first append: the newest one of `committed` while there is room in it,
    else a new one. Several writers may share a directory if their prefixes differ.

    Invariants:
      * `committed_length <= length`, and the file is `length` bytes long unless a cut failed (`_torn`);
      * a file is left for the next one only when everything in it is committed.
    """

    def __init__(
        self,
        directory: Path,
        prefix: str = FILE_PREFIX,
        *,
        info: Warcinfo,
        ids: RecordIds,
        clock: Clock,
        rotate_bytes: int = DEFAULT_ROTATE_BYTES,
        committed: Mapping[str, int] | None = None,
    ) -> None:
        self._directory = directory
        self._prefix = prefix
        self._info = info
        self._ids = ids
        self._clock = clock
        self._rotate_bytes = rotate_bytes
        self._fd: int | None = None
        self._torn = False
        self._dirty = False
        self._info_due = True
        self._info_end = 0
        self._name = ""
        self._length = 0
        self._committed_length = 0
        self._serial = 0
        self._warcinfo_id = ids.next()
        with _our_errors(str(directory)):
            self._resume(committed or {})

    @property
    def file_name(self) -> str:
        """The file that `length` speaks of; empty before the first append."""
        return self._name

    @property
    def length(self) -> int:
        """Bytes in the file, those not committed included: what the next transaction records."""
        return self._length

    @property
    def committed_length(self) -> int:
        return self._committed_length

    @property
    def warcinfo_id(self) -> str:
        """The id of the warcinfo record that the next records belong to."""
        return self._warcinfo_id

    def append(self, member: bytes) -> Location:
        """Write one record at the end. Afterwards it is in the file whole, or not at all.

        Raises DiskFull when there is no room and StoreFailed for other trouble; the file is then as before.
        """
        self.prepare()
        offset = self._length
        self._write(member)
        return Location(self._name, offset, len(member))

    def prepare(self) -> None:
        """Turn to the file that the next record goes to: `file_name`, `length` and `warcinfo_id` are then what it will
        find. A new file gets its warcinfo record."""
        if self._fd is not None and self._length >= self._rotate_bytes and self._length == self._committed_length:
            self._leave()
        if self._fd is None:
            self._open()
        if self._info_due:
            info = build_warcinfo(self._info, record_id=self._warcinfo_id, file_name=self._name, now=self._clock.now())
            self._write(info)
            self._info_due = False
            self._info_end = self._length

    def sync(self) -> None:
        """Make everything appended so far survive a power failure. To be called before the commit."""
        if self._fd is None or not self._dirty:
            return
        with _our_errors(self._name):
            os.fdatasync(self._fd)
        self._dirty = False

    def mark_committed(self) -> None:
        """The transaction that recorded `length` is durable."""
        self._committed_length = self._length

    def rollback(self) -> None:
        """The transaction failed: cut the file back to what is committed."""
        self.rollback_to(self._committed_length)

    def rollback_to(self, length: int) -> None:
        """Cut the file back to `length`, which must be the end of a record that is not older than the last commit."""
        if not self._committed_length <= length <= self._length:
            raise ValueError(f"cannot cut {self._name} to {length}: {self._committed_length} bytes are committed")
        if self._fd is None:
            return
        self._length = length
        # If our warcinfo record was cut off with the rest, it is written again; never twice, for its id is unique.
        self._info_due = self._info_due or length < self._info_end
        self._cut()

    def close(self) -> None:
        """Close the file. What is not committed stays until `cut_back` removes it."""
        if self._fd is not None:
            descriptor, self._fd = self._fd, None
            with _our_errors(self._name):
                os.close(descriptor)

    def _resume(self, committed: Mapping[str, int]) -> None:
        ours = file_names_of(self._prefix)
        known = {name: found for name in committed if (found := ours.fullmatch(name))}
        present = [found for path in self._directory.glob(f"{self._prefix}-*") if (found := ours.fullmatch(path.name))]
        self._serial = max((int(found[1]) for found in (*known.values(), *present)), default=0)
        if not known:
            return
        newest = max(known, key=lambda name: (int(known[name][1]), name))
        path = self._directory / newest
        # Only a file that is exactly as long as was committed is safe to append to.
        if committed[newest] < self._rotate_bytes and path.is_file() and path.stat().st_size == committed[newest]:
            self._fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
            self._name = newest
            self._length = self._committed_length = committed[newest]

    def _leave(self) -> None:
        self.close()
        self._name = ""
        self._length = self._committed_length = 0
        self._info_due = True
        self._warcinfo_id = self._ids.next()

    def _open(self) -> None:
        """Make a new file; its name is durable before anything refers to it."""
        if self._serial >= 99_999:
            raise StoreFailed(f"{self._directory} has no file numbers left for {self._prefix!r}")
        self._serial += 1
        stamp = _stamp(self._clock)
        name = f"{self._prefix}-{stamp}-{self._serial:05d}.warc.gz"
        with _our_errors(name):
            self._directory.mkdir(parents=True, exist_ok=True)
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            descriptor = os.open(self._directory / name, flags, 0o644)
            try:
                sync_directory(self._directory)
            except OSError:
                os.close(descriptor)
                raise
        self._fd = descriptor
        self._name = name
        self._length = self._committed_length = 0
        self._info_due = True

    def _write(self, data: bytes) -> None:
        assert self._fd is not None
        if self._torn:
            self._cut()
        rest = memoryview(data)
        self._dirty = True
        try:
            while rest:
                written = os.write(self._fd, rest)
                if written == 0:
                    raise OSError(errno.EIO, "nothing was written")
                rest = rest[written:]
        except OSError as error:
            self._cut()
            raise _failure(error, self._name) from error
        self._length += len(data)

    def _cut(self) -> None:
        """Make the file `_length` bytes long."""
        assert self._fd is not None
        self._torn = True
        with _our_errors(self._name):
            os.ftruncate(self._fd, self._length)
        self._torn = False
        self._dirty = True


def sync_directory(directory: Path) -> None:
    """Make the directory's names survive a power failure."""
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _stamp(clock: Clock) -> str:
    return datetime.fromtimestamp(clock.now(), UTC).strftime("%Y%m%d%H%M%S")


def _failure(error: OSError, name: str) -> StoreFailed:
    kind = DiskFull if error.errno in NO_ROOM else StoreFailed
    return kind(f"{name}: {error.strerror or error}")


@contextmanager
def _our_errors(name: str) -> Iterator[None]:
    """Errors of the file system as StoreFailed (DiskFull)."""
    try:
        yield
    except OSError as error:
        raise _failure(error, name) from error


class RepairKind(Enum):
    CUT = "cut"
    """Bytes behind the committed length were cut off."""
    REMOVED = "removed"
    """A file of ours that no transaction ever recorded was removed."""
    DAMAGED = "damaged"
    """The file is missing, or shorter than what was committed: records are lost. Nothing was touched."""


@dataclass(frozen=True, slots=True)
class Repair:
    """What was done to one file. Lengths in bytes; a missing file was 0 bytes long."""

    file_name: str
    kind: RepairKind
    length_found: int
    committed_length: int


def cut_back(directory: Path, committed: Mapping[str, int], prefix: str = FILE_PREFIX) -> list[Repair]:
    """Cut the files in `directory` to the lengths in `committed`; say what was amiss, in the order of names.

    A file that `committed` does not name is removed if its name is one of ours with this prefix, else left alone.
    No writer may have a file open. Raises StoreFailed; running it again is then safe.
    """
    with _our_errors(str(directory)):
        return _cut_back(directory, committed, prefix)


def _cut_back(directory: Path, committed: Mapping[str, int], prefix: str) -> list[Repair]:
    repairs: list[Repair] = []
    for name, length in committed.items():
        if Path(name).name != name:
            raise ValueError(f"not a file name: {name!r}")
        repair = _cut_one(directory / name, length)
        if repair is not None:
            repairs.append(repair)
    ours = file_names_of(prefix)
    for path in directory.iterdir() if directory.is_dir() else ():
        if path.name not in committed and ours.fullmatch(path.name) and path.is_file():
            repairs.append(Repair(path.name, RepairKind.REMOVED, path.stat().st_size, 0))
            path.unlink()
    if any(repair.kind is RepairKind.REMOVED for repair in repairs):
        sync_directory(directory)
    return sorted(repairs, key=lambda repair: repair.file_name)


def _cut_one(path: Path, length: int) -> Repair | None:
    if not path.is_file():
        return Repair(path.name, RepairKind.DAMAGED, 0, length) if length else None
    found = path.stat().st_size
    if found == length:
        return None
    if found < length:
        return Repair(path.name, RepairKind.DAMAGED, found, length)
    cut_file(path, length)
    return Repair(path.name, RepairKind.CUT, found, length)


def cut_file(path: Path, length: int) -> None:
    """Cuts a file to `length` bytes, durably."""
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.ftruncate(fd, length)
        os.fsync(fd)
    finally:
        os.close(fd)
