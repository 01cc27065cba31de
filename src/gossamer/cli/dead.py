"""`gossamer dead`: lists, requeues or drops dead letters."""

import argparse
from typing import Annotated, Literal, TypedDict

from gossamer.cli import argparse_types as given
from gossamer.cli.config_options import config_from
from gossamer.cli.open_crawl import ListOutput, add_heading_option, add_location_options, location_of, say, scores_in
from gossamer.clock import clock_of
from gossamer.config.policies import ordering_for
from gossamer.crawl.run.opener import HeldCrawl, hold_crawl, open_crawl
from gossamer.model.outcome import FailureClass
from gossamer.observe import formatter
from gossamer.reports.records import DeadFilter, Json, dead_object

USAGE = "[list|requeue|drop] [--host HOST] [--reason REASON] [...]"
DESCRIPTION = """\
Manage the dead letters: URLs that failed too often. `list` shows them, also
while the crawl is running; `requeue` queues them again for the next run,
`drop` excludes them permanently; for these two the crawl must not be running."""
EXAMPLE = """\
  gossamer dead
  gossamer dead requeue --host example.org
  gossamer dead requeue --class corrupted
  gossamer dead drop --reason dns_nxdomain"""


class RequeueObject(TypedDict):
    """`dead-requeue/1`."""

    v: Literal[1]
    requeued: Annotated[int, "dead letters"]


class DropObject(TypedDict):
    """`dead-drop/1`."""

    v: Literal[1]
    dropped: Annotated[int, "dead letters"]


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
    add_heading_option(parser)


def run(arguments: argparse.Namespace) -> int:
    location = location_of(arguments)
    directory = location.directory
    kind = given.text(arguments, "failure_class")
    wanted = DeadFilter(
        host=given.host(arguments),
        reason=given.text(arguments, "reason"),
        failure_class=None if kind is None else FailureClass(kind),
    )
    as_json = given.flag(arguments, "json")
    action = given.text(arguments, "action")
    if action == "list":
        with open_crawl(location) as crawl:
            scores = scores_in(crawl, location)
            output = ListOutput(arguments, DEAD_COLUMNS)
            for letter in crawl.reader.dead_letters.stream(wanted):
                about = dead_object(letter, scores.total)
                if as_json:
                    output.write_object(about)
                else:
                    output.write_line(dead_line(about))
            output.close("no dead letters")
        return 0
    with hold_crawl(location, say) as held:
        number = _change(held, wanted, requeue=action == "requeue")
    done = "requeued" if action == "requeue" else "dropped"
    if as_json:
        changed = RequeueObject(v=1, requeued=number) if action == "requeue" else DropObject(v=1, dropped=number)
        print(formatter.json_line(changed))
    else:
        more = ""
        if action == "requeue" and number:
            which = "it" if number == 1 else "them"
            more = f"; run gossamer crawl --dir {formatter.printable(str(directory))} to visit {which}"
        print(f"{formatter.number_of(number, 'dead letter')} {done}{more}")
    return 0


def _change(held: HeldCrawl, wanted: DeadFilter, *, requeue: bool) -> int:
    ordering = ordering_for(config_from(argparse.Namespace(), None), held.editor.status.queue_order())
    change = held.editor.requeue_dead if requeue else held.editor.drop_dead
    return change(wanted, clock_of(held.directory).now(), ordering.standing)


DEAD_COLUMNS = formatter.Columns(("SINCE", "<20"), ("REASON", "<20"), ("TRIES", ">5"), ("URL", "<40"), ("DETAIL", ""))


def dead_line(letter: Json) -> str:
    """A dead letter in columns: time of the last failure, reason, number of tries, URL, details of the reason."""
    detail = formatter.printable(str(letter["detail"]), 120) if letter["detail"] else ""
    failed_at = letter["failed_at"]
    at = f"{str(failed_at)[:19]}Z" if failed_at else "-"
    reason = str(letter["reason"] or "-")
    return DEAD_COLUMNS.line(at, reason, str(letter["tries"]), str(letter["url"]), detail)
