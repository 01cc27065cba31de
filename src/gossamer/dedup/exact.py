"""A document's identity: the SHA-1 of its body, as the WARC world writes it.

The tiers of the content-seen test for exact duplicates.
"""

import hashlib
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Generic, TypeVar

from gossamer.sketch.bloom import Bloom


def payload_digest(body: bytes) -> bytes:
    """The SHA-1 of the body, 20 bytes.

    SHA-1 because every WARC reader expects it in WARC-Payload-Digest; on processors with SHA instructions it costs
    the same as SHA-256. It is broken against forgers, who gain nothing here but to hide one page of their own
    behind another.
    """
    return hashlib.sha1(body, usedforsecurity=False).digest()


Owner = TypeVar("Owner", bound=Hashable)
"""Whatever names the document that held this content first: a row number, a pair of host and fingerprint."""


@dataclass(frozen=True, slots=True)
class Known(Generic[Owner]):
    """The same bytes were met before, first as `owner`."""

    owner: Owner


class Unknown(Enum):
    """We do not know the content; the store might."""

    SURELY_NEW = "surely-new"
    ASK = "ask"


_ASK, _SURELY_NEW = Unknown.ASK, Unknown.SURELY_NEW


class ContentSeen(Generic[Owner]):
    """Tells documents met before from new ones. Does no IO.

    The caller looks, and learns what it decided before it looks again: `learn` when the document is new (it is then
    on its way into the store) and `learn` with the store's owner when the store knew it. Memory is bounded by
    `remember`; what is forgotten is asked of the store, so a store that answers must know the batches that were handed
    to it before.
    """

    def __init__(self, *, capacity: int, error_rate: float = 0.001, remember: int = 100_000) -> None:
        """`capacity`: documents expected in the crawl. `remember`: digests held exactly, about 250 bytes each."""
        if remember < 1:
            raise ValueError(f"a memory of {remember} documents")
        self._remember = remember
        self._owners: dict[bytes, Owner] = {}  # least recently used first
        self._filter = Bloom(capacity, error_rate)

    def check(self, digest: bytes) -> Known[Owner] | Unknown:
        """What is known about this content. Changes nothing but the order of forgetting."""
        owners = self._owners
        if digest in owners:
            owner = owners[digest] = owners.pop(digest)  # to the end: it is in use
            return Known(owner)
        return _ASK if _key(digest) in self._filter else _SURELY_NEW

    def learn(self, digest: bytes, owner: Owner) -> None:
        """This content belongs to `owner`. The first owner learned stays, until evicted."""
        self._filter.add(_key(digest))
        owners = self._owners
        if digest in owners:
            return
        if len(owners) >= self._remember:
            del owners[next(iter(owners))]
        owners[digest] = owner

    def warm(self, digests: Sequence[bytes]) -> None:
        """A chunk of all digests that the store holds, in any order."""
        self._filter.update([_key(digest) for digest in digests])

    def finish_warming(self) -> None:
        """The store holds nothing that was not passed to `warm` or `learn`. Also said of an empty store."""
        self._filter.declare_complete()


def _key(digest: bytes) -> int:
    """64 bits of the digest: enough for a filter, which errs anyway."""
    return int.from_bytes(digest[:8], "big", signed=True)
