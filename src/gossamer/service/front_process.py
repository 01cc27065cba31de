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
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Final, NamedTuple, NoReturn, TypeVar

import uvloop

from gossamer.clock import SteadyClock, clock_of
from gossamer.crawl.run.opener import CrawlLocation
from gossamer.filter.domains import registrable_domain
from gossamer.ipc import Link
from gossamer.model.units import HostKey
from gossamer.service.access import (
    HEADERS,
    LIVENESS,
    AccessControl,
    App,
    Policy,
    limit_wrong_tokens,
    metrics_only,
    route_path,
)
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


async def respond_until(opened: Awaitable[T], *listening: socket.socket) -> T:
    """The result of `opened`. Until then, requests are answered: `/healthz` with 200, everything else with 503. The
    sockets stay open."""
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

    servers = [await asyncio.start_server(answer, sock=each.dup(), limit=_LONGEST_HEAD) for each in listening]
    try:
        return await opened
    finally:
        for server in servers:
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
    path = route_path(path)
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


class Listening(NamedTuple):
    """The sockets of the service."""

    service: socket.socket
    metrics: socket.socket | None

    @property
    def opened(self) -> list[socket.socket]:
        return [each for each in self if each is not None]


def fork_front(listening: Listening, app: App, dependencies: Dependencies) -> tuple[int, socket.socket]:
    """Fork the front process for these sockets. Returns its process id and our end of the link. The process waits until
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


def _run(listening: Listening, end: socket.socket, app: App, dependencies: Dependencies) -> NoReturn:
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


async def _serve(listening: Listening, end: socket.socket, app: App, dependencies: Dependencies) -> None:
    link = await Link.connect(end)
    messages = link.messages()
    opening = await respond_until(anext(messages, None), *listening.opened)
    if opening is None:
        return  # the crawl could not be opened
    _, policy, view = opening
    _set_dependencies(dependencies, view)
    link.send("used", view.measure_usage())
    queries = dependencies.queries
    bridge = BridgeClient(app, link)
    servers = _make_servers(listening, bridge, policy, lambda: link.send("ready"))

    async def receive() -> None:
        async for what, *rest in messages:
            if what == "view":
                view.latest, view.stopping, view.paused, changed = rest
                link.send("used", view.measure_usage())
                view.config, view.overrides = changed or (view.config, view.overrides)
            elif what == "close":
                stop()
            else:
                bridge.on_message(what, *rest)
        bridge.on_disconnect()
        stop()

    def stop() -> None:
        for server in servers:
            server.should_exit = True

    receiver = asyncio.create_task(receive())
    await asyncio.gather(
        *(server.serve(sockets=[each]) for server, each in zip(servers, listening.opened, strict=True))
    )
    receiver.cancel()
    queries.close()


def _set_dependencies(dependencies: Dependencies, view: CrawlView) -> None:
    location = CrawlLocation.of(view.config)
    dependencies.crawl = view
    dependencies.queries = ReadQueries(location, clock_of(location.directory))
    dependencies.metrics = Metrics(lambda: view.latest)


def _make_servers(
    listening: Listening, bridge: BridgeClient, policy: Policy, on_ready: Callable[[], None]
) -> list[Server]:
    """One server for each socket. `on_ready` is called when all of them accept connections."""
    clock, wrong_tokens = SteadyClock(), limit_wrong_tokens()
    checked: App = bridge if policy.on_loopback else Login(bridge, policy, clock, wrong_tokens)
    applications: list[App] = [AccessControl(checked, policy, clock, wrong_tokens)]
    if listening.metrics is not None:
        applications.append(metrics_only(bridge, policy, clock))
    starting = len(applications)

    def on_start() -> None:
        nonlocal starting
        starting -= 1
        if starting == 0:
            on_ready()

    return [Server(server_config(application), on_start) for application in applications]
