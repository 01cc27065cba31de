"""Text representations: excerpts of text that is too long or not a URL (without credentials), timestamps, digests and
host names in the order of their domains."""

import base64
import datetime
import re
from hashlib import sha256
from typing import NamedTuple

SHOWN_BYTES = 256
_USERINFO = re.compile(r"(?<=[/\\]{2})[^/\\?#]*@").sub
_ONLY_AUTHORITY = re.compile(r"([^/\\?#]*[/\\]{2})[^/\\?#]*").fullmatch


def abbreviated(text: str) -> str:
    """The beginning of `text`, at most 256 bytes of UTF-8, without userinfo."""
    start = text[:SHOWN_BYTES]
    if len(text) > SHOWN_BYTES and (cut := _ONLY_AUTHORITY(start)) is not None:
        start = cut[1]  # it may be a password whose @ was cut off
    return _USERINFO("", start).encode("utf-8", "replace")[:SHOWN_BYTES].decode("utf-8", "ignore")


class LongLink(NamedTuple):
    """A link that exceeds the URL length limit, as it is stored."""

    shown: str  # its beginning
    digest: bytes  # SHA-256 of all of it as written, in UTF-8
    size: int  # bytes of it


def long_link(href: str) -> LongLink:
    """What is stored of an overlong link. Less than a millisecond for a megabyte."""
    raw = href.encode("utf-8", "replace")
    return LongLink(abbreviated(href), sha256(raw).digest(), len(raw))


def iso_timestamp(at: float) -> str:
    """ISO 8601, UTC, to the millisecond. Raises ValueError or OverflowError beyond the calendar."""
    return datetime.datetime.fromtimestamp(at, datetime.UTC).isoformat(timespec="milliseconds")[:-6] + "Z"


def sha1_text(digest: bytes) -> str:
    """`sha1:` and the digest in base 32, as in WARC files."""
    return "sha1:" + base64.b32encode(digest).decode("ascii")


def reversed_name(host: str) -> str:
    """The labels of a host name from the last to the first, so that a domain's hosts sort together."""
    return ".".join(reversed(host.split(".")))
