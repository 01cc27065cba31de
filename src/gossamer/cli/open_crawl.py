"""What the reading commands share: which crawl is meant, and what it remembers."""

import argparse
import sys
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from gossamer.cli import argparse_types as given
from gossamer.cli.config_options import config_from, keys_of, unsaid
from gossamer.config.load import DELAYS_KEY, Config, delays_from_text, make_config, with_delays
from gossamer.config.policies import PolicyCache
from gossamer.crawl.run.directory import refuse_other_store
from gossamer.crawl.run.location import CrawlLocation, resolve_urls, store_kind
from gossamer.crawl.run.opener import OpenCrawl, crawl_exists, open_crawl, remembered_options, shown_crawl, spooled_in
from gossamer.crawl.run.private_store import has_private_store, reachable
from gossamer.errors import ConfigError, NotThisCrawl, StoreFailed, UsageError
from gossamer.observe.formatter import Columns, json_line, number_of, printable, size
from gossamer.reports.scores import Scores, scores_of

if TYPE_CHECKING:
    from gossamer.observe.display import ProgressLine  # loads rich


def add_location_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dir", metavar="DIR", help="crawl directory (default: as in gossamer.toml, or crawl)")
    parser.add_argument(
        "--store",
        metavar="URL",
        help="store of the crawl: postgresql://HOST/DATABASE, or sqlite:DIR, the same as --dir DIR",
    )
    parser.add_argument(
        "--blobs",
        metavar="URL",
        help="archive of the crawl: file:DIR or s3://BUCKET/PREFIX (default: its stored location)",
    )


def add_heading_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--no-header", action="store_true", help="print no column headings")


class ListOutput:
    """A list on standard output: JSON lines, or lines in columns below their headings. An empty list is a message on
    standard error."""

    def __init__(self, arguments: argparse.Namespace, columns: Columns) -> None:
        self.as_json = given.flag(arguments, "json")
        self._heading = None if self.as_json or given.flag(arguments, "no_header") else columns.heading
        self._empty = True

    def write_object(self, about: Mapping[str, object]) -> None:
        self.write_line(json_line(about))

    def write_line(self, line: str) -> None:
        if self._empty and self._heading is not None:
            sys.stdout.write(self._heading + "\n")
        self._empty = False
        sys.stdout.write(line + "\n")

    def close(self, if_empty: str) -> None:
        if self._empty and not self.as_json:
            print(if_empty, file=sys.stderr)


class Problems:
    """Files and records that could not be read: the first few are named, all are counted."""

    def __init__(self, line: "ProgressLine") -> None:
        self._line = line
        self.number = 0

    def add(self, problem: str) -> None:
        self.number += 1
        if self.number <= 10:
            self._line.clear()
            print(f"gossamer: skipped: {printable(problem)} (see gossamer verify)", file=sys.stderr)


def say(text: str) -> None:
    """Tell the user why a command takes long."""
    print(f"gossamer: {printable(text)}", file=sys.stderr, flush=True)


def location_of(arguments: argparse.Namespace) -> CrawlLocation:
    """The crawl that is meant: by options, else by gossamer.toml, else the one in ./crawl. Raises NotThisCrawl."""
    location = location_named({name: given.text(arguments, name) for name in ("dir", "store", "blobs")})
    location = use_store(arguments, location)
    require_crawl(location)
    return location


def use_store(arguments: argparse.Namespace, location: CrawlLocation) -> CrawlLocation:
    """The same crawl with a store that can be connected to: a private server runs until the command has ended."""
    uses: ExitStack = arguments.uses
    return uses.enter_context(reachable(location))


def require_crawl(location: CrawlLocation) -> None:
    """Raises NotThisCrawl if there is no crawl."""
    directory = location.directory
    if not crawl_exists(location):
        if not store_kind(location.store).in_directory and not has_private_store(location):
            raise NotThisCrawl(f"there is no crawl in {shown_crawl(location)}; choose another with --store")
        if directory.exists() and not directory.is_dir():
            raise NotThisCrawl(f"{directory} is not a directory")
        refuse_other_store(directory)
        raise NotThisCrawl(f"there is no crawl in {str(directory)!r}; choose another with --dir")


def require_shared(location: CrawlLocation) -> None:
    """Raises UsageError if workers do not share the store, and NotThisCrawl if there is no crawl in the directory."""
    if not store_kind(location.store).is_shared:
        if not crawl_exists(location):
            refuse_other_store(location.directory)
            raise NotThisCrawl(
                f"there is no crawl in {str(location.directory)!r}; name the store of a crawl that workers share with "
                "--store, or the directory of a crawl by several workers with --dir"
            )
        raise UsageError(
            f"{shown_crawl(location)} has one worker: name the store of a crawl that workers share with --store, such "
            "as postgresql://HOST/DATABASE, or the directory of a crawl by several workers with --dir"
        )


def location_named(options: Mapping[str, str | None]) -> CrawlLocation:
    """The location that options name: `dir`, `store` and `blobs`. Raises UsageError."""
    try:
        found = resolve_urls({name: value for name, value in options.items() if value is not None})
    except ConfigError as error:
        raise UsageError(f"--{error}") from error
    named = "dir" in found or "store" in found
    location = location_from(make_config({}, found) if named else config_from(argparse.Namespace(), None))
    return location if "blobs" not in found else location._replace(blobs=str(found["blobs"]))


def location_from(config: Config) -> CrawlLocation:
    """Raises UsageError for a store that cannot be read by another process."""
    if store_kind(config.store).one_process:
        raise UsageError(f"--store: {config.store} exists only in the process of its crawl, so it cannot be read")
    return CrawlLocation.of(config)


def remembered_by_crawl(arguments: argparse.Namespace, file: Path | None) -> dict[str, object]:
    """What the crawl that is meant remembers, as far as the file does not say it; nothing if there is no crawl yet. If
    it has a private server, that is the store that the arguments name from then on."""
    named = CrawlLocation.of(config_from(arguments, file))
    location = use_store(arguments, named)
    if location != named:
        arguments.option_dir, arguments.option_store = str(location.directory), location.store
    return unsaid(remembered_options(location), keys_of(file))


def config_in(location: CrawlLocation) -> Config:
    """What a crawl remembers, and gossamer.toml."""
    found = argparse.Namespace(option_dir=str(location.directory), option_store=location.store)
    return config_from(found, None, unsaid(remembered_options(location), keys_of(None)))


def with_delays_in_force(config: Config, crawl: OpenCrawl, arguments: argparse.Namespace, file: Path | None) -> Config:
    """The configuration with the delays of the crawl's last start, unless options or a file that was named give
    others."""
    delays = delays_from_text(crawl.reader.status.fact(DELAYS_KEY))
    said = {} if file is None else keys_of(file)
    asked = {*said, *(key for key in delays if getattr(arguments, f"option_{key}", None) is not None)}
    return with_delays(config, {key: value for key, value in delays.items() if key not in asked})


def tell_of_spools(location: CrawlLocation) -> None:
    """Which captures a process leaves behind that has ended."""
    for folder, left in spooled_in(location).items():
        what = f"{number_of(len(left), 'object')} ({size(sum(entry.length for entry in left))})"
        with suppress(StoreFailed, NotThisCrawl), open_crawl(location) as crawl:
            captures = sum(1 for entry in left for _ in crawl.reader.audit.captures_of(entry.name))
            what = f"{number_of(captures, 'capture')} in {what}"
        print(
            f"gossamer: {what} could not be delivered to {location.blobs} and will be by the next start; until then "
            f"they are in {printable(str(folder))}",
            file=sys.stderr,
        )


def scores_in(crawl: OpenCrawl, location: CrawlLocation) -> Scores:
    """The scores of the crawl's ordering now. Raises ConfigError if that is a plugin's and not installed."""
    policies = PolicyCache(config_in(location))
    return scores_of(crawl.reader, policies, policies.clock.now())
