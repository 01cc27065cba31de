"""Signatures that differ in few bytes, found without comparing all: tables of bands.

A signature of 64 bytes is cut into eight bands of eight. Two signatures that differ in at most `MAX_DISTANCE` = 7 bytes
have at least one band in common, whichever bytes those are; so the signatures that share a band are all that need be
compared, and none within the distance is missed.
"""

import struct
from typing import Final

MAX_DISTANCE: Final = 7
"""Bytes of 64 in which near-duplicates may differ: documents that share about nine tenths of their shingles."""

BANDS: Final = MAX_DISTANCE + 1
_BANDS = struct.Struct(f"<{BANDS}q")
_NUMBERS: Final = int.from_bytes(_BANDS.pack(*range(BANDS)), "little")  # of all bands, each in the lowest three bits
_KEPT: Final = ~int.from_bytes(_BANDS.pack(*[BANDS - 1] * BANDS), "little")  # a mask: all bits but these


def bands_of(signature: bytes) -> list[int]:
    """The keys under which a signature stands in a table: 64 bits each, signed, as SQLite has them.

    Three bits of each say which band it is, so that one table serves all eight. The bits that make way are compared
    with the rest of the signature.
    """
    whole = int.from_bytes(signature, "little") & _KEPT | _NUMBERS
    return list(_BANDS.unpack(whole.to_bytes(_BANDS.size, "little")))
