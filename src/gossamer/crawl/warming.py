"""Fills what remembers URLs and documents from the store, in the background: until then the store is asked instead."""

from collections.abc import Awaitable, Callable
from typing import Any

from gossamer.crawl.ports import TaskSource
from gossamer.dedup.exact import ContentSeen
from gossamer.dedup.near import NearDuplicates
from gossamer.seen.tiers import SeenTest

_CHUNK = 4000  # a few milliseconds of the event loop
_ORIGINALS = 1000  # likewise


async def warm(
    loader: TaskSource,
    ask: Callable[..., Awaitable[Any]],
    contents: ContentSeen[int],
    seen: SeenTest,
) -> None:
    """All digests and fingerprints."""
    digests = loader.digests(_CHUNK)
    while chunk := await ask(next, digests, []):
        contents.warm(chunk)
    prints = loader.fingerprints(_CHUNK)
    while numbers := await ask(next, prints, []):
        seen.warm(numbers)
    contents.warmed()
    seen.warmed()


async def recall(loader: TaskSource, ask: Callable[..., Awaitable[Any]], near: NearDuplicates | None) -> None:
    """The latest originals, as many as are kept to find near-duplicates by."""
    if near is None:
        return
    originals = loader.latest_originals(near.window, _ORIGINALS)
    while chunk := await ask(next, originals, []):
        for url_id, signature in chunk:
            near.add(url_id, signature)
