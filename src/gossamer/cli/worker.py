"""`gossamer worker`: one more process for a crawl that workers share."""

import argparse
import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from gossamer.cli import argparse_types as given
from gossamer.cli.open_crawl import location_named, require_shared, use_store
from gossamer.config.load import CONFIG_KEY, Config, config_from_text
from gossamer.crawl.member.worker import Worker
from gossamer.crawl.run.directory import ARCHIVE
from gossamer.crawl.run.location import CrawlLocation, store_kind
from gossamer.crawl.run.opener import crawl_exists, open_crawl, shown_crawl, spooled_in
from gossamer.errors import MissingExtra, NotThisCrawl, UsageError
from gossamer.observe.display import Display, choose_display
from gossamer.observe.formatter import number_of, printable
from gossamer.observe.snapshot import Snapshot
from gossamer.workers.parent import end_with_parent

USAGE = "[--store URL] [--dir DIR] [--name NAME] [options]"
DESCRIPTION = """\
Join a crawl that was started with gossamer crawl --store, or one by several
workers in DIR. All settings come from the store. Press Ctrl-C, or send SIGTERM,
to leave: the worker finishes its visits, and the others take over its hosts.
Ctrl-C again drops the visits in flight; nothing committed is lost."""
EXAMPLE = """\
  gossamer worker --store postgresql://db/crawl --dir /var/lib/gossamer
  gossamer worker --store postgresql://db/crawl --name worker-2 --weight 2"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--store", metavar="URL", help="store of the crawl: postgresql://HOST/DATABASE")
    parser.add_argument("--dir", metavar="DIR", help="directory of the workers here (default: crawl)")
    parser.add_argument(
        "--name", metavar="NAME", default="worker-1", help="name of this worker, and of its folder in DIR"
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
    if (pipe := given.whole(arguments, "parent")) is not None:
        end_with_parent(pipe)
    from gossamer.crawl.run.signals import run_worker

    config, worker = worker_config(arguments)
    display = choose_display(config, sys.stderr)
    address = given.text(arguments, "metrics")
    try:
        if address is None:
            code, last = run_worker(config, worker, display=display)
        else:
            with metrics_of(address, display) as shown:
                code, last = run_worker(config, worker, display=shown)
    finally:
        display.close()
    if not config.quiet:
        left = sum(len(found) for found in spooled_in(CrawlLocation.of(config)).values())
        print(ended(worker.name or "", last, left), file=sys.stderr)
    return code


_WHY = {"finished": "nothing is left to crawl", "page_limit": "the page limit is reached", "interrupted": "interrupted"}


def ended(name: str, last: Snapshot, left: int) -> str:
    """What is said at the end of a worker that has left this many objects in its spool."""
    why = _WHY.get(last.stopped or "", "it was drained, or the crawl was stopped")
    said = f"worker {printable(name)} has left: {why}; {number_of(last.run_pages, 'page')} stored by it"
    if left:
        said += f"; {number_of(left, 'object')} left in its spool, to be delivered by its next start"
    return said


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
    name, weight = str(given.text(arguments, "name")), float(arguments.weight)
    require_shared(location)
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
