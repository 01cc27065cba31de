"""Text representations: excerpts of text that is too long or not a URL (without credentials), host names, timestamps
and digests."""

import base64
import datetime
import re
from collections.abc import Iterable
from hashlib import sha256
from typing import Final, NamedTuple

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


def did_you_mean(word: str, known: Iterable[str], prefix: str = "") -> str:
    """The question about the known word that is nearest to a misspelt one; empty if none is near. The `prefix` that all
    words have does not count."""
    import difflib  # for error messages only

    words = [each.removeprefix(prefix) for each in known]
    near = difflib.get_close_matches(word.removeprefix(prefix), words, n=1, cutoff=0.7)
    return f"Did you mean {prefix + near[0]!r}?" if near else ""


MAX_LABEL: Final = 63  # RFC 1035, 2.3.4: octets of a label
MAX_HOST: Final = 253  # the same limit for a name (255 octets on the wire) as text without the final dot
_DNS_NAME = re.compile(r"[a-z0-9_*-]{1,63}(?:\.[a-z0-9_*-]{1,63})*").fullmatch


def is_dns_name(host: str) -> bool:
    """Whether resolvers accept this host (lower case, A-labels, no final dot) as a name.

    More than RFC 1123 permits: names with underscores, asterisks, or hyphens in any place do exist.
    """
    return len(host) <= MAX_HOST and _DNS_NAME(host) is not None
