"""`gossamer dead`: the dead-letter queue, handled by a person."""

import argparse
import json
import sys
from collections.abc import Iterable

from gossamer.backends.sqlite import all_workers
from gossamer.backends.sqlite.driver import SqliteDatabase
from gossamer.backends.sqlite.pages import DeadFilter, Json
from gossamer.backends.sqlite.reports import queue_order
from gossamer.cli import argparse_types as given
from gossamer.cli.config_options import config_from
from gossamer.cli.open_crawl import Piece, add_directory_option, directory_of, holding_all, reading_all
from gossamer.clock import clock_of
from gossamer.config.policies import ordering_for
from gossamer.observe import formatting
from gossamer.store.table.bulk_changes import drop_dead, requeue_dead

USAGE = "[list|requeue|drop] [--host HOST] [--reason REASON]"
DESCRIPTION = """\
Manage the dead letters: URLs that failed too often. `list` shows them, also
while the crawl is running; `requeue` queues them again for the next run,
`drop` gives them up; for these two the crawl must not be running."""
EXAMPLE = """\
  gossamer dead
  gossamer dead requeue --host example.org
  gossamer dead drop --reason dns_nxdomain"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", nargs="?", choices=["list", "requeue", "drop"], default="list", help="default: list")
    add_directory_option(parser)
    parser.add_argument("--host", metavar="HOST", help="only URLs of this host")
    parser.add_argument("--reason", metavar="REASON", help="only URLs that failed for this reason")
    parser.add_argument(
        "--json", action="store_true", help="list: print one JSON object per line; otherwise one object"
    )


def run(arguments: argparse.Namespace) -> int:
    directory = directory_of(arguments)
    wanted = DeadFilter(host=given.text(arguments, "host"), reason=given.text(arguments, "reason"))
    as_json = given.flag(arguments, "json")
    action = given.text(arguments, "action")
    if action == "list":
        with reading_all(directory) as parts:
            return _list(all_workers.dead([part.db for part in parts], wanted), as_json)
    with holding_all(directory) as parts:
        number = sum(_change(part, wanted, requeue=action == "requeue") for part in parts)
    done = "requeued" if action == "requeue" else "dropped"
    if as_json:
        print(json.dumps({done: number}))
    else:
        more = (
            f"; run gossamer crawl --dir {formatting.printable(str(directory))} to visit them"
            if action == "requeue" and number
            else ""
        )
        print(f"{formatting.number_of(number, 'dead letter')} {done}{more}")
    return 0


def _change(part: Piece, wanted: DeadFilter, *, requeue: bool) -> int:
    ordering = ordering_for(config_from(argparse.Namespace(), None), queue_order(part.db))
    change = requeue_dead if requeue else drop_dead
    now = clock_of(part.directory).now()
    return change(SqliteDatabase(part.db), now, ordering.standing, host=wanted.host, reason=wanted.reason)


def _list(letters: Iterable[Json], as_json: bool) -> int:
    number = 0
    for letter in letters:
        number += 1
        sys.stdout.write((json.dumps(letter) if as_json else dead_line(letter)) + "\n")
    if not number and not as_json:
        print("no dead letters", file=sys.stderr)
    return 0


def dead_line(letter: Json) -> str:
    """When it failed last, why, after how many tries, and the URL; what is known beyond the reason at the end."""
    at, reason = str(letter["failed_at"] or "-"), formatting.printable(str(letter["reason"] or "-"))
    detail = formatting.printable(str(letter["detail"]), 120) if letter["detail"] else ""
    url = formatting.printable(str(letter["url"]))
    return f"{at:<24}  {reason:<20}  {letter['tries']:>2} tries  {url}" + (f"  ({detail})" if detail else "")
