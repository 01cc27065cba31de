"""What is done about each kind of problem. What is not named here is left as it is."""

import os
from pathlib import Path

from gossamer.backends.sqlite.verify import Auditor, OrphanRecord, Repair
from gossamer.backends.warc.reader import DamagedRecord, read_record
from gossamer.backends.warc.writer import cut_file
from gossamer.reports.verify.problems import Findings, Kind, Problem

_QUEUED_AGAIN = (
    Kind.RECORD_LOST,
    Kind.RECORD_DAMAGED,
    Kind.DIGEST_WRONG,
    Kind.URL_WRONG,
    Kind.ROW_WITHOUT_RECORD,
)
_SET_ASIDE = (Kind.RECORD_DAMAGED, Kind.DIGEST_WRONG, Kind.URL_WRONG)


def repair(findings: Findings, folder: Path, auditor: Auditor, mending: Repair) -> int:
    """Put right what can be. Files are touched first: a cut that is not on record yet is one that a start makes anyway.
    Returns how many URLs are queued again."""
    of: dict[Kind, list[Problem]] = {kind: [] for kind in Kind}
    for problem in findings.problems:
        of[problem.kind].append(problem)
    _mend_files(of, folder)
    with mending:
        _mend_captures(of, folder, mending)
        # One repair makes another needless, or needed: so what is left is looked for again, in this order.
        lost = [p.url_id for kind in _QUEUED_AGAIN for p in of[kind] if p.url_id is not None]
        queued = mending.queue_again([*lost, *(url_id for url_id, _, _ in auditor.unbacked())])
        for url_id in list(auditor.unknown_visits()):
            mending.forget_visit(url_id)
        for digest, _ in list(auditor.dangling_contents()):
            mending.forget_content(digest)
        for url_id, _ in list(auditor.unseen()):
            mending.learn_content(url_id)
        for _, host_id in auditor.hosts_without_front():
            mending.enter_fronts(host_id)
        mending.count_again({counted.name: counted.truth for counted in auditor.counters_in_transaction()})
        return queued


def _mend_files(of: dict[Kind, list[Problem]], folder: Path) -> None:
    for problem in (*of[Kind.FILE_TAIL], *of[Kind.FILE_SHORT]):
        assert problem.file is not None
        cut_file(folder / problem.file, problem.offset)
    for problem in of[Kind.FILE_UNKNOWN]:
        assert problem.file is not None
        os.rename(folder / problem.file, folder / f"{problem.file}.unknown")


def _mend_captures(of: dict[Kind, list[Problem]], folder: Path, mending: Repair) -> None:
    for problem in of[Kind.FILE_MISSING]:
        mending.shorten(str(problem.file), 0)
    for problem in of[Kind.FILE_SHORT]:
        mending.shorten(str(problem.file), problem.offset)
    for kind in _SET_ASIDE:
        for problem in of[kind]:
            mending.set_aside(str(problem.file), problem.offset)
    for problem in of[Kind.ROW_WITHOUT_RECORD]:
        mending.forget_capture(str(problem.file), problem.offset)
    rowless = [p for kind in _SET_ASIDE for p in of[kind] if p.url_id is None]
    mending.add_rows([_stray(p, folder, aside=True) for p in (*rowless, *of[Kind.RECORD_TWICE])])
    mending.add_rows([_stray(p, folder, aside=False) for p in of[Kind.RECORD_WITHOUT_ROW]])


def _stray(problem: Problem, folder: Path, *, aside: bool) -> OrphanRecord:
    """The row that a record should have; one that sets it aside where it cannot be read or is not wanted."""
    file, offset, length = str(problem.file), problem.offset, problem.length
    if not aside:
        try:
            record = read_record(folder / file, offset, length)
        except (DamagedRecord, OSError):
            pass
        else:
            digest = record.payload_digest_bytes()
            return OrphanRecord(
                file, offset, length, record.target_uri, record.kind == "revisit", record.moment(), digest
            )
    return OrphanRecord(file, offset, length, None, False, None, None)
