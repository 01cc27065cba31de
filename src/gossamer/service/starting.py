"""While a crawl is being opened: whoever calls is told so at once. A large crawl takes its time, and whoever watches
over the process must not take that for its end."""

import asyncio
import json
import socket
from collections.abc import Awaitable, Mapping
from typing import Final, TypeVar

from gossamer.service.gate import HEADERS, LIVENESS

T = TypeVar("T")

_PATIENCE: Final = 5.0  # seconds for the head of a request
_LINGER: Final = 1.0  # seconds for what follows it: nobody reads it, but the answer is to arrive
_LONGEST_HEAD: Final = 65_536
_MOST: Final = 100
_ALIVE: Final = {"status": "ok"}
_NOT_READY: Final = {"status": "not ready"}
_NOT_YET: Final[Mapping[str, str | None]] = {"error": "the crawl is being opened", "field": None}


async def answered_until(opened: Awaitable[T], listening: socket.socket) -> T:
    """What `opened` gives. Until then calls are answered: `/healthz` with 200, everything else with 503. The socket
    stays open."""
    waiting: set[asyncio.StreamWriter] = set()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        waiting.add(writer)
        try:
            if len(waiting) <= _MOST:
                await _answer(reader, writer)
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # whoever called does not wait for it, or says nothing that could be answered
        finally:
            waiting.discard(writer)
            writer.close()

    server = await asyncio.start_server(answer, sock=listening.dup(), limit=_LONGEST_HEAD)
    try:
        return await opened
    finally:
        server.close()


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    async with asyncio.timeout(_PATIENCE):
        head = await reader.readuntil(b"\r\n\r\n")
    method, _, rest = head.partition(b" ")
    writer.write(answer_to(method, rest.split(b" ", 1)[0].partition(b"?")[0].decode("latin-1")))
    writer.write_eof()
    async with asyncio.timeout(_LINGER):
        while await reader.read(_LONGEST_HEAD):
            pass


def answer_to(method: bytes, path: str) -> bytes:
    status: bytes = b"503 Service Unavailable"
    told: Mapping[str, str | None] = _NOT_READY if path in LIVENESS else _NOT_YET
    if path == "/healthz":
        status, told = b"200 OK", _ALIVE
    body = json.dumps(told, separators=(",", ":")).encode("ascii")
    fields = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body)), *HEADERS]
    if status.startswith(b"503"):
        fields.append((b"retry-after", b"1"))
    lines = [b"HTTP/1.1 " + status, *(b"%b: %b" % field for field in fields), b"connection: close", b""]
    return b"\r\n".join([*lines, b"" if method == b"HEAD" else body])
