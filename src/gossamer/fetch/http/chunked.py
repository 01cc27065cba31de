"""The chunked transfer coding (RFC 9112, 7.1): where it ends, and what it carries.

`ChunkScanner` follows a body while it arrives, because libcurl in pass-through mode hands on whatever shared
the last read with the end of the body and would then use the connection again. `dechunk` takes the coding off a
body at rest. Both read the same language; a test holds them to it.
"""

import re
from dataclasses import dataclass
from enum import Enum

from gossamer.model.outcome import Failure

_SIZE = re.compile(rb"[ \t]*([0-9A-Fa-f]{1,16})[ \t]*(?:;[^\n]*)?\r?\n")
MAX_CHUNKS = 100_000
"""Chunks read from one body: about 100 ms of work. A page in more and smaller pieces is cut there."""


class _At(Enum):
    SIZE = "size line"
    DATA = "data"
    DATA_END = "line end after data"
    TRAILER = "trailer"
    END = "end"


class ChunkScanner:
    """Finds the end of a chunked body in pieces of any size.

    `feed` returns None while the body goes on, and else how many bytes of that piece belong to the body.
    After a `failure`, or when there are `too_many` chunks, it wants no more.
    """

    __slots__ = ("_at", "_chunks_left", "_held", "_left", "_line_limit", "_trailer_fields", "_trailer_left", "failure")

    def __init__(self, line_limit: int, trailer_limit: int, trailer_fields: int = 256) -> None:
        self._at = _At.SIZE
        self._left = 0  # bytes of chunk data still to come
        self._held = b""  # the beginning of a line whose end has not come
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
        """Past all the chunks that lie within this piece, which most do."""
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
    cut: bool = False  # more chunks than we read


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
