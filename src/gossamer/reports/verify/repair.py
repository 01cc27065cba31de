"""Repairs each kind of problem that can be repaired safely. Other kinds are left as they are."""

from contextlib import AbstractContextManager

from gossamer.errors import ArchiveError
from gossamer.reports.ports import Archive, AuditReader, Repair
from gossamer.reports.records import OrphanRecord
from gossamer.reports.verify.problems import Findings, Kind, Problem

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
