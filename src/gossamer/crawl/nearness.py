"""Near-duplicates among the documents that are read: memory first, then the store, and what comes of it."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from enum import Enum
from typing import Protocol, TypeVar

from gossamer.crawl.ports import TaskSource
from gossamer.dedup.near import Ask, Near, NearSeen, nearest

NEAR_DUPLICATE = "near_duplicate"
"""The reason that is recorded where a near-duplicate is left out."""

REMEMBER = 32_000  # originals in memory, some 25 MB: all that are in no segment of the store yet, with room to spare
_AT_ONCE = 500  # originals that are learnt in one go: a few milliseconds
_CHUNK = 50_000
_CAPACITY = 100_000  # documents that the filter is made for; with more it grows

Originals = Sequence[tuple[int, bytes]]


T = TypeVar("T")


class InThread(Protocol):
    """Runs a function where it may wait for the disk."""

    def __call__(self, function: Callable[..., T], /, *args: object) -> Awaitable[T]: ...


class NearMode(Enum):
    """What is done with a near-duplicate: `[content] near_duplicates`."""

    MARK = "mark"  # stored like any other, and marked
    SKIP = "skip"  # neither stored nor are its links followed


class NearDuplicates:
    """Decides which documents are near-duplicates. Owned by the event loop."""

    def __init__(self, mode: NearMode, *, remember: int = REMEMBER) -> None:
        self.mode = mode
        self._seen = NearSeen(capacity=_CAPACITY, remember=remember)

    def bands_to_ask(self, url_id: int, signature: bytes) -> list[int]:
        """What the store must be asked about before `judge`: originals that stand under these bands."""
        if self._seen.whole:
            return []
        found = self._seen.look(signature, url_id)
        return found.bands if isinstance(found, Ask) else []

    def judge(self, url_id: int, signature: bytes, stored: Originals) -> Near | None:
        """The original that this document nearly repeats. If there is none, it is an original from now on.

        `stored` is what the store answered. Memory is looked at once more: the original may have come in between.
        """
        found = self._seen.look(signature, url_id)
        if isinstance(found, Ask):
            found = nearest(signature, [each for each in stored if each[0] != url_id])
        if found is None:
            self._seen.learn(signature, url_id)
        else:
            self._seen.forget(url_id)
        return found

    async def warm(self, source: TaskSource, in_thread: InThread) -> None:
        """Learn what the store holds; until this is done the store is asked about everything."""
        latest = await in_thread(source.latest_originals)
        for start in range(0, len(latest), _AT_ONCE):
            self._seen.recall(latest[start : start + _AT_ONCE])
            await asyncio.sleep(0)
        bands = source.bands(_CHUNK)
        whole = True
        while chunk := await in_thread(_next, bands):
            self._seen.warm(chunk)
            whole = False
        self._seen.warmed(whole=whole)


def _next(bands: Iterator[list[int]]) -> list[int]:
    return next(bands, [])
