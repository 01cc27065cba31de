"""Signatures by NumPy, where there is no C (`gossamer.native`), and what those in C are compared with.

`sketch.minhash` says what a signature is. Hot: benchmarks/bench_neardup.py.
"""

from typing import Final

import numpy as np

BINS: Final = 64  # as in `sketch.minhash`
_WINDOW: Final = 16  # bytes read for a shingle: a number of 64 bits and one of 32; the rest is left
_FIRST, _SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)  # odd and otherwise arbitrary
_FINISH = np.uint64(0xD6E8FEB86659FD93)
_HALF = np.uint64(32)
_BIN_SHIFT = np.uint64(58)  # the highest six bits name the bin
_EMPTY = np.uint64(0xFFFFFFFFFFFFFFFF)
_NOTHING = np.full(BINS, _EMPTY)
_TAIL = b" " * _WINDOW
_LINE_END = b" " * 11  # after a word of one character or more, no shingle of 12 sees what comes next

_Wide = np.ndarray[tuple[int], np.dtype[np.uint16]]


def signature_by_numpy(text: str, most: int, least: int) -> bytes | None:
    """`sketch.minhash.signature`, of at most so many characters that fill at least so many bins."""
    text = text[:most]
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
    if len(starts) < least:
        return None
    windows = np.ndarray((last,), f"V{_WINDOW}", raw, offset=1, strides=(1,))
    parts = windows[starts]
    hashes = parts.view("<u4")[2::4] * _SECOND
    hashes += parts.view("<u8")[::2] * _FIRST
    # A sum of products is too regular by itself: neighbouring texts would have neighbouring hashes.
    hashes ^= hashes >> _HALF
    hashes *= _FINISH
    smallest = _NOTHING.copy()
    np.minimum.at(smallest, (hashes >> _BIN_SHIFT).view(np.int64), hashes)
    found = smallest.astype("<u8", copy=False).view(np.uint8)[4::8]  # of each its fifth byte
    full = smallest != _EMPTY
    bins = np.count_nonzero(full)
    if bins == BINS:
        return found.tobytes()
    return _filled(found, full) if bins >= least else None


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
