"""The tables of the database, held against each other."""

from gossamer.backends.sqlite.auditing import Auditor
from gossamer.verify.problems import Findings, Kind, Problem


def check_rows(auditor: Auditor, findings: Findings) -> None:
    """Everything that one table says of another. Adds what does not agree."""
    for url_id, url, named in auditor.unbacked():
        what = f"{url}: the record that its visit names has no row" if named else f"{url}: no visit says where it is"
        findings.add(Problem(Kind.STORED_WITHOUT_RECORD, what, url_id=url_id))
    for url_id in auditor.unknown_visits():
        findings.add(Problem(Kind.VISIT_WITHOUT_URL, f"number {url_id}", url_id=url_id))
    for url_id, url in auditor.unseen():
        findings.add(Problem(Kind.CONTENT_MISSING, url, url_id=url_id))
    for digest, known in auditor.dangling_contents():
        what = f"sha1:{digest.hex()} of {known or 'an unknown URL'}"
        findings.add(Problem(Kind.CONTENT_DANGLING, what, key=digest))
    for name, value, truth in auditor.wrong_counters():
        findings.add(Problem(Kind.COUNTERS, f"{name}: {value}, but there are {truth}", key=name))
    if wrong := auditor.hosts_counted_wrong():
        findings.add(Problem(Kind.COUNTERS, f"host_counts: wrong for {wrong} of the hosts", key="host_counts"))
    for host, host_id in auditor.hosts_without_front():
        findings.add(Problem(Kind.FRONTS, host or f"host number {host_id}", key=host_id))
    findings.urls = auditor.urls()
