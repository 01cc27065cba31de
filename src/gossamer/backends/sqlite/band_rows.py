"""Bands and their owners as rows of a segment: some dozens to a row, packed."""

import sys
from array import array
from collections.abc import Iterator, Sequence

BANDS_IN_ROW = 64  # a kilobyte


def packed_rows(pairs: list[tuple[int, int]]) -> Iterator[tuple[int, bytes, bytes]]:
    """Sorted pairs of band and owner as rows of the table: the first band, all bands, all owners."""
    start = 0
    while start < len(pairs):
        end = min(start + BANDS_IN_ROW, len(pairs))
        while end < len(pairs) and pairs[end][0] == pairs[end - 1][0]:
            end += 1  # all owners of a band are in one row
        bands, owners = zip(*pairs[start:end], strict=True)
        yield bands[0], _packed(bands), _packed(owners)
        start = end


def unpacked(data: bytes) -> "array[int]":
    """What a row holds."""
    numbers = array("q")
    numbers.frombytes(data)
    return _little(numbers)


def _packed(numbers: Sequence[int]) -> bytes:
    return _little(array("q", numbers)).tobytes()


def _little(numbers: "array[int]") -> "array[int]":
    """Little-endian on every machine: a database may be carried to another."""
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers
