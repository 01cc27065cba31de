"""`gossamer verify`: every row has its record, every record its row, and the indexes agree."""

import argparse
import sys
from collections.abc import Callable, Container
from functools import partial
from typing import Annotated, Literal, TypedDict

from gossamer.cli import argparse_types as given
from gossamer.cli.config_options import config_from
from gossamer.cli.open_crawl import add_location_options, location_of, say
from gossamer.clock import SteadyClock, clock_of
from gossamer.config.load import Config
from gossamer.config.policies import ordering_for
from gossamer.crawl.run.location import CrawlLocation
from gossamer.crawl.run.opener import (
    check_archive_owner,
    delivering_epochs,
    end_killed_workers,
    hold_crawl,
    living_workers,
    objects_of_the_dead,
    open_crawl,
)
from gossamer.crawl.run.workers import is_running
from gossamer.errors import UsageError
from gossamer.observe import formatter
from gossamer.observe.display import ProgressLine
from gossamer.reports.ports import Archive, AuditReader
from gossamer.reports.verify import (
    FileChecker,
    Findings,
    Kind,
    Problem,
    check_rows,
    delete_orphans,
    find_orphans,
    repair,
)

USAGE = "[--repair [--lost-spools]] [--dir DIR] [--json]"
DESCRIPTION = """\
Check the archive against the database: every row must have a record with the
right digest, every record a row, and the indexes must agree. Prints what is
wrong, by kind, with examples. The crawl may be running, except for --repair;
while workers share it, --repair deletes what dead workers have left in object
storage, and leaves everything else alone.
The exit status is 1 if something is wrong and was not repaired."""
EXAMPLE = """\
  gossamer verify
  gossamer verify --dir news --json | jq .problems
  gossamer verify --repair && gossamer crawl
  gossamer verify --repair --lost-spools --store postgresql://db/crawl"""


def configure(parser: argparse.ArgumentParser) -> None:
    add_location_options(parser)
    parser.add_argument(
        "--config", metavar="FILE", help="configuration file of the crawl (default: gossamer.toml if present)"
    )
    parser.add_argument(
        "--repair",
        action="store_true",
        help="repair what can be repaired safely; the crawl must not be running, or only orphaned objects are deleted",
    )
    parser.add_argument(
        "--lost-spools",
        action="store_true",
        help="with --repair: give up objects in spools that are not below DIR, and queue their URLs again",
    )
    parser.add_argument("--json", action="store_true", help="print a JSON object")
    parser.add_argument("--quiet", action="store_true", help="print no progress")


def run(arguments: argparse.Namespace) -> int:
    location = location_of(arguments)
    config = config_from(argparse.Namespace(), given.path(arguments, "config"))
    line = ProgressLine(sys.stderr, SteadyClock(), "verifying", shown=not given.flag(arguments, "quiet"))
    repaired: frozenset[Kind] = frozenset()
    lost_spools = given.flag(arguments, "lost_spools")
    if given.flag(arguments, "repair"):
        findings, queued, repaired = _with_repair(location, config, line, lost_spools=lost_spools)
    elif lost_spools:
        raise UsageError("--lost-spools: only with --repair")
    else:
        running = is_running(location)
        with open_crawl(location) as crawl:
            check_archive_owner(location, crawl.reader)
            findings = examine(
                crawl.reader.audit,
                crawl.archive,
                config,
                line,
                running=running,
                delivering=partial(delivering_epochs, location),
            )
        queued = None
    line.clear()
    if given.flag(arguments, "json"):
        print(formatter.json_line(as_object(findings, queued, line.seconds)))
    else:
        sys.stdout.write("\n".join(report(findings, queued, line.seconds, repaired)) + "\n")
    return 1 if findings.counts.keys() - repaired else 0


_REPAIRABLE = frozenset(kind for kind in Kind if kind.repair and kind is not Kind.FILE_SPOOLED)


def _with_repair(
    location: CrawlLocation, config: Config, line: ProgressLine, *, lost_spools: bool
) -> tuple[Findings, int, frozenset[Kind]]:
    """Also the number of URLs queued again, and the kinds that were repaired."""
    end_killed_workers(location, say)
    if living_workers(location) and (findings := _without_orphans(location, config, line)) is not None:
        return findings, 0, frozenset({Kind.FILE_UNKNOWN})
    with hold_crawl(location) as held:
        check_archive_owner(location, held.editor)
        findings = examine(held.editor.audit, held.archive, config, line, running=False, lost_spools=lost_spools)
        if findings.sound or Kind.DATABASE in findings.counts:
            return findings, 0, _REPAIRABLE  # nothing is written into a database that is damaged itself
        ordering = ordering_for(config, held.editor.status.queue_order())
        transaction = held.editor.repair(clock_of(held.directory).now(), ordering.standing)
        queued = repair(findings, held.archive, held.editor.audit, transaction)
    return findings, queued, _REPAIRABLE


def _without_orphans(location: CrawlLocation, config: Config, line: ProgressLine) -> Findings | None:
    """The problems of a crawl whose workers are alive, after what dead ones have left in object storage was deleted;
    None if its archive is not there."""
    with open_crawl(location) as crawl:
        archive = objects_of_the_dead(location, crawl.reader)
        if archive is None:
            return None
        check_archive_owner(location, crawl.reader)
        findings = examine(
            crawl.reader.audit, archive, config, line, running=True, delivering=partial(delivering_epochs, location)
        )
        find_orphans(archive, crawl.reader.audit, findings)
        delete_orphans(findings, archive)
    return findings


def examine(
    audit: AuditReader,
    archive: Archive,
    config: Config,
    line: ProgressLine,
    *,
    running: bool,
    lost_spools: bool = False,
    delivering: Callable[[], Container[int]] = frozenset[int],
) -> Findings:
    """Everything that is wrong with the store and the archive. With `lost_spools`, captures in spools that are not seen
    are lost. `delivering`: the epochs whose spools are being delivered, asked after the rows were read."""
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
    spooled = frozenset[str]() if lost_spools else audit.spooled_files()
    checker.check(committed, spooled, delivering() if spooled else (), running=running)
    if not running:
        find_orphans(archive, audit, findings)
    check_rows(audit, findings, lambda done, total: line.show(done, total, "rows"))
    return findings


def report(
    findings: Findings, queued: int | None, seconds: float, repaired: frozenset[Kind] = _REPAIRABLE
) -> list[str]:
    """For people: what was checked, then each kind of problem with examples and its repair. `queued` and `repaired`:
    after a repair."""
    looked = (
        f"{formatter.number_of(findings.urls, 'URL')}, {formatter.number_of(findings.captures, 'capture')} in "
        f"{formatter.number_of(findings.records, 'record')} of {formatter.number_of(findings.files, 'WARC file')} "
        f"({formatter.size(findings.bytes)}) in {formatter.span(seconds)}"
    )
    lines = [f"{'no problems' if findings.sound else 'problems found'}: {looked}"]
    if findings.set_aside:
        lines.append(f"  {formatter.number_of(findings.set_aside, 'record')} set aside by an earlier repair")
    if findings.on_the_way:
        waiting = formatter.number_of(findings.on_the_way, "capture")
        lines.append(f"  {waiting} waiting for object storage in the spools of other workers, which deliver them")
    for kind, number in findings.counts.most_common():
        lines.append(f"{kind.word} ({formatter.count(number)}): {kind.meaning}")
        lines += [f"    {formatter.printable(what)}" for what in findings.examples(kind)]
        if number > len(findings.examples(kind)):
            lines.append(f"    and {formatter.count(number - len(findings.examples(kind)))} more")
        if kind is Kind.FILE_SPOOLED:
            waiting = formatter.number_of(findings.spooled, "capture")
            lines.append(f"  {waiting} in spools that this command does not see: {kind.repair}")
            continue
        done = "repaired" if queued is not None and kind in repaired else "with --repair"
        if queued is not None and kind not in repaired:
            done += " while no worker is alive"
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
    spooled: Annotated[int, "captures in spools that this command does not see, of workers that are not alive"]
    on_the_way: Annotated[int, "captures in spools that this command does not see, of workers that are alive"]
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
        "spooled": findings.spooled,
        "on_the_way": findings.on_the_way,
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
