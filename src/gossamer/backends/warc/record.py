"""One WARC 1.1 record as one gzip member, with its digests and dates. Hot: benchmarks/bench_warc.py.

Records are put together as bytes and compressed in one call; nothing here does IO, and compressor and digests let other
threads run. ADR 4.
"""

import random
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha1
from typing import Final

from isal import isal_zlib

from gossamer.model.outcome import Response
from gossamer.model.units import Instant, Url
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


_LEVEL: Final = 1
_SMALL: Final = 1024  # bytes; a request, say: the set-up of level 1 costs ten times what it saves
_GZIP_MEMBER: Final = 31  # window bits: a gzip header and trailer around the deflate stream

_ANY_BYTES: Final = "application/octet-stream"
_CONVERSATION: Final = "text/x-ftp-control-conversation"  # what Heritrix calls it, and so what readers may know
_FIELDS: Final = "application/warc-fields"
_HTTP: Final = "application/http; msgtype="
_UNVERIFIED: Final = "WARC-TLS-Verified: no\r\n"  # ours, as the standard allows (4); no field of its own says so
_SAME_PAYLOAD: Final = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
_NOT_MODIFIED: Final = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"


class RecordIds:
    """Record ids: random UUIDs (RFC 9562, version 4) as `urn:uuid:...`, drawn from a generator that is passed in."""

    def __init__(self, rng: random.Random) -> None:
        self._bits = rng.getrandbits

    def next(self) -> str:
        bits = self._bits(128) & ~(0xF000 << 64) & ~(0xC000 << 48) | 0x4000 << 64 | 0x8000 << 48
        digits = f"{bits:032x}"
        return f"urn:uuid:{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


@dataclass(frozen=True, slots=True)
class Warcinfo:
    """What the first record of every file says about the crawl."""

    software: str
    user_agent: str
    contact: str
    robots: str = "obey (RFC 9309)"


@dataclass(frozen=True, slots=True)
class Original:
    """The capture to which a revisit refers."""

    url: Url
    captured: Instant
    record_id: str | None = None


def payload_digest_of(payload: bytes) -> str:
    """The digest of a body as the WARC headers write it. The body is what follows the head, transfer coding and all:
    what the checkers of other people compare with (ADR 4)."""
    return "sha1:" + base32(sha1(payload, usedforsecurity=False).digest())


def _payload_fields(response: Response, payload_digest: str | None) -> str:
    if payload_digest is None:
        payload_digest = payload_digest_of(response.wire_body)
    fields = f"WARC-Payload-Digest: {payload_digest}\r\n"
    return fields if response.truncated is None else f"{fields}WARC-Truncated: {response.truncated.value}\r\n"


def build_response(
    response: Response,
    *,
    record_id: str,
    concurrent_to: str | None = None,
    payload_digest: str | None = None,
) -> bytes:
    """A response record. `payload_digest`, where the caller knows it already, saves computing it again."""
    more = _payload_fields(response, payload_digest)
    if response.unverified:
        more += _UNVERIFIED
    head = _exchange_head("response", response, record_id, concurrent_to)
    return _member(head + more, response.head, response.wire_body)


def build_request(response: Response, *, record_id: str, concurrent_to: str | None = None) -> bytes:
    """The record of the request that `response` answers."""
    head = _exchange_head("request", response, record_id, concurrent_to)
    return _member(head, response.request_head)


def build_resource(
    response: Response, *, record_id: str, concurrent_to: str | None = None, payload_digest: str | None = None
) -> bytes:
    """The record of what was fetched without HTTP: its bytes are the block, and there is no head to store."""
    more = _payload_fields(response, payload_digest)
    kind = response.headers.get("content-type", _ANY_BYTES)
    head = _exchange_head("resource", response, record_id, concurrent_to, kind)
    return _member(head + more, response.wire_body)


def build_conversation(response: Response, *, record_id: str, concurrent_to: str | None = None) -> bytes:
    """A metadata record of what was said over FTP to get there: our commands, a blank line, the server's replies."""
    head = _exchange_head("metadata", response, record_id, concurrent_to, _CONVERSATION)
    return _member(head, response.request_head + b"\r\n", response.head)


def build_revisit(
    response: Response,
    *,
    record_id: str,
    original: Original,
    concurrent_to: str | None = None,
    payload_digest: str | None = None,
    with_head: bool = True,
) -> bytes:
    """A revisit record: the head of an answer whose body is that of `original`.

    A 304 takes the profile server-not-modified; `payload_digest` is then that of the original, if it is known.
    Anything else takes identical-payload-digest, whose digest is computed where it is not given. Readers put this head
    before the original's body; where that would not fit, because the same document came in another coding, the head
    is left out (`with_head`), and they take the original's.
    """
    unmodified = response.status == 304
    more = f"WARC-Profile: {_NOT_MODIFIED if unmodified else _SAME_PAYLOAD}\r\n"
    if payload_digest is None and not unmodified:
        payload_digest = payload_digest_of(response.wire_body)
    if payload_digest is not None:
        more += f"WARC-Payload-Digest: {payload_digest}\r\n"
    if original.record_id is not None:
        more += f"WARC-Refers-To: <{original.record_id}>\r\n"
    more += f"WARC-Refers-To-Target-URI: {original.url}\r\nWARC-Refers-To-Date: {warc_date(original.captured)}\r\n"
    if response.unverified:
        more += _UNVERIFIED
    if not unmodified:
        more += "WARC-Truncated: length\r\n"  # asked for where a block was left out as a duplicate (WARC 1.1, 6.7.2)
    head = _exchange_head("revisit", response, record_id, concurrent_to)
    return _member(head + more, response.head if with_head else b"")


def build_outlinks(
    response: Response, outlinks: Iterable[str], *, record_id: str, concurrent_to: str | None = None
) -> bytes:
    """A metadata record of the addresses that a page links to, absolute, each once."""
    head = _exchange_head("metadata", response, record_id, concurrent_to, _FIELDS)
    return _member(head, "".join(f"outlink: {url}\r\n" for url in outlinks).encode())


def build_warcinfo(info: Warcinfo, *, record_id: str, file_name: str, now: Instant) -> bytes:
    """The record a file begins with."""
    fields = {
        "software": info.software,
        "format": "WARC File Format 1.1",
        "conformsTo": "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
        "robots": info.robots,
        "http-header-user-agent": info.user_agent,
        "operator": info.contact,
    }
    block = "".join(f"{name}: {' '.join(value.split())}\r\n" for name, value in fields.items() if value)
    head = (
        f"WARC/1.1\r\nWARC-Type: warcinfo\r\nWARC-Record-ID: <{record_id}>\r\nWARC-Date: {warc_date(now)}\r\n"
        f"WARC-Filename: {file_name}\r\nContent-Type: {_FIELDS}\r\n"
    )
    return _member(head, block.encode())


def _exchange_head(
    kind: str, response: Response, record_id: str, concurrent_to: str | None, content_type: str | None = None
) -> str:
    """The named fields that every record of an exchange begins with; without a content type, of one over HTTP."""
    url = response.url
    if "\n" in url or "\r" in url:
        raise ValueError(f"a URL with a line break would forge a record: {url!r}")
    concurrent = f"WARC-Concurrent-To: <{concurrent_to}>\r\n" if concurrent_to else ""
    address = f"WARC-IP-Address: {response.address.strip('[]')}\r\n" if response.address else ""
    return (
        f"WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Record-ID: <{record_id}>\r\n"
        f"WARC-Date: {warc_date(response.started)}\r\n"
        f"WARC-Target-URI: {url}\r\n{address}{concurrent}"
        f"Content-Type: {content_type or _HTTP + ('request' if kind == 'request' else 'response')}\r\n"
    )


def _member(head: str, block: bytes, more_block: bytes = b"") -> bytes:
    digest = sha1(block, usedforsecurity=False)
    if more_block:
        digest.update(more_block)
    named = (
        f"{head}WARC-Block-Digest: sha1:{base32(digest.digest())}\r\n"
        f"Content-Length: {len(block) + len(more_block)}\r\n\r\n"
    )
    whole = b"".join((named.encode(), block, more_block, b"\r\n\r\n"))
    level = _LEVEL if len(whole) > _SMALL else 0
    member: bytes = isal_zlib.compress(whole, level, _GZIP_MEMBER)
    return member
