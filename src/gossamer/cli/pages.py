"""`gossamer pages`: a line for every known page."""

import argparse
import json
import sys

from gossamer.cli import argparse_types as given
from gossamer.cli.open_crawl import add_location_options, location_of
from gossamer.crawl.run.opener import open_crawl
from gossamer.model.states import UrlState
from gossamer.observe import formatter
from gossamer.reports.all_workers import list_pages
from gossamer.reports.records import Json, PageFilter, page_object

USAGE = "[--state STATE] [--host HOST] [--limit N] [--json]"
DESCRIPTION = """\
Show one line per known page: time of the visit, priority, depth, size in
bytes, HTTP status (or the state, if there was no response) and URL. The crawl
may be running."""
EXAMPLE = """\
  gossamer pages --state stored --limit 20
  gossamer pages --host example.org --json | jq -r .title"""


def configure(parser: argparse.ArgumentParser) -> None:
    add_location_options(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object per line, with all fields")
    parser.add_argument("--state", choices=[state.word for state in UrlState], help="only pages in this state")
    parser.add_argument("--host", metavar="HOST", help="only pages of this host")
    parser.add_argument("--limit", metavar="N", type=int, help="at most N pages")


def run(arguments: argparse.Namespace) -> int:
    state = given.text(arguments, "state")
    wanted = PageFilter(
        state=None if state is None else UrlState[state.upper()],
        host=given.text(arguments, "host"),
        limit=given.at_least(0, given.whole(arguments, "limit"), "--limit"),
    )
    as_json = given.flag(arguments, "json")
    with open_crawl(location_of(arguments)) as crawl:
        for page in map(page_object, list_pages(crawl.stores, wanted)):
            sys.stdout.write((json.dumps(page) if as_json else page_line(page)) + "\n")
    return 0


def page_line(page: Json) -> str:
    """Timestamp, priority, depth, size, status, URL, in columns; a hyphen for what is not known."""
    at = str(page["fetched_at"] or "-")
    size = "-" if page["size"] is None else str(page["size"])
    status = str(page["status"] or page["state"])
    url = formatter.printable(str(page["url"]))
    return f"{at:<24}  {page['priority']:>7.4f}  {page['depth']:>3}  {size:>9}  {status:<8}  {url}"
