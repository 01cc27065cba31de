"""The archive port on WARC files in a folder of the local disk."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gossamer.backends.warc.reader import read_record, scan_records
from gossamer.backends.warc.writer import FILE_PREFIX, cut_file, file_names_of
from gossamer.errors import ArchiveError
from gossamer.model.archive_record import ArchivedRecord


class WarcArchive:
    """`reports.ports.Archive`. File names are relative to the folder, and may name files of folders in it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, file: str, offset: int, length: int) -> ArchivedRecord:
        with _archive_errors(file):
            return read_record(self._folder / file, offset, length)

    def scan(self, file: str, end: int | None = None, start: int = 0) -> Iterator[tuple[int, int, ArchivedRecord]]:
        with _archive_errors(file):
            yield from scan_records(self._folder / file, end, start)

    def size(self, file: str) -> int | None:
        path = self._folder / file
        with _archive_errors(file):
            return path.stat().st_size if path.is_file() else None

    def files(self) -> list[str]:
        ours = file_names_of(FILE_PREFIX)
        with _archive_errors(str(self._folder)):
            found = sorted(path.name for path in self._folder.iterdir()) if self._folder.is_dir() else []
        return [name for name in found if ours.fullmatch(name)]

    def cut(self, file: str, length: int) -> None:
        with _archive_errors(file):
            cut_file(self._folder / file, length)

    def put_aside(self, file: str) -> None:
        with _archive_errors(file):
            os.rename(self._folder / file, self._folder / f"{file}.unknown")


@contextmanager
def _archive_errors(file: str) -> Iterator[None]:
    """Errors of the file system as ArchiveError."""
    try:
        yield
    except OSError as error:
        raise ArchiveError(f"{file}: {error.strerror or error}") from error
