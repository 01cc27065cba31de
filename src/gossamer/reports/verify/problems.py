"""The kinds of problems and what is done about them; and the tables of the store, compared with each other."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from gossamer.reports.ports import AuditReader
from gossamer.reports.records import Progress

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
        "it is renamed to end in .unknown, so that the next start does not remove it",
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

    def add(self, problem: Problem) -> None:
        self.problems.append(problem)
        self.counts[problem.kind] += 1

    @property
    def sound(self) -> bool:
        return not self.problems

    def examples(self, kind: Kind) -> list[str]:
        found = (problem.what for problem in self.problems if problem.kind is kind)
        return [what for what, _ in zip(found, range(EXAMPLES), strict=False)]


def joined_findings(parts: Mapping[str, Findings]) -> Findings:
    """The findings of several workers, by their names, as one. Each problem names its worker."""
    whole = Findings()
    for name, part in parts.items():
        for problem in part.problems:
            whole.add(problem._replace(what=f"{name}: {problem.what}"))
        whole.files += part.files
        whole.records += part.records
        whole.captures += part.captures
        whole.urls += part.urls
        whole.bytes += part.bytes
        whole.set_aside += part.set_aside
    return whole


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
