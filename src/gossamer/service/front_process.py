"""The front: connections have a process of their own.

The crawl's event loop is busy for milliseconds at a time, and its threads compete for the interpreter; whoever asks for
figures should not wait for that, nor slow it down. What passes the gate and is only read (the database, the last
picture of the crawl) is answered here; the rest goes over the link to the application beside the crawl
(`service.bridge`), which alone touches it.

While a crawl is being opened: whoever calls is told so at once. A large crawl takes its time, and whoever watches
over the process must not take that for its end.
"""

import asyncio
import gc
import json
import logging
import os
import signal
import socket
import sys
import traceback
from collections.abc import Awaitable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, NoReturn, TypeVar

import uvloop

from gossamer.clock import SteadyClock, clock_of
from gossamer.filter.domains import registrable_domain
from gossamer.ipc import Link
from gossamer.model.units import HostKey
from gossamer.service.access import HEADERS, LIVENESS, AccessControl, App, Policy
from gossamer.service.bridge import BridgeClient, CrawlView
from gossamer.service.http_server import Server, server_config
from gossamer.service.metrics import Metrics
from gossamer.service.queries import ReadQueries
from gossamer.service.routes import Dependencies

T = TypeVar("T")

_HEAD_TIMEOUT: Final = 5.0  # seconds for the head of a request
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
    async with asyncio.timeout(_HEAD_TIMEOUT):
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


_PATIENCE: Final = 10.0  # seconds; connections have three


def forked(listening: socket.socket, app: App, parts: Dependencies) -> tuple[int, socket.socket]:
    """A front for this socket: the number of its process, and our end of the link. It waits until it is opened, fills
    in the parts of the application that are read there, and ends when our end is closed. To be called before there is
    any thread or event loop."""
    ours, theirs = socket.socketpair()
    registrable_domain(HostKey("host.test"))  # has the list of suffixes read, once for both
    sys.stdout.flush()
    sys.stderr.flush()
    number = os.fork()
    if number == 0:
        ours.close()
        _live(listening, theirs, app, parts)
    theirs.close()
    return number, ours


def end_of(number: int, link: socket.socket) -> None:
    """End the front, by closing the link. Calls that are on their way have their time."""
    with link, suppress(OSError):
        link.shutdown(socket.SHUT_WR)
        link.settimeout(_PATIENCE)
        while link.recv(65536):
            pass  # the last words of somebody whom nobody asks any more
    with suppress(ProcessLookupError):
        os.kill(number, signal.SIGKILL)  # it has ended, unless its time is up
    os.waitpid(number, 0)


def _live(listening: socket.socket, end: socket.socket, app: App, parts: Dependencies) -> NoReturn:
    """What the front's process does. Nothing of its parent's clearing up is done here a second time."""
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)  # they concern the crawl; it tells us
    status = 1
    try:
        logging.getLogger("uvicorn").setLevel(logging.CRITICAL)
        gc.freeze()  # what both processes have is for neither to look through
        gc.set_threshold(50_000, 20, 50)
        uvloop.run(_serve(listening, end, app, parts))
        status = 0
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(status)


async def _serve(listening: socket.socket, end: socket.socket, app: App, parts: Dependencies) -> None:
    link = await Link.connect(end)
    heard = link.messages()
    opening = await answered_until(anext(heard, None), listening)
    if opening is None:
        return  # there is no crawl after all
    _, policy, shown = opening
    _fill_in(parts, shown)
    link.send("used", shown.with_own_use())
    questions = parts.questions
    server, across = _made(link, app, policy)

    async def hear() -> None:
        async for what, *rest in heard:
            if what == "shown":
                shown.latest, shown.stopping, shown.paused, ordered = rest
                link.send("used", shown.with_own_use())
                shown.config, shown.orders = ordered or (shown.config, shown.orders)
            elif what == "close":
                server.should_exit = True
            else:
                across.heard(what, *rest)
        across.lost()
        server.should_exit = True

    hearing = asyncio.create_task(hear())
    await server.serve(sockets=[listening])
    hearing.cancel()
    questions.close()


def _fill_in(parts: Dependencies, shown: CrawlView) -> None:
    directory = Path(shown.config.dir)
    parts.crawl = shown
    parts.questions = ReadQueries(directory, clock_of(directory))
    parts.metrics = Metrics(lambda: shown.latest)


def _made(link: Link, app: App, policy: Policy) -> tuple[Server, BridgeClient]:
    across = BridgeClient(app, link)
    gate = AccessControl(across, policy, SteadyClock())
    return Server(server_config(gate), lambda: link.send("ready")), across
