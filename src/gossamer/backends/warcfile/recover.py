"""After a crash: every file back to its committed length, so that a record is in a file exactly if its row is
in the database.

Runs at every start, before the writer opens anything; a clean stop simply leaves nothing to do.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from gossamer.backends.warcfile.writer import FILE_PREFIX, file_names_of, sync_directory


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
    No writer may have a file open. May raise OSError; running it again is then safe.
    """
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
