"""The archive of a crawl as ordinary WARC files: what is in object storage, or in other files, put together."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import BinaryIO

from gossamer.errors import ArchiveError
from gossamer.reports.ports import Archive
from gossamer.reports.records import Progress

FILE_BYTES = 1_000_000_000
"""A file is followed by another one when it has at least this length."""


class WarcFolder:
    """Numbered WARC files in a folder. What begins with a warcinfo record stays in one file."""

    def __init__(self, folder: Path, file_bytes: int = FILE_BYTES) -> None:
        self._folder = folder
        self._file_bytes = file_bytes
        self._open: BinaryIO | None = None
        self.files = 0

    def add(self, archive: Archive, name: str, length: int) -> None:
        """Add a file of an archive as it is. Raises ArchiveError; then nothing of it was added."""
        file = self._open
        if file is None:
            self.files += 1
            file = self._open = (self._folder / f"gossamer-{self.files:05d}.warc.gz").open("xb")
        begin = file.tell()
        try:
            for chunk in archive.content(name, length):
                file.write(chunk)
            if (added := file.tell() - begin) < length:
                raise ArchiveError(f"{name}: {added} of {length} bytes are there")
        except ArchiveError:
            file.seek(begin)
            file.truncate()
            raise
        if file.tell() >= self._file_bytes:
            self.close()

    def close(self) -> None:
        """The last file is complete."""
        if self._open is not None:
            file, self._open = self._open, None
            with file:
                file.flush()
                os.fsync(file.fileno())


def write_warc_files(
    archive: Archive,
    committed: Mapping[str, int],
    folder: Path,
    problem: Callable[[str], None],
    progress: Progress,
    file_bytes: int = FILE_BYTES,
) -> int:
    """Write all files with their committed lengths. Reports those that cannot be read. Returns the number of files."""
    made = WarcFolder(folder, file_bytes)
    done, total = 0, sum(committed.values())
    try:
        for name, length in committed.items():
            try:
                made.add(archive, name, length)
            except ArchiveError as error:
                problem(str(error))
            done += length
            progress(done, total)
    finally:
        made.close()
    return made.files
