"""`gossamer export`: pages, links, texts and the link graph, in forms that other tools read."""

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from gossamer.cli import argparse_types as given
from gossamer.cli.open_crawl import Problems, add_location_options, config_in, location_of
from gossamer.clock import SteadyClock
from gossamer.crawl.run.location import CrawlLocation
from gossamer.crawl.run.opener import open_crawl
from gossamer.errors import UsageError
from gossamer.observe import formatter
from gossamer.observe.display import ProgressLine
from gossamer.reports.export import tables
from gossamer.reports.export.crawl_tables import CrawlTables
from gossamer.reports.export.formats import Csv, JsonLines, TableWriter, Tabs, new_folder, open_output
from gossamer.reports.export.reader import ExportReader
from gossamer.reports.export.tables import Column, Row, Selection, mimes_from, moment_from, statuses_from
from gossamer.reports.export.warc_files import write_warc_files

if TYPE_CHECKING:
    from gossamer.reports.export.rows import Documents

USAGE = "[--what TABLE] [-o FILE] [options]"
DESCRIPTION = """\
Export the results of a crawl as a table: all known pages, all links with their
text, the text of all pages, or the link graph as a list of edges. Writes to
standard output, or to a file that appears when it is complete and is
compressed if its name ends in .gz. `--what markdown` writes the main text of
every HTML page into a new directory, as HOST/PATH.md, and `--what warc` the
whole archive into one, as WARC files of 1 GB. The crawl may be running."""
EXAMPLE = """\
  gossamer export --what pages -o pages.jsonl.gz
  gossamer export --what links --host example.org --format csv -o links.csv
  gossamer export --what text --language de --since 2024-05-01 | jq -r .text
  gossamer export --what markdown -o pages/
  gossamer export --what warc -o warcs/
  gossamer export --what graph --nodes nodes.tsv -o edges.tsv"""

BATCH = 1_000


def configure(parser: argparse.ArgumentParser) -> None:
    add_location_options(parser)
    parser.add_argument(
        "--what",
        choices=["pages", "links", "text", "markdown", "graph", "warc"],
        default="pages",
        help="what to export (default: pages)",
    )
    parser.add_argument(
        "--format",
        choices=["jsonl", "csv", "tsv", "parquet"],
        help="default: by the extension of the file, else jsonl (graph: tsv)",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        default="-",
        help="output file (default: -, standard output); for markdown and warc, a new directory",
    )
    parser.add_argument("--markdown", action="store_true", help="text: add a column with the main text as Markdown")
    parser.add_argument(
        "--extractor",
        choices=["fast", "trafilatura"],
        help="extractor of the main text (default: content.text of gossamer.toml, or fast)",
    )
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
    parser.add_argument(
        "--raw", action="store_true", help="csv: do not escape control characters and spreadsheet formulas"
    )
    parser.add_argument("--quiet", action="store_true", help="print no progress and no summary")


def run(arguments: argparse.Namespace) -> int:
    what, output = given.text(arguments, "what") or "pages", given.text(arguments, "output") or "-"
    form_given = given.text(arguments, "format")
    form = form_of(what, form_given, output)
    wanted = Selection(
        since=moment_from(given.text(arguments, "since"), "--since"),
        until=moment_from(given.text(arguments, "until"), "--until"),
        statuses=statuses_from(given.text(arguments, "status")),
        mimes=mimes_from(given.text(arguments, "mime")),
        language=given.text(arguments, "language"),
    )
    nodes, markdown = given.text(arguments, "nodes"), given.flag(arguments, "markdown")
    if nodes is not None and what != "graph":
        raise UsageError("--nodes: requires --what graph")
    if wanted.language is not None and what == "graph":
        raise UsageError("--language: not available for the link graph; use --what links")
    if markdown and what != "text":
        raise UsageError("--markdown: requires --what text; --what markdown writes one file per page")
    parts = given.flag(arguments, "parts")
    if parts and what != "pages":
        raise UsageError("--parts: requires --what pages")
    raw = given.flag(arguments, "raw")
    if raw and form != "csv":
        raise UsageError(f"--raw: requires --format csv, not {form}")
    if raw and output == "-" and sys.stdout.isatty():
        raise UsageError("--raw: control characters are not printed to a terminal; use -o FILE or a pipe")
    host = given.host(arguments)
    if what == "warc":
        if output == "-" or form_given or host is not None or wanted != Selection():
            raise UsageError(
                "--what warc: writes the whole archive into a new directory (-o DIR), without other options"
            )
        return export_archive(location_of(arguments), output, quiet=given.flag(arguments, "quiet"))
    location = location_of(arguments)
    quiet = given.flag(arguments, "quiet")
    line = ProgressLine(sys.stderr, SteadyClock(), f"exporting {what}", shown=not quiet)
    problems = Problems(line)
    with open_crawl(location) as crawl:
        reader = ExportReader(crawl.reader, host, lambda done, total: line.show(done, total))
        found = CrawlTables(reader, crawl.reader, crawl.archive, config_in(location), wanted, problems.add)
        if what == "markdown":
            if output == "-":
                raise UsageError("--what markdown: needs a new directory (-o DIR)")
            number = found.write_markdown(output, given.text(arguments, "extractor"))
        else:
            if nodes is not None:
                with open_output(nodes) as stream:
                    write_rows(Tabs(stream, ()), reader.names())
            if what == "text":
                columns, rows = found.texts(given.text(arguments, "extractor"), markdown=markdown)
            else:
                columns, rows = table_of(what, reader, found, wanted, by_id=nodes is not None, parts=parts)
            with open_output(output) as stream:
                number = write_rows(writer_for(form, stream, columns, raw=raw), rows)
    line.clear()
    if not quiet:
        report_pdfs(found.documents)
        rows_or_files = formatter.number_of(number, "file" if what == "markdown" else "row")
        to = "" if output == "-" else f" to {formatter.printable(output)}"
        print(f"{rows_or_files} exported{to} in {formatter.span(line.seconds)}", file=sys.stderr)
        if host is not None and not number:
            print(
                f"nothing of host {formatter.printable(host)} was exported; gossamer hosts lists all", file=sys.stderr
            )
    return 1 if problems.number else 0


def export_archive(location: CrawlLocation, output: str, *, quiet: bool) -> int:
    """Write the archive as WARC files into a new directory. Returns the exit status."""
    line = ProgressLine(sys.stderr, SteadyClock(), "exporting warc", shown=not quiet)
    problems = Problems(line)
    with open_crawl(location) as crawl, new_folder(output, "WARC files") as folder:
        committed = crawl.reader.audit.archive_lengths()
        number = write_warc_files(
            crawl.archive, committed, folder, problems.add, lambda done, total: line.show(done, total)
        )
    line.clear()
    if not quiet:
        size = formatter.size(sum(committed.values()))
        print(
            f"{formatter.number_of(number, 'file')} ({size}) exported to {formatter.printable(output)} in "
            f"{formatter.span(line.seconds)}",
            file=sys.stderr,
        )
    return 1 if problems.number else 0


def form_of(what: str, form: str | None, output: str) -> str:
    """The format that is meant. Raises UsageError for one that does not go with the rest."""
    name = output.removesuffix(".gz")
    if form is None:
        endings = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".tsv": "tsv", ".parquet": "parquet"}
        form = endings.get(Path(name).suffix.lower(), "tsv" if what == "graph" else "jsonl")
    if form == "tsv" and what != "graph":
        raise UsageError("--format tsv: only for --what graph; use csv")
    if form == "parquet" and (output == "-" or output.endswith(".gz")):
        raise UsageError("--format parquet: needs a file without .gz (-o NAME.parquet)")
    return form


def writer_for(form: str, stream: BinaryIO, columns: Sequence[Column], *, raw: bool) -> TableWriter:
    if form == "parquet":
        from gossamer.reports.export.parquet import Parquet

        return Parquet(stream, columns)
    if form == "csv":
        return Csv(stream, columns, raw=raw)
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
    what: str, reader: ExportReader, found: CrawlTables, wanted: Selection, *, by_id: bool, parts: bool
) -> tuple[Sequence[Column], Iterator[Row]]:
    from gossamer.reports.export.rows import edge_rows

    if what == "graph":
        return tables.EDGES_BY_ID if by_id else tables.EDGES_BY_URL, edge_rows(reader, wanted, by_id=by_id)
    return found.links() if what == "links" else found.pages(parts=parts)


def report_pdfs(found: "Documents | None") -> None:
    """Say which PDF documents have no text."""
    if found is not None and found.pdf_skipped:
        number = formatter.number_of(found.pdf_skipped, "PDF document")
        print(f"gossamer: skipped: {number}; pip install 'gossamer[pdf]' to read them", file=sys.stderr)
    if found is not None and found.pdf_unreadable:
        number = formatter.number_of(found.pdf_unreadable, "PDF document")
        print(f"gossamer: skipped: {number} without readable text (pdf_unreadable)", file=sys.stderr)
