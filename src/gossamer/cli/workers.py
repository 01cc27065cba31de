"""`gossamer workers`: the workers that share a crawl."""

import argparse
import json
from pathlib import Path

from gossamer.cli import argparse_types as given
from gossamer.cli.open_crawl import ListOutput, add_heading_option, location_named, require_crawl
from gossamer.cluster.membership import WorkerInfo, drain_worker, list_workers
from gossamer.crawl.run.opener import open_session, shown_crawl, store_kind
from gossamer.errors import NotThisCrawl, UsageError
from gossamer.observe import formatter

USAGE = "[list | drain NAME] --store URL [--all] [--json]"
DESCRIPTION = """\
List the workers of a crawl on PostgreSQL, one per line: state, partitions,
pages, commits, when it joined and its last error. With drain NAME, ask a worker
to leave: it finishes its visits, and the others take over its hosts."""
EXAMPLE = """\
  gossamer workers --store postgresql://db/crawl
  gossamer workers drain worker-2 --store postgresql://db/crawl"""

_COLUMNS = formatter.Columns(
    ("WORKER", "<20"),
    ("STATE", "<8"),
    ("PARTITIONS", ">10"),
    ("PAGES", ">9"),
    ("COMMITS", ">8"),
    ("WEIGHT", ">6"),
    ("JOINED", "<20"),
    ("", ""),
)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", nargs="?", choices=("list", "drain"), default="list", help="default: list")
    parser.add_argument("name", nargs="?", metavar="NAME", help="the worker to drain")
    parser.add_argument("--store", metavar="URL", help="store of the crawl: postgresql://HOST/DATABASE")
    parser.add_argument("--dir", metavar="DIR", help=argparse.SUPPRESS)
    parser.add_argument("--all", action="store_true", help="also workers that are gone")
    parser.add_argument("--json", action="store_true", help="print one JSON object per line")
    add_heading_option(parser)


def run(arguments: argparse.Namespace) -> int:
    store, name = given.text(arguments, "store"), given.text(arguments, "name")
    draining = given.text(arguments, "action") == "drain"
    if store is None or not store_kind(store).is_shared:
        raise UsageError("--store: name the store of a crawl that workers share, such as postgresql://HOST/DATABASE")
    if draining != (name is not None):
        raise UsageError("drain: name the worker to drain" if draining else f"list: unexpected argument {name!r}")
    location = location_named({"store": store, "dir": str(Path(given.text(arguments, "dir") or "crawl"))})
    require_crawl(location)
    session = open_session(location)
    try:
        if name is not None:
            if not drain_worker(session, name):
                known = ", ".join(worker.name for worker in list_workers(session)) or "none"
                raise NotThisCrawl(f"no active worker {name!r} in {shown_crawl(location)} (workers: {known})")
            print(f"worker {name} will leave when its visits are committed")
            return 0
        found = list_workers(session, gone=given.flag(arguments, "all"))
    finally:
        session.close()
    output = ListOutput(arguments, _COLUMNS)
    for worker in found:
        about = worker_object(worker)
        if output.as_json:
            output.write_object(about)
        else:
            output.write_line(
                _COLUMNS.line(
                    worker.name,
                    worker.state,
                    str(worker.partitions),
                    formatter.count(worker.stored),
                    formatter.count(worker.commits),
                    f"{worker.weight:g}",
                    formatter.date_time(worker.joined) or "",
                    str(about["error"] or ""),
                )
            )
    output.close("no workers; start one with gossamer worker --store URL")
    return 0


def worker_object(worker: WorkerInfo) -> dict[str, object]:
    """A worker as JSON."""
    stats = json.loads(worker.stats)
    return {
        "v": "worker/1",
        "name": worker.name,
        "state": worker.state,
        "alive": worker.alive,
        "weight": worker.weight,
        "joined": formatter.timestamp(worker.joined),
        "version": worker.version,
        "partitions": worker.partitions,
        "pages": worker.stored,
        "commits": worker.commits,
        "in_flight": stats.get("in_flight", 0),
        "lease": stats.get("lease", 0.0),
        "commit_seconds": stats.get("commit_seconds", 0.0),
        "error": stats.get("error"),
        "directory": stats.get("directory"),
        "pid": stats.get("pid"),
        "epoch": worker.epoch,
    }
