"""The content-seen test for exact duplicates. A document's identity is the SHA-1 of its body, as in WARC files."""

import hashlib
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Generic, TypeVar

from gossamer.sketch import Bloom


def payload_digest(body: bytes) -> bytes:
    """The SHA-1 of the body, 20 bytes.

    SHA-1 because every WARC reader expects it in WARC-Payload-Digest; on processors with SHA instructions it costs the
    same as SHA-256. Collisions can be constructed, but they only let someone hide one page of their own behind another.
    """
    return hashlib.sha1(body, usedforsecurity=False).digest()


Owner = TypeVar("Owner", bound=Hashable)
"""Identifies the document that had this content first: a row number, or a pair of host and fingerprint."""


@dataclass(frozen=True, slots=True)
class Known(Generic[Owner]):
    """The same bytes were seen before, first as `owner`."""

    owner: Owner


class Unknown(Enum):
    """The content is not in the cache; the store may have it."""

    SURELY_NEW = "surely-new"
    ASK = "ask"


_ASK, _SURELY_NEW = Unknown.ASK, Unknown.SURELY_NEW


class ContentSeen(Generic[Owner]):
    """Recognises documents that were seen before. Does no IO.

    After each `check` the caller calls `learn` before the next one: with its own owner if the document is new (it is
    then on its way into the store), or with the store's owner if the store knew it. Memory is bounded by `remember`;
    what is forgotten is looked up in the store, which must therefore include all batches handed to it before.
    """

    def __init__(self, *, capacity: int, error_rate: float = 0.001, remember: int = 100_000) -> None:
        """`capacity`: documents expected in the crawl. `remember`: digests in the exact cache, about 250 bytes each."""
        if remember < 1:
            raise ValueError(f"remember must be at least 1 document, not {remember}")
        self._remember = remember
        self._owners: dict[bytes, Owner] = {}  # least recently used first
        self._filter = Bloom(capacity, error_rate)

    def check(self, digest: bytes) -> Known[Owner] | Unknown:
        """What is known about this content. Changes nothing but the order of eviction."""
        owners = self._owners
        if digest in owners:
            owner = owners[digest] = owners.pop(digest)  # most recently used
            return Known(owner)
        return _ASK if _key(digest) in self._filter else _SURELY_NEW

    def learn(self, digest: bytes, owner: Owner) -> None:
        """This content belongs to `owner`. The first owner stays until evicted."""
        self._filter.add(_key(digest))
        owners = self._owners
        if digest in owners:
            return
        if len(owners) >= self._remember:
            del owners[next(iter(owners))]
        owners[digest] = owner

    def warm(self, digests: Sequence[bytes]) -> None:
        """Add a chunk of all digests in the store, in any order."""
        self._filter.update([_key(digest) for digest in digests])

    def finish_warming(self) -> None:
        """The store holds nothing that was not passed to `warm` or `learn`. Also called for an empty store."""
        self._filter.declare_complete()


def _key(digest: bytes) -> int:
    """64 bits of the digest: enough for a filter that may err anyway."""
    return int.from_bytes(digest[:8], "big", signed=True)
