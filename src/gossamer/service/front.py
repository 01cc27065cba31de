"""The front: connections have a thread and an event loop of their own.

The crawl's event loop is busy for milliseconds at a time, and for longer while commits compete with it for the
interpreter; whoever asks for figures should not wait for that. What passes the gate and cannot be answered here goes to
the application on the crawl's event loop (`service.across`), which alone touches the crawl.
"""

import asyncio
import socket
import threading
from concurrent.futures import Future
from typing import Final

import uvloop

from gossamer.sections import ServiceSection
from gossamer.service.connections import Server, server_config
from gossamer.service.gate import Gate
from gossamer.service.repeated import Short

NAME: Final = "gossamer-front"


class Front:
    """Serves on its own thread from `open` until `close`."""

    def __init__(self, gate: Gate, section: ServiceSection, short: Short | None = None) -> None:
        self._ready: Future[None] = Future()
        self._ended: Future[None] = Future()
        self._server = Server(server_config(gate, section, short), lambda: self._ready.set_result(None))

    async def open(self, listening: socket.socket) -> "asyncio.Future[None]":
        """Returns when calls are taken: what is done when they are not any more, and tells why if that is a mistake."""
        threading.Thread(target=self._run, args=(listening,), name=NAME).start()
        ended = asyncio.wrap_future(self._ended)
        await asyncio.wait([asyncio.wrap_future(self._ready), ended], return_when=asyncio.FIRST_COMPLETED)
        return ended

    def close(self) -> None:
        """Take no more calls, and end when those on their way are answered or have had their time."""
        self._server.should_exit = True

    def _run(self, listening: socket.socket) -> None:
        try:
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(self._server.serve(sockets=[listening]))
        except BaseException as error:
            self._ended.set_exception(error)
        else:
            self._ended.set_result(None)
