"""`gossamer hosts`: a line for every host."""

import argparse
from itertools import islice

from gossamer.cli import argparse_types as given
from gossamer.cli.config_options import config_from
from gossamer.cli.open_crawl import (
    ListOutput,
    add_heading_option,
    add_location_options,
    location_of,
    with_delays_in_force,
)
from gossamer.clock import clock_of
from gossamer.config.overrides import OVERRIDES_KEY, Overrides
from gossamer.config.policies import PolicyCache
from gossamer.crawl.run.opener import open_crawl
from gossamer.model.units import HostKey
from gossamer.observe import formatter
from gossamer.reports.explain.verdicts import cuts_of
from gossamer.reports.queries import host_object
from gossamer.reports.records import HOST_SORTS, HostFilter, HostRow, Json

USAGE = "[--host HOST] [--sort ORDER] [--limit N] [--cut] [--json]"
DESCRIPTION = """\
List the hosts, one per line: state, queued and fetched URLs, the delay in
force, the next contact, then overrides set through the service, and excluded
URLs by reason; below it, each URL shape that was cut as a trap. The crawl may
be running."""
EXAMPLE = """\
  gossamer hosts --sort queued --limit 20
  gossamer hosts --cut --json | jq .cuts"""

_STATES = {"resting": "waiting"}  # as text


def configure(parser: argparse.ArgumentParser) -> None:
    add_location_options(parser)
    parser.add_argument("--config", metavar="FILE", help="configuration file (default: gossamer.toml if present)")
    parser.add_argument("--json", action="store_true", help="print one JSON object per line")
    parser.add_argument("--host", metavar="HOST", help="only this host; *.example.org for all subdomains")
    parser.add_argument("--cut", action="store_true", help="only hosts with a trap that was cut")
    parser.add_argument(
        "--sort", choices=list(HOST_SORTS), default="queued", help="order of the lines (default: queued)"
    )
    parser.add_argument("--limit", metavar="N", type=int, help="at most N hosts")
    add_heading_option(parser)


def run(arguments: argparse.Namespace) -> int:
    limit = given.at_least(0, given.whole(arguments, "limit"), "--limit")
    host = given.host(arguments)
    file = given.path(arguments, "config")
    config = config_from(argparse.Namespace(), file)
    sort, cut = str(given.text(arguments, "sort")), given.flag(arguments, "cut")
    location = location_of(arguments)
    directory = location.directory
    with open_crawl(location) as crawl:
        config = with_delays_in_force(config, crawl, arguments, file)
        overrides = Overrides.from_text(crawl.reader.status.fact(OVERRIDES_KEY))
        rows = crawl.reader.hosts.rows(HostFilter(host=host), sort, limit=None if cut else limit)
        chosen = list(islice((row for row in rows if not cut or _is_cut(row)), limit))
    book, now = PolicyCache(config), clock_of(directory).now()
    columns = host_columns(max((len(row.host) for row in chosen), default=0))
    output = ListOutput(arguments, columns)
    for row in chosen:
        about = host_object(row, book, now, overrides.hosts.for_host(HostKey(row.host)))
        if output.as_json:
            output.write_object(about)
        else:
            output.write_line("\n".join(host_lines(about, columns)))
    output.close("no matching hosts")
    return 0


def _is_cut(row: HostRow) -> bool:
    shapes, refused = cuts_of(row.budget)
    return bool(shapes or refused) or any(reason.startswith("trap") for reason in row.excluded)


def host_columns(longest: int) -> formatter.Columns:
    """The columns of a list in which the longest name has this length. What follows them has no heading."""
    name = f"<{min(max(longest, 4), 40)}"
    return formatter.Columns(
        ("HOST", name), ("STATE", "<7"), ("QUEUED", ">8"), ("FETCHED", ">8"), ("DELAY", ">8"), ("NEXT", "<9"), ("", "")
    )


def host_lines(about: Json, columns: formatter.Columns) -> list[str]:
    """A line with what matters, and one for each shape that was cut."""
    excluded, cuts = about["excluded"], about["cuts"]
    assert isinstance(excluded, dict) and isinstance(cuts, list)
    wait, delay = about["wait"], about["delay"]
    assert isinstance(wait, float | int) and isinstance(delay, float | int)
    remarks = []
    if about["ordered_delay"] is not None:
        remarks.append("delay set through the service")
    if about["paused"]:
        remarks.append("paused through the service")
        contact = "-"
    else:
        contact = f"in {formatter.span(wait)}" if wait > 0 else "now"
    if about["dropped"]:
        remarks.append("dropped through the service")
    if about["trouble"]:
        remarks.append(str(about["trouble"]))
    if excluded:
        remarks.append("excluded: " + ", ".join(f"{reason} {n}" for reason, n in excluded.items()))
    counts = (str(about["queued"]), str(about["fetched"]))
    named = (
        str(about["host"]),
        _STATES.get(str(about["state"]), str(about["state"])),
        *counts,
        formatter.seconds(delay),
        contact,
    )
    lines = [columns.line(*named, "  ".join(remarks))]
    lines += [f"    {cut['reason']}  {cut['shape']}: {cut['figures']}" for cut in cuts]
    return [formatter.printable(line) for line in lines]
