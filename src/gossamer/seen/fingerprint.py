"""A URL's identity in 64 bits. Hot: `benchmarks/bench_seen.py`.

xxh3 seeded with the crawl's secret key: whoever does not know the key cannot make two URLs of one fingerprint and so
hide a page from the crawl. The fingerprints are stored, so key and function stay the same for the life of a crawl.
"""

import struct
from collections.abc import Sequence
from itertools import repeat
from typing import cast

from xxhash import xxh3_64_digest

from gossamer.model.units import Fingerprint


def fingerprints(urls: Sequence[str], key: int) -> list[Fingerprint]:
    """The fingerprints of these URLs, in their order: signed 64-bit integers, as SQL knows them.

    `key` is the crawl's secret, 0 to 2**64 - 1. The URLs are in the form whose identity counts: canonical, or
    minimised where the crawl is so configured.
    """
    # Unpacking all digests at once is cheaper than making each unsigned result signed.
    digests = b"".join(map(xxh3_64_digest, map(str.encode, urls), repeat(key)))
    return cast(list[Fingerprint], list(struct.unpack(f">{len(urls)}q", digests)))


def fingerprint(url: str, key: int) -> Fingerprint:
    """The fingerprint of one URL."""
    return fingerprints((url,), key)[0]
