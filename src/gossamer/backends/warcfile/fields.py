"""Hot (benchmarks/bench_warc.py): digests and dates as the named fields of a record write them."""

from datetime import UTC, datetime
from typing import Final

from gossamer.model.units import Instant
from gossamer.native import kernels

_LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_PAIRS: Final = [first + second for first in _LETTERS for second in _LETTERS]  # by ten bits


def base32(digest: bytes) -> str:
    """The 32 characters of base 32 that a SHA-1 makes.

    Three are needed for every page, and the library's function, which is for any length, takes three times as long as
    this, which is written out two characters at a time.
    """
    if kernels is not None:
        return kernels.base32(digest)
    return base32_in_python(digest)


def base32_in_python(digest: bytes) -> str:
    """The same, where there is no C."""
    n = int.from_bytes(digest, "big")
    p = _PAIRS
    return (
        p[n >> 150] + p[n >> 140 & 1023] + p[n >> 130 & 1023] + p[n >> 120 & 1023]
        + p[n >> 110 & 1023] + p[n >> 100 & 1023] + p[n >> 90 & 1023] + p[n >> 80 & 1023]
        + p[n >> 70 & 1023] + p[n >> 60 & 1023] + p[n >> 50 & 1023] + p[n >> 40 & 1023]
        + p[n >> 30 & 1023] + p[n >> 20 & 1023] + p[n >> 10 & 1023] + p[n & 1023]
    )  # fmt: skip


class _Second:
    """The date of the last second that was asked for: records come a thousand to a second."""

    number = -1
    text = ""


def warc_date(when: Instant) -> str:
    """A date to the microsecond, in UTC."""
    second = int(when // 1)
    if second != _Second.number:
        _Second.text = datetime.fromtimestamp(second, UTC).isoformat()[:-6]
        _Second.number = second
    return f"{_Second.text}.{int((when - second) * 1e6):06d}Z"
