"""`gossamer dead`: lists, requeues or drops dead letters."""

import argparse
import sys
from collections.abc import Iterable

from gossamer.cli import argparse_types as given
from gossamer.cli.config_options import config_from
from gossamer.cli.open_crawl import add_location_options, location_of, scores_in
from gossamer.clock import clock_of
from gossamer.config.policies import ordering_for
from gossamer.crawl.run.opener import HeldPart, hold_crawl, open_crawl
from gossamer.model.outcome import FailureClass
from gossamer.observe import formatter
from gossamer.reports.all_workers import list_dead
from gossamer.reports.records import DeadFilter, Json, dead_object

USAGE = "[list|requeue|drop] [--host HOST] [--reason REASON] [...]"
DESCRIPTION = """\
Manage the dead letters: URLs that failed too often. `list` shows them, also
while the crawl is running; `requeue` queues them again for the next run,
`drop` gives them up; for these two the crawl must not be running."""
EXAMPLE = """\
  gossamer dead
  gossamer dead requeue --host example.org
  gossamer dead requeue --class corrupted
  gossamer dead drop --reason dns_nxdomain"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", nargs="?", choices=["list", "requeue", "drop"], default="list", help="default: list")
    add_location_options(parser)
    parser.add_argument("--host", metavar="HOST", help="only URLs of this host")
    parser.add_argument("--reason", metavar="REASON", help="only URLs that failed for this reason")
    parser.add_argument(
        "--class",
        dest="failure_class",
        choices=[member.value for member in FailureClass],
        help="corrupted: only URLs with broken bodies; failed: only others",
    )
    parser.add_argument(
        "--json", action="store_true", help="list: print one JSON object per line; otherwise one object"
    )


def run(arguments: argparse.Namespace) -> int:
    location = location_of(arguments)
    directory = location.directory
    kind = given.text(arguments, "failure_class")
    wanted = DeadFilter(
        host=given.text(arguments, "host"),
        reason=given.text(arguments, "reason"),
        failure_class=None if kind is None else FailureClass(kind),
    )
    as_json = given.flag(arguments, "json")
    action = given.text(arguments, "action")
    if action == "list":
        with open_crawl(location) as crawl:
            scores = scores_in(crawl, location)
            return _list((dead_object(letter, scores.total) for letter in list_dead(crawl.stores, wanted)), as_json)
    with hold_crawl(location) as parts:
        number = sum(_change(part, wanted, requeue=action == "requeue") for part in parts)
    done = "requeued" if action == "requeue" else "dropped"
    if as_json:
        print(formatter.json_line({done: number}))
    else:
        more = ""
        if action == "requeue" and number:
            which = "it" if number == 1 else "them"
            more = f"; run gossamer crawl --dir {formatter.printable(str(directory))} to visit {which}"
        print(f"{formatter.number_of(number, 'dead letter')} {done}{more}")
    return 0


def _change(part: HeldPart, wanted: DeadFilter, *, requeue: bool) -> int:
    ordering = ordering_for(config_from(argparse.Namespace(), None), part.editor.status.queue_order())
    change = part.editor.requeue_dead if requeue else part.editor.drop_dead
    return change(wanted, clock_of(part.directory).now(), ordering.standing)


def _list(letters: Iterable[Json], as_json: bool) -> int:
    number = 0
    for letter in letters:
        number += 1
        sys.stdout.write((formatter.json_line(letter) if as_json else dead_line(letter)) + "\n")
    if not number and not as_json:
        print("no dead letters", file=sys.stderr)
    return 0


def dead_line(letter: Json) -> str:
    """Time of the last failure, class, reason, number of tries, URL, and details of the reason."""
    at, reason = str(letter["failed_at"] or "-"), formatter.printable(str(letter["reason"] or "-"))
    detail = formatter.printable(str(letter["detail"]), 120) if letter["detail"] else ""
    url = formatter.printable(str(letter["url"]))
    tries = f"{letter['tries']:>2} {'try  ' if letter['tries'] == 1 else 'tries'}"
    return f"{at:<24}  {letter['class']:<9}  {reason:<20}  {tries}  {url}" + (f"  ({detail})" if detail else "")
