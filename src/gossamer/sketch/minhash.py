"""MinHash signatures: similar texts have similar signatures. Hot: benchmarks/bench_neardup.py.

A text is the set of its shingles: the `SHINGLE` characters that begin at each word, up to the end of the line; so the
order of lines, as in a menu, does not matter. Each shingle is hashed into one of 64 bins, and the smallest hash of each
bin is kept (one-permutation MinHash): two texts agree in a bin about as often as their sets overlap, |A and B| / |A or
B|. Eight bits of each smallest hash are enough, so a signature is 64 bytes, and the distance of two is the number of
bytes in which they differ.

Why not simhash, and why these numbers: ADR 13.
"""

import struct
from typing import Final

from gossamer.native import kernels

BINS: Final = 64
"""Bytes of a signature."""

SHINGLE: Final = 12
"""Characters of a shingle: two or three English words, a clause in a language written without spaces."""

MIN_BINS: Final = 24
"""A text whose shingles fill fewer bins has no signature: with thirty words, a single one is too large a part."""

MAX_CHARACTERS: Final = 1 << 18
"""Only this much of a text is hashed: longer texts that differ only after it are rare."""


_LINE_END: Final = " " * (SHINGLE - 1)  # separates shingles of one line from the next
_FIRST, _SECOND, _FINISH = 0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0xD6E8FEB86659FD93  # odd and otherwise arbitrary
_MASK: Final = (1 << 64) - 1


def signature(text: str) -> bytes | None:
    """The signature of a text, 64 bytes, or None if the text is too short.

    Depends only on the characters, not on the process, the machine or the version of Python.
    """
    if kernels is not None:
        return kernels.signature(text, MAX_CHARACTERS, MIN_BINS)
    return signature_in_python(text, MAX_CHARACTERS, MIN_BINS)


def signature_in_python(text: str, most: int, least: int) -> bytes | None:
    """The signature of the first `most` characters, if they fill `least` bins. The reference for the C version."""
    coded = (" " + text[:most].replace("\n", _LINE_END)).encode("utf-16-le", "surrogatepass")
    units = struct.unpack(f"<{len(coded) // 2}H", coded)
    raw = bytes((unit ^ unit >> 8) & 0xFF for unit in units) + b" " * SHINGLE  # eight bits of each are enough
    smallest: dict[int, int] = {}  # bin -> hash
    shingles = 0
    for at in range(1, len(units)):
        unit = units[at]
        # A word begins, or it is a script of East or South-East Asia: there every character begins a shingle.
        if unit > 32 >= units[at - 1] or 0x0E00 <= unit < 0x10A0 or unit >= 0x2E80:
            shingles += 1
            first, second = int.from_bytes(raw[at : at + 8], "little"), int.from_bytes(raw[at + 8 : at + 12], "little")
            hashed = (first * _FIRST + second * _SECOND) & _MASK
            # A sum of products alone is too regular: similar texts would have similar hashes.
            hashed = (hashed ^ hashed >> 32) * _FINISH & _MASK
            number = hashed >> 58
            if hashed < smallest.get(number, _MASK):
                smallest[number] = hashed
    if shingles < least or len(smallest) < least:
        return None
    # An empty bin takes the hash of the next bin that has one, changed by how far that was.
    steps = [next(step for step in range(BINS) if (number + step) % BINS in smallest) for number in range(BINS)]
    return bytes(((smallest[(number + step) % BINS] >> 32) + step * 0x9D) & 0xFF for number, step in enumerate(steps))


def distance(one: bytes, other: bytes) -> int:
    """The number of bytes in which two signatures differ: 0 to 64."""
    apart = int.from_bytes(one, "little") ^ int.from_bytes(other, "little")
    return BINS - apart.to_bytes(BINS, "little").count(0)
