"""`gossamer worker`: one more process for a crawl that workers share."""

import argparse
import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from gossamer.cli import argparse_types as given
from gossamer.cli.open_crawl import location_named, require_shared, tell_of_spools, use_store
from gossamer.config.load import CONFIG_KEY, Config, config_from_text
from gossamer.crawl.member.worker import Worker
from gossamer.crawl.run.directory import ARCHIVE
from gossamer.crawl.run.location import CrawlLocation, store_kind
from gossamer.crawl.run.opener import crawl_exists, open_crawl, shown_crawl
from gossamer.crawl.run.private_store import refuse_private_directory
from gossamer.errors import DirectoryError, DirectoryInUse, MissingExtra, NotThisCrawl, UsageError
from gossamer.model.partition import PARTITIONS
from gossamer.observe.display import Display, choose_display
from gossamer.observe.formatter import number_of, printable
from gossamer.observe.snapshot import Snapshot
from gossamer.workers.parent import end_with_parent

USAGE = "[--store URL] [--dir DIR] [--name NAME] [options]"
DESCRIPTION = """\
Join a crawl that was started with gossamer crawl --store, or one by several
workers in DIR. All settings come from the store. Press Ctrl-C, or send SIGTERM,
to leave: the worker finishes its visits, and the others take over its hosts.
--workers N starts several, restarts those that die, and stops all together.
Ctrl-C again drops the visits in flight; nothing committed is lost."""
EXAMPLE = """\
  gossamer worker --store postgresql://db/crawl --dir /var/lib/gossamer
  gossamer worker --store postgresql://db/crawl --name worker-2 --weight 2
  gossamer worker --store postgresql://db/crawl --name east --workers 4"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--store", metavar="URL", help="store of the crawl: postgresql://HOST/DATABASE")
    parser.add_argument("--dir", metavar="DIR", help="directory of the workers here (default: crawl)")
    parser.add_argument(
        "--name", metavar="NAME", help="name of this worker, and of its folder in DIR (default: worker-1)"
    )
    parser.add_argument(
        "--workers", metavar="N", type=int, default=1, help="number of processes: NAME-1, NAME-2 ... (default: 1)"
    )
    parser.add_argument("--weight", metavar="X", type=float, default=1.0, help="share of the domains (default: 1)")
    parser.add_argument("--unsafe-store", action="store_true", help="accept a PostgreSQL server with fsync = off")
    parser.add_argument(
        "--metrics", metavar="ADDRESS:PORT", help="port for the metrics of this worker, for Prometheus (default: none)"
    )
    parser.add_argument("--log-pages", metavar="FILE", help="append a line for each visited page to FILE")
    parser.add_argument("--quiet", action="store_true", help="print no progress")
    parser.add_argument("--parent", type=int, metavar="PIPE", help=argparse.SUPPRESS)


def run(arguments: argparse.Namespace) -> int:
    if (pipe := given.whole(arguments, "parent")) is None:
        return _join(arguments)
    end_with_parent(pipe)
    try:
        return _join(arguments)
    except DirectoryInUse:
        raise  # soon it may not be
    except DirectoryError as error:
        # Exit status 2: its parent does not start it again.
        raise UsageError(str(error)) from error


def _join(arguments: argparse.Namespace) -> int:
    from gossamer.crawl.run.signals import run_worker

    workers, address = int(arguments.workers), given.text(arguments, "metrics")
    if not 1 <= workers <= PARTITIONS:
        raise UsageError(f"--workers: at least 1 and at most {PARTITIONS}, not {workers}")
    if workers > 1 and address is not None:
        raise UsageError("--metrics is for one worker: start each with its own command, or omit --workers")
    config, worker = worker_config(arguments)
    display = choose_display(config, sys.stderr)
    try:
        if workers > 1:
            from gossamer.workers.local_workers import join_with_local_workers

            status, last = join_with_local_workers(config, worker, workers, display)
        elif address is None:
            status, last = run_worker(config, worker, display=display)
        else:
            with metrics_of(address, display) as shown:
                status, last = run_worker(config, worker, display=shown)
    finally:
        display.close()
    if given.whole(arguments, "parent") is None:  # or the process that has started this one says it
        if not config.quiet:
            print(ended(worker.name or "", last, workers), file=sys.stderr)
        location = CrawlLocation.of(config)
        tell_of_spools(location if workers == 1 else location._replace(directory=location.directory.parent))
    return status


_WHY = {"finished": "nothing is left to crawl", "page_limit": "the page limit is reached", "interrupted": "interrupted"}


def ended(name: str, last: Snapshot, workers: int) -> str:
    """What is said at the end of a worker, or of several that were started together."""
    why = _WHY.get(last.stopped or "", "drained, or the crawl was stopped")
    who, whose = (f"worker {printable(name)} has", "it") if workers == 1 else (f"{workers} workers have", "them")
    return f"{who} left: {why}; {number_of(last.run_pages, 'page')} stored by {whose}"


@contextmanager
def metrics_of(address: str, display: Display) -> Iterator[Display]:
    """A display that also serves metrics at an address, while the block runs. Raises UsageError."""
    if importlib.util.find_spec("prometheus_client") is None:
        raise MissingExtra("gossamer worker --metrics", "prometheus_client", "serve")
    from gossamer.service.metrics_port import MetricsPort, metrics_address

    port = MetricsPort(display, *metrics_address(address))
    try:
        yield port
    finally:
        port.shut_down()


def worker_config(arguments: argparse.Namespace) -> tuple[Config, Worker]:
    """The configuration in the store, with the options of this worker. Raises UsageError, NotThisCrawl."""
    store, given_dir = given.text(arguments, "store"), given.text(arguments, "dir")
    if given_dir is None and (store is None or not store_kind(store).in_directory):
        given_dir = "crawl"
    location = use_store(arguments, location_named({"store": store, "dir": given_dir}))
    directory = location.directory
    usual = "worker" if int(arguments.workers) > 1 else "worker-1"
    name, weight = given.text(arguments, "name") or usual, float(arguments.weight)
    require_shared(location)
    refuse_private_directory(location)
    if not name.replace("-", "").replace(".", "").replace("_", "").isalnum() or name.startswith("."):
        raise UsageError(f"--name: letters, digits, dots, hyphens and underscores, not {name!r}")
    if not 0 < weight <= 1000:
        raise UsageError(f"--weight: a number above 0 and at most 1000, not {weight:g}")
    if not crawl_exists(location):
        raise NotThisCrawl(
            f"there is no crawl in {shown_crawl(location)}; start one with gossamer crawl URL --store URL"
        )
    with open_crawl(location) as crawl:
        text = crawl.reader.status.fact(CONFIG_KEY)
    if text is None:
        raise NotThisCrawl(f"the crawl in {shown_crawl(location)} has not been started; run gossamer crawl first")
    own = {
        "dir": str(directory / name),
        "store": location.store,
        "unsafe_store": given.flag(arguments, "unsafe_store"),
        "quiet": given.flag(arguments, "quiet"),
        "log": {} if (pages := given.text(arguments, "log_pages")) is None else {"pages": pages},
    }
    config = config_from_text(text, **own)
    if config.blobs is None:
        config = config_from_text(text, **own, blobs=f"file:{(directory / ARCHIVE).absolute()}")
    return config, Worker(name, weight, joins=True)
