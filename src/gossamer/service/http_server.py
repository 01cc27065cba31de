"""The uvicorn server: the listening socket, and limits on the number and the idle time of connections."""

import asyncio
import contextlib
import json
import socket
from collections.abc import Callable, Generator
from typing import ClassVar, Final

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from gossamer.errors import CannotListen
from gossamer.service.access import HEADERS, AccessControl

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


def server_config(access: AccessControl) -> uvicorn.Config:
    class Connection(PatientConnection):
        silent: ClassVar[dict[PatientConnection, None]] = {}

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

    def __init__(self, config: uvicorn.Config, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._on_ready()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


class PatientConnection(HttpToolsProtocol):
    """A connection with a time limit for the head of a request. The number of connections is limited: when all are in
    use, a new one replaces the one that has waited longest for a head."""

    head_timeout = 10.0  # seconds
    most = 100  # connections
    silent: ClassVar[dict["PatientConnection", None]] = {}  # connections without a complete head, oldest first
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self.most:
            oldest = next(iter(self.silent), None)
            if oldest is None:
                transport.abort()
                return
            oldest._on_head()
            oldest.transport.abort()
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

    def send_400_response(self, msg: str) -> None:
        """Answer in JSON, as for all errors, if the request is not HTTP or its path is longer than 64 KB."""
        body = json.dumps({"error": "malformed HTTP request", "field": None}).encode("ascii")
        own = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode("ascii"))]
        fields = [*self.server_state.default_headers, *own, *HEADERS, (b"connection", b"close")]
        lines = [b"HTTP/1.1 400 Bad Request", *(name + b": " + value for name, value in fields), b"", body]
        self.transport.write(b"\r\n".join(lines))
        self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._on_head()
        super().connection_lost(exc)
