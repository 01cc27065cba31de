"""The links of fetched pages as bytes: of one page for the link graph, of a commit until they are counted."""

import sys
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from gossamer.errors import StoreFailed
from gossamer.model.units import Fingerprint

_HEAD = 5  # numbers before the targets of a page


class LinkedPage(NamedTuple):
    """A page whose links are to be counted. Only targets in domains that have a row can be: the others are left out."""

    url_id: int
    domain_id: int
    parts: int  # all links of the page, into how many its credit goes
    fresh: int  # so many targets, the first, were not on the page when it was fetched before
    prints: Sequence[int]
    domains: Sequence[int]  # of the targets, in the same order


def fingerprint_bytes(prints: Iterable[int]) -> bytes:
    """Fingerprints as the link graph keeps them: 64 bits each, little-endian."""
    return _little_endian(array("q", prints)).tobytes()


def fingerprints_from(stored: bytes) -> list[Fingerprint]:
    """The way back. Raises StoreFailed for what cannot be fingerprints."""
    return [Fingerprint(number) for number in _numbers(stored)]


def pages_bytes(pages: Iterable[LinkedPage]) -> bytes:
    """The pages of a commit, all numbers in a row."""
    numbers = array("q")
    for page in pages:
        numbers.extend((page.url_id, page.domain_id, page.parts, page.fresh, len(page.prints)))
        numbers.extend(page.prints)
        numbers.extend(page.domains)
    return _little_endian(numbers).tobytes()


def pages_from(stored: bytes) -> Iterator[LinkedPage]:
    """The way back. Raises StoreFailed for what cannot be pages."""
    numbers = _numbers(stored)
    at = 0
    while at < len(numbers):
        url_id, domain_id, parts, fresh, targets = numbers[at : at + _HEAD]
        middle = at + _HEAD + targets
        yield LinkedPage(
            url_id, domain_id, parts, fresh, numbers[at + _HEAD : middle], numbers[middle : middle + targets]
        )
        at = middle + targets


def _numbers(stored: bytes) -> list[int]:
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
