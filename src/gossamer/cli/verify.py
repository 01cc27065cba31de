"""`gossamer verify`: every row has its record, every record its row, and the indexes agree."""

import argparse
import sys
from typing import Annotated, Literal, TypedDict

from gossamer.cli import argparse_types as given
from gossamer.cli.config_options import config_from
from gossamer.cli.open_crawl import add_location_options, location_of
from gossamer.clock import SteadyClock, clock_of
from gossamer.config.load import Config
from gossamer.config.policies import ordering_for
from gossamer.crawl.run.directory import holder_of
from gossamer.crawl.run.opener import CrawlLocation, HeldPart, check_archive_owner, hold_crawl, open_crawl
from gossamer.observe import formatter
from gossamer.observe.display import ProgressLine
from gossamer.reports.ports import Archive, AuditReader
from gossamer.reports.verify import FileChecker, Findings, Kind, Problem, check_rows, joined_findings, repair

USAGE = "[--repair] [--dir DIR] [--json]"
DESCRIPTION = """\
Check the archive against the database: every row must have a record with the
right digest, every record a row, and the indexes must agree. Prints what is
wrong, by kind, with examples. The crawl may be running, except for --repair.
The exit status is 1 if something is wrong and was not repaired."""
EXAMPLE = """\
  gossamer verify
  gossamer verify --dir news --json | jq .problems
  gossamer verify --repair && gossamer crawl"""


def configure(parser: argparse.ArgumentParser) -> None:
    add_location_options(parser)
    parser.add_argument(
        "--config", metavar="FILE", help="configuration file of the crawl (default: gossamer.toml if present)"
    )
    parser.add_argument(
        "--repair", action="store_true", help="repair what can be repaired safely; the crawl must not be running"
    )
    parser.add_argument("--json", action="store_true", help="print a JSON object")
    parser.add_argument("--quiet", action="store_true", help="print no progress")


def run(arguments: argparse.Namespace) -> int:
    location = location_of(arguments)
    directory = location.directory
    config = config_from(argparse.Namespace(), given.path(arguments, "config"))
    line = ProgressLine(sys.stderr, SteadyClock(), "verifying", shown=not given.flag(arguments, "quiet"))
    if given.flag(arguments, "repair"):
        findings, queued = _with_repair(location, config, line)
        left = [kind for kind in findings.counts if not kind.repair]
    else:
        running = holder_of(directory) is not None
        with open_crawl(location) as crawl:
            found = [
                examine(reader.audit, archive, config, line, running=running)
                for reader, archive in zip(crawl.readers, crawl.archives, strict=True)
            ]
        findings = of_all([part.name for part in crawl.parts], found)
        queued, left = None, list(findings.counts)
    line.clear()
    if given.flag(arguments, "json"):
        print(formatter.json_line(as_object(findings, queued, line.seconds)))
    else:
        sys.stdout.write("\n".join(report(findings, queued, line.seconds)) + "\n")
    return 1 if left else 0


def _with_repair(location: CrawlLocation, config: Config, line: ProgressLine) -> tuple[Findings, int]:
    with hold_crawl(location) as parts:
        for part in parts:
            check_archive_owner(location, part.editor)
        done = [_repaired(part, config, line) for part in parts]
    return of_all([part.directory.name for part in parts], [findings for findings, _ in done]), sum(n for _, n in done)


def _repaired(part: HeldPart, config: Config, line: ProgressLine) -> tuple[Findings, int]:
    findings = examine(part.editor.audit, part.archive, config, line, running=False)
    if findings.sound or Kind.DATABASE in findings.counts:
        return findings, 0  # nothing is written into a database that is damaged itself
    ordering = ordering_for(config, part.editor.status.queue_order())
    transaction = part.editor.repair(clock_of(part.directory).now(), ordering.standing)
    return findings, repair(findings, part.archive, part.editor.audit, transaction)


def of_all(workers: list[str], found: list[Findings]) -> Findings:
    """The findings of all workers as one; with several, every problem names its worker."""
    if len(found) == 1:
        return found[0]
    return joined_findings(dict(zip(workers, found, strict=True)))


def examine(audit: AuditReader, archive: Archive, config: Config, line: ProgressLine, *, running: bool) -> Findings:
    """Everything that is wrong with the store and the archive of one worker."""
    findings = Findings()
    for what in audit.integrity():
        findings.add(Problem(Kind.DATABASE, what))
    committed = audit.archive_lengths()
    total = sum(committed.values())
    checker = FileChecker(
        archive,
        audit.captures_of,
        findings,
        config.fetch.max_body_bytes,
        lambda done: line.show(done, total, "archive"),
    )
    checker.check(committed, audit.spooled_files(), running=running)
    check_rows(audit, findings, lambda done, total: line.show(done, total, "rows"))
    return findings


def report(findings: Findings, queued: int | None, seconds: float) -> list[str]:
    """For people: what was checked, then each kind of problem with examples and its repair."""
    looked = (
        f"{formatter.number_of(findings.urls, 'URL')}, {formatter.number_of(findings.captures, 'capture')} in "
        f"{formatter.number_of(findings.records, 'record')} of {formatter.number_of(findings.files, 'WARC file')} "
        f"({formatter.size(findings.bytes)}) in {formatter.span(seconds)}"
    )
    lines = [f"{'no problems' if findings.sound else 'problems found'}: {looked}"]
    if findings.set_aside:
        lines.append(f"  {formatter.number_of(findings.set_aside, 'record')} set aside by an earlier repair")
    for kind, number in findings.counts.most_common():
        lines.append(f"{kind.word} ({formatter.count(number)}): {kind.meaning}")
        lines += [f"    {formatter.printable(what)}" for what in findings.examples(kind)]
        if number > len(findings.examples(kind)):
            lines.append(f"    and {formatter.count(number - len(findings.examples(kind)))} more")
        done = "repaired" if queued is not None else "with --repair"
        lines.append(f"  {done}: {kind.repair}" if kind.repair else "  cannot be repaired: restore a copy")
    if queued:
        lines.append(f"{formatter.number_of(queued, 'URL')} queued again: run gossamer crawl to fetch them")
    return lines


class ProblemObject(TypedDict):
    number: int
    meaning: str
    repair: Annotated[str | None, "what --repair does; null if it can do nothing"]
    examples: list[str]


class VerifyObject(TypedDict):
    """`verify/1`."""

    v: Literal[1]
    sound: Annotated[bool, "nothing is wrong"]
    urls: int
    files: Annotated[int, "WARC files"]
    records: int
    captures: Annotated[int, "rows that point to a record"]
    bytes: int
    set_aside: Annotated[int, "records that an earlier repair has set aside"]
    problems: Annotated[dict[str, ProblemObject], "by kind"]
    repaired: Annotated[bool, "with --repair"]
    queued_again: Annotated[int | None, "URLs that the repair has queued; null without --repair"]
    seconds: float


def as_object(findings: Findings, queued: int | None, seconds: float) -> VerifyObject:
    return {
        "v": 1,
        "sound": findings.sound,
        "urls": findings.urls,
        "files": findings.files,
        "records": findings.records,
        "captures": findings.captures,
        "bytes": findings.bytes,
        "set_aside": findings.set_aside,
        "problems": {
            kind.word: {
                "number": number,
                "meaning": kind.meaning,
                "repair": kind.repair or None,
                "examples": findings.examples(kind),
            }
            for kind, number in findings.counts.most_common()
        },
        "repaired": queued is not None,
        "queued_again": queued,
        "seconds": round(seconds, 3),
    }
