"""A network that fails: a proxy in front of a PostgreSQL server that cuts, delays, half-closes or swallows what passes.

It listens on a socket in its own folder, as a server does, and has a thread for each direction of a connection.
"""

import socket
import threading
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.postgres_server import PostgresServer

_SOCKET = ".s.PGSQL.5432"


class FailingProxy:
    """`fault` is what it does with bytes from now on: None, `delay` or `swallow`."""

    def __init__(self, server: PostgresServer, folder: Path) -> None:
        self.fault: str | None = None
        self.socket = folder / _SOCKET
        self._server = str(server.folder / _SOCKET)
        self._folder = folder
        self._ended = threading.Event()
        self._pairs: set[tuple[socket.socket, socket.socket]] = set()
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(self.socket))
        self._listening.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._listening.close()
        self.cut()

    def url(self, url: str) -> str:
        """The address of a database of the server, through this proxy."""
        return url.partition("?")[0] + f"?host={self._folder}"

    def cut(self) -> None:
        """Close all connections at both ends."""
        for pair in list(self._pairs):
            for end in pair:
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)

    def half_close(self) -> None:
        """End what the server sends; what the crawler sends still arrives."""
        for crawler, _ in list(self._pairs):
            with suppress(OSError):
                crawler.shutdown(socket.SHUT_WR)

    def _accept(self) -> None:
        while not self._ended.is_set():
            try:
                crawler, _ = self._listening.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            try:
                server.connect(self._server)
            except OSError:
                crawler.close()
                continue
            self._pairs.add((crawler, server))
            over = threading.Barrier(2, partial(self._close, (crawler, server)))
            for one, other in ((crawler, server), (server, crawler)):
                threading.Thread(target=self._pass_on, args=(one, other, over), daemon=True).start()

    def _close(self, pair: tuple[socket.socket, socket.socket]) -> None:
        self._pairs.discard(pair)
        for end in pair:
            end.close()

    def _pass_on(self, one: socket.socket, other: socket.socket, over: threading.Barrier) -> None:
        with suppress(OSError):
            while data := one.recv(65536):
                if self.fault == "delay":
                    self._ended.wait(0.05)
                if self.fault != "swallow":
                    other.sendall(data)
        with suppress(OSError):  # also after a reset, as when the server was killed
            other.shutdown(socket.SHUT_WR)
        over.wait()
