"""`gossamer demo`: a whole crawl on this machine alone, in half a minute."""

import argparse
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from gossamer.cli import argparse_types as given
from gossamer.cli.config_options import add_options
from gossamer.cli.crawl import command_name, crawl_and_report
from gossamer.config.load import Config
from gossamer.config.sections import RetrySection
from gossamer.crawl.run.directory import holder_of
from gossamer.crawl.run.location import resolve_urls, shown_store, store_kind
from gossamer.errors import ConfigError, DirectoryError, DirectoryInUse, UsageError
from gossamer.observe import formatter
from gossamer.version import __version__

if TYPE_CHECKING:
    from gossamer.lab.simweb.config import SimWebConfig


USAGE = "[--pages N] [options]"
DESCRIPTION = """\
Start a simulated web on loopback (hosts large and small, slow ones, broken
ones, robots.txt rules, redirects, duplicates), crawl it under the usual
politeness rules, and print a report. All traffic stays on this machine."""
EXAMPLE = "  gossamer demo\n  gossamer demo --pages 1000 --delay 0.05 --json"

MARK = ".gossamer-demo"
_DEFAULT_DIR = "demo-crawl"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--pages", metavar="N", type=int, help="URLs of the simulated web (default: 4000)")
    parser.add_argument("--hosts", metavar="N", type=int, help="hosts of the simulated web (default: about pages/27)")
    parser.add_argument(
        "--delay", metavar="SECONDS", type=float, default=0.05, help="delay between requests to a host (default: 0.05)"
    )
    parser.add_argument("--dir", metavar="DIR", help=f"directory, emptied first (default: {_DEFAULT_DIR})")
    parser.add_argument("--store", metavar="URL", help="store of the crawl: sqlite:DIR is the same as --dir DIR")
    add_options(parser, only=("json", "quiet"))


def run(arguments: argparse.Namespace) -> int:
    from gossamer.config.policies import canonicaliser_for
    from gossamer.lab.simweb.run import SimwebProcess
    from gossamer.seed.lists import read_arguments

    pages = given.at_least(1, given.whole(arguments, "pages"), "--pages") or 4000
    hosts = given.at_least(1, given.whole(arguments, "hosts"), "--hosts") or max(pages * 150 // 4000, 1)
    directory, store = location_of_demo(given.text(arguments, "dir"), given.text(arguments, "store"))
    web = demo_web(pages, hosts)
    prepare(directory)
    with SimwebProcess(web) as served:
        config = demo_config(
            directory,
            store=store,
            dns=served.dns_address,
            delay=float(arguments.delay),
            json=given.flag(arguments, "option_json"),
            quiet=given.flag(arguments, "option_quiet"),
        )
        seeds = read_arguments(served.seeds, canonicaliser_for(config).canonicalise)
        if not config.quiet:
            size = f"{formatter.number_of(pages, 'URL')} on {formatter.number_of(hosts, 'host')}"
            print(f"crawling a simulated web of {size}", file=sys.stderr)
        return crawl_and_report(config, seeds, steps=next_steps(config))


def demo_web(pages: int, hosts: int) -> "SimWebConfig":
    """The simulated web of the demo. No host is so large that its gaps alone would take more than half a minute."""
    from gossamer.lab.simweb.config import preset

    return preset("demo", pages=pages, hosts=hosts, max_host_pages=max(pages * 230 * 150 // (4000 * hosts), 2))


def location_of_demo(directory: str | None, store: str | None) -> tuple[Path, str | None]:
    """The directory and the store that options name. Raises UsageError."""
    try:
        found = resolve_urls({name: value for name, value in (("dir", directory), ("store", store)) if value})
    except ConfigError as error:
        raise UsageError(f"--{error}") from error
    return Path(str(found.get("dir", _DEFAULT_DIR))), store


def demo_config(
    directory: Path, *, dns: str, delay: float, json: bool, quiet: bool, store: str | None = None
) -> Config:
    if not 0 <= delay < 3600:
        raise UsageError(f"--delay: must be from 0 to 3600 seconds, not {delay:g}")
    return Config(
        dir=str(directory),
        store=store,
        scope="tld:test",
        delay=delay,
        # The product token before the slash is what the web's robots.txt files speak of.
        user_agent=f"gossamer/{__version__} (demo)",
        dns=dns,
        allow_private=True,
        json=json,
        quiet=quiet,
        retry=RetrySection(delay=1.0),
    )


def prepare(directory: Path) -> None:
    """An empty directory with the demo's mark; only one that bears it is ever removed. Raises DirectoryError."""
    try:
        if (directory / MARK).is_file() and not directory.is_symlink():
            if holder_of(directory) is not None:
                raise DirectoryInUse(f"another demo is running in {str(directory)!r}; choose another --dir")
            shutil.rmtree(directory)
        elif directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
            raise DirectoryError(f"{str(directory)!r} was not made by a demo; choose another --dir")
        directory.mkdir(parents=True, exist_ok=True)
        (directory / MARK).write_text("Made by `gossamer demo`, which removes this directory when it starts again.\n")
    except OSError as error:
        raise DirectoryError(f"cannot use {str(directory)!r}: {error.strerror}") from error


def next_steps(config: Config) -> list[tuple[str, str, str]]:
    """Rows for the report, in addition to those of every crawl."""
    program = command_name(Path(sys.argv[0]))
    rows = [("crawl", f"{program} crawl URL --max-pages 100", "crawl the real web")]
    if store_kind(config.store).one_process:
        return rows  # nothing is left to read
    named = f"--dir {config.dir}"
    if config.store is not None and not store_kind(config.store).in_directory:
        named = f"--store {shown_store(config.store)} --dir {config.dir}"
    where = formatter.printable(named)
    return [
        ("totals", f"{program} status {where}", "URLs by state, errors by reason"),
        ("duplicates", f"{program} pages {where} --json --state duplicate", "with the URL of the original"),
        *rows,
    ]
