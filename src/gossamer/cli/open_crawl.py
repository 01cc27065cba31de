"""What the reading commands share: finding the crawl, opening its database, or those of all its workers.

The fingerprints that URLs have at another worker: each has a key of its own (`backends.sqlite.all_workers`).
"""

import argparse
import fcntl
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from gossamer.backends.sqlite import reports
from gossamer.backends.sqlite.all_workers import PrintsOf
from gossamer.backends.sqlite.database import open_for_reading, open_for_writing
from gossamer.cli import argparse_types as given
from gossamer.cli.config_options import config_from, keys_of, unsaid
from gossamer.config.load import known_shape
from gossamer.config.policies import PolicyCache
from gossamer.crawl.run.directory import FILE as WORKERS
from gossamer.crawl.run.directory import holds_crawl, parts_of, read_layout
from gossamer.errors import DirectoryError, NotThisCrawl, OldSchema
from gossamer.model.units import HostKey, Url
from gossamer.reports.explain.verdicts import form_of, usual_fingerprints


def add_directory_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dir", metavar="DIR", help="the crawl's directory (default: that of gossamer.toml, or crawl)")


def directory_of(arguments: argparse.Namespace) -> Path:
    """The crawl that is meant: `--dir`, else what gossamer.toml says, else ./crawl. Raises NotThisCrawl."""
    chosen = given.path(arguments, "dir")
    directory = chosen if chosen is not None else Path(config_from(argparse.Namespace(), None).dir)
    if not holds_crawl(directory):
        raise NotThisCrawl(f"there is no crawl in {str(directory)!r}; choose another with --dir")
    return directory


class Piece(NamedTuple):
    """The part of a crawl that one worker has; the whole of a crawl by one worker."""

    directory: Path
    db: sqlite3.Connection
    archive: str  # what comes before the names of its WARC files; nothing in a crawl by one worker

    @property
    def database(self) -> Path:
        return self.directory / "crawl.db"


@contextmanager
def reading_all(directory: Path) -> Iterator[list[Piece]]:
    """The databases of all workers, for reading only; they may be running. One of an older version is upgraded first.
    Raises NotThisCrawl, naming the part that is not there or cannot be used."""
    parts = _parts_there(directory)
    with ExitStack() as opened:
        try:
            pieces = [_open_piece(directory, part, opened) for part in parts]
        except OldSchema:
            opened.close()
            _upgrade(directory)
            pieces = [_open_piece(directory, part, opened) for part in parts]
        yield pieces


def _open_piece(directory: Path, part: Path, opened: ExitStack) -> Piece:
    return _piece(directory, part, opened.enter_context(closing(open_for_reading(part / "crawl.db"))))


def _upgrade(directory: Path) -> None:
    """Bring the databases of all workers up to date. No other process may use the crawl."""
    try:
        with holding_all(directory):
            pass
    except DirectoryError as error:
        raise type(error)(
            f"{directory} was written by an older Gossamer and has to be upgraded once, but: {error}"
        ) from error


@contextmanager
def holding_all(directory: Path) -> Iterator[list[Piece]]:
    """The databases of all workers, to be changed: nobody else uses the crawl meanwhile. Nothing has been changed when
    this raises NotThisCrawl or DirectoryInUse."""
    from gossamer.crawl.run.directory import CrawlDirectory

    parts = _parts_there(directory)
    with ExitStack() as opened:
        if parts != [directory]:
            opened.callback(CrawlDirectory(directory, archive=False).close)
        held = []
        for part in parts:
            held.append(CrawlDirectory(part))
            opened.callback(held[-1].close)
        yield [
            _piece(directory, one.path, opened.enter_context(closing(open_for_writing(one.database)))) for one in held
        ]


def refuse_worker_share(directory: Path) -> None:
    """Raises NotThisCrawl for the directory of one worker of several: it would take the whole web for its own."""
    whole = directory.absolute().parent
    if (whole / WORKERS).exists() and directory.absolute() in parts_of(whole):
        raise NotThisCrawl(f"{directory} is the part of one worker; the crawl is in {whole}: choose that with --dir")


def archive_of(directory: Path) -> Path:
    """The folder from which the WARC files of a crawl are named."""
    return directory / "warc" if read_layout(directory) is None else directory


def _piece(directory: Path, part: Path, db: sqlite3.Connection) -> Piece:
    return Piece(part, db, "" if part == directory else f"{part.name}/warc/")


def _parts_there(directory: Path) -> list[Path]:
    parts = parts_of(directory)
    for part in parts:
        if parts != [directory] and not (part / "crawl.db").exists():
            running = "; the crawl is running and may be about to make it" if _holder(directory) is not None else ""
            raise NotThisCrawl(
                f"{directory} holds a crawl by {len(parts)} workers, and a part of it is not there: "
                f"{part / 'crawl.db'} does not exist{running}"
            )
    return parts


@contextmanager
def open_for_reading_command(directory: Path) -> Iterator[sqlite3.Connection]:
    """The database of a crawl by one worker, or of one of several, as `reading_all` opens it."""
    with reading_all(directory) as (piece,):
        yield piece.db


def remembered_by_crawl(arguments: argparse.Namespace, file: Path | None) -> dict[str, object]:
    """What the crawl that is meant remembers, as far as the file does not say it; nothing if there is no crawl yet."""
    directory = Path(config_from(arguments, file).dir)
    if not holds_crawl(directory):
        return {}
    try:
        if (layout := read_layout(directory)) is not None:
            remembered = layout[1]
        else:
            with open_for_reading_command(directory) as db:
                remembered = reports.remembered_options(db)
    except NotThisCrawl:
        return {}  # whoever opens it for more than this says what is wrong with it
    return unsaid(known_shape(remembered), keys_of(file))


def holder_of(directory: Path) -> int | None:
    """The process that has the crawl in use, 0 if it does not say, None if there is none. Of several workers it is the
    one that started them, or one of them that has outlived it for a moment."""
    holder = _holder(directory)
    if holder is None and (directory / WORKERS).exists():
        return next((found for part in parts_of(directory) if (found := _holder(part)) is not None), None)
    return holder


def _holder(directory: Path) -> int | None:
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


def prints_in(directory: Path) -> PrintsOf:
    """By the rules of a crawl: its own, and those of gossamer.toml."""
    found = argparse.Namespace(option_dir=str(directory))
    book = PolicyCache(config_from(found, None, remembered_by_crawl(found, None)))
    hosts: dict[str, HostKey] = {}  # by the beginning of a URL

    def host_of(url: str) -> HostKey:
        start = url[: url.index("/", url.index("//") + 2)]
        host = hosts.get(start)
        if host is None:
            host = hosts[start] = form_of(url, url, book.canonicaliser).host or HostKey("")
        return host

    def prints_of(urls: Sequence[str], key: int) -> Sequence[int]:
        return usual_fingerprints(list(map(Url, urls)), list(map(host_of, urls)), key, book.identities)

    return prints_of
