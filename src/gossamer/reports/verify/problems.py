"""What can be wrong, in words, and what is done about it.

The tables of the database, held against each other.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from gossamer.reports.ports import AuditReader
from gossamer.reports.records import Progress

EXAMPLES = 5


class Kind(Enum):
    """A kind of problem: its name, what it means, and what `--repair` does about it (empty: nothing can be done)."""

    def __init__(self, word: str, meaning: str, repair: str) -> None:
        self.word, self.meaning, self.repair = word, meaning, repair

    DATABASE = (
        "database",
        "the database itself is damaged",
        "",
    )
    FILE_MISSING = (
        "file_missing",
        "a WARC file is gone",
        "its URLs are queued again, and the file is given up",
    )
    FILE_SHORT = (
        "file_short",
        "a WARC file is shorter than what was committed",
        "what is left of the last record is cut off, and the URLs of the lost ones are queued again",
    )
    FILE_TAIL = (
        "file_tail",
        "a WARC file is longer than what was committed",
        "what lies beyond is cut off, as every start does",
    )
    FILE_UNKNOWN = (
        "file_unknown",
        "a WARC file that the database does not know",
        "it is renamed to end with .unknown, so that no start removes it",
    )
    RECORD_LOST = (
        "record_lost",
        "the record of a row is gone with its file or its end",
        "the URL is queued again",
    )
    RECORD_DAMAGED = (
        "record_damaged",
        "a record cannot be read",
        "the URL is queued again, and the record is set aside",
    )
    DIGEST_WRONG = (
        "digest_wrong",
        "a record does not have the digest that it should have",
        "the URL is queued again, and the record is set aside",
    )
    URL_WRONG = (
        "url_wrong",
        "a record is of another URL than its row",
        "the URL is queued again, and the record is set aside",
    )
    ROW_WITHOUT_RECORD = (
        "row_without_record",
        "a row names a place where no record begins",
        "the row is removed and the URL queued again",
    )
    RECORD_WITHOUT_ROW = (
        "record_without_row",
        "a record that no row knows",
        "it gets its row again if its URL is known, and is set aside otherwise",
    )
    RECORD_TWICE = (
        "record_twice",
        "a record that stands in its file twice",
        "the second is set aside",
    )
    STORED_WITHOUT_RECORD = (
        "stored_without_record",
        "a page is said to be archived, but no row says where",
        "the URL is queued again",
    )
    VISIT_WITHOUT_URL = (
        "visit_without_url",
        "a visit to a URL that is not known",
        "the visit is forgotten",
    )
    CONTENT_MISSING = (
        "content_missing",
        "a stored document that the content-seen test does not know",
        "it is made known",
    )
    CONTENT_DANGLING = (
        "content_dangling",
        "the content-seen test holds a document to be stored that is not",
        "it is forgotten, so that the document is stored when it is met again",
    )
    COUNTERS = (
        "counters",
        "a counter is not what there is to count",
        "it is set to the number",
    )
    FRONTS = (
        "fronts",
        "a host has queued URLs but no place in any front queue",
        "it gets one",
    )


class Problem(NamedTuple):
    """One thing that is wrong. Of `file` and `offset` where a record is concerned, of `url_id` where a URL is."""

    kind: Kind
    what: str  # for people, one line
    file: str | None = None
    offset: int = 0
    length: int = 0
    url_id: int | None = None
    key: bytes | str | int | None = None  # what it is about, where that is something else


@dataclass(slots=True)
class Findings:
    """Everything that is wrong, and what was looked at."""

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
    """The findings of several workers, by their names, as one. Each problem is told with the name."""
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
    """Everything that one table says of another. Adds what does not agree."""
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
