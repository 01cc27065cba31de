"""The content-seen test for near-duplicates. Hot: benchmarks/bench_neardup.py.

The distance of two documents is that of their signatures (`gossamer.sketch`). A signature of 64 bytes is cut
into eight bands of eight. Two signatures that differ in at most `MAX_DISTANCE` = 7 bytes have at least one band in
common, whichever bytes differ; so only signatures that share a band have to be compared.

Only originals are kept, and of these the latest (ADR 22). A near-duplicate belongs to the original that it was compared
with, and nothing is compared with it: so no chain of small differences merges two different documents, and a host with
a million copies of one page has one entry.
"""

from array import array
from collections.abc import Sequence
from enum import Enum
from struct import Struct
from typing import Final, NamedTuple

from gossamer.sketch import distance

MAX_DISTANCE: Final = 7
"""Bytes of 64 in which near-duplicates may differ: documents that share about nine tenths of their shingles."""

WINDOW: Final = 700_000
"""Originals kept in memory: up to 85 MB, at 108 bytes each plus 9 MB for the buckets."""


_BANDS: Final = MAX_DISTANCE + 1
_KEYS: Final = _BANDS + 1  # per original: its bands, then its owner
_BUCKETS: Final = 1 << 18  # per key
_REMOVED: Final = (1 << 64) - 1  # instead of an owner

_LONGEST: Final = 200  # links of a chain to follow: all pages of a large site may share a band

# The bucket of a band is numbered by 18 bits, into which the others are folded: single bytes are not evenly spread. All
# eight are computed at once, in the lower half of each band.
_LOWER_HALVES: Final = Struct("<" + _BANDS * "I4x")
_MASKS: Final = int.from_bytes(_LOWER_HALVES.pack(*[_BUCKETS - 1] * _BANDS), "little")
_STARTS: Final = int.from_bytes(_LOWER_HALVES.pack(*range(0, _BANDS * _BUCKETS, _BUCKETS)), "little")


class NearMode(Enum):
    """What to do with a near-duplicate: `[content] near_duplicates`."""

    MARK = "mark"  # stored and marked
    SKIP = "skip"  # neither stored nor are its links followed


class Near(NamedTuple):
    """The original that a document nearly repeats."""

    owner: int
    distance: int


class NearDuplicates:
    """Decides which documents are near-duplicates of recent originals. Does no IO.

    The originals are in a ring. Those whose n-th keys fall into one bucket form a chain, the latest first: `_newest`
    has its first link and `_older` the others, as positions in `_keys`. Nothing is ever removed from a chain. A link
    leads from an original to an older one; if it leads to a later one, the chain ends there: the older one was
    overwritten, and everything before it too.
    """

    def __init__(self, mode: NearMode, window: int = WINDOW) -> None:
        if window < 1:
            raise ValueError(f"window must be at least 1 original, not {window}")
        self.mode = mode
        self.window = window
        self._keys = array("Q", bytes(8 * _KEYS))  # position 0 is unused: it marks the end of a chain
        self._older = array("I", bytes(4 * _KEYS))
        self._newest = array("I", bytes(4 * _KEYS * _BUCKETS))
        self._next = _KEYS  # where the next original goes

    def judge(self, url_id: int, signature: bytes) -> Near | None:
        """The original that this document nearly repeats. If there is none, the document becomes an original, replacing
        the URL's previous one."""
        newest, buckets = self._newest, _buckets_of(url_id, signature)
        links = [newest[bucket] for bucket in buckets]
        near = self._nearest(url_id, signature, links) if any(links) else None
        if near is None:
            self._add(url_id, signature, buckets, links)
        return near

    def add(self, url_id: int, signature: bytes) -> None:
        """Add the original of a URL that has none in the window."""
        buckets = _buckets_of(url_id, signature)
        self._add(url_id, signature, buckets, [self._newest[bucket] for bucket in buckets])

    def _add(self, url_id: int, signature: bytes, buckets: Sequence[int], links: Sequence[int]) -> None:
        """Add at the end of the ring, or in place of the oldest original."""
        at, newest = self._next, self._newest
        self._keys[at : at + _KEYS] = _keys_of(url_id, signature)
        self._older[at : at + _KEYS] = array("I", links)
        for bucket in buckets:
            newest[bucket] = at
            at += 1
        self._next = at if at < (self.window + 1) * _KEYS else _KEYS

    def _nearest(self, url_id: int, signature: bytes, links: Sequence[int]) -> Near | None:
        """The closest original of another URL within the limit; of several, the one with the lowest URL id. The URL's
        own previous original is removed."""
        found = {
            at // _KEYS
            for link, key in zip(links, _keys_of(url_id, signature), strict=True)
            if link
            for at in self._chain(link, key)
        }
        best: tuple[int, int] | None = None
        for place in found:
            keys = self._keys[place * _KEYS : (place + 1) * _KEYS]
            owner = keys.pop()
            if owner == url_id:
                self._keys[place * _KEYS + _BANDS] = _REMOVED
            elif owner != _REMOVED:
                apart = distance(signature, keys.tobytes())
                if apart <= MAX_DISTANCE and (best is None or (apart, owner) < best):
                    best = apart, owner
        return None if best is None else Near(best[1], best[0])

    def _chain(self, link: int, key: int) -> list[int]:
        """The positions of this key in the chain that begins with this link."""
        keys, older, size, latest = self._keys, self._older, len(self._keys), self._next - 1
        found = []
        age = -1
        for _ in range(_LONGEST):
            if not link or (its_age := (latest - link) % size) <= age:
                break
            if keys[link] == key:
                found.append(link)
            link, age = older[link], its_age
        return found


def _buckets_of(url_id: int, signature: bytes) -> tuple[int, ...]:
    whole = int.from_bytes(signature, "little")
    bands = (whole ^ whole >> 18 ^ whole >> 36) & _MASKS | _STARTS
    return *_LOWER_HALVES.unpack(bands.to_bytes(_LOWER_HALVES.size, "little")), _BANDS * _BUCKETS + url_id % _BUCKETS


def _keys_of(url_id: int, signature: bytes) -> "array[int]":
    keys = array("Q", signature)
    keys.append(url_id)
    return keys
