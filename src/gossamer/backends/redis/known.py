"""What is known about documents and links, as entries of a cache. Hot: benchmarks/bench_cache.py.

An entry is one key, so that the server can evict the least used ones. A thousand of a call are read or written by one
command.
Keys begin with the scope of the tier, so nothing of another crawl, generation or version of the rules is found.
"""

from collections.abc import Sequence
from struct import Struct

from gossamer.backends.redis.connection import Replies
from gossamer.backends.redis.tier import KEPT_SECONDS, CacheTier

# One command and one reply for any number of entries; MSET cannot set the time to live.
_SET_ALL = "for i, key in ipairs(KEYS) do redis.call('SET', key, ARGV[i + 1], 'EX', ARGV[1]) end"

_AT_ONCE = 1000
"""Entries read or written by one command, so that it is answered in time."""

_NUMBER = Struct("<q")


class _Entries:
    """The entries of one kind."""

    def __init__(self, tier: CacheTier, kind: bytes) -> None:
        self._tier = tier
        self._kind = kind

    async def read(self, names: Sequence[bytes]) -> list[object]:
        """The values under these names; None where nothing is known."""
        values: list[object] = []
        prefix = self._tier.scope.prefix + self._kind
        for first in range(0, len(names), _AT_ONCE):
            found = await self._tier.ask(("MGET", *[prefix + name for name in names[first : first + _AT_ONCE]]))
            if not isinstance(found, list):
                break
            values += found
        return values + [None] * (len(names) - len(values))

    def write(self, names: Sequence[bytes], values: Sequence[bytes]) -> None:
        if not names or not self._tier.is_usable:
            return
        prefix = self._tier.scope.prefix + self._kind
        for first in range(0, len(names), _AT_ONCE):
            keys = [prefix + name for name in names[first : first + _AT_ONCE]]
            own = values[first : first + _AT_ONCE]
            self._tier.send((("EVAL", _SET_ALL, len(keys), *keys, KEPT_SECONDS, *own),), _ignore)


def _ignore(replies: Replies | None) -> None:
    """Whether it was written makes no difference."""


class CachedOwners:
    """The URLs that own documents, by digest (`store.ports.OwnerCache`)."""

    def __init__(self, tier: CacheTier) -> None:
        self._entries = _Entries(tier, b"d")

    async def find(self, digests: Sequence[bytes]) -> list[int | None]:
        unpack = _NUMBER.unpack
        return [
            unpack(value)[0] if isinstance(value, bytes) and len(value) == _NUMBER.size else None
            for value in await self._entries.read(digests)
        ]

    def add(self, owners: Sequence[tuple[bytes, int]]) -> None:
        pack = _NUMBER.pack
        self._entries.write([digest for digest, _ in owners], [pack(owner) for _, owner in owners])


class CachedSentLinks:
    """Links that were sent to other partitions, by any worker (`store.ports.SentLinks`)."""

    def __init__(self, tier: CacheTier) -> None:
        self._entries = _Entries(tier, b"s")

    async def known(self, fingerprints: Sequence[int]) -> set[int]:
        found = await self._entries.read(_names_of(fingerprints))
        return {each for each, value in zip(fingerprints, found, strict=True) if value is not None}

    def add(self, fingerprints: Sequence[int]) -> None:
        self._entries.write(_names_of(fingerprints), [b""] * len(fingerprints))


def _names_of(fingerprints: Sequence[int]) -> list[bytes]:
    pack = _NUMBER.pack
    return [pack(fingerprint) for fingerprint in fingerprints]
