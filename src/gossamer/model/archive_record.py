"""One record of the archive as a value: its named fields, its block, and whether its digests are right."""

import base64
import hashlib
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from gossamer.model.formats import sha1_text

_ALGORITHMS: Final = ("md5", "sha1", "sha256", "sha512")
_END_OF_HEAD: Final = re.compile(rb"\n\r?\n")
_MESSAGE_STARTS: Final = re.compile(rb"HTTP/|[A-Z]+ [^\r\n]* HTTP/")


@dataclass(frozen=True, slots=True)
class ArchivedRecord:
    """A WARC record: its named fields in their order, and its block."""

    version: str
    headers: tuple[tuple[str, str], ...]
    block: bytes

    def header(self, name: str) -> str | None:
        """The first field of this name, upper or lower case; None without one."""
        wanted = name.lower()
        return next((value for key, value in self.headers if key.lower() == wanted), None)

    @property
    def kind(self) -> str | None:
        return self.header("WARC-Type")

    @property
    def record_id(self) -> str | None:
        value = self.header("WARC-Record-ID")
        return None if value is None else value.strip("<>")

    @property
    def target_uri(self) -> str | None:
        """The address that was fetched, without the brackets and spaces that some writers leave in it."""
        value = self.header("WARC-Target-URI")
        return None if value is None else value.strip("<>").replace(" ", "%20")

    @property
    def http_body(self) -> bytes:
        """What follows the HTTP head in the block; nothing if there is no head."""
        return self.block[len(self.head) :]

    @property
    def head(self) -> bytes:
        """The HTTP head with its blank line. A server may have ended its lines with a line feed alone."""
        found = _END_OF_HEAD.search(self.block)
        return self.block if found is None else self.block[: found.end()]

    @property
    def content(self) -> bytes:
        """What was fetched: the body of an HTTP message, or the whole block of a resource."""
        return self.block if self.kind == "resource" else self.http_body

    def moment(self) -> float | None:
        """Its date in seconds since the epoch; None if it has none that can be read."""
        try:
            return datetime.fromisoformat(self.header("WARC-Date") or "").timestamp()
        except ValueError:
            return None

    def payload_digest_bytes(self) -> bytes | None:
        """Its payload digest, if that is a SHA-1 in base 32, as ours are."""
        algorithm, _, value = (self.header("WARC-Payload-Digest") or "").partition(":")
        if algorithm.lower() != "sha1" or len(value) != 32:
            return None
        try:
            return base64.b32decode(value)
        except ValueError:
            return None

    def block_digest_ok(self) -> bool | None:
        """Does the block have the digest that the record gives? None if it gives none that we can check."""
        return digest_matches(self.header("WARC-Block-Digest"), self.block)

    def payload_digest_ok(self) -> bool | None:
        """The same for the payload; None for a revisit too, whose payload lies elsewhere.

        A chunked body may have its digest taken with the chunks, as ours do, or, as the standard wants, without.
        """
        digest = self.header("WARC-Payload-Digest")
        if self.kind == "revisit":
            return None
        if self.kind == "resource" or not _MESSAGE_STARTS.match(self.block):
            return digest_matches(digest, self.block)
        return digest_matches(digest, self.http_body) or digest_matches(digest, without_chunks(self.http_body))


def digest_matches(digest: str | None, data: bytes) -> bool | None:
    """Is `digest` (`algorithm:value`) that of `data`? None if that cannot be determined.

    Values are base32 by custom; hexadecimal and both kinds of base64 occur.
    """
    algorithm, colon, value = (digest or "").partition(":")
    algorithm = algorithm.lower().replace("-", "")
    if not colon or algorithm not in _ALGORITHMS:
        return None
    computed = hashlib.new(algorithm, data, usedforsecurity=False).digest()
    value = value.rstrip("=")
    base64_value = value.replace("-", "+").replace("_", "/")
    return (
        value.upper() == _base32(computed)
        or value.lower() == computed.hex()
        or base64_value == base64.b64encode(computed).decode().rstrip("=")
    )


def _base32(digest: bytes) -> str:
    """Without the signs that fill it up. Most are SHA-1, for which there is a faster way."""
    if len(digest) == 20:
        return sha1_text(digest).removeprefix("sha1:")
    return base64.b32encode(digest).decode().rstrip("=")


def without_chunks(body: bytes) -> bytes:
    """The body inside a chunked transfer coding (RFC 9112, 7.1). What was cut short, or is not a chunk, ends the body.

    A body without any chunk is returned as it is: some clients remove the coding and leave the header.
    """
    pieces: list[bytes] = []
    at = 0
    while True:
        end = body.find(b"\n", at, at + 1024)
        size_text = body[at : end if end >= 0 else at].split(b";", 1)[0].strip()
        if not size_text or len(size_text) > 16 or size_text.strip(b"0123456789abcdefABCDEF"):
            return b"".join(pieces) if at else body
        size = int(size_text, 16)
        if size == 0:
            return b"".join(pieces)
        pieces.append(body[end + 1 : end + 1 + size])
        at = end + 1 + size
        at += 2 if body[at : at + 2] == b"\r\n" else 1
        if at >= len(body):
            return b"".join(pieces)
