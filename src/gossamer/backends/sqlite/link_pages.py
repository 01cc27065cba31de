"""The links of fetched pages as bytes: of one page for the link graph, of a commit until they are counted."""

import sys
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from gossamer.errors import StoreFailed

_HEAD = 7  # numbers before the targets of a page


class LinkedPage(NamedTuple):
    """A page whose links are to be counted. Only targets in domains that have a row can be: the others are left out.

    Of each kind, the first targets (`fresh_...` of them) are those that were not on the page when it was fetched
    before: the others were counted then, and only get credit.
    """

    url_id: int
    domain_id: int
    parts: int  # all links of the page, into how many its credit goes
    fresh_own: int
    fresh_others: int
    own: Sequence[int]  # fingerprints of the targets in the page's domain
    others: Sequence[int]  # in other domains
    domains: Sequence[int]  # of `others`, in the same order


def fingerprint_bytes(prints: Iterable[int]) -> bytes:
    """Fingerprints as the link graph keeps them: 64 bits each, little-endian."""
    return _little_endian(array("q", prints)).tobytes()


def fingerprints_from(stored: bytes) -> list[int]:
    """The way back. Raises StoreFailed for what cannot be fingerprints."""
    return _numbers(stored)


def pages_bytes(pages: Iterable[LinkedPage]) -> bytes:
    """The pages of a commit, all numbers in a row."""
    numbers: list[int] = []
    for url_id, domain_id, parts, fresh_own, fresh_others, own, others, domains in pages:
        numbers += (url_id, domain_id, parts, fresh_own, fresh_others, len(own), len(others))
        numbers += own
        numbers += others
        numbers += domains
    return _little_endian(array("q", numbers)).tobytes()


def pages_from(stored: bytes) -> Iterator[LinkedPage]:
    """The way back. Raises StoreFailed for what cannot be pages."""
    numbers = _numbers(stored)
    at = 0
    while at < len(numbers):
        url_id, domain_id, parts, fresh_own, fresh_others, own, others = numbers[at : at + _HEAD]
        first = at + _HEAD
        second = first + own
        third = second + others
        at = third + others
        yield LinkedPage(
            url_id,
            domain_id,
            parts,
            fresh_own,
            fresh_others,
            numbers[first:second],
            numbers[second:third],
            numbers[third:at],
        )


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
