"""The cache of a running crawl: opened by its URL, and what is kept there."""

import random
from collections.abc import Callable, Generator, Iterable
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple, Protocol

from gossamer.config.load import Config
from gossamer.config.sections import CacheSection
from gossamer.errors import MissingExtra
from gossamer.model.announcement import StreamedDocument
from gossamer.model.cache_fault import CacheFault
from gossamer.observe.snapshot import CacheCounts
from gossamer.store.ports import DocumentLog, OwnerCache, SentLinks

if TYPE_CHECKING:
    from gossamer.backends.redis.address import CacheAddress


class CacheServer(Protocol):
    """The server behind a cache, which may fail at any time."""

    async def wait_for_connection(self) -> None:
        """Wait until it is connected or cannot be, no longer than for an answer."""
        ...

    async def flush(self) -> None:
        """Wait until everything that was sent is answered or given up, no longer than for an answer."""
        ...

    async def close(self) -> None: ...


class OpenCache(NamedTuple):
    """A cache, and what is kept there."""

    server: CacheServer
    owners: OwnerCache
    sent_links: SentLinks
    documents: DocumentLog | None  # None: documents are not announced
    counts: Callable[[], CacheCounts]
    change_rules: Callable[[int], None]  # gets the version of the rules from now on: of others nothing is found


def check_cache(config: Config) -> None:
    """Raises ConfigError for a URL that cannot be used, MissingExtra."""
    if config.cache.url is not None:
        _parse(config.cache.url)


def open_cache(
    settings: CacheSection,
    crawl_id: str,
    generation: int,
    rules_version: int,
    epoch: int,
    position: str | None,
    chance: random.Random,
    on_change: Callable[[CacheFault | None, str], None],
    on_emptied: Callable[[], None],
) -> OpenCache | None:
    """The cache that the settings name; None if they name none. Connects in the background.

    Entries of another `generation` or `rules_version` are not found. `epoch` numbers the announcements of this life of
    the worker; `position` is what its last life has stored (`DocumentLog.position_after`). `on_change` gets the fault
    and the reason when the cache fails and is no longer used, and None when it is used again; `on_emptied` is called
    when it has lost everything.
    """
    if settings.url is None:
        return None
    address = _parse(settings.url)
    from gossamer.backends.redis.document_log import RedisDocumentLog
    from gossamer.backends.redis.known import CachedOwners, CachedSentLinks
    from gossamer.backends.redis.tier import CacheScope, CacheTier

    scope = CacheScope(crawl_id, generation, rules_version)
    tier = CacheTier(
        address, scope, chance=chance, timeout=settings.timeout, on_change=on_change, on_emptied=on_emptied
    )
    documents = RedisDocumentLog(tier, epoch, settings.documents, position) if settings.documents else None

    def counts() -> CacheCounts:
        found = tier.statistics()
        sent = (0, 0) if documents is None else (documents.announced, documents.unannounced)
        failures = {str(fault): number for fault, number in found.failures.items()}
        return CacheCounts(found.fault if found.is_open else None, failures, found.emptied, *sent)

    def change_rules(version: int) -> None:
        tier.scope = tier.scope._replace(rules_version=version)

    tier.connect_soon()
    return OpenCache(tier, CachedOwners(tier), CachedSentLinks(tier), documents, counts, change_rules)


def read_documents(
    url: str,
    group: str,
    consumer: str,
    *,
    crawl: str | None,
    new_only: bool,
    claim_after: float,
    patience: float | None,
) -> Generator[StreamedDocument, None, None]:
    """The documents that a crawl announces, for one consumer of a group. Raises MissingExtra, UsageError, and
    ConnectionLost if the server cannot be reached at first."""
    try:
        from gossamer.backends.redis.document_reader import DocumentReader  # not part of every installation
    except ImportError as error:
        raise MissingExtra("gossamer.stream", error.name or "redis", "cluster") from error

    with closing(
        DocumentReader(url, group, consumer, crawl=crawl, new_only=new_only, claim_after=claim_after)
    ) as reader:
        yield from reader.documents(patience)


def missing_documents(url: str, crawl: str, group: str, positions: Iterable[str]) -> int:
    """How many documents of a crawl a group of the stream lacks without having been told. `positions` are what the
    workers of the crawl have stored (`DocumentLog.position_after`). Raises MissingExtra, UsageError, ConnectionLost."""
    try:
        from gossamer.backends.redis import document_reader  # not part of every installation
    except ImportError as error:
        raise MissingExtra("the document stream", error.name or "redis", "cluster") from error
    stored: dict[str, int] = {}
    for words in map(str.split, positions):
        for epoch, last in zip(words[::2], words[1::2], strict=True):
            stored[epoch] = max(int(last), stored.get(epoch, 0))
    return document_reader.missing_documents(url, crawl, group, stored)


def _parse(url: str) -> "CacheAddress":
    try:
        from gossamer.backends.redis import connection  # noqa: F401  # not part of every installation
    except ImportError as error:
        raise MissingExtra("a cache on Redis", error.name or "hiredis", "cluster") from error
    from gossamer.backends.redis.address import parse_address

    return parse_address(url)
