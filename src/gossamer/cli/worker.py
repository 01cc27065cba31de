"""`gossamer worker`: one more process for a crawl that workers share."""

import argparse
import sys
from pathlib import Path

from gossamer.cli import argparse_types as given
from gossamer.cli.open_crawl import location_named
from gossamer.config.load import CONFIG_KEY, Config, config_from_text
from gossamer.crawl.run.directory import ARCHIVE
from gossamer.crawl.run.member import Worker
from gossamer.crawl.run.opener import crawl_exists, open_crawl, shown_crawl, store_kind
from gossamer.errors import NotThisCrawl, UsageError
from gossamer.observe.display import choose_display

USAGE = "--store URL [--dir DIR] [--name NAME] [--weight X]"
DESCRIPTION = """\
Join a crawl that was started with gossamer crawl --store. All settings come
from the store. Press Ctrl-C, or send SIGTERM, to leave: the worker finishes its
visits, and the others take over its hosts. Ctrl-C again drops the visits in
flight; nothing committed is lost."""
EXAMPLE = """\
  gossamer worker --store postgresql://db/crawl --dir /var/lib/gossamer
  gossamer worker --store postgresql://db/crawl --name worker-2 --weight 2"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--store", metavar="URL", help="store of the crawl: postgresql://HOST/DATABASE")
    parser.add_argument("--dir", metavar="DIR", default="crawl", help="directory of the workers here (default: crawl)")
    parser.add_argument(
        "--name", metavar="NAME", default="worker-1", help="name of this worker, and of its folder in DIR"
    )
    parser.add_argument("--weight", metavar="X", type=float, default=1.0, help="share of the domains (default: 1)")
    parser.add_argument("--unsafe-store", action="store_true", help="accept a PostgreSQL server with fsync = off")
    parser.add_argument("--quiet", action="store_true", help="print no progress")


def run(arguments: argparse.Namespace) -> int:
    from gossamer.crawl.run.signals import run_worker

    config, worker = worker_config(arguments)
    display = choose_display(config, sys.stderr)
    try:
        return run_worker(config, worker, display=display)
    finally:
        display.close()


def worker_config(arguments: argparse.Namespace) -> tuple[Config, Worker]:
    """The configuration in the store, with the options of this worker. Raises UsageError, NotThisCrawl."""
    store, directory = given.text(arguments, "store"), Path(str(given.text(arguments, "dir")))
    name, weight = str(given.text(arguments, "name")), float(arguments.weight)
    if store is None or not store_kind(store).is_shared:
        raise UsageError("--store: name the store of a crawl that workers share, such as postgresql://HOST/DATABASE")
    if not name.replace("-", "").replace(".", "").replace("_", "").isalnum() or name.startswith("."):
        raise UsageError(f"--name: letters, digits, dots, hyphens and underscores, not {name!r}")
    if not 0 < weight <= 1000:
        raise UsageError(f"--weight: a number above 0 and at most 1000, not {weight:g}")
    location = location_named({"store": store, "dir": str(directory)})
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
        "store": store,
        "unsafe_store": given.flag(arguments, "unsafe_store"),
        "quiet": given.flag(arguments, "quiet"),
    }
    config = config_from_text(text, **own)
    if config.blobs is None:
        config = config_from_text(text, **own, blobs=f"file:{(directory / ARCHIVE).absolute()}")
    return config, Worker(name, weight, joins=True)
