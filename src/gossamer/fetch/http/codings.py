"""Removes content and transfer codings, a bounded piece at a time. Hot: benchmarks/bench_fetch.py.

Each decoder is a generator over the encoded bytes. It yields pieces of at most about `BLOCK` bytes (an empty one after
work without output), so the consumer decides how much is held in memory and may pause in between. It returns how the
stream ended. It never raises for what a server sent, and allocates nothing by a size that the stream declares.

The chunked transfer coding (RFC 9112, 7.1) has two readers. `ChunkScanner` follows a body while it arrives, because
libcurl in pass-through mode delivers whatever was read together with the end of the body and would then reuse the
connection. `dechunk` decodes a complete body. Both accept the same language, which a test verifies.
"""

import re
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import cast

import brotli  # type: ignore[import-untyped]
import zstandard
from isal import igzip_lib, isal_zlib

from gossamer.model.outcome import Failure

BLOCK = 256 * 1024
MAX_MEMBERS = 1000  # gzip members or zstd frames in one body; each costs a new decoder

_SLICE = 64 * 1024  # encoded bytes given to a decoder at a time
_SMALL_STEP = 512
_GZIP, _ZLIB, _RAW = 31, 15, -15  # window bits: with gzip header, with zlib header, bare
_INFLATE_ERROR = cast(type[Exception], igzip_lib.IsalError)  # the stub calls it an instance
_BROTLI_SLICE = 16 * 1024
_BROTLI_BLOCK = BLOCK // 2  # brotli exceeds its limit by up to half
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_ZSTD_WINDOW = 8 * 1024 * 1024  # what every decoder must support (RFC 8878, 3.1.1.1.2); we allow no more
_ZSTD_MAX_BLOCKS = 100_000  # block headers read to find the end of a frame
_RLE = 1


class Ending(Enum):
    """How an encoded stream ended."""

    WHOLE = "whole"
    CUT = "cut"  # truncated or corrupt after what was yielded
    WRONG = "wrong"  # not in this coding; what was yielded, if anything, is meaningless


Decoding = Generator[bytes, None, Ending]


def _gunzip(data: bytes) -> Decoding:
    if data[:2] != b"\x1f\x8b":
        return Ending.WRONG
    return (yield from _inflate(data, _GZIP))


def _deflate(data: bytes) -> Decoding:
    # "deflate" means the zlib format, but some servers have always sent the raw one.
    framed = len(data) >= 2 and data[0] & 0x0F == 8 and (data[0] << 8 | data[1]) % 31 == 0
    return (yield from _inflate(data, _ZLIB if framed else _RAW))


def _inflate(data: bytes, window_bits: int) -> Decoding:
    members = 1
    some = False
    decoder = isal_zlib.decompressobj(wbits=window_bits)
    for start in range(0, len(data), _SLICE):
        piece = data if len(data) <= _SLICE else data[start : start + _SLICE]
        while piece:
            try:
                out = decoder.decompress(piece, BLOCK)
            except _INFLATE_ERROR:
                if not some and window_bits != _RAW:
                    # The decoder discards the output of the call that finds the fault: decode it again in small steps.
                    # Not needed for later calls. A raw stream cannot be recognised, so nothing is salvaged.
                    for out in _salvage(piece, window_bits):
                        some = True
                        yield out
                return Ending.CUT if some else Ending.WRONG
            some = some or bool(out)
            yield out
            if not decoder.eof:
                piece = decoder.unconsumed_tail
                if piece and not out:
                    return Ending.CUT if some else Ending.WRONG  # no progress on input that is there
                continue
            piece = decoder.unused_data
            follows = piece[:1] or data[start + _SLICE : start + _SLICE + 1]
            if window_bits != _GZIP or follows != b"\x1f":
                return Ending.WHOLE  # trailing garbage is ignored, as browsers do
            members += 1
            if members > MAX_MEMBERS:
                return Ending.CUT
            decoder = isal_zlib.decompressobj(wbits=window_bits)
    # If the window was full at the last byte, there is output left.
    while not decoder.eof and (out := decoder.decompress(b"", BLOCK)):
        some = True
        yield out
    if decoder.eof:
        return Ending.WHOLE
    return Ending.CUT if some else Ending.WRONG


def _salvage(data: bytes, window_bits: int) -> Generator[bytes, None, None]:
    """The output of a slice up to its fault."""
    decoder = isal_zlib.decompressobj(wbits=window_bits)
    try:
        for start in range(0, len(data), _SMALL_STEP):
            piece = data[start : start + _SMALL_STEP]
            while piece and not decoder.eof:
                if out := decoder.decompress(piece, BLOCK):
                    yield out
                piece = decoder.unconsumed_tail
    except _INFLATE_ERROR:
        pass


def _unbrotli(data: bytes) -> Decoding:
    decoder = brotli.Decompressor()
    some = False
    position = 0
    while True:
        # An empty piece makes the decoder continue with what it has buffered.
        piece = data[position : position + _BROTLI_SLICE] if decoder.can_accept_more_data() else b""
        try:
            out = decoder.process(piece, output_buffer_limit=_BROTLI_BLOCK)
        except brotli.error:
            if some or position:
                return Ending.CUT if some else Ending.WRONG
            return (yield from _brotli_before_rubbish(piece))
        position += len(piece)
        some = some or bool(out)
        yield out
        if decoder.is_finished():
            return Ending.WHOLE
        if not out and position >= len(data):
            return Ending.CUT if some else Ending.WRONG


def _brotli_before_rubbish(piece: bytes) -> Decoding:
    """A stream with trailing garbage, which the decoder treats as an error, discarding all output.

    Brotli has no magic number, so data that does not end properly was not such a stream.
    """
    decoder = brotli.Decompressor()
    found: list[bytes] = []
    size = 0
    try:
        for byte in range(len(piece)):
            if not decoder.can_accept_more_data():
                break  # a bomb with trailing garbage
            found.append(decoder.process(piece[byte : byte + 1], output_buffer_limit=_BROTLI_BLOCK))
            size += len(found[-1])
            if decoder.is_finished():
                yield b"".join(found)
                return Ending.WHOLE
            if size > BLOCK:
                break
    except brotli.error:
        pass
    return Ending.WRONG


def _unzstd(data: bytes) -> Decoding:
    some = False
    start = 0
    for _ in range(MAX_MEMBERS):
        if data[start : start + 4] != _ZSTD_MAGIC:
            return Ending.WHOLE if start else Ending.WRONG  # trailing garbage after a frame is ignored
        end = _zstd_frame_end(data, start)
        decoder = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW)
        try:
            with decoder.stream_reader(memoryview(data)[start:end]) as reader:
                while out := reader.read1(BLOCK):
                    some = True
                    yield out
        except zstandard.ZstdError:
            return Ending.CUT if some else Ending.WRONG
        if end is None:
            return Ending.CUT if some else Ending.WRONG
        start = end
        if start == len(data):
            return Ending.WHOLE
    return Ending.CUT


def _zstd_frame_end(data: bytes, start: int) -> int | None:
    """Where the frame that begins at `start` ends, or None if its end is not in the data (RFC 8878, 3.1.1)."""
    head = data[start : start + 18]
    try:
        position = start + zstandard.frame_header_size(head)
        checksum = 4 if zstandard.get_frame_parameters(head).has_checksum else 0
    except zstandard.ZstdError:
        return None
    for _ in range(_ZSTD_MAX_BLOCKS):
        block = int.from_bytes(data[position : position + 3], "little")
        position += 3 + (1 if block >> 1 & 3 == _RLE else block >> 3)
        if position > len(data):
            return None
        if block & 1:
            position += checksum
            return position if position <= len(data) else None
    return None


DECODERS: Mapping[str, Callable[[bytes], Decoding]] = {
    "gzip": _gunzip,
    "x-gzip": _gunzip,
    "deflate": _deflate,
    "br": _unbrotli,
    "zstd": _unzstd,
}
ACCEPT_ENCODING = "gzip, deflate, br, zstd"
"""The codings that `DECODERS` supports."""


_SIZE = re.compile(rb"[ \t]*([0-9A-Fa-f]{1,16})[ \t]*(?:;[^\n]*)?\r?\n")
MAX_CHUNKS = 100_000
"""Chunks read from one body: about 100 ms of work. A body in more chunks is truncated there."""


class _At(Enum):
    SIZE = "size line"
    DATA = "data"
    DATA_END = "line end after data"
    TRAILER = "trailer"
    END = "end"


class ChunkScanner:
    """Finds the end of a chunked body that arrives in pieces of any size.

    `feed` returns None while the body continues, else the number of bytes of that piece that belong to the body. After
    a `failure`, or when there are `too_many` chunks, it must not be fed again.
    """

    __slots__ = ("_at", "_chunks_left", "_held", "_left", "_line_limit", "_trailer_fields", "_trailer_left", "failure")

    def __init__(self, line_limit: int, trailer_limit: int, trailer_fields: int = 256) -> None:
        self._at = _At.SIZE
        self._left = 0  # bytes of chunk data still to come
        self._held = b""  # the beginning of an incomplete line
        self._line_limit = line_limit
        self._trailer_left = trailer_limit
        self._trailer_fields = trailer_fields
        self._chunks_left = MAX_CHUNKS
        self.failure: Failure | None = None

    @property
    def ended(self) -> bool:
        return self._at is _At.END

    @property
    def too_many(self) -> bool:
        return self._chunks_left < 0

    def feed(self, piece: bytes) -> int | None:
        position, size = 0, len(piece)
        while position < size and self._chunks_left >= 0:
            if self._at is _At.SIZE and not self._held:
                position = self._skip_whole_chunks(piece, position)
                if position == size:
                    break
            if self._at is _At.DATA:
                step = min(self._left, size - position)
                position += step
                self._left -= step
                if self._left == 0:
                    self._at = _At.DATA_END
                continue
            newline = piece.find(b"\n", position)
            if newline < 0:
                self._held += piece[position:]
                if len(self._held) > self._line_limit:
                    self.failure = Failure.HEADER_TOO_LARGE
                return None
            line = piece[position : newline + 1]
            if self._held:
                line, self._held = self._held + line, b""
            position = newline + 1
            self._take(line)
            if self._at is _At.END:
                return position
            if self.failure is not None:
                return None
        return None

    def _skip_whole_chunks(self, piece: bytes, position: int) -> int:
        """The position after all chunks that lie entirely within this piece, as most do."""
        chunks, limit = self._chunks_left, self._line_limit
        while chunks >= 0 and (match := _SIZE.match(piece, position)):
            start = match.end()
            length = int(match[1], 16)
            if length == 0 or start - position > limit or not piece.startswith(b"\r\n", start + length):
                break
            position = start + length + 2
            chunks -= 1
        self._chunks_left = chunks
        return position

    def _take(self, line: bytes) -> None:
        if len(line) > self._line_limit:
            self.failure = Failure.HEADER_TOO_LARGE
        elif self._at is _At.SIZE:
            match = _SIZE.fullmatch(line)
            if match is None:
                self.failure = Failure.BAD_CHUNK
                return
            self._left = int(match[1], 16)
            self._chunks_left -= 1
            self._at = _At.DATA if self._left else _At.TRAILER
        elif self._at is _At.DATA_END:
            if line not in (b"\r\n", b"\n"):
                self.failure = Failure.BAD_CHUNK
            self._at = _At.SIZE
        elif line in (b"\r\n", b"\n"):
            self._at = _At.END
        else:
            self._trailer_left -= len(line)
            self._trailer_fields -= 1
            if self._trailer_left < 0 or self._trailer_fields < 0:
                self.failure = Failure.HEADER_TOO_LARGE


@dataclass(frozen=True, slots=True)
class Dechunked:
    data: bytes
    complete: bool  # the last chunk was seen, and everything before it was well-formed
    cut: bool = False  # it had more chunks than `MAX_CHUNKS`


def dechunk(wire: bytes) -> Dechunked:
    """The data of a chunked body; of a broken or short one, the data up to the fault."""
    pieces: list[bytes] = []
    position, size = 0, len(wire)
    for _ in range(MAX_CHUNKS):
        match = _SIZE.match(wire, position)
        if match is None:
            return Dechunked(b"".join(pieces), complete=False)
        length = int(match[1], 16)
        if length == 0:
            return Dechunked(b"".join(pieces), complete=True)
        start = match.end()
        end = start + length
        pieces.append(wire[start:end])
        if wire.startswith(b"\r\n", end):
            position = end + 2
        elif wire.startswith(b"\n", end):
            position = end + 1
        else:
            return Dechunked(b"".join(pieces), complete=False)
        if position > size:
            return Dechunked(b"".join(pieces), complete=False)
    return Dechunked(b"".join(pieces), complete=False, cut=True)
