"""Signatures of texts that differ little where the texts do. Hot: benchmarks/bench_neardup.py.

A text is the set of its shingles: the `SHINGLE` characters that begin at each of its words, to the end of the line at
most: so lines in another order, as of a menu, are the same text. Each shingle is hashed into one of 64 bins, and the
smallest hash of each bin is kept (MinHash with one permutation): two texts agree in a bin about as often as their sets
overlap, |A and B| / |A or B|. Eight bits of each smallest hash are enough, so a signature is 64 bytes, and the distance
of two is the number of bytes in which they differ.

Why not simhash, and why these numbers: ADR 24.
"""

from typing import Final

from gossamer.native import kernels

BINS: Final = 64
"""Bytes of a signature."""

SHINGLE: Final = 12
"""Characters of a shingle: two or three words of English, a clause of a language that is written without blanks."""

MIN_BINS: Final = 24
"""A text whose shingles fill fewer bins has no signature: in thirty words, one is too much of the whole."""

MAX_CHARACTERS: Final = 1 << 18
"""Of longer texts, so much is signed: two that agree so far and differ then are rare, and time is not."""


def signature(text: str) -> bytes | None:
    """The signature of a text, 64 bytes, or None if there is too little of it to tell.

    Depends on nothing but the characters: not on the process, the machine or the version of Python.
    """
    if kernels is not None:
        return kernels.signature(text, MAX_CHARACTERS, MIN_BINS)
    # NumPy takes a tenth of a second to load: only who needs it shall wait for it.
    from gossamer.sketch.minhash_numpy import signature_by_numpy

    return signature_by_numpy(text, MAX_CHARACTERS, MIN_BINS)


def distance(one: bytes, other: bytes) -> int:
    """In how many bytes two signatures differ: 0 to 64."""
    apart = int.from_bytes(one, "little") ^ int.from_bytes(other, "little")
    return BINS - apart.to_bytes(BINS, "little").count(0)
