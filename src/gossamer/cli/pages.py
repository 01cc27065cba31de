"""`gossamer pages`: a line for every known URL."""

import argparse
from collections.abc import Mapping
from itertools import islice

from gossamer.cli import argparse_types as given
from gossamer.cli.open_crawl import ListOutput, add_heading_option, add_location_options, location_of, scores_in
from gossamer.crawl.run.opener import open_crawl
from gossamer.model.states import UrlState
from gossamer.observe import formatter
from gossamer.reports.export.formats import page_object
from gossamer.reports.export.tables import PageColumns
from gossamer.reports.records import PageFilter, PageRow

USAGE = "[--state STATE] [--host HOST] [--parts] [--json] [options]"
DESCRIPTION = """\
List the known URLs, one per line: time of the last visit, priority, depth,
size in bytes, HTTP status (or the state, if there was no response) and URL.
The priority is the current score of the URL in the ordering of the crawl. The
crawl may be running."""
EXAMPLE = """\
  gossamer pages --state stored --limit 20
  gossamer pages --state queued --parts
  gossamer pages --host example.org --json | jq -r .title"""


def configure(parser: argparse.ArgumentParser) -> None:
    add_location_options(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object per line, with all fields")
    parser.add_argument("--state", choices=[state.word for state in UrlState], help="only pages in this state")
    parser.add_argument("--host", metavar="HOST", help="only pages of this host")
    parser.add_argument("--limit", metavar="N", type=int, help="at most N pages")
    add_heading_option(parser)
    parser.add_argument("--parts", action="store_true", help="show the parts of each priority (JSON: priority_parts)")


def run(arguments: argparse.Namespace) -> int:
    state = given.text(arguments, "state")
    wanted = PageFilter(
        state=None if state is None else UrlState[state.upper()],
        host=given.host(arguments),
        limit=given.at_least(0, given.whole(arguments, "limit"), "--limit"),
    )
    output = ListOutput(arguments, formatter.PAGE_COLUMNS)
    location = location_of(arguments)
    with open_crawl(location) as crawl:
        scores = scores_in(crawl, location)
        parts_of = scores.parts if given.flag(arguments, "parts") else None
        columns = PageColumns(scores.total, parts_of)
        for row in islice(crawl.reader.pages.stream(wanted), wanted.limit):
            if output.as_json:
                output.write_object(page_object(row, columns))
            else:
                parts = None if parts_of is None else parts_of(row.facts)
                output.write_line(page_line(row, scores.total(row.facts), parts))
    output.close("no matching pages")
    return 0


def page_line(row: PageRow, priority: float, parts: Mapping[str, float] | None = None) -> str:
    """A page as a line, with the parts of its priority after the URL if they are given."""
    excluded = row.reason if row.state is UrlState.EXCLUDED else None
    status = str(row.status or excluded or row.state.word)
    line = formatter.page_line(formatter.date_time(row.at), priority, row.depth, row.size, status, row.url)
    if parts is None:
        return line
    return f"{line}  " + " ".join(f"{name}={value:.4f}" for name, value in parts.items())
