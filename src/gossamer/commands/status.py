"""`gossamer status`: the totals of a crawl."""

import argparse
import json
import sys

from gossamer.backends.sqlite import reports
from gossamer.commands import arguments as given
from gossamer.commands.reading import add_directory_option, directory_of, holder_of, reading
from gossamer.observe import words
from gossamer.observe.report import Section, plain_report

USAGE = "[--dir DIR] [--json]"
DESCRIPTION = "The totals of a crawl, as far as they are committed. The crawl may be running."
EXAMPLE = "  gossamer status\n  gossamer status --dir news --json"


def configure(parser: argparse.ArgumentParser) -> None:
    add_directory_option(parser)
    parser.add_argument("--json", action="store_true", help="one JSON object")


def run(arguments: argparse.Namespace) -> int:
    directory = directory_of(arguments)
    holder = holder_of(directory)
    with reading(directory) as db:
        found = reports.status(db)
    found = {**found, "dir": str(directory), "running": holder is not None}
    if given.flag(arguments, "json"):
        print(json.dumps(found))
        return 0
    running = f"running (process {holder})" if holder else "running" if holder == 0 else "at rest"
    sys.stdout.write(plain_report(status_sections(found, str(directory), running)))
    return 0


def status_sections(found: reports.Json, directory: str, running: str) -> list[Section]:
    states = _counts(found["states"])
    left = "nothing is left to do" if found["finished"] else f"the next is due {found['next_due']}"
    totals = (
        ("pages stored", words.count(states["stored"]), f"{words.size(_number(found['warc_bytes']))} of WARC files"),
        ("responses", words.count(_number(found["fetched"])), words.size(_number(found["bytes"]))),
        ("URLs discovered", words.count(_number(found["discovered"])), f"from {found['seeds']} seeds"),
        ("hosts", words.count(_number(found["hosts"])), f"in {words.count(_number(found['domains']))} domains"),
        ("queued", words.count(states["queued"]), left),
    )
    others = {word: n for word, n in states.items() if word not in ("stored", "queued")}
    sections = [
        Section(f"Crawl in {words.printable(directory)}: {running}", totals),
        Section("Other outcomes", _rows(others)),
        Section("Answers", _rows(_counts(found["statuses"]))),
        Section("Errors by reason", _rows(_counts(found["errors"]))),
        Section("Excluded by reason", _rows(_counts(found["excluded"]))),
        Section("Dead letters by reason", _rows(_counts(found["dead_by_reason"]))),
    ]
    return [section for section in sections if section.rows]


def _rows(counts: dict[str, int]) -> tuple[tuple[str, str, str], ...]:
    return tuple((words.printable(name, 40), words.count(n), "") for name, n in words.largest(counts, 20))


def _counts(value: object) -> dict[str, int]:
    return {str(name): int(n) for name, n in value.items()} if isinstance(value, dict) else {}


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0
