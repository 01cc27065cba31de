"""Taking gzip off, a bounded piece at a time. A file that was packed twice is unpacked twice, and no more."""

import zlib
from collections.abc import Generator
from typing import Final

from gossamer.extract.sitemaps.entries import Fault

GZIP_MARK: Final = b"\x1f\x8b"
SLICE: Final = 64 * 1024
"""Bytes that are handed on at a time: some milliseconds of reading."""

_PACKED_SLICE: Final = 16 * 1024
_LAYERS: Final = 2
_MAX_MEMBERS: Final = 1_000  # gzip members in one file; each costs a new decoder

Pieces = Generator[bytes, None, Fault | None]


def unpacked(body: bytes) -> Pieces:
    """The body in slices, gzip taken off if it begins so. Returns what was wrong with the packing, if anything was."""
    pieces = _sliced(body)
    for _ in range(_LAYERS):
        first = next(pieces, b"")
        if not first.startswith(GZIP_MARK):
            yield first
            return (yield from pieces)
        pieces = _inflated(first, pieces)
    return (yield from pieces)


def _sliced(body: bytes) -> Pieces:
    for start in range(0, len(body), SLICE):
        yield body[start : start + SLICE]
    return None


def _inflated(first: bytes, rest: Pieces) -> Pieces:
    decoder = zlib.decompressobj(wbits=31)
    members = 1
    packed: bytes | None = first
    try:
        while packed is not None:
            for start in range(0, len(packed), _PACKED_SLICE):
                piece = packed[start : start + _PACKED_SLICE]
                while piece:
                    if decoder.eof:
                        if not piece.startswith(GZIP_MARK[:1]) or members >= _MAX_MEMBERS:
                            return None  # rubbish after the stream is ignored
                        decoder = zlib.decompressobj(wbits=31)
                        members += 1
                    out = decoder.decompress(piece, SLICE)
                    if out:
                        yield out
                    piece = decoder.unused_data if decoder.eof else decoder.unconsumed_tail
            packed = next(rest, None)
        while not decoder.eof:  # a window that was full at the last byte still holds output
            out = decoder.decompress(b"", SLICE)
            if not out:
                return Fault.BAD_PACKING  # cut off
            yield out
    except zlib.error:
        return Fault.BAD_PACKING
    return None
