"""How values are packed into columns of the task table, for the code that writes rows and the code that reads them.

The facts of a URL are a group of columns in a fixed order. The links of a page are bytes: 64-bit numbers,
little-endian.
"""

import sys
from array import array
from collections.abc import Iterable, Sequence
from typing import Any

from gossamer.errors import StoreFailed
from gossamer.model.facts import NO_HOST, HostFacts, UrlFacts

FACTS = 13
"""The number of columns that make up the facts of a URL. The last two are the priority in a sitemap and the date of
modification, or NULL."""


def facts_from(row: Sequence[Any], now: float, host: HostFacts = NO_HOST) -> UrlFacts:
    """The facts in the first columns of a row, as of now."""
    *plain, listed, modified = row[:FACTS]
    return UrlFacts._make((*plain, host, listed, None if modified is None else max(0.0, now - modified)))


def pack_numbers(numbers: Iterable[int]) -> bytes:
    """Whole numbers, such as fingerprints, as bytes."""
    return _little_endian(array("q", numbers)).tobytes()


def unpack_numbers(stored: bytes) -> list[int]:
    """The numbers in a column. Raises StoreFailed if the length of the column is not a multiple of eight bytes."""
    numbers = array("q")
    try:
        numbers.frombytes(stored)
    except ValueError as error:
        raise StoreFailed(f"{len(stored)} bytes are no list of 64-bit numbers") from error
    return _little_endian(numbers).tolist()


def _little_endian(numbers: "array[int]") -> "array[int]":
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers
