"""The files of the archive, read from end to end and compared with their rows."""

from collections.abc import Callable, Iterator
from itertools import chain, takewhile
from typing import NamedTuple

from gossamer.dedup.exact import payload_digest
from gossamer.errors import DamagedRecord
from gossamer.model.archive_record import ArchivedRecord
from gossamer.reports.ports import Archive
from gossamer.reports.readback import document_in, response_in
from gossamer.reports.records import CaptureRow
from gossamer.reports.verify.problems import Findings, Kind, Problem

_ANSWERS = frozenset({"response", "resource", "revisit"})

RowsOf = Callable[[str], Iterator[CaptureRow]]
"""The rows of a file, by offset."""


class _Place(NamedTuple):
    file: str
    offset: int
    length: int

    def __str__(self) -> str:
        return f"{self.file} at byte {self.offset}"


class FileChecker:
    """Compares files with rows. `max_body_bytes` is the limit of the crawl, at which documents were cut."""

    def __init__(
        self,
        archive: Archive,
        rows_of: RowsOf,
        findings: Findings,
        max_body_bytes: int,
        progress: Callable[[int], None] = lambda done: None,
    ) -> None:
        self._archive = archive
        self._rows_of = rows_of
        self._findings = findings
        self._max_body_bytes = max_body_bytes
        self._progress = progress

    def check(self, committed: dict[str, int], *, running: bool) -> None:
        """Check all files. While the crawl is running, what is beyond the committed length is not checked."""
        for name, length in committed.items():
            self._check_file(name, length, running)
            self._findings.files += 1
            self._findings.bytes += length
            self._progress(self._findings.bytes)
        if running:
            return
        for name in self._archive.files():
            if name not in committed:
                self._found(Kind.FILE_UNKNOWN, f"{name}: {self._archive.size(name)} bytes", file=name)

    def _check_file(self, name: str, length: int, running: bool) -> None:
        rows = self._rows_of(name)
        if running:  # rows that came after the lengths were read
            rows = takewhile(lambda row: row.offset < length, rows)
        size = self._archive.size(name)
        if size is None:
            if length:
                self._found(Kind.FILE_MISSING, f"{name}: {length} bytes were committed", file=name)
            self._lost(name, rows)
            return
        if size > length and not running:
            self._found(Kind.FILE_TAIL, f"{name}: {size - length} bytes too many", file=name, offset=length)
        readable = self._check_records(name, min(size, length), length, rows)
        if size < length:
            what = f"{name}: {length - size} of {length} bytes are gone"
            self._found(Kind.FILE_SHORT, what, file=name, offset=readable)

    def _lost(self, name: str, rows: Iterator[CaptureRow]) -> None:
        for row in rows:
            if not row.set_aside:
                what = f"{row.url or 'an unknown URL'}: {name} at byte {row.offset}"
                self._found(Kind.RECORD_LOST, what, file=name, offset=row.offset, url_id=row.url_id)

    def _check_records(self, name: str, end: int, committed: int, rows: Iterator[CaptureRow]) -> int:
        """Read a file together with its rows. Returns the end of the last readable record."""
        waiting = next(rows, None)
        ids: dict[str, int] = {}  # of the records of this file: their offsets
        offset = readable = 0
        while offset < end:
            try:
                for at, length, record in self._archive.scan(name, end, offset):
                    if at + length > end:  # runs over what is committed
                        raise DamagedRecord(name, at, "runs over the committed end")
                    place = _Place(name, at, length)
                    while waiting is not None and waiting.offset < at:
                        self._without_record(name, waiting)
                        waiting = next(rows, None)
                    row = None
                    if waiting is not None and waiting.offset == at:
                        row, waiting = waiting, next(rows, None)
                    self._check_record(place, record, row, ids)
                    self._findings.records += 1
                    offset = readable = at + length
                break
            except DamagedRecord as error:
                damaged = error.offset
                while waiting is not None and waiting.offset < damaged:
                    self._without_record(name, waiting)
                    waiting = next(rows, None)
                row = None
                if waiting is not None and waiting.offset == damaged:
                    row, waiting = waiting, next(rows, None)
                nothing_behind = waiting is None or waiting.offset >= end
                if end < committed and nothing_behind:  # reported as the end of a file that was cut
                    self._lost(name, iter(() if row is None else (row,)))
                    break
                self._damaged(name, row, error)
                if waiting is None or nothing_behind:
                    break
                offset = waiting.offset
        while waiting is not None and waiting.offset < readable:
            self._without_record(name, waiting)
            waiting = next(rows, None)
        if waiting is not None:
            self._lost(name, chain((waiting,), rows))
        return readable

    def _damaged(self, name: str, row: CaptureRow | None, error: DamagedRecord) -> None:
        if row is not None and row.set_aside:
            self._findings.set_aside += 1
            return
        what = f"{row.url}: {error}" if row is not None and row.url else str(error)
        url_id = None if row is None else row.url_id
        self._found(Kind.RECORD_DAMAGED, what, file=name, offset=error.offset, url_id=url_id)

    def _check_record(self, place: _Place, record: ArchivedRecord, row: CaptureRow | None, ids: dict[str, int]) -> None:
        if record.kind not in _ANSWERS:
            if record.block_digest_ok() is False:
                self._at(Kind.DIGEST_WRONG, place, f"the block of a {record.kind} record")
            return
        self._findings.captures += 1
        first = ids.setdefault(record.record_id or "", place.offset)
        if row is not None and row.set_aside:
            self._findings.set_aside += 1
            return
        if row is None:
            if first != place.offset:
                self._at(Kind.RECORD_TWICE, place, f"also at byte {first}: {record.target_uri}")
            else:
                self._at(Kind.RECORD_WITHOUT_ROW, place, str(record.target_uri))
            return
        problem = self._wrong(record, row, place)
        if problem is not None:
            kind, what = problem
            self._at(kind, place, f"{row.url}: {what}", row.url_id)

    def _wrong(self, record: ArchivedRecord, row: CaptureRow, place: _Place) -> tuple[Kind, str] | None:
        if row.url is None or record.target_uri != row.url:
            return Kind.URL_WRONG, f"the record is of {record.target_uri}"
        if row.length != place.length or row.revisit != (record.kind == "revisit"):
            return Kind.URL_WRONG, f"the record is {place.length} bytes of {record.kind}"
        if record.block_digest_ok() is not True:
            return Kind.DIGEST_WRONG, "the block is not what it was"
        if record.kind == "revisit":
            return None
        if record.payload_digest_ok() is False:
            return Kind.DIGEST_WRONG, "the body is not what it was"
        if row.digest is not None:
            document = document_in(response_in(record), self._max_body_bytes)
            if payload_digest(document.body) != row.digest:
                return Kind.DIGEST_WRONG, "the document has another digest than its row"
        return None

    def _without_record(self, name: str, row: CaptureRow) -> None:
        if not row.set_aside:
            place = _Place(name, row.offset, row.length)
            self._at(Kind.ROW_WITHOUT_RECORD, place, row.url or "an unknown URL", row.url_id)

    def _at(self, kind: Kind, place: _Place, what: str, url_id: int | None = None) -> None:
        self._found(kind, f"{place}: {what}", file=place.file, offset=place.offset, length=place.length, url_id=url_id)

    def _found(
        self,
        kind: Kind,
        what: str,
        *,
        file: str | None = None,
        offset: int = 0,
        length: int = 0,
        url_id: int | None = None,
    ) -> None:
        self._findings.add(Problem(kind, what, file, offset, length, url_id))
