"""Signatures of texts that differ little where the texts do. Hot: benchmarks/bench_neardup.py.

A text is the set of its shingles: the `SHINGLE` characters that begin at each of its words, to the end of the line at
most: so lines in another order, as of a menu, are the same text. Each shingle is hashed into one of 64 bins, and the
smallest hash of each bin is kept (MinHash with one permutation): two texts agree in a bin about as often as their sets
overlap, |A and B| / |A or B|. Eight bits of each smallest hash are enough, so a signature is 64 bytes, and the distance
of two is the number of bytes in which they differ.

Why not simhash, and why these numbers: ADR 24.
"""

from typing import Final

import numpy as np

BINS: Final = 64
"""Bytes of a signature."""

SHINGLE: Final = 12
"""Characters of a shingle: two or three words of English, a clause of a language that is written without blanks."""

MIN_BINS: Final = 24
"""A text whose shingles fill fewer bins has no signature: in thirty words, one is too much of the whole."""

MAX_CHARACTERS: Final = 1 << 18
"""Of longer texts, so much is signed: two that agree so far and differ then are rare, and time is not."""

_WINDOW = 16  # bytes read for a shingle: a number of 64 bits and one of 32; the rest is left
_FIRST, _SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)  # odd and otherwise arbitrary
_FINISH = np.uint64(0xD6E8FEB86659FD93)
_HALF = np.uint64(32)
_BIN_SHIFT = np.uint64(58)  # the highest six bits name the bin
_EMPTY = np.uint64(0xFFFFFFFFFFFFFFFF)
_TAIL = b" " * _WINDOW
_LINE_END = b" " * (SHINGLE - 1)  # after a word of one character or more, no shingle sees what comes next

_Wide = np.ndarray[tuple[int], np.dtype[np.uint16]]


def signature(text: str) -> bytes | None:
    """The signature of a text, 64 bytes, or None if there is too little of it to tell.

    Depends on nothing but the characters: not on the process, the machine or the version of Python.
    """
    text = text[:MAX_CHARACTERS]
    wide: _Wide | None = None
    try:
        raw = b" " + text.encode("latin-1").replace(b"\n", _LINE_END) + _TAIL
    except UnicodeEncodeError:
        # Eight bits a character are enough here too; for those of Latin-1 they are the same eight as above.
        text = text.replace("\n", _LINE_END.decode())
        wide = np.frombuffer((" " + text).encode("utf-16-le", "surrogatepass"), "<u2")
        raw = (wide ^ (wide >> np.uint16(8))).astype(np.uint8).tobytes() + _TAIL
    characters = np.frombuffer(raw, np.uint8)
    last = len(raw) - _WINDOW
    if wide is None:
        blank = characters[:last] <= 32
        begins = blank[:-1] > blank[1:]
    else:
        blank = wide <= 32
        begins = (blank[:-1] > blank[1:]) | _written_without_blanks(wide[1:])
    starts = begins.nonzero()[0]
    if len(starts) < MIN_BINS:
        return None
    windows = np.ndarray((last,), f"V{_WINDOW}", raw, offset=1, strides=(1,))
    parts = windows[starts]
    hashes = parts.view("<u4")[2::4] * _SECOND
    hashes += parts.view("<u8")[::2] * _FIRST
    # A sum of products is too regular by itself: neighbouring texts would have neighbouring hashes.
    hashes ^= hashes >> _HALF
    hashes *= _FINISH
    smallest = np.full(BINS, _EMPTY)
    np.minimum.at(smallest, (hashes >> _BIN_SHIFT).view(np.int64), hashes)
    found = smallest.astype("<u8", copy=False).view(np.uint8)[4::8]  # of each its fifth byte
    full = smallest != _EMPTY
    if full.all():
        return found.tobytes()
    return _filled(found, full) if np.count_nonzero(full) >= MIN_BINS else None


def distance(one: bytes, other: bytes) -> int:
    """In how many bytes two signatures differ: 0 to 64."""
    apart = int.from_bytes(one, "little") ^ int.from_bytes(other, "little")
    return BINS - apart.to_bytes(BINS, "little").count(0)


def _written_without_blanks(characters: _Wide) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which are of the scripts of East and South-East Asia: there every character begins a shingle."""
    south_east = (characters >= 0x0E00) & (characters < 0x10A0)
    return south_east | (characters >= 0x2E80)


def _filled(
    found: np.ndarray[tuple[int], np.dtype[np.uint8]], full: np.ndarray[tuple[int], np.dtype[np.bool_]]
) -> bytes:
    """Empty bins take the hash of the next bin that has one, changed by how far that was."""
    values, known = found.tolist(), full.tolist()
    filled = bytearray(values)
    for i in range(BINS):
        step = 0
        while not known[(i + step) % BINS]:
            step += 1
        filled[i] = (values[(i + step) % BINS] + step * 0x9D) & 0xFF
    return bytes(filled)
