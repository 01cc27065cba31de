"""The front process: it holds the client connections.

The event loop of the crawl is busy for milliseconds at a time, and its threads compete for the GIL. Clients should
neither wait for that nor slow the crawl down, so reads (from the database or the last snapshot) are answered in this
process; all other requests go over the bridge to the application in the crawl process (`service.bridge`).

Opening a large crawl takes time. Until it is open, `/healthz` is answered 200 and everything else 503, so that a
supervisor does not take the process for dead.
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
from typing import Final, NoReturn, TypeVar

import uvloop

from gossamer.clock import SteadyClock, clock_of
from gossamer.crawl.run.opener import CrawlLocation
from gossamer.filter.domains import registrable_domain
from gossamer.ipc import Link
from gossamer.model.units import HostKey
from gossamer.service.access import HEADERS, LIVENESS, AccessControl, App, Policy, limit_wrong_tokens
from gossamer.service.bridge import BridgeClient, CrawlView
from gossamer.service.http_server import Server, server_config
from gossamer.service.login import Login
from gossamer.service.metrics import Metrics
from gossamer.service.queries import ReadQueries
from gossamer.service.routes import Dependencies

T = TypeVar("T")

_HEAD_TIMEOUT: Final = 5.0  # seconds for the head of a request
_LINGER: Final = 1.0  # seconds to read and discard what follows it, so that the response is not lost in a reset
_LONGEST_HEAD: Final = 65_536
_MOST: Final = 100  # connections
_ALIVE: Final = {"status": "ok"}
_NOT_READY: Final = {"status": "not ready"}
_NOT_YET: Final[Mapping[str, str | None]] = {"error": "the crawl is being opened", "field": None}


async def respond_until(opened: Awaitable[T], listening: socket.socket) -> T:
    """The result of `opened`. Until then, requests are answered: `/healthz` with 200, everything else with 503. The
    socket stays open."""
    waiting: dict[asyncio.StreamWriter, None] = {}  # oldest first

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        waiting[writer] = None
        if len(waiting) > _MOST:
            next(iter(waiting)).transport.abort()
        try:
            await _answer(reader, writer)
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # the client has disconnected, or sent no complete request
        finally:
            waiting.pop(writer, None)
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
    writer.write(startup_response(method, rest.split(b" ", 1)[0].partition(b"?")[0].decode("latin-1")))
    writer.write_eof()
    async with asyncio.timeout(_LINGER):
        while await reader.read(_LONGEST_HEAD):
            pass


def startup_response(method: bytes, path: str) -> bytes:
    status: bytes = b"503 Service Unavailable"
    content: Mapping[str, str | None] = _NOT_READY if path in LIVENESS else _NOT_YET
    if path == "/healthz":
        status, content = b"200 OK", _ALIVE
    body = json.dumps(content, separators=(",", ":")).encode("ascii")
    fields = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body)), *HEADERS]
    if status.startswith(b"503"):
        fields.append((b"retry-after", b"1"))
    lines = [b"HTTP/1.1 " + status, *(b"%b: %b" % field for field in fields), b"connection: close", b""]
    return b"\r\n".join([*lines, b"" if method == b"HEAD" else body])


_PATIENCE: Final = 10.0  # seconds; connections get three


def fork_front(listening: socket.socket, app: App, dependencies: Dependencies) -> tuple[int, socket.socket]:
    """Fork the front process for this socket. Returns its process id and our end of the link. The process waits until
    the crawl is open, then sets the dependencies of the read routes and serves; it ends when our end is closed. Must be
    called before there is any thread or event loop."""
    ours, theirs = socket.socketpair()
    registrable_domain(HostKey("host.test"))  # loads the public suffix list once for both processes
    sys.stdout.flush()
    sys.stderr.flush()
    number = os.fork()
    if number == 0:
        ours.close()
        _run(listening, theirs, app, dependencies)
    theirs.close()
    return number, ours


def stop_front(number: int, link: socket.socket) -> None:
    """End the front process by closing the link. Requests in progress get a grace period."""
    with link, suppress(OSError):
        link.shutdown(socket.SHUT_WR)
        link.settimeout(_PATIENCE)
        while link.recv(65536):
            pass  # discard its last messages
    with suppress(ProcessLookupError):
        os.kill(number, signal.SIGKILL)  # in case it did not end in time
    os.waitpid(number, 0)


def _run(listening: socket.socket, end: socket.socket, app: App, dependencies: Dependencies) -> NoReturn:
    """Main function of the front process. Leaves with `os._exit`, so that the parent's clean-up does not run twice."""
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)  # handled by the crawl process
    status = 1
    try:
        logging.getLogger("uvicorn").setLevel(logging.CRITICAL)
        gc.freeze()  # objects from before the fork need not be collected
        gc.set_threshold(50_000, 20, 50)
        uvloop.run(_serve(listening, end, app, dependencies))
        status = 0
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(status)


async def _serve(listening: socket.socket, end: socket.socket, app: App, dependencies: Dependencies) -> None:
    link = await Link.connect(end)
    messages = link.messages()
    opening = await respond_until(anext(messages, None), listening)
    if opening is None:
        return  # the crawl could not be opened
    _, policy, view = opening
    _set_dependencies(dependencies, view)
    link.send("used", view.measure_usage())
    queries = dependencies.queries
    server, bridge = _make_server(link, app, policy)

    async def receive() -> None:
        async for what, *rest in messages:
            if what == "view":
                view.latest, view.stopping, view.paused, changed = rest
                link.send("used", view.measure_usage())
                view.config, view.overrides = changed or (view.config, view.overrides)
            elif what == "close":
                server.should_exit = True
            else:
                bridge.on_message(what, *rest)
        bridge.on_disconnect()
        server.should_exit = True

    receiver = asyncio.create_task(receive())
    await server.serve(sockets=[listening])
    receiver.cancel()
    queries.close()


def _set_dependencies(dependencies: Dependencies, view: CrawlView) -> None:
    location = CrawlLocation.of(view.config)
    dependencies.crawl = view
    dependencies.queries = ReadQueries(location, clock_of(location.directory))
    dependencies.metrics = Metrics(lambda: view.latest)


def _make_server(link: Link, app: App, policy: Policy) -> tuple[Server, BridgeClient]:
    bridge = BridgeClient(app, link)
    clock, wrong_tokens = SteadyClock(), limit_wrong_tokens()
    checked: App = bridge if policy.on_loopback else Login(bridge, policy, clock, wrong_tokens)
    access = AccessControl(checked, policy, clock, wrong_tokens)
    return Server(server_config(access), lambda: link.send("ready")), bridge
