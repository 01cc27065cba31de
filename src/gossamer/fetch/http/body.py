"""Hot: from the wire body to the document (benchmarks/bench_fetch.py measures the path around it).

Transfer coding off first, then content codings from the last applied to the first. Work is linear in the bytes
read and written, and both are capped, so a bomb costs no more than an honest page of the largest size.
"""

from dataclasses import dataclass
from typing import cast

from isal import igzip_lib, isal_zlib

from gossamer.fetch.http.chunked import dechunk
from gossamer.model.outcome import Response, Truncation

MAX_DECODED_BYTES = 10 * 1024 * 1024
MAX_CODINGS = 3
MAX_MEMBERS = 1000  # gzip members in one body; each costs a copy of what is left of a slice
ACCEPT_ENCODING = "gzip, deflate"
"""What we ask for: exactly what `payload` can take off."""

_SLICE = 64 * 1024
_SMALL_STEP = 512
_GZIP, _ZLIB, _RAW = 31, 15, -15  # window bits: with gzip header, with zlib header, bare
_BROKEN = cast(type[Exception], igzip_lib.IsalError)  # the stub calls it an instance


@dataclass(frozen=True, slots=True)
class Payload:
    """A body without its codings.

    `body` is the document; `entity` has only the transfer coding removed, as payload digests want it. Without
    codings both are the very bytes received. With `bad_encoding` the content coding was unknown, stacked too deep or
    not what the header said, and `body` equals `entity`. `truncated` tells that `body` is a beginning only.
    """

    body: bytes
    entity: bytes
    truncated: Truncation | None = None
    bad_encoding: bool = False


def payload(response: Response, max_bytes: int = MAX_DECODED_BYTES) -> Payload:
    """The document in a response. Never raises on what the server sent.

    A stream that breaks off or breaks gives the part decoded before the fault, as truncated; one that gives
    nothing at all is a bad encoding.
    """
    entity, truncated = response.wire_body, response.truncated
    headers = response.headers
    if "transfer-encoding" in headers and is_chunked(headers["transfer-encoding"]):
        taken = dechunk(entity)
        entity = taken.data
        if not taken.complete and truncated is None:
            truncated = Truncation.LENGTH if taken.cut else Truncation.DISCONNECT
    if "content-encoding" not in headers or not entity:
        return Payload(entity, entity, truncated)
    codings = [name for part in headers["content-encoding"].lower().split(",") if (name := part.strip())]
    codings = [name for name in codings if name != "identity"]
    if not codings:
        return Payload(entity, entity, truncated)
    if len(codings) > MAX_CODINGS or any(name not in _DECODERS for name in codings):
        return Payload(entity, entity, truncated, bad_encoding=True)
    body = entity
    for name in reversed(codings):
        decoded = _DECODERS[name](body, max_bytes)
        if decoded is None:
            return Payload(entity, entity, truncated, bad_encoding=True)
        body = decoded.data
        if decoded.fault is not None and (truncated is None or decoded.fault is Truncation.LENGTH):
            truncated = decoded.fault
    return Payload(body, entity, truncated)


def is_chunked(transfer_encoding: str) -> bool:
    """Whether chunked is the last transfer coding, which is the only place where it frames the message."""
    return transfer_encoding.rpartition(",")[2].strip().lower() == "chunked"


@dataclass(frozen=True, slots=True)
class _Decoded:
    data: bytes
    fault: Truncation | None = None


def _gunzip(data: bytes, max_bytes: int) -> _Decoded | None:
    return _inflate(data, _GZIP, max_bytes)


def _deflate(data: bytes, max_bytes: int) -> _Decoded | None:
    # "deflate" means the zlib format, but servers that send the bare one are as old as the word.
    framed = len(data) >= 2 and data[0] & 0x0F == 8 and (data[0] << 8 | data[1]) % 31 == 0
    return _inflate(data, _ZLIB if framed else _RAW, max_bytes)


def _inflate(data: bytes, window_bits: int, max_bytes: int) -> _Decoded | None:
    """Decode up to `max_bytes`; None when nothing could be decoded."""
    if window_bits == _GZIP and data[:2] != b"\x1f\x8b":
        return None
    pieces: list[bytes] = []
    room = max_bytes
    members = 1
    decoder = isal_zlib.decompressobj(wbits=window_bits)
    for start in range(0, len(data), _SLICE):
        piece = data if len(data) <= _SLICE else data[start : start + _SLICE]
        while piece:
            try:
                # One byte more than there is room for tells a body that just fits from one that does not.
                out = decoder.decompress(piece, room + 1)
            except _BROKEN:
                return _finish(pieces or _salvaged(piece, window_bits, room), whole=False)
            if len(out) > room:
                pieces.append(out[:room])
                return _Decoded(b"".join(pieces), Truncation.LENGTH)
            room -= len(out)
            pieces.append(out)
            if not decoder.eof:
                piece = decoder.unconsumed_tail
                if piece and not out:
                    return _finish(pieces, whole=False)  # no progress on input that is there
                continue
            piece = decoder.unused_data
            follows = piece[:1] or data[start + _SLICE : start + _SLICE + 1]
            if window_bits != _GZIP or follows != b"\x1f":
                return _finish(pieces, whole=True)  # rubbish after the stream is ignored, as browsers do
            members += 1
            if members > MAX_MEMBERS:
                return _finish(pieces, whole=False)
            decoder = isal_zlib.decompressobj(wbits=window_bits)
    return _finish(pieces, whole=False)


def _finish(pieces: list[bytes], *, whole: bool) -> _Decoded | None:
    data = pieces[0] if len(pieces) == 1 else b"".join(pieces)
    if whole:
        return _Decoded(data)
    return _Decoded(data, Truncation.DISCONNECT) if data else None


def _salvaged(data: bytes, window_bits: int, room: int) -> list[bytes]:
    """What a first slice gave before it broke, at most `room` bytes.

    The decoder drops the output of the call that finds the fault, so the slice is decoded again in small steps.
    Later slices need no such care: what came before them is enough.
    """
    pieces: list[bytes] = []
    decoder = isal_zlib.decompressobj(wbits=window_bits)
    try:
        for start in range(0, len(data), _SMALL_STEP):
            if room <= 0 or decoder.eof:
                break
            out = decoder.decompress(data[start : start + _SMALL_STEP], room)
            pieces.append(out)
            room -= len(out)
    except _BROKEN:
        pass
    return pieces


_DECODERS = {"gzip": _gunzip, "x-gzip": _gunzip, "deflate": _deflate}
