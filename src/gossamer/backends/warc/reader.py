"""The body inside a chunked transfer coding (RFC 9112, 7.1), for payload digests that are taken without it.

One record read back, from the place where the writer put it; or all records of a file in turn.

Reads what others write, too: uncompressed files, folded fields, target addresses in angle brackets.
"""

import base64
import hashlib
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from gossamer.errors import GossamerError
from gossamer.model.formats import sha1_text


def without_chunks(body: bytes) -> bytes:
    """The octets that the chunks carry. What was cut short, or is no chunk, ends the body where it stands.

    A body without any chunk is returned as it is: some clients take the coding off and leave the header on.
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


MAX_RECORD_BYTES: Final = 256 * 1024 * 1024
"""No record of ours comes near this; a file that claims more is damaged or hostile."""

_GZIP: Final = b"\x1f\x8b"
_CHUNK: Final = 256 * 1024
_ALGORITHMS: Final = ("md5", "sha1", "sha256", "sha512")
_END_OF_HEAD: Final = re.compile(rb"\n\r?\n")
_MESSAGE_STARTS: Final = re.compile(rb"HTTP/|[A-Z]+ [^\r\n]* HTTP/")


class DamagedRecord(GossamerError):
    """There is no whole record at this place. Carries the file and the offset."""

    def __init__(self, path: Path, offset: int, problem: str) -> None:
        super().__init__(f"{path.name} at byte {offset}: {problem}")
        self.path, self.offset = path, offset


@dataclass(frozen=True, slots=True)
class Record:
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
    """Is `digest` (`algorithm:value`) that of `data`? None where that cannot be told.

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


def read_record(path: Path, offset: int, length: int) -> Record:
    """The record at this place. Raises DamagedRecord unless exactly one whole record lies there."""
    with path.open("rb") as file:
        file.seek(offset)
        data = file.read(length)
    if len(data) < length:
        raise DamagedRecord(path, offset, f"the file ends after {len(data)} of {length} bytes")
    if data[:2] != _GZIP:
        return _parse(path, offset, data)
    expander = zlib.decompressobj(31)
    try:
        plain = expander.decompress(data, MAX_RECORD_BYTES)
    except zlib.error as error:
        raise DamagedRecord(path, offset, str(error)) from error
    if not expander.eof or expander.unused_data:
        raise DamagedRecord(path, offset, "not exactly one gzip member")
    return _parse(path, offset, plain)


def scan_records(path: Path, end: int | None = None, start: int = 0) -> Iterator[tuple[int, int, Record]]:
    """Offset, length and record, for all gzip members of a file from byte `start`, one record each; up to byte `end`,
    if a crawl may be writing beyond it.

    Raises DamagedRecord where the file is not such a sequence; what came before is good.
    """
    with path.open("rb") as file:
        file.seek(start)
        offset, pending = start, file.read(_CHUNK)
        while pending and (end is None or offset < end):
            expander = zlib.decompressobj(31)
            plain: list[bytes] = []
            expanded = taken = 0
            while not expander.eof:
                if not pending:
                    raise DamagedRecord(path, offset, "the file ends inside a record")
                try:
                    plain.append(expander.decompress(pending, MAX_RECORD_BYTES - expanded + 1))
                except zlib.error as error:
                    raise DamagedRecord(path, offset, str(error)) from error
                expanded += len(plain[-1])
                if expanded > MAX_RECORD_BYTES:
                    raise DamagedRecord(path, offset, "longer than any record may be")
                taken += len(pending)
                pending = b"" if expander.eof else file.read(_CHUNK)
            length = taken - len(expander.unused_data)
            yield offset, length, _parse(path, offset, b"".join(plain))
            offset += length
            pending = expander.unused_data or file.read(_CHUNK)


def _parse(path: Path, offset: int, data: bytes) -> Record:
    head, blank, rest = data.partition(b"\r\n\r\n")
    version, *lines = head.decode("utf-8", "replace").split("\r\n")
    if not blank or not version.startswith("WARC/"):
        raise DamagedRecord(path, offset, "does not begin like a WARC record")
    headers: list[tuple[str, str]] = []
    for line in lines:
        if line[:1] in (" ", "\t") and headers:
            headers[-1] = (headers[-1][0], f"{headers[-1][1]} {line.strip()}")
            continue
        name, colon, value = line.partition(":")
        if not colon:
            raise DamagedRecord(path, offset, f"not a named field: {line[:80]!r}")
        headers.append((name.strip(), value.strip()))
    record = Record(version, tuple(headers), rest[: _block_length(path, offset, headers)])
    if rest[len(record.block) :] != b"\r\n\r\n":
        raise DamagedRecord(path, offset, "the block does not end where Content-Length says")
    return record


def _block_length(path: Path, offset: int, headers: list[tuple[str, str]]) -> int:
    given = next((value for name, value in headers if name.lower() == "content-length"), "")
    if not (given.isascii() and given.isdigit()) or len(given) > 15:
        raise DamagedRecord(path, offset, f"no usable Content-Length: {given[:80]!r}")
    return int(given)
