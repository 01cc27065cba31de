"""`gossamer workers`: the workers that share a crawl."""

import argparse

from gossamer.cli import argparse_types as given
from gossamer.cli.open_crawl import ListOutput, add_heading_option, location_of, require_shared
from gossamer.cluster.membership import drain_worker
from gossamer.crawl.run.location import CrawlLocation
from gossamer.crawl.run.opener import open_crawl, open_session, shown_crawl
from gossamer.crawl.run.private_store import has_private_store
from gossamer.crawl.run.workers import read_workers
from gossamer.errors import NotThisCrawl, UsageError
from gossamer.observe.formatter import printable
from gossamer.observe.workers import COLUMNS, worker_cells, worker_object

USAGE = "[list | drain NAME] [--store URL | --dir DIR] [--json]"
DESCRIPTION = """\
List the workers of a crawl that has several, one per line: state, partitions,
pages stored since it joined and per second, seconds left of its lease, time of
a commit, cache, machine, and the last error. With drain NAME, ask a worker to
leave: it finishes its visits, and the others take over its hosts."""
EXAMPLE = """\
  gossamer workers --store postgresql://db/crawl
  gossamer workers drain worker-2 --store postgresql://db/crawl"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", nargs="?", choices=("list", "drain"), default="list", help="default: list")
    parser.add_argument("name", nargs="?", metavar="NAME", help="the worker to drain")
    parser.add_argument("--store", metavar="URL", help="store of the crawl: postgresql://HOST/DATABASE")
    parser.add_argument("--dir", metavar="DIR", help="directory of a crawl by several workers on this machine")
    parser.set_defaults(blobs=None)
    parser.add_argument("--all", action="store_true", help="also workers that are gone")
    parser.add_argument("--json", action="store_true", help="print one JSON object per line")
    add_heading_option(parser)


def run(arguments: argparse.Namespace) -> int:
    name = given.text(arguments, "name")
    draining = given.text(arguments, "action") == "drain"
    if draining != (name is not None):
        raise UsageError("drain: name the worker to drain" if draining else f"list: unexpected argument {name!r}")
    location = location_of(arguments)
    require_shared(location)
    with open_crawl(location):
        pass  # says what is wrong with the tables
    session = open_session(location)
    try:
        if name is not None:
            if not drain_worker(session, name):
                known = ", ".join(worker.name for worker in read_workers(session)) or "none"
                raise NotThisCrawl(f"no active worker {name!r} in {shown_crawl(location)} (workers: {known})")
            print(f"worker {name} will leave when its visits are committed")
            return 0
        found = read_workers(session, gone=given.flag(arguments, "all"))
    finally:
        session.close()
    output = ListOutput(arguments, COLUMNS)
    for worker in found:
        if output.as_json:
            output.write_object(worker_object(worker))
        else:
            output.write_line(COLUMNS.line(*worker_cells(worker)))
    output.close(f"no workers; {start_of(location)}")
    return 0


def start_of(location: CrawlLocation) -> str:
    """How to start a worker."""
    if has_private_store(location):
        return f"start the crawl with gossamer crawl --dir {printable(str(location.directory))}"
    return f"start one with gossamer worker --store {printable(shown_crawl(location))}"
