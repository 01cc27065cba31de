"""The uvicorn server: the listening socket, and limits on the number and the idle time of connections."""

import asyncio
import contextlib
import json
import socket
from collections.abc import Generator
from typing import ClassVar, Final

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from gossamer.errors import CannotListen
from gossamer.service.access import HEADERS, LIVENESS, App, Receive, Refusal, Scope, Send, route_path, send_refusal

_GRACE: Final = 3  # seconds for responses in progress when the service ends


def listen(host: str, port: int) -> socket.socket:
    """A listening socket. Raises CannotListen."""
    try:
        kind, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        found = socket.socket(kind, socket.SOCK_STREAM)
    except OSError as error:
        raise CannotListen(f"cannot listen on {host}: {error.strerror}") from error
    except UnicodeError as error:
        raise CannotListen(f"cannot listen on {host}: invalid host name") from error
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
        found.listen(128)
    except OSError as error:
        found.close()
        raise CannotListen(f"cannot listen on {host}:{port}: {error.strerror}") from error
    return found


def server_config(access: App) -> uvicorn.Config:
    class Connection(PatientConnection):
        silent: ClassVar[dict[PatientConnection, None]] = {}
        spare: ClassVar[dict[PatientConnection, None]] = {}

    return uvicorn.Config(
        access,
        http=Connection,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=True,
        proxy_headers=False,
        timeout_keep_alive=10,
        timeout_graceful_shutdown=_GRACE,
    )


class Server(uvicorn.Server):
    """A uvicorn server that does not install signal handlers; the crawl process handles signals."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


def liveness_only(app: App) -> App:
    """The application of a spare connection."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if route_path(scope["path"]) in LIVENESS:
            await app(scope, receive, send)
        else:
            await send_refusal(send, Refusal(503, "too many connections", ((b"retry-after", b"1"),)))

    return answer


class PatientConnection(HttpToolsProtocol):
    """A connection with time limits for the head of a request and for reading the response.

    The number of connections is limited. When all are in use, a new one replaces the one that has waited longest for a
    head. If every connection has sent one, the new one is a spare connection: it gets an answer to `/healthz` and
    `/readyz`, and 503 to everything else. Of too many spare connections the oldest is closed.
    """

    head_timeout = 10.0  # seconds
    drain_timeout = 30.0  # seconds within which a client must read `least_read` bytes, or all that is left
    least_read = 65_536
    most = 100  # connections
    most_spare = 20
    silent: ClassVar[dict["PatientConnection", None]] = {}  # connections without a complete head, oldest first
    spare: ClassVar[dict["PatientConnection", None]] = {}  # oldest first
    _timer: asyncio.TimerHandle | None = None
    _drain_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=0)  # so that writing is paused whenever something is unread
        if len(self.connections) - len(self.spare) > self.most:
            oldest = next((each for each in self.silent if each not in self.spare), None)
            if oldest is not None:
                oldest._on_head()
                oldest.transport.abort()
            else:
                self.spare[self] = None
                self.app = liveness_only(self.app)
                if len(self.spare) > self.most_spare:
                    stuck = next(iter(self.spare))
                    del self.spare[stuck]
                    stuck.transport.abort()
        self._expect_head()

    def _expect_head(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(self.head_timeout, self.transport.abort)
            self.silent[self] = None

    def _on_head(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self.silent.pop(self, None)

    def data_received(self, data: bytes) -> None:
        self._expect_head()  # of this request, or of the next one on the same connection
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._on_head()

    def on_headers_complete(self) -> None:
        self._on_head()
        super().on_headers_complete()
        if self in self.spare:
            self.cycle.keep_alive = False

    def send_400_response(self, msg: str) -> None:
        """Answer in JSON, as for all errors, if the request is not HTTP or its path is longer than 64 KB."""
        body = json.dumps({"error": "malformed HTTP request", "field": None}).encode("ascii")
        own = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode("ascii"))]
        fields = [*self.server_state.default_headers, *own, *HEADERS, (b"connection", b"close")]
        lines = [b"HTTP/1.1 400 Bad Request", *(name + b": " + value for name, value in fields), b"", body]
        self.transport.write(b"\r\n".join(lines))
        self.transport.close()

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._drain_timer is None:
            self._watch_reader(self.transport.get_write_buffer_size())

    def _watch_reader(self, unread: int) -> None:
        self._drain_timer = self.loop.call_later(self.drain_timeout, self._check_reader, unread)

    def _check_reader(self, unread: int) -> None:
        left = self.transport.get_write_buffer_size()
        if left == 0:
            self._drain_timer = None
        elif unread - left < self.least_read:
            self.transport.abort()
        else:
            self._watch_reader(left)

    def connection_lost(self, exc: Exception | None) -> None:
        self._on_head()
        self.spare.pop(self, None)
        if self._drain_timer is not None:
            self._drain_timer.cancel()
        super().connection_lost(exc)
