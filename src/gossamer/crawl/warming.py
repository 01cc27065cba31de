"""Fills what remembers URLs and documents from the store, in the background: until then the store is asked instead."""

from collections.abc import Awaitable, Callable
from typing import Any

from gossamer.crawl.nearness import NearDuplicates
from gossamer.crawl.ports import TaskSource
from gossamer.dedup.exact import ContentSeen
from gossamer.seen.tiers import SeenTest

_CHUNK = 4000  # a few milliseconds of the event loop


async def warm(
    loader: TaskSource,
    ask: Callable[..., Awaitable[Any]],
    contents: ContentSeen[int],
    seen: SeenTest,
    near: NearDuplicates | None,
) -> None:
    """All digests and fingerprints, then the originals that near-duplicates are compared with."""
    digests = loader.digests(_CHUNK)
    while chunk := await ask(next, digests, []):
        contents.warm(chunk)
    prints = loader.fingerprints(_CHUNK)
    while numbers := await ask(next, prints, []):
        seen.warm(numbers)
    contents.warmed()
    seen.warmed()
    if near is not None:
        await near.warm(loader, ask)
