"""The store of a crawl by several workers on one machine: a private server in the crawl's directory, which runs while
it is used. `reachable` and `shared_store` start it and name its URL; a store that is elsewhere they leave as it is.

Light, like `opener`.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import msgspec

from gossamer.config.load import Config
from gossamer.crawl.run.directory import DATABASE, SERVER, CrawlDirectory
from gossamer.crawl.run.location import CrawlLocation, shown_store, store_kind
from gossamer.errors import ConfigError, MissingExtra, NotThisCrawl, UsageError
from gossamer.model.partition import PARTITIONS


def has_private_store(location: CrawlLocation) -> bool:
    """Whether the store is the private server in the directory."""
    kind = store_kind(location.store)
    if not (kind.in_directory or kind.is_shared) or not _has_server(location.directory):
        return False
    return kind.in_directory or location.store == _private_servers().private_url(location.directory)


def refuse_private_directory(location: CrawlLocation) -> None:
    """Raises NotThisCrawl if workers share a store that is not the private server in the directory."""
    if store_kind(location.store).is_shared and _has_server(location.directory) and not has_private_store(location):
        raise NotThisCrawl(
            f"{location.directory} holds a crawl of its own, not the one in {shown_store(location.store or '')}; omit "
            "--store to continue it, or choose another --dir"
        )


def _has_server(directory: Path) -> bool:
    return (directory / SERVER).exists() and bool(_private_servers().has_private_server(directory))


@contextmanager
def reachable(location: CrawlLocation) -> Iterator[CrawlLocation]:
    """A crawl that exists, with a store that can be connected to: a private server runs until the end of the block, or
    longer if others use it. Raises UsageError, DirectoryError or StoreFailed if it cannot."""
    if not store_kind(location.store).in_directory or not has_private_store(location):
        yield location
        return
    with _private_servers().private_server(location.directory, create=False) as server:
        yield location._replace(store=server.url)


class SharedStore(NamedTuple):
    """The store of a crawl that is about to run."""

    config: Config  # names the store
    restart: Callable[[], None] | None = None
    """Starts a private server again, if it has ended. Call it now and then. Raises GossamerError."""


@contextmanager
def shared_store(config: Config) -> Iterator[SharedStore]:
    """A store for `config.workers` workers: if none is named and there are several, or were in an earlier run, a
    private server in the directory, which is created if there is none. It runs until the end of the block, or longer if
    others use it. Raises UsageError, DirectoryError or StoreFailed if there can be none, NotThisCrawl if the directory
    has a private server and another store is named."""
    location, kind = CrawlLocation.of(config), store_kind(config.store)
    if config.workers > PARTITIONS:
        raise UsageError(f"--workers: at most {PARTITIONS}, not {config.workers}")
    if config.workers > 1 and kind.one_process:
        raise UsageError(f"--store: {config.store} is for one process, not for {config.workers}")
    refuse_private_directory(location)
    private = has_private_store(location)
    if config.cluster.partitions is not None and not (private or kind.is_shared or config.workers > 1):
        raise ConfigError(
            "cluster.partitions",
            "only a crawl on PostgreSQL has partitions: add --store postgresql://HOST/DATABASE or --workers N, or "
            "leave it out",
        )
    if not private and (config.workers == 1 or not kind.in_directory):
        yield SharedStore(config)
        return
    if (location.directory / DATABASE).exists():
        raise NotThisCrawl(
            f"{location.directory} holds a crawl by one worker, not by {config.workers}; omit --workers, or choose "
            "another --dir"
        )
    CrawlDirectory(location.directory, archive=False).discard()  # raises if it is not ours, or in use
    with _private_servers().private_server(location.directory) as server:
        yield SharedStore(msgspec.structs.replace(config, store=server.url), server.start)


def check_unused(directory: Path) -> None:
    """Raises DirectoryInUse if the private server in a directory is in use."""
    _private_servers().check_unused(directory)


def _private_servers() -> ModuleType:
    try:
        from gossamer.backends.postgres import private_server  # not part of every installation
    except ImportError as error:
        raise MissingExtra("a crawl by several workers", error.name or "psycopg", "workers") from error
    return private_server
