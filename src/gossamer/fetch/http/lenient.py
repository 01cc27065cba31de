"""A second HTTP/1.1 reader, for response heads that libcurl refuses (ADR 10).

A header line without a colon, or with a NUL, aborts a transfer in libcurl, while browsers skip the line. So hosts that
sent such a head are read with this reader from their next visit on: one connection per page, the head parsed line by
line, and the same `Exchange` that checks libcurl's responses. It is slower and minimal, for a few hosts in a million.

What libcurl refuses because it is ambiguous is refused here too: a CR within a line, which some parsers take for its
end, several Location fields with different values, and a NUL in a field that decides about framing or the target.
"""

import asyncio
import contextlib
import ssl
from dataclasses import dataclass

from gossamer.clock import Clock
from gossamer.fetch.http.exchange import HOLD, Exchange
from gossamer.fetch.http.failures import Progress, SweepState, exclude_pause, overdue, sweep_interval
from gossamer.fetch.ports import FetchLimits
from gossamer.model.outcome import Failure, Truncation
from gossamer.model.units import Seconds

_PIECE = 16 * 1024
_BODILESS = (204, 304)
_DECISIVE = (b"content-length", b"transfer-encoding", b"location")
_LONGEST_LENGTH = 19  # digits; no body is longer


@dataclass(frozen=True, slots=True)
class Target:
    """Where to connect. With `trust`, TLS is used and the certificate must be valid for `name`; without it, plain
    TCP."""

    address: str
    port: int
    name: str
    trust: ssl.SSLContext | None


class LenientReader:
    """Sends one request and reads one response into `exchange`. Use it once."""

    def __init__(self, target: Target, exchange: Exchange, limits: FetchLimits, clock: Clock) -> None:
        self._target, self._exchange, self._limits, self._clock = target, exchange, limits, clock
        self._interval = sweep_interval(limits)
        self._pace = SweepState(clock.monotonic())
        self._asked: Seconds | None = None
        self._line: list[bytes] = []  # a complete line and its continuation lines so far
        self._line_bytes = 0
        self._rest = b""  # the beginning of a line
        self._left: int | None = None  # remaining bytes of the body, if its length is known
        self._room = asyncio.Event()
        exchange.resume = self._room.set

    async def run(self, request_head: bytes) -> Failure | None:
        """Returns None if the exchange holds a response, possibly truncated."""
        try:
            async with asyncio.timeout(self._limits.connect + (self._limits.tls if self._target.trust else 0.0)):
                reader, writer = await self._connect()
        except TimeoutError:
            return Failure.CONNECT_TIMEOUT
        except ssl.SSLCertVerificationError:
            return Failure.TLS_UNTRUSTED
        except ssl.SSLError:
            return Failure.TLS_PROTOCOL
        except OSError:
            return Failure.CONN_REFUSED
        try:
            self._asked = Seconds(self._clock.monotonic() - self._pace.started)
            writer.write(request_head)
            return await self._read(reader)
        finally:
            writer.transport.abort()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        target = self._target
        name = target.name if target.trust is not None else None
        return await asyncio.open_connection(
            target.address, target.port, ssl=target.trust, server_hostname=name, limit=_PIECE
        )

    async def _read(self, reader: asyncio.StreamReader) -> Failure | None:
        exchange = self._exchange
        while True:
            late = overdue(self._limits, self._pace, self._progress(), self._clock.monotonic())
            if late is Failure.TOTAL_TIMEOUT and exchange.body_bytes:
                exchange.truncated = Truncation.TIME
                return None
            if late is not None:
                return late
            try:
                async with asyncio.timeout(self._interval):
                    piece = await reader.read(_PIECE)
            except TimeoutError:
                continue
            except OSError:
                piece = b""
            if not piece:
                return self._broken_off()
            if not exchange.head:
                piece = self._take_head(piece)
            if exchange.head and exchange.failure is None and (piece or self._is_complete()):
                await self._take_body(piece)
            if exchange.failure is not None:
                return exchange.failure
            if exchange.truncated is not None or exchange.ended or (exchange.head and self._is_complete()):
                return None

    def _progress(self) -> Progress:
        exchange = self._exchange
        secure = self._target.trust is not None
        return Progress(secure, True, self._asked, bool(exchange.head), exchange.body_bytes)

    def _take_head(self, piece: bytes) -> bytes:
        """Pass complete lines to the exchange; returns what follows the head."""
        exchange = self._exchange
        data = self._rest + piece
        position = 0
        while not exchange.head and exchange.failure is None:
            newline = data.find(b"\n", position)
            if newline < 0:
                self._rest = data[position:]
                if len(self._rest) > self._limits.header_bytes:
                    exchange.failure = Failure.HEADER_TOO_LARGE
                return b""
            line, position = data[position : newline + 1], newline + 1
            if b"\r" in line[:-2]:
                first = exchange.head_lines == 0 and not self._line
                exchange.failure = Failure.BAD_STATUS_LINE if first else Failure.BAD_HEADER
            elif exchange.head_lines == 0 and not self._line and not line.startswith(b"HTTP/1."):
                exchange.failure = Failure.BAD_STATUS_LINE
            elif line[:1] in (b" ", b"\t") and self._line:
                if exchange.head_lines == 0:  # a status line is not continued
                    exchange.failure = Failure.BAD_HEADER
                self._continue_line(line)
            else:
                self._end_line()
                self._line, self._line_bytes = [line], len(line)
            if line in (b"\r\n", b"\n"):
                self._line = []
                exchange.on_head(line)
        self._rest = b""
        if exchange.head and exchange.failure is None:
            self._find_length()
            if _is_ambiguous(exchange.head):
                exchange.failure = Failure.BAD_HEADER
        return data[position:]

    def _continue_line(self, line: bytes) -> None:
        """Parts are collected and joined once: an endless line must not be copied for each of them."""
        self._line.append(line)
        self._line_bytes += len(line)
        if self._line_bytes > self._limits.header_bytes:
            self._exchange.failure = Failure.HEADER_TOO_LARGE

    def _end_line(self) -> None:
        """Pass on the completed line. Folded lines are joined with one space, as in libcurl."""
        if len(self._line) == 1:
            self._exchange.on_head(self._line[0])
        elif self._line:
            parts = [part for part in map(bytes.strip, self._line) if part]
            self._exchange.on_head(b" ".join(parts) + b"\r\n")

    def _find_length(self) -> None:
        exchange = self._exchange
        if exchange.status in _BODILESS:
            self._left = 0
        elif not exchange.is_chunked and "content-length" in exchange.headers:
            lengths = {part.strip() for part in exchange.headers["content-length"].split(",")}
            length = lengths.pop()
            if lengths:
                exchange.failure = Failure.CONFLICTING_LENGTH
            elif not (length.isascii() and length.isdigit() and len(length) <= _LONGEST_LENGTH):
                exchange.failure = Failure.BAD_HEADER
            else:
                self._left = int(length)

    async def _take_body(self, piece: bytes) -> None:
        if self._left is not None:
            piece = piece[: self._left]
            self._left -= len(piece)
        while piece and self._exchange.on_body(piece) == HOLD:
            await self._room.wait()
            self._room.clear()
            exclude_pause(self._pace, self._exchange.body_bytes, self._clock.monotonic())

    def _is_complete(self) -> bool:
        return self._left == 0 or self._exchange.last_chunk_seen

    def _broken_off(self) -> Failure | None:
        exchange = self._exchange
        if not exchange.head:
            return Failure.CONNECTION_LOST
        if self._left or (exchange.is_chunked and not exchange.last_chunk_seen):
            exchange.truncated = Truncation.DISCONNECT
        return None


def _is_ambiguous(head: bytes) -> bool:
    """Whether different readers would find different framing or a different target in this head."""
    locations = set()
    for line in head.split(b"\n")[1:]:
        name, _, value = line.partition(b":")
        name = name.strip().lower()
        if name in _DECISIVE and b"\0" in value:
            return True
        if name == b"location":
            locations.add(value.strip())
    return len(locations - {b""}) > 1
