"""One response while it arrives. Hot: benchmarks/bench_fetch.py.

libcurl calls `on_head` for each line of the head and `on_body` for each piece of the body; returning 0 aborts the
exchange and closes the connection, and HOLD makes libcurl deliver the piece again later. Everything that aborts an
exchange early is decided here, from the bytes themselves.
"""

import re
from collections.abc import Callable

from gossamer.fetch.http.body import BodyMemory, is_chunked
from gossamer.fetch.http.codings import ChunkScanner, dechunk
from gossamer.fetch.http.headers import parse_fields
from gossamer.fetch.ports import FetchLimits, WantedBodies
from gossamer.model.outcome import Failure, Truncation

_STOP = 0  # libcurl expects the number of bytes consumed; any other number aborts the transfer
HOLD = 0x10000001  # CURL_WRITEFUNC_PAUSE
_START_BYTES = 16 * 1024  # of a body that is judged by its beginning; with the smallest chunks, enough for sniffing
_BLANK = (b"\r\n", b"\n")
_SWITCHING_PROTOCOLS = 101
_MAX_INFORMATIONAL = 20  # heads with status 1xx before the final one
_STATUS_LINE = re.compile(rb"HTTP/(1\.[01]|2)[ \t]([1-9][0-9][0-9])[ \t\r\n]", re.IGNORECASE)
_PROTOCOLS = {b"1.1": "http/1.1", b"1.0": "http/1.0", b"2": "h2"}


class Exchange:
    """What has been received of one response.

    Invariants: `head` is empty until the final head is complete; `wire_body` never exceeds the body limit; at most one
    of `failure` and `truncated` is set; `room` counts `body_bytes` of this exchange until `clear`.
    """

    __slots__ = (
        "_full_limit",
        "_head_room",
        "_informational",
        "_limits",
        "_lines",
        "_pieces",
        "_room",
        "_scanner",
        "body_bytes",
        "body_limit",
        "dropped_fields",
        "ended",
        "failure",
        "head",
        "headers",
        "held",
        "on_head",
        "protocol",
        "resume",
        "secure",
        "status",
        "truncated",
        "wants",
    )

    def __init__(self, limits: FetchLimits, room: BodyMemory | None = None) -> None:
        self._limits = limits
        self._room = room or BodyMemory()
        self.resume: Callable[[], None] = lambda: None  # called when a held piece may be delivered again
        self.body_bytes = 0
        self._lines: list[bytes] = []
        self._pieces: list[bytes] = []
        self.wants: WantedBodies | None = None
        self.secure = False  # over TLS, where the response may be HTTP/2
        self.on_head: Callable[[bytes], int | None] = self._head_listener()
        self.clear()

    def clear(self) -> None:
        """Prepare for the next response; drops the bytes of the last one."""
        self._lines.clear()
        self._pieces.clear()
        self._head_room = self._limits.head_bytes
        self._informational = 0
        self._scanner: ChunkScanner | None = None
        self._room.release(self, self.body_bytes)
        self.body_bytes = 0
        self.held = False  # paused for lack of memory: nothing is read
        self.body_limit = self._limits.body_bytes
        self._full_limit = 0  # of a body that is judged by its first bytes; until then, `body_limit` ends these
        self.ended = False  # the body ended before the bytes did, or is not wanted
        self.failure: Failure | None = None
        self.truncated: Truncation | None = None
        self.head = b""
        self.headers: dict[str, str] = {}
        self.dropped_fields = 0
        self.protocol = ""
        self.status = 0

    @property
    def head_lines(self) -> int:
        return len(self._lines)

    @property
    def length_seen(self) -> bool:
        return any(line[:15].lower() == b"content-length:" for line in self._lines)

    @property
    def is_chunked(self) -> bool:
        return self._scanner is not None

    @property
    def last_chunk_seen(self) -> bool:
        return self._scanner is not None and self._scanner.ended

    @property
    def wire_body(self) -> bytes:
        pieces = self._pieces
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _head_listener(self) -> Callable[[bytes], int | None]:
        """The callback for head lines: ordinary lines cost next to nothing, only the others are inspected."""
        lines, judge = self._lines, self._judge
        append = lines.append
        # This many ordinary lines cannot exceed a limit, so they are not counted.
        ordinary_bytes = min(256, self._limits.header_bytes)
        ordinary_lines = min(self._limits.head_fields, self._limits.head_bytes // ordinary_bytes)

        def on_head(line: bytes) -> int | None:
            if 2 < len(line) <= ordinary_bytes and len(lines) < ordinary_lines:
                append(line)
                return None
            return judge(line)

        return on_head

    def _judge(self, line: bytes) -> int | None:
        lines, limits = self._lines, self._limits
        if self.head:
            return None  # a trailer field, which libcurl removed from the body
        lines.append(line)
        if line in _BLANK:
            return self._end_of_head()
        if len(line) > limits.header_bytes or len(lines) > limits.head_fields + 1:
            return self._refuse(Failure.HEADER_TOO_LARGE)
        if len(lines) == 1 and len(line) > limits.status_bytes:
            return self._refuse(Failure.HEADER_TOO_LARGE)
        if sum(map(len, lines)) > self._head_room:
            return self._refuse(Failure.HEADER_TOO_LARGE)
        return None

    def _end_of_head(self) -> int | None:
        lines = self._lines
        status_line = _STATUS_LINE.match(lines[0])
        if status_line is None:
            return self._refuse(Failure.BAD_STATUS_LINE)
        version, code = status_line.groups()
        protocol, status = _PROTOCOLS[version], int(code)
        if protocol == "h2":
            if not self.secure:
                return self._refuse(Failure.BAD_STATUS_LINE)
            lines[0] = b"HTTP/1.1" + lines[0][6:]  # ADR 10
        head = b"".join(lines)
        if len(head) > self._head_room:
            return self._refuse(Failure.HEADER_TOO_LARGE)
        if status < 200:
            self._informational += 1
            # A switch of protocols was never requested: what follows is not HTTP.
            if status == _SWITCHING_PROTOCOLS or self._informational > _MAX_INFORMATIONAL:
                return self._refuse(Failure.UNEXPECTED_1XX)
            self._head_room -= len(head)  # the limit applies to all heads together
            lines.clear()
            return None
        headers, self.dropped_fields = parse_fields(head)
        coding = headers.get("transfer-encoding")
        if coding is not None and is_chunked(coding):
            limits = self._limits
            self._scanner = ChunkScanner(limits.header_bytes, limits.head_bytes, limits.head_fields)
        self.status, self.headers, self.head, self.protocol = status, headers, head, protocol
        if self.wants is not None:
            wanted = self.wants.judge_head(status, headers)
            if wanted is False:
                self.ended = True
                return _STOP
            if wanted is None and "content-encoding" not in headers:
                self._full_limit, self.body_limit = self.body_limit, min(self.body_limit, _START_BYTES)
        return None

    def _wants_rest(self, piece: bytes) -> bool:
        """Whether the body is wanted by its first bytes; if so, the rest of it may follow."""
        start = b"".join((*self._pieces, piece))[:_START_BYTES]
        if self._scanner is not None:
            start = dechunk(start).data
        if self.wants is not None and not self.wants.wants_document(self.headers, start):
            return False
        self.body_limit, self._full_limit = self._full_limit, 0
        return True

    def on_body(self, piece: bytes) -> int | None:
        room = self._room
        if room.used > room.limit and room.must_wait(self, self.body_bytes):
            self.held = True
            return HOLD
        left = self.body_limit - self.body_bytes
        if len(piece) > left:
            if self._full_limit:
                self.ended = not self._wants_rest(piece)
                left = self.body_limit - self.body_bytes
            if len(piece) > left:
                piece = piece[:left]
                self.truncated = None if self.ended else Truncation.LENGTH
        self.body_bytes += len(piece)
        room.used += len(piece)
        if self._scanner is None:
            self._pieces.append(piece)
        else:
            end = self._scanner.feed(piece)
            if self._scanner.failure is not None:
                return self._refuse(self._scanner.failure)
            if end is not None and (end < len(piece) or self.truncated):
                # Bytes after the end belong to no response: abort, so that the connection is not reused.
                self.body_bytes -= len(piece) - end
                room.used -= len(piece) - end
                piece, self.ended, self.truncated = piece[:end], True, None
            elif self._scanner.too_many:
                self.truncated = Truncation.LENGTH
            self._pieces.append(piece)
        return _STOP if self.truncated is not None or self.ended else None

    def resume_reading(self) -> None:
        """Continue reading: there is memory again."""
        self.held = False
        self.resume()

    def _refuse(self, failure: Failure) -> int:
        self.failure, self.truncated = failure, None
        return _STOP
