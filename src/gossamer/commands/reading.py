"""What the reading commands share: finding the crawl, opening its database."""

import argparse
import fcntl
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from gossamer.backends.sqlite import reports
from gossamer.backends.sqlite.database import open_for_reading
from gossamer.commands import arguments as given
from gossamer.commands.options import config_from, keys_of, unsaid
from gossamer.config import known_shape
from gossamer.errors import NotThisCrawl
from gossamer.workers.layout import holds_crawl, read_layout


def add_directory_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dir", metavar="DIR", help="the crawl's directory (default: that of gossamer.toml, or crawl)")


def directory_of(arguments: argparse.Namespace) -> Path:
    """The crawl that is meant: `--dir`, else what gossamer.toml says, else ./crawl. Raises NotThisCrawl."""
    chosen = given.path(arguments, "dir")
    directory = chosen if chosen is not None else Path(config_from(argparse.Namespace(), None).dir)
    if not holds_crawl(directory):
        raise NotThisCrawl(f"there is no crawl in {str(directory)!r}; choose another with --dir")
    return directory


@contextmanager
def reading(directory: Path) -> Iterator[sqlite3.Connection]:
    """The crawl's database, for reading only; a crawl may be running on it."""
    with closing(open_for_reading(directory / "crawl.db")) as db:
        yield db


def remembered_by_crawl(arguments: argparse.Namespace, file: Path | None) -> dict[str, object]:
    """What the crawl that is meant remembers, as far as the file does not say it; nothing if there is no crawl yet."""
    directory = Path(config_from(arguments, file).dir)
    if not holds_crawl(directory):
        return {}
    try:
        if (layout := read_layout(directory)) is not None:
            remembered = layout[1]
        else:
            with reading(directory) as db:
                remembered = reports.remembered_options(db)
    except NotThisCrawl:
        return {}  # whoever opens it for more than this says what is wrong with it
    return unsaid(known_shape(remembered), keys_of(file))


def holder_of(directory: Path) -> int | None:
    """The process that has the directory in use, 0 if it does not say, None if there is none."""
    try:
        descriptor = os.open(directory / "crawl.lock", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        words = os.read(descriptor, 32).strip()
        return int(words) if words.isdigit() else 0
    finally:
        os.close(descriptor)  # gives the shared lock back at once
    return None
