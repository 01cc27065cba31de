"""`gossamer export`: pages, links, texts and the link graph, in forms that other tools read."""

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from gossamer.cli import argparse_types as given
from gossamer.cli.open_crawl import add_location_options, config_in, fingerprints_in, location_of, scores_in
from gossamer.clock import SteadyClock
from gossamer.crawl.run.opener import OpenCrawl, open_crawl
from gossamer.errors import UsageError
from gossamer.observe import formatter
from gossamer.observe.display import ProgressLine
from gossamer.reports.all_workers import ExportReader
from gossamer.reports.export import tables
from gossamer.reports.export.formats import Csv, JsonLines, TableWriter, Tabs, open_output
from gossamer.reports.export.tables import Column, Row, Selection, mimes_from, moment_from, statuses_from

USAGE = "[--what pages|links|text|graph] [-o FILE] [options]"
DESCRIPTION = """\
Export the results of a crawl as a table: all known pages, all links with their
text, the text of all pages, or the link graph as a list of edges. Writes to
standard output, or to a file that appears when it is complete and is
compressed if its name ends in .gz. The crawl may be running."""
EXAMPLE = """\
  gossamer export --what pages -o pages.jsonl.gz
  gossamer export --what links --host example.org --format csv -o links.csv
  gossamer export --what text --language de --since 2024-05-01 | jq -r .text
  gossamer export --what graph --nodes nodes.tsv -o edges.tsv"""

BATCH = 1_000


def configure(parser: argparse.ArgumentParser) -> None:
    add_location_options(parser)
    parser.add_argument(
        "--what", choices=["pages", "links", "text", "graph"], default="pages", help="table to export (default: pages)"
    )
    parser.add_argument(
        "--format",
        choices=["jsonl", "csv", "tsv", "parquet"],
        help="default: by the extension of the file, else jsonl (graph: tsv)",
    )
    parser.add_argument("-o", "--output", metavar="FILE", default="-", help="output file (default: -, standard output)")
    parser.add_argument("--host", metavar="HOST", help="only pages of this host")
    parser.add_argument(
        "--since", metavar="TIME", help="only pages visited at TIME or later: 2024-05-31, 2024-05-31T12:00Z"
    )
    parser.add_argument("--until", metavar="TIME", help="only pages visited before TIME")
    parser.add_argument(
        "--status", metavar="STATUS", help="only pages with this HTTP status: 200, 4xx, or several separated by commas"
    )
    parser.add_argument(
        "--mime", metavar="TYPE", help="only pages of this type: text/html, image/*, or several separated by commas"
    )
    parser.add_argument("--language", metavar="TAG", help="only pages in this language: en, pt-BR")
    parser.add_argument(
        "--nodes", metavar="FILE", help="graph: write links as pairs of numbers, and the URLs of the numbers to FILE"
    )
    parser.add_argument(
        "--parts", action="store_true", help="pages: also export the parts of each priority, as priority_parts"
    )
    parser.add_argument("--quiet", action="store_true", help="print no progress and no summary")


def run(arguments: argparse.Namespace) -> int:
    what, output = given.text(arguments, "what") or "pages", given.text(arguments, "output") or "-"
    form = form_of(what, given.text(arguments, "format"), output)
    wanted = Selection(
        since=moment_from(given.text(arguments, "since"), "--since"),
        until=moment_from(given.text(arguments, "until"), "--until"),
        statuses=statuses_from(given.text(arguments, "status")),
        mimes=mimes_from(given.text(arguments, "mime")),
        language=given.text(arguments, "language"),
    )
    nodes = given.text(arguments, "nodes")
    if nodes is not None and what != "graph":
        raise UsageError("--nodes: goes with --what graph")
    if wanted.language is not None and what == "graph":
        raise UsageError("--language: the link graph knows no languages; export links instead")
    parts = given.flag(arguments, "parts")
    if parts and what != "pages":
        raise UsageError("--parts: goes with --what pages")
    location = location_of(arguments)
    directory = location.directory
    quiet = given.flag(arguments, "quiet")
    line = ProgressLine(sys.stderr, SteadyClock(), f"exporting {what}", shown=not quiet)
    problems = Problems(line)
    with open_crawl(location) as crawl:
        reader = reader_of(crawl, directory, given.text(arguments, "host"), line)
        if nodes is not None:
            with open_output(nodes) as stream:
                write_rows(Tabs(stream, ()), reader.names())
        columns, rows = table_of(what, reader, crawl, directory, wanted, problems, by_id=nodes is not None, parts=parts)
        with open_output(output) as stream:
            number = write_rows(writer_for(form, stream, columns), rows)
    line.clear()
    if not quiet:
        to = "" if output == "-" else f" to {formatter.printable(output)}"
        print(f"{formatter.number_of(number, 'row')} exported{to} in {formatter.span(line.seconds)}", file=sys.stderr)
    return 1 if problems.number else 0


def reader_of(crawl: OpenCrawl, directory: Path, host: str | None, line: ProgressLine) -> ExportReader:
    """The crawl's rows, of one worker or of several."""
    fingerprints_of = fingerprints_in(directory) if len(crawl.readers) > 1 else None
    return ExportReader(crawl.stores, fingerprints_of, host, lambda done, total: line.show(done, total))


class Problems:
    """Records that could not be read: the first few are named, all are counted."""

    def __init__(self, line: ProgressLine) -> None:
        self._line = line
        self.number = 0

    def add(self, problem: str) -> None:
        self.number += 1
        if self.number <= 10:
            self._line.clear()
            print(f"gossamer: left out: {formatter.printable(problem)} (see gossamer verify)", file=sys.stderr)


def form_of(what: str, form: str | None, output: str) -> str:
    """The format that is meant. Raises UsageError for one that does not go with the rest."""
    name = output.removesuffix(".gz")
    if form is None:
        endings = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".tsv": "tsv", ".parquet": "parquet"}
        form = endings.get(Path(name).suffix.lower(), "tsv" if what == "graph" else "jsonl")
    if form == "tsv" and what != "graph":
        raise UsageError("--format tsv: is for --what graph; text may hold tabs, so take csv")
    if form == "parquet" and (output == "-" or output.endswith(".gz")):
        raise UsageError("--format parquet: needs a file (-o NAME.parquet), which is compressed as it is")
    return form


def writer_for(form: str, stream: BinaryIO, columns: Sequence[Column]) -> TableWriter:
    if form == "parquet":
        from gossamer.reports.export.parquet import Parquet

        return Parquet(stream, columns)
    if form == "csv":
        return Csv(stream, columns)
    return Tabs(stream, columns) if form == "tsv" else JsonLines(stream, columns)


def write_rows(writer: TableWriter, rows: Iterable[Row]) -> int:
    """All rows, a batch at a time. Returns how many."""
    number = 0
    stream = iter(rows)
    while batch := list(islice(stream, BATCH)):
        writer.write(batch)
        number += len(batch)
    writer.close()
    return number


def table_of(
    what: str,
    reader: ExportReader,
    crawl: OpenCrawl,
    directory: Path,
    wanted: Selection,
    problems: Problems,
    *,
    by_id: bool,
    parts: bool,
) -> tuple[Sequence[Column], Iterator[Row]]:
    from gossamer.reports.export.rows import ArchivedRows, PageColumns, edge_rows, page_rows

    if what == "graph":
        return tables.EDGES_BY_ID if by_id else tables.EDGES_BY_URL, edge_rows(reader, wanted, by_id=by_id)
    page_columns = tables.PAGES_WITH_PARTS if parts else tables.PAGES
    columns = PageColumns(scores_in(crawl, directory), parts=parts) if what == "pages" else None
    if columns is not None and wanted.language is None:
        return page_columns, page_rows(reader, wanted, columns)

    # Parsing pages takes what a crawl takes to load; the tables above do without it.
    from gossamer.config.policies import canonicaliser_for
    from gossamer.extract.full_page import Wanted
    from gossamer.reports.export.documents import Documents

    want = Wanted(
        anchor_text=what == "links", text=what == "text", guess_language=what == "text" or wanted.language is not None
    )
    archived = ArchivedRows(reader, wanted, Documents(crawl.archive, want), problems.add)
    if columns is not None:
        return page_columns, archived.pages(columns)
    if what == "text":
        return tables.TEXT, archived.texts()
    return tables.LINKS, archived.links(canonicaliser_for(config_in(directory)))
