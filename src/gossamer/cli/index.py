"""`gossamer index`: a sorted CDXJ index of the crawl's WARC files, for replay tools."""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal, TypedDict

from gossamer.cli import argparse_types as given
from gossamer.cli.open_crawl import Problems, add_location_options, location_of
from gossamer.clock import SteadyClock
from gossamer.crawl.run.directory import INDEX
from gossamer.crawl.run.opener import check_local_archive, open_crawl
from gossamer.errors import ArchiveError
from gossamer.observe import formatter
from gossamer.observe.display import ProgressLine
from gossamer.reports.cdxj import SortedLines, index_lines
from gossamer.reports.export.formats import open_output

USAGE = "[-o FILE] [options]"
DESCRIPTION = """\
Write a CDXJ index of the archive, for pywb and other replay tools: one line
per document with the position of its record, sorted. It covers what is
committed now; run it again after further crawling. The crawl may be running.
The exit status is 1 if a file could not be read, or not to its end: what comes
after the damage is left out."""
EXAMPLE = """\
  gossamer index
  gossamer index --dir news -o - | head
  gossamer index -o index.cdxj.gz"""


class IndexObject(TypedDict):
    """`index/1`."""

    v: Literal[1]
    records: Annotated[int, "lines of the index"]
    files: Annotated[int, "WARC files"]
    output: Annotated[str, "file of the index"]


def configure(parser: argparse.ArgumentParser) -> None:
    add_location_options(parser)
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="output file (default: index.cdxj in the directory of the crawl); - is standard output",
    )
    parser.add_argument("--json", action="store_true", help="print a JSON object to standard error when done")
    parser.add_argument("--quiet", action="store_true", help="print no progress and no summary")


def run(arguments: argparse.Namespace) -> int:
    location = location_of(arguments)
    directory = location.directory
    output = given.text(arguments, "output") or str(directory / INDEX)
    quiet = given.flag(arguments, "quiet")
    line = ProgressLine(sys.stderr, SteadyClock(), "indexing", shown=not quiet)
    folder = None if output == "-" else Path(output).absolute().parent
    done = number = 0
    problems = Problems(line)
    with open_crawl(location) as crawl, SortedLines(folder) as lines:
        check_local_archive(location, crawl.reader)
        committed = crawl.reader.audit.archive_lengths()
        total = sum(committed.values())
        for name, length in committed.items():
            line.show(done, total, name)
            number += lines.add(_readable(index_lines(crawl.archive, name, length), problems))
            done += length
        with open_output(output) as stream:
            stream.writelines(lines)
    line.clear()
    if given.flag(arguments, "json"):
        done_object: IndexObject = {"v": 1, "records": number, "files": len(committed), "output": output}
        print(formatter.json_line(done_object), file=sys.stderr)
    elif not quiet:
        of = formatter.number_of(len(committed), "file")
        print(
            f"{formatter.number_of(number, 'record')} of {of} indexed in {formatter.printable(output)}",
            file=sys.stderr,
        )
    return 1 if problems.number else 0


def _readable(lines: Iterator[str], problems: Problems) -> Iterator[str]:
    """The lines of a file up to the first record that cannot be read."""
    try:
        yield from lines
    except ArchiveError as error:
        problems.add(str(error))
