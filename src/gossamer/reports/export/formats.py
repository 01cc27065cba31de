"""Rows as text (JSON lines, CSV by RFC 4180, tab-separated values), pages as Markdown files, `HOST/PATH.md`, each with
its metadata as front matter, and the output file, which appears when it is complete. Parquet is in `parquet`.
"""

import csv
import gzip
import hashlib
import io
import json
import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, Protocol, cast

from gossamer.errors import NO_ROOM, DiskFull, UsageError
from gossamer.model.units import Instant
from gossamer.reports.export.tables import Column, Kind, PageColumns, Row, Value
from gossamer.reports.records import Json, PageRow


class TableWriter(Protocol):
    """Writes one table. `close` completes it; the stream under it stays open."""

    def write(self, rows: Sequence[Row]) -> None: ...

    def close(self) -> None: ...


_INVISIBLE = re.compile("[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Control characters that JSON need not escape, and those that change the direction of text."""
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""The same and those that JSON does escape, without tab and line feed."""
_FORMULA = re.compile("[\t\r\n]|[\\s\ufeff\u200b]*[=+@\uff1d\uff0b\uff0d\uff20-]").match
"""What a spreadsheet may take for a formula, also with full-width characters (OWASP, CSV Injection)."""


def _json_escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


def harmless(value: Value) -> Value:
    """A value for a spreadsheet or a terminal: control characters escaped as in Python, and an apostrophe in front of
    text that a spreadsheet would calculate."""
    if not isinstance(value, str):
        return value
    escaped = _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), value)
    return "'" + escaped if _FORMULA(value) else escaped


def row_objects(rows: Iterable[Row], columns: Sequence[Column]) -> Iterator[dict[str, Value]]:
    """Rows as the objects that JSON lines have: every column, moments as text, None for what is not known."""
    names, moments = [column.name for column in columns], _moments(columns)
    for row in rows:
        (dated,) = _dated((row,), moments)
        yield dict(zip(names, dated, strict=True))


def page_object(page: PageRow, columns: PageColumns) -> Json:
    """A page as an object, with the location of its record also as the object `warc` of earlier versions."""
    (found,) = row_objects([columns.row(page)], columns.columns)
    file, offset, length = page.warc_file, page.warc_offset, page.warc_length
    return {**found, "warc": None if file is None else {"file": file, "offset": offset, "length": length}}


class JsonLines:
    """One object a line, every column in it, null for what is not known."""

    def __init__(self, stream: BinaryIO, columns: Sequence[Column]) -> None:
        self._stream = stream
        self._columns = columns
        self._encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode

    def write(self, rows: Sequence[Row]) -> None:
        lines = [self._encode(each) for each in row_objects(rows, self._columns)]
        # A lone surrogate cannot be UTF-8; as an escape it is still JSON.
        text = _INVISIBLE.sub(_json_escape, "\n".join(lines))
        self._stream.write((text + "\n").encode("utf-8", "backslashreplace") if lines else b"")

    def close(self) -> None: ...


class Csv:
    """A heading, then a line a row; nothing between the commas for what is not known. Text is made harmless unless it
    is wanted `raw`."""

    def __init__(self, stream: BinaryIO, columns: Sequence[Column], *, raw: bool = False) -> None:
        self._stream = stream
        self._raw = raw
        self._moments = _moments(columns)
        self._flags = [i for i, column in enumerate(columns) if column.kind is Kind.FLAG]
        self._parts = [i for i, column in enumerate(columns) if column.kind is Kind.PARTS]
        self._put([[column.name for column in columns]])

    def write(self, rows: Sequence[Row]) -> None:
        dated = _dated(rows, self._moments)
        if self._parts:
            dated = [_with(row, {i: json.dumps(row[i]) for i in self._parts}) for row in dated]
        if self._flags:
            dated = [_with(row, {i: _word(row[i]) for i in self._flags}) for row in dated]
        self._put(dated)

    def _put(self, rows: Sequence[Sequence[Value]]) -> None:
        text = io.StringIO(newline="")
        csv.writer(text).writerows(rows if self._raw else [[harmless(value) for value in row] for row in rows])
        self._stream.write(text.getvalue().encode("utf-8", "backslashreplace"))

    def close(self) -> None: ...


class Tabs:
    """Values with tabs between them, a line a row, no heading: the usual edge list. For values without white space."""

    def __init__(self, stream: BinaryIO, columns: Sequence[Column]) -> None:
        self._stream = stream

    def write(self, rows: Sequence[Row]) -> None:
        self._stream.write("".join("\t".join(map(str, row)) + "\n" for row in rows).encode("utf-8", "backslashreplace"))

    def close(self) -> None: ...


def timestamp(at: float) -> str | None:
    """ISO 8601, UTC, to the millisecond; None for what is beyond the calendar."""
    if not 0 <= at < 253_402_300_800:
        return None
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


def _moments(columns: Sequence[Column]) -> list[int]:
    return [i for i, column in enumerate(columns) if column.kind is Kind.MOMENT]


def _dated(rows: Sequence[Row], moments: list[int]) -> Sequence[Row]:
    if not moments:
        return rows
    return [_with(row, {i: timestamp(at) for i in moments if isinstance(at := row[i], float)}) for row in rows]


def _with(row: Row, changed: dict[int, str | None]) -> Row:
    values = list(row)
    for i, value in changed.items():
        values[i] = value
    return tuple(values)


def _word(value: Value) -> str | None:
    return None if value is None else "true" if value else "false"


@contextmanager
def naming_full_disk(name: str) -> Iterator[None]:
    """Raises DiskFull with the name of the file that is being written, which the error of the system does not have."""
    try:
        yield
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        raise DiskFull(f"no space left for {name}") from error


@contextmanager
def open_output(name: str) -> Iterator[BinaryIO]:
    """A stream to the file `name`, or to standard output for `-`. Compressed if the name ends with `.gz`.

    The file appears when the block is done, in the place of an older one; a symbolic link is followed. If the block
    raises, nothing changes. A device or a named pipe is written to as it is.
    """
    if name == "-":
        with naming_full_disk("standard output"):
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
        return
    path = Path(os.path.realpath(name))
    is_packed = name.endswith(".gz")
    if path.exists() and not path.is_file() and not path.is_dir():
        with naming_full_disk(name), path.open("wb") as file, _packed(file, is_packed) as stream:
            yield stream
        return
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with naming_full_disk(name), unfinished.open("wb") as file:
            with _packed(file, is_packed) as stream:
                yield stream
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


@contextmanager
def _packed(file: BinaryIO, is_packed: bool) -> Iterator[BinaryIO]:
    """The stream to write to: the file, or a compressor before it."""
    if not is_packed:
        yield file
        return
    # Neither name nor date: the same rows make the same file.
    with gzip.GzipFile(filename="", fileobj=file, mode="wb", compresslevel=6, mtime=0) as packed:
        yield cast(BinaryIO, packed)


_MAX_NAME = 100  # characters; file systems allow 255 bytes
_MAX_LEVELS = 20
_UNSAFE = re.compile(r"[^A-Za-z0-9._~%@+,=-]")


def file_name(url: str) -> str:
    """The path of the file for a URL, relative to the folder of the export. It stays below that folder; what cannot be
    part of a file name is replaced, and then the name ends with a part of the URL's digest, so that it stays unique."""
    rest = url.partition("://")[2]
    address, marked, _ = rest.partition("?")
    host, _, path = address.partition("/")
    *folders, name = path.split("/")
    safe = [_safe(part) for part in (host, *folders[:_MAX_LEVELS], name or "index")]
    changed = safe != [host, *folders, name] if name else safe[:-1] != [host, *folders]
    if changed or marked or name == "index":
        safe[-1] += "-" + hashlib.sha1(url.encode("utf-8", "replace")).hexdigest()[:8]
    return "/".join(safe) + ".md"


def _safe(part: str) -> str:
    part = _UNSAFE.sub("_", part)[:_MAX_NAME]
    return "_" if part in {"", ".", ".."} else part


class MarkdownFolder:
    """Writes one file per page."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def add(
        self,
        url: str,
        markdown: str,
        *,
        title: str | None,
        fetched_at: Instant | None,
        language: str | None,
        digest: str | None,
    ) -> None:
        """Write the page. Of two pages with the same path (http and https, say) the second has a digest in its name."""
        name = file_name(url)
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            digits = hashlib.sha1(url.encode("utf-8", "replace")).hexdigest()[:8]
            path = path.with_name(f"{path.name.removesuffix('.md')}-{digits}.md")
        meta = {
            "url": url,
            "title": title,
            "fetched_at": None if fetched_at is None else timestamp(fetched_at),
            "language": language,
            "digest": digest,
        }
        # JSON strings are YAML strings.
        front = "".join(f"{key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in meta.items())
        path.write_text(f"---\n{front}---\n\n{markdown.strip()}\n", encoding="utf-8", errors="backslashreplace")


@contextmanager
def open_folder(name: str) -> Iterator[MarkdownFolder]:
    """As `new_folder`, for Markdown files."""
    with new_folder(name, "Markdown files") as folder:
        yield MarkdownFolder(folder)


@contextmanager
def new_folder(name: str, files: str) -> Iterator[Path]:
    """A new folder, which appears when the block is done. If the block raises, nothing is left. Raises UsageError if it
    exists and is not empty."""
    folder = Path(name)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        what = "is not empty" if folder.is_dir() else "is not a directory"
        raise UsageError(f"-o: {name} {what}; give a new directory for the {files}")
    unfinished = folder.with_name(f".{folder.name}.{os.getpid()}.part")
    try:
        unfinished.mkdir(parents=True)
        with naming_full_disk(name):
            yield unfinished
        if folder.exists():
            folder.rmdir()
        os.replace(unfinished, folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
