"""The simulated web over HTTP/1.1, with or without TLS, and its request log. Hot: benchmarks/bench_simweb.py.

One event loop, thousands of connections. Every host has its own address in 127.0.0.0/8, so the server listens on all
addresses, but accepts only the loopback device (or, if that is not possible, only peers in 127.0.0.0/8). Every request
is recorded, in memory and as lines of JSON.
"""

import asyncio
import errno
import socket
import ssl
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from http import HTTPStatus
from io import TextIOWrapper
from pathlib import Path

import msgspec

from gossamer.clock import Clock
from gossamer.errors import CannotListen
from gossamer.lab.simweb.web import SimResponse, SimWeb, http_date
from gossamer.model.units import HostKey, Instant, Seconds


@dataclass(frozen=True, slots=True)
class Request:
    """A request as the server saw it.

    `read_at` is when it had arrived completely; `written_at` is the last time at which the response had not been passed
    to the kernel completely, so no client can have read its end before. A gap measured between the two is never shorter
    than the one that the client kept, so the audit has no false positives. `status` is 0 if the client left before it
    was answered; `written_at` is then when it left.
    """

    host: HostKey
    target: str
    status: int
    read_at: Instant
    written_at: Instant
    connection: int
    address: str  # the address of ours that the client had connected to
    retry_after: Seconds = Seconds(0.0)


class Recorder:
    """Keeps finished requests in memory, and writes them to a file if one is given.

    Lines are buffered until `flush`, which the owner calls several times a second.
    """

    def __init__(self, log: Path | None = None, *, keep: bool = True) -> None:
        self.requests: list[Request] = []
        self.count = 0
        self._keep = keep
        self._encode = msgspec.json.Encoder().encode
        self._file: TextIOWrapper | None = log.open("a", encoding="utf-8") if log is not None else None

    def add(self, request: Request) -> None:
        self.count += 1
        if self._keep:
            self.requests.append(request)
        if self._file is not None:
            self._file.write(self._encode(request).decode())
            self._file.write("\n")

    def flush(self) -> None:
        if self._file is not None:
            self._file.flush()

    def close(self) -> None:
        """Flush and close the file. Safe to call twice."""
        if self._file is not None:
            self._file.close()
            self._file = None


def read_log(lines: Iterable[str]) -> list[Request]:
    """The requests of a log. An incomplete last line (the server was killed) is skipped."""
    return [msgspec.json.decode(line, type=Request) for line in lines if line.endswith("\n") and not line.isspace()]


_MAX_HEAD = 65_536
_IDLE_SECONDS = 60.0
_SWEEP_SECONDS = 5.0
_FLUSH_SECONDS = 0.1
_BACKLOG = 4096
# Large enough for a page: a response is then sent in one write, and its end is known exactly.
_SEND_BUFFER = 4_194_304

_STATUS_LINES = {s.value: f"HTTP/1.1 {s.value} {s.phrase}\r\n" for s in HTTPStatus}


def listening_socket(port: int) -> tuple[socket.socket, bool]:
    """A socket on `port` (0: any free one) of all loopback addresses; and whether peers must be checked.

    Raises `CannotListen`.
    """
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)
        check_peers = False
        try:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"lo")
        except (OSError, AttributeError):  # not permitted, or not Linux
            check_peers = True
        sock.bind(("0.0.0.0", port))
        sock.listen(_BACKLOG)
        sock.setblocking(False)
    except OSError as error:
        sock.close()
        taken = "it is in use" if error.errno == errno.EADDRINUSE else error.strerror
        raise CannotListen(f"cannot listen on port {port} for HTTP: {taken}") from error
    return sock, check_peers


class HttpServer:
    """Serves one web on one socket, and records every request. All calls from one event loop."""

    def __init__(
        self,
        web: SimWeb,
        clock: Clock,
        recorder: Recorder,
        *,
        check_peers: bool,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.web = web
        self.requests_per_connection = web.config.requests_per_connection or sys.maxsize
        self.clock = clock
        self.recorder = recorder
        self.check_peers = check_peers
        self.connections: set[_Connection] = set()
        self._tls = tls
        self._accepted = 0
        self._server: asyncio.Server | None = None
        self._chores: asyncio.TimerHandle | None = None
        self._next_sweep = 0.0
        self._date = (0, "")

    async def start(self, sock: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(self._new_connection, sock=sock, backlog=_BACKLOG, ssl=self._tls)
        self._do_chores(loop)

    async def close(self) -> None:
        """Stop listening and drop every connection; the log is flushed."""
        if self._chores is not None:
            self._chores.cancel()
        if self._server is not None:
            self._server.close()
        for connection in tuple(self.connections):
            connection.drop()
        # One turn of the loop, so that the connections notice that they are closed.
        await asyncio.sleep(0)
        self.recorder.flush()

    def accept(self, transport: asyncio.BaseTransport) -> None:
        """Take over a connection that was accepted elsewhere."""
        self._new_connection().connection_made(transport)

    def next_connection(self) -> int:
        self._accepted += 1
        return self._accepted

    def date_line(self, now: Instant) -> str:
        second = int(now)
        if second != self._date[0]:
            self._date = (second, f"Date: {http_date(second)}\r\nServer: simweb\r\n")
        return self._date[1]

    def _new_connection(self) -> "_Connection":
        return _Connection(self, asyncio.get_running_loop())

    def _do_chores(self, loop: asyncio.AbstractEventLoop) -> None:
        self.recorder.flush()
        now = self.clock.monotonic()
        if now >= self._next_sweep:
            self._next_sweep = now + _SWEEP_SECONDS
            for connection in tuple(self.connections):
                connection.close_if_idle(now - _IDLE_SECONDS)
        self._chores = loop.call_later(_FLUSH_SECONDS, self._do_chores, loop)


class _Connection(asyncio.Protocol):
    """One client. Answers one request after the other; early data waits in the buffer."""

    def __init__(self, server: HttpServer, loop: asyncio.AbstractEventLoop) -> None:
        self._server = server
        self._loop = loop
        self._buffer = b""
        self._number = server.next_connection()
        self._transport: asyncio.Transport | None = None
        self._address = ""
        self._requests_left = server.requests_per_connection
        self._pending: _Pending | None = None  # received, and not yet completely written
        self._timer: asyncio.TimerHandle | None = None
        self._paused = False
        self._active_at = server.clock.monotonic()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]  # uvloop's is not one of asyncio's classes
        assert self._transport is not None
        peer = self._transport.get_extra_info("peername")
        if self._server.check_peers and not str(peer[0]).startswith("127."):
            self._transport.abort()
            return
        self._address = str(self._transport.get_extra_info("sockname")[0])
        # So that the transport reports when it could not write everything at once, and when it has.
        self._transport.set_write_buffer_limits(high=0)
        self._server.connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._server.connections.discard(self)
        if self._timer is not None:
            self._timer.cancel()
        if self._pending is not None:
            self._finish(self._pending, self._server.clock.now())
        self._transport = None

    def data_received(self, data: bytes) -> None:
        self._buffer = self._buffer + data if self._buffer else data
        if self._pending is None:
            self._take_request()
        elif len(self._buffer) > _MAX_HEAD:
            self.drop()

    def pause_writing(self) -> None:
        self._paused = True

    def resume_writing(self) -> None:
        self._paused = False
        if self._pending is not None and self._pending.status:
            self._on_answered(self._pending, self._server.clock.now())

    def drop(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def close_if_idle(self, since: float) -> None:
        if self._pending is None and self._active_at < since and self._transport is not None:
            self._transport.close()

    def _take_request(self) -> None:
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            if len(self._buffer) > _MAX_HEAD:
                self.drop()
            return
        now = self._server.clock.now()
        head = self._buffer[:end].decode("latin-1")
        self._buffer = self._buffer[end + 4 :]
        line, *fields = head.split("\r\n")
        headers: dict[str, str] = {}
        for field in fields:
            name, _, value = field.partition(":")
            headers[name.lower()] = value.strip()
        method, _, rest = line.partition(" ")
        target, _, protocol = rest.rpartition(" ")
        host = headers.get("host", "").partition(":")[0].lower()
        connection = headers.get("connection", "").lower()
        self._requests_left -= 1
        pending = _Pending(
            HostKey(host),
            target,
            now,
            keep_open=connection != "close" and protocol == "HTTP/1.1" and self._requests_left > 0,
            with_body=method != "HEAD",
        )
        self._pending = pending
        if not target.startswith("/") or protocol not in ("HTTP/1.1", "HTTP/1.0"):
            response = _refusal(400)
        elif method not in ("GET", "HEAD"):
            response = _refusal(405)
        else:
            response = self._server.web.respond(host, target, now, headers)
        if response.status in (400, 405):
            pending.keep_open = False  # there may be a body, which is not read
        if response.delay > 0:
            self._timer = self._loop.call_later(response.delay, self._send, pending, response)
        else:
            self._send(pending, response)

    def _send(self, pending: "_Pending", response: SimResponse) -> None:
        self._timer = None
        transport = self._transport
        if transport is None:
            return
        now = self._server.clock.now()
        lines = [_STATUS_LINES[response.status], self._server.date_line(now)]
        for name, value in response.headers:
            lines.append(f"{name}: {value}\r\n")
            if name == "Retry-After":
                pending.retry_after = Seconds(float(value))
        if response.status != 304:
            lines.append(f"Content-Length: {len(response.body)}\r\n")
        lines.append("\r\n" if pending.keep_open else "Connection: close\r\n\r\n")
        head = "".join(lines).encode("latin-1")
        transport.writelines((head, response.body) if pending.with_body and response.body else (head,))
        # Only now: over TLS the transport pauses and resumes us while it is still encrypting, which is not the end yet.
        pending.status = response.status
        if not self._paused:
            self._on_answered(pending, now)

    def _on_answered(self, pending: "_Pending", now: Instant) -> None:
        self._finish(pending, now)
        if not pending.keep_open:
            if self._transport is not None:
                self._transport.close()
        elif self._buffer:
            self._loop.call_soon(self._take_next)

    def _take_next(self) -> None:
        if self._pending is None and self._transport is not None:
            self._take_request()

    def _finish(self, pending: "_Pending", now: Instant) -> None:
        self._pending = None
        self._active_at = self._server.clock.monotonic()
        self._server.recorder.add(
            Request(
                pending.host,
                pending.target,
                pending.status,
                pending.read_at,
                now,
                self._number,
                self._address,
                pending.retry_after,
            )
        )


class _Pending:
    """A request in progress: what is known of it until it is recorded."""

    __slots__ = ("host", "keep_open", "read_at", "retry_after", "status", "target", "with_body")

    def __init__(self, host: HostKey, target: str, read_at: Instant, *, keep_open: bool, with_body: bool) -> None:
        self.host = host
        self.target = target
        self.read_at = read_at
        self.keep_open = keep_open
        self.with_body = with_body
        self.status = 0
        self.retry_after = Seconds(0.0)


def _refusal(status: int) -> SimResponse:
    return SimResponse(status, [("Content-Type", "text/plain")], b"", Seconds(0.0))
