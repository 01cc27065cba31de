"""A network that fails between a crawl and its object storage: a proxy in front of an S3 server.

It has a thread for each direction of a connection.
"""

import socket
import threading
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import Self

from tests.s3_server import S3Server

_ANSWERS = {
    "503": b"HTTP/1.1 503 Slow Down\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
    "403": b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
    "507": b"HTTP/1.1 507 Insufficient Storage\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
}


class FailingStorage:
    """`fault` is what it does from now on: None, `cut` (connections are closed), `slow`, `swallow` (what is sent
    disappears, and nothing is answered), `half-open` (what is sent arrives, and the answers disappear), or a status
    that it answers itself."""

    def __init__(self, server: S3Server) -> None:
        self.fault: str | None = None
        self._server = server
        self._ended = threading.Event()
        self._pairs: set[tuple[socket.socket, socket.socket]] = set()
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listening.getsockname()[1])
        self.endpoint = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._listening.close()
        self._close_all()

    def url(self, place: str) -> str:
        """Address of an archive of the server, through this proxy."""
        return self._server.url(place, self.endpoint)

    def fail(self, fault: str | None) -> None:
        """From now on, for open connections too."""
        self.fault = fault
        if fault not in ("slow", "swallow", "half-open"):
            self._close_all()

    def _close_all(self) -> None:
        for pair in list(self._pairs):
            for end in pair:
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while not self._ended.is_set():
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            if self.fault == "cut":
                client.close()
                continue
            if self.fault in _ANSWERS:
                threading.Thread(target=self._answer, args=(client, _ANSWERS[self.fault]), daemon=True).start()
                continue
            server = socket.create_connection(("127.0.0.1", self._server.port))
            self._pairs.add((client, server))
            over = threading.Barrier(2, partial(self._close, (client, server)))
            for one, other, is_answer in ((client, server, False), (server, client, True)):
                threading.Thread(target=self._pass_on, args=(one, other, is_answer, over), daemon=True).start()

    def _close(self, pair: tuple[socket.socket, socket.socket]) -> None:
        self._pairs.discard(pair)
        for end in pair:
            end.close()

    def _answer(self, client: socket.socket, answer: bytes) -> None:
        """After the whole request, or the client would see a connection that was reset."""
        with suppress(OSError), client:
            request = b""
            while b"\r\n\r\n" not in request and (data := client.recv(65536)):
                request += data
            head, _, body = request.partition(b"\r\n\r\n")
            lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
            left = int(lengths[0].partition(b":")[2]) - len(body) if lengths else 0
            while left > 0 and (data := client.recv(65536)):
                left -= len(data)
            client.sendall(answer)

    def _pass_on(self, one: socket.socket, other: socket.socket, is_answer: bool, over: threading.Barrier) -> None:
        with suppress(OSError):
            while data := one.recv(65536):
                if self.fault == "slow":
                    self._ended.wait(0.5)
                if self.fault == "swallow" or (self.fault == "half-open" and is_answer):
                    continue
                other.sendall(data)
        with suppress(OSError):  # also after a reset, as when the server was killed
            other.shutdown(socket.SHUT_WR)
        over.wait()
