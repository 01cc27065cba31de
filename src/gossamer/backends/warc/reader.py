"""The archive port on WARC files in a folder: one record at its location, or all of a file in turn.

Also reads what other programs write: uncompressed files, folded fields, target addresses in angle brackets.
"""

import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from gossamer.backends.warc.writer import ALL_FILE_NAMES, cut_file
from gossamer.errors import ArchiveError, DamagedRecord
from gossamer.model.archive_record import ArchivedRecord

MAX_RECORD_BYTES: Final = 256 * 1024 * 1024
"""No record of ours comes near this; a file that claims more is damaged or hostile."""

_GZIP: Final = b"\x1f\x8b"
_CHUNK: Final = 256 * 1024


def read_record(path: Path, offset: int, length: int) -> ArchivedRecord:
    """The record at this location. Raises DamagedRecord unless exactly one whole record is there."""
    with path.open("rb") as file:
        file.seek(offset)
        return record_in(file.read(length), path.name, offset, length)


def record_in(data: bytes, name: str, offset: int, length: int) -> ArchivedRecord:
    """The record in the bytes that a file of this name has at a location. Raises DamagedRecord as above."""
    if len(data) < length:
        raise DamagedRecord(name, offset, f"the file ends after {len(data)} of {length} bytes")
    if data[:2] != _GZIP:
        return _parse(name, offset, data)
    expander = zlib.decompressobj(31)
    try:
        plain = expander.decompress(data, MAX_RECORD_BYTES)
    except zlib.error as error:
        raise DamagedRecord(name, offset, str(error)) from error
    if not expander.eof or expander.unused_data:
        raise DamagedRecord(name, offset, "not exactly one gzip member")
    return _parse(name, offset, plain)


def scan_records(path: Path, end: int | None = None, start: int = 0) -> Iterator[tuple[int, int, ArchivedRecord]]:
    """Offset, length and record, for all gzip members of a file from byte `start`, one record each; up to byte `end`,
    if a crawl may be writing beyond it.

    Raises DamagedRecord where the file is not such a sequence; what came before is good.
    """
    with path.open("rb") as file:
        yield from scan_records_in(file, path.name, end, start)


def scan_records_in(
    file: BinaryIO, name: str, end: int | None = None, start: int = 0
) -> Iterator[tuple[int, int, ArchivedRecord]]:
    """As `scan_records`, in a file that is open."""
    file.seek(start)
    offset, pending = start, file.read(_CHUNK)
    while pending and (end is None or offset < end):
        expander = zlib.decompressobj(31)
        plain: list[bytes] = []
        expanded = taken = 0
        while not expander.eof:
            if not pending:
                raise DamagedRecord(name, offset, "the file ends inside a record")
            try:
                plain.append(expander.decompress(pending, MAX_RECORD_BYTES - expanded + 1))
            except zlib.error as error:
                raise DamagedRecord(name, offset, str(error)) from error
            expanded += len(plain[-1])
            if expanded > MAX_RECORD_BYTES:
                raise DamagedRecord(name, offset, "longer than any record may be")
            taken += len(pending)
            pending = b"" if expander.eof else file.read(_CHUNK)
        length = taken - len(expander.unused_data)
        yield offset, length, _parse(name, offset, b"".join(plain))
        offset += length
        pending = expander.unused_data or file.read(_CHUNK)


def _parse(file: str, offset: int, data: bytes) -> ArchivedRecord:
    head, blank, rest = data.partition(b"\r\n\r\n")
    version, *lines = head.decode("utf-8", "replace").split("\r\n")
    if not blank or not version.startswith("WARC/"):
        raise DamagedRecord(file, offset, "does not begin like a WARC record")
    headers: list[tuple[str, str]] = []
    for line in lines:
        if line[:1] in (" ", "\t") and headers:
            headers[-1] = (headers[-1][0], f"{headers[-1][1]} {line.strip()}")
            continue
        name, colon, value = line.partition(":")
        if not colon:
            raise DamagedRecord(file, offset, f"not a named field: {line[:80]!r}")
        headers.append((name.strip(), value.strip()))
    record = ArchivedRecord(version, tuple(headers), rest[: _block_length(file, offset, headers)])
    if rest[len(record.block) :] != b"\r\n\r\n":
        raise DamagedRecord(file, offset, "the block does not end where Content-Length says")
    return record


def _block_length(file: str, offset: int, headers: list[tuple[str, str]]) -> int:
    given = next((value for name, value in headers if name.lower() == "content-length"), "")
    if not (given.isascii() and given.isdigit()) or len(given) > 15:
        raise DamagedRecord(file, offset, f"no usable Content-Length: {given[:80]!r}")
    return int(given)


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

    def content(self, file: str, end: int) -> Iterator[bytes]:
        with _archive_errors(file), (self._folder / file).open("rb") as opened:
            while end > 0 and (chunk := opened.read(min(end, _CHUNK))):
                yield chunk
                end -= len(chunk)

    def size(self, file: str) -> int | None:
        path = self._folder / file
        with _archive_errors(file):
            return path.stat().st_size if path.is_file() else None

    def files(self) -> list[str]:
        with _archive_errors(str(self._folder)):
            found = sorted(path.name for path in self._folder.iterdir()) if self._folder.is_dir() else []
        return [name for name in found if ALL_FILE_NAMES.fullmatch(name)]

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
