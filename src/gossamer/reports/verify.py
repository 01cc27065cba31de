"""Compares the store of a crawl with its archive, and the tables of the store with each other.

Problems are sorted into kinds (`Kind`). Every file is read from end to end together with its rows (`FileChecker`):
every row must have its record, with the right URL and digests, and every record its row. What can be repaired safely is
repaired (`repair`), in one transaction, by a process that holds the lock of the directory.

Without `--repair` nothing is changed, and the crawl may be running: only what was committed when `verify` started is
checked. With it, no committed byte of a WARC file that can still be read is cut or overwritten.
"""

from collections import Counter
from collections.abc import Callable, Container, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import Enum
from itertools import chain, takewhile
from typing import NamedTuple

from gossamer.dedup import payload_digest
from gossamer.errors import ArchiveError, DamagedRecord
from gossamer.model.archive_record import ArchivedRecord
from gossamer.reports.ports import Archive, AuditReader, Repair
from gossamer.reports.readback import document_in, response_in
from gossamer.reports.records import CaptureRow, OrphanRecord, Progress

EXAMPLES = 5


class Kind(Enum):
    """A kind of problem: its name, its meaning, and what `--repair` does about it (empty: it cannot be repaired)."""

    def __init__(self, word: str, meaning: str, repair: str) -> None:
        self.word, self.meaning, self.repair = word, meaning, repair

    DATABASE = (
        "database",
        "the database itself is damaged",
        "",
    )
    FILE_MISSING = (
        "file_missing",
        "a WARC file is missing",
        "its URLs are queued again, and the file is removed from the database",
    )
    FILE_SPOOLED = (
        "file_spooled",
        "an object is in a spool that this command does not see",
        "start the worker that has the spool, which then delivers the object; if the spool is lost, --repair "
        "--lost-spools queues its URLs again",
    )
    FILE_SHORT = (
        "file_short",
        "a WARC file is shorter than what was committed",
        "the incomplete record at its end is cut off, and the URLs of lost records are queued again",
    )
    FILE_TAIL = (
        "file_tail",
        "a WARC file is longer than what was committed",
        "what is beyond is cut off, as at every start",
    )
    FILE_UNKNOWN = (
        "file_unknown",
        "a WARC file that is not in the database",
        "it is renamed to end in .unknown, so that the next start does not remove it; an object, which a failed commit "
        "has left, is deleted",
    )
    RECORD_LOST = (
        "record_lost",
        "the record of a row is lost with its file or the end of it",
        "the URL is queued again",
    )
    RECORD_DAMAGED = (
        "record_damaged",
        "a record cannot be read",
        "the URL is queued again, and the record is set aside",
    )
    DIGEST_WRONG = (
        "digest_wrong",
        "a record has a wrong digest",
        "the URL is queued again, and the record is set aside",
    )
    URL_WRONG = (
        "url_wrong",
        "a record has another URL than its row",
        "the URL is queued again, and the record is set aside",
    )
    ROW_WITHOUT_RECORD = (
        "row_without_record",
        "a row points to a place where no record begins",
        "the row is removed and the URL queued again",
    )
    RECORD_WITHOUT_ROW = (
        "record_without_row",
        "a record without a row",
        "a row is added if its URL is known, otherwise it is set aside",
    )
    RECORD_TWICE = (
        "record_twice",
        "a record that is in its file twice",
        "the second is set aside",
    )
    STORED_WITHOUT_RECORD = (
        "stored_without_record",
        "a page counts as archived, but no row says where",
        "the URL is queued again",
    )
    VISIT_WITHOUT_URL = (
        "visit_without_url",
        "a visit to a URL that is not known",
        "the visit is deleted",
    )
    CONTENT_MISSING = (
        "content_missing",
        "a stored document that the content-seen test does not know",
        "it is added there",
    )
    CONTENT_DANGLING = (
        "content_dangling",
        "the content-seen test lists a document that is not stored",
        "it is removed there, so that the document is stored when it is found again",
    )
    COUNTERS = (
        "counters",
        "a counter is wrong",
        "it is set to the correct number",
    )
    FRONTS = (
        "fronts",
        "a host has queued URLs but is in no front queue",
        "it is added to one",
    )


class Problem(NamedTuple):
    """One problem: with `file` and `offset` if it concerns a record, with `url_id` if it concerns a URL."""

    kind: Kind
    what: str  # for people, one line
    file: str | None = None
    offset: int = 0
    length: int = 0
    url_id: int | None = None
    key: bytes | str | int | None = None  # of what it concerns, if that is something else


@dataclass(slots=True)
class Findings:
    """All problems, and how much was checked."""

    problems: list[Problem] = field(default_factory=list)
    counts: Counter[Kind] = field(default_factory=Counter)
    files: int = 0
    records: int = 0
    captures: int = 0
    urls: int = 0
    bytes: int = 0
    set_aside: int = 0
    spooled: int = 0  # captures of the kind FILE_SPOOLED
    on_the_way: int = 0  # captures in spools that are not seen, of workers that are alive

    def add(self, problem: Problem) -> None:
        self.problems.append(problem)
        self.counts[problem.kind] += 1

    @property
    def sound(self) -> bool:
        return not self.problems

    def examples(self, kind: Kind) -> list[str]:
        found = (problem.what for problem in self.problems if problem.kind is kind)
        return [what for what, _ in zip(found, range(EXAMPLES), strict=False)]


def check_rows(audit: AuditReader, findings: Findings, progress: Progress | None = None) -> None:
    """Compare the tables with each other, and add what does not agree."""
    for url_id, url, named in audit.unbacked(progress):
        what = f"{url}: the record that its visit names has no row" if named else f"{url}: no visit says where it is"
        findings.add(Problem(Kind.STORED_WITHOUT_RECORD, what, url_id=url_id))
    for url_id in audit.unknown_visits(progress):
        findings.add(Problem(Kind.VISIT_WITHOUT_URL, f"number {url_id}", url_id=url_id))
    for url_id, url in audit.unseen(progress):
        findings.add(Problem(Kind.CONTENT_MISSING, url, url_id=url_id))
    for digest, known in audit.dangling_contents():
        what = f"sha1:{digest.hex()} of {known or 'an unknown URL'}"
        findings.add(Problem(Kind.CONTENT_DANGLING, what, key=digest))
    for name, value, truth in audit.wrong_counters():
        findings.add(Problem(Kind.COUNTERS, f"{name}: {value}, but there are {truth}", key=name))
    if wrong := audit.hosts_counted_wrong():
        findings.add(Problem(Kind.COUNTERS, f"host_counts: wrong for {wrong} of the hosts", key="host_counts"))
    for host, host_id in audit.hosts_without_front():
        findings.add(Problem(Kind.FRONTS, host or f"host number {host_id}", key=host_id))
    findings.urls = audit.count_urls()


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
        self._spooled: Container[str] = ()
        self._delivering: Container[int] = ()

    def check(
        self,
        committed: dict[str, int],
        spooled: Container[str] = (),
        delivering: Container[int] = (),
        *,
        running: bool,
    ) -> None:
        """Check all files. While the crawl is running, what is beyond the committed length is not checked. What is
        `spooled` may be in the spool of a worker elsewhere; workers deliver it that are alive, if its epoch is among
        those that are `delivering`."""
        self._spooled, self._delivering = spooled, delivering
        for name, length in committed.items():
            self._check_file(name, length, running)
            self._findings.files += 1
            self._findings.bytes += length
            self._progress(self._findings.bytes)

    def _check_file(self, name: str, length: int, running: bool) -> None:
        rows = self._rows_of(name)
        if running:  # rows that came after the lengths were read
            rows = takewhile(lambda row: row.offset < length, rows)
        size = self._archive.size(name)
        if size is None:
            if name in self._spooled:
                captures = sum(not row.set_aside for row in rows)
                if int(name.partition("/")[0]) in self._delivering:
                    self._findings.on_the_way += captures
                    return
                self._findings.spooled += captures
                self._found(Kind.FILE_SPOOLED, f"{name}: {length} bytes, captures: {captures}", file=name)
                return
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


_QUEUED_AGAIN = (
    Kind.RECORD_LOST,
    Kind.RECORD_DAMAGED,
    Kind.DIGEST_WRONG,
    Kind.URL_WRONG,
    Kind.ROW_WITHOUT_RECORD,
)
_SET_ASIDE = (Kind.RECORD_DAMAGED, Kind.DIGEST_WRONG, Kind.URL_WRONG)


def repair(
    findings: Findings, archive: Archive, audit: AuditReader, transaction: AbstractContextManager[Repair]
) -> int:
    """Repair what can be repaired. Files come first: a cut that is not on record yet is one that every start makes.
    Returns how many URLs are queued again. `audit` reads within the transaction, so it sees what was changed."""
    of: dict[Kind, list[Problem]] = {kind: [] for kind in Kind}
    for problem in findings.problems:
        of[problem.kind].append(problem)
    _repair_files(of, archive)
    with transaction as repairs:
        _repair_captures(of, archive, repairs)
        # A repair may cause or remove other problems, so what is left is searched again, in this order.
        lost = [p.url_id for kind in _QUEUED_AGAIN for p in of[kind] if p.url_id is not None]
        queued = repairs.queue_again([*lost, *(url_id for url_id, _, _ in audit.unbacked())])
        for url_id in list(audit.unknown_visits()):
            repairs.forget_visit(url_id)
        for digest, _ in list(audit.dangling_contents()):
            repairs.forget_content(digest)
        for url_id, _ in list(audit.unseen()):
            repairs.learn_content(url_id)
        for _, host_id in audit.hosts_without_front():
            repairs.enter_fronts(host_id)
        repairs.count_again()
        return queued


def find_orphans(archive: Archive, audit: AuditReader, findings: Findings) -> None:
    """Add the files that no commit refers to. Of an archive that workers share, objects of those that are alive are
    not listed. The order matters: the rows are read after that, and a worker that is not alive commits nothing more."""
    listed = archive.files()
    committed = audit.archive_lengths()
    for name in listed:
        if name not in committed:
            findings.add(Problem(Kind.FILE_UNKNOWN, f"{name}: {archive.size(name)} bytes", file=name))


def delete_orphans(findings: Findings, archive: Archive) -> None:
    """Delete what `find_orphans` has found."""
    for problem in findings.problems:
        if problem.kind is Kind.FILE_UNKNOWN and problem.file is not None:
            archive.put_aside(problem.file)


def _repair_files(of: dict[Kind, list[Problem]], archive: Archive) -> None:
    for problem in (*of[Kind.FILE_TAIL], *of[Kind.FILE_SHORT]):
        assert problem.file is not None
        archive.cut(problem.file, problem.offset)
    for problem in of[Kind.FILE_UNKNOWN]:
        assert problem.file is not None
        archive.put_aside(problem.file)


def _repair_captures(of: dict[Kind, list[Problem]], archive: Archive, repairs: Repair) -> None:
    for problem in of[Kind.FILE_MISSING]:
        repairs.shorten(str(problem.file), 0)
        repairs.note_stored(str(problem.file))
    for problem in of[Kind.FILE_SHORT]:
        repairs.shorten(str(problem.file), problem.offset)
    for kind in _SET_ASIDE:
        for problem in of[kind]:
            repairs.set_aside(str(problem.file), problem.offset)
    for problem in of[Kind.ROW_WITHOUT_RECORD]:
        repairs.forget_capture(str(problem.file), problem.offset)
    rowless = [p for kind in _SET_ASIDE for p in of[kind] if p.url_id is None]
    repairs.add_rows([_orphan(p, archive, aside=True) for p in (*rowless, *of[Kind.RECORD_TWICE])])
    repairs.add_rows([_orphan(p, archive, aside=False) for p in of[Kind.RECORD_WITHOUT_ROW]])


def _orphan(problem: Problem, archive: Archive, *, aside: bool) -> OrphanRecord:
    """The row that a record should have; one that sets it aside where it cannot be read or is not wanted."""
    file, offset, length = str(problem.file), problem.offset, problem.length
    if not aside:
        try:
            record = archive.read(file, offset, length)
        except ArchiveError:
            pass
        else:
            digest = record.payload_digest_bytes()
            return OrphanRecord(
                file, offset, length, record.target_uri, record.kind == "revisit", record.moment(), digest
            )
    return OrphanRecord(file, offset, length, None, False, None, None)
