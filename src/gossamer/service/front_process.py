"""The front process: the whole API, over the store of the crawl and its live status.

It is a process of its own because the event loop of the crawl is busy for milliseconds at a time, and its threads
compete for the GIL: clients should neither wait for that nor slow the crawl down. The two processes share nothing but
the store. A socket pair tells each of them when the other is gone, and the crawl when the front is ready.

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
from collections.abc import Callable
from contextlib import suppress
from typing import Final, NamedTuple, NoReturn

import uvloop

from gossamer.clock import SteadyClock, clock_of
from gossamer.config.load import Config
from gossamer.crawl.run.directory import TOKEN
from gossamer.crawl.run.location import CrawlLocation, store_kind
from gossamer.crawl.run.opener import live_status
from gossamer.errors import UsageError
from gossamer.filter.domains import registrable_domain
from gossamer.model.units import HostKey
from gossamer.service.access import (
    HEADERS,
    LIVENESS,
    AccessControl,
    App,
    Receive,
    Scope,
    Send,
    limit_wrong_tokens,
    metrics_only,
    policy_for,
    route_path,
    token_in,
)
from gossamer.service.all_workers import AllWorkers, Awaited
from gossamer.service.app import make_app
from gossamer.service.control import Control
from gossamer.service.event_stream import EventStream
from gossamer.service.http_server import Server, server_config
from gossamer.service.live_view import LiveView, OneProcess
from gossamer.service.login import Login
from gossamer.service.metrics import Metrics
from gossamer.service.queries import ReadQueries
from gossamer.service.routes import Dependencies

COMMIT_PATIENCE = 3.0
"""Seconds that a request waits for its change before it is answered 503."""
READY: Final = b"+"
_OPENING_LOOK: Final = 0.05  # seconds between two looks whether the crawl is open
_PATIENCE: Final = 10.0  # seconds; connections get three


class Listening(NamedTuple):
    """The sockets of the service."""

    service: socket.socket
    metrics: socket.socket | None

    @property
    def opened(self) -> list[socket.socket]:
        return [each for each in self if each is not None]


class Front(NamedTuple):
    """The front process, for the crawl's."""

    process: int
    end: socket.socket  # it sends READY once, and nothing more; closed with the process

    def reload(self) -> None:
        """The configuration has changed: it reads it too."""
        with suppress(ProcessLookupError):
            os.kill(self.process, signal.SIGHUP)

    def close(self) -> None:
        """Accept no more requests; those in progress are answered within the grace period. Then the process ends."""
        with suppress(OSError):
            self.end.shutdown(socket.SHUT_WR)

    def wait(self) -> None:
        """Wait for its end, but not for long."""
        self.close()
        with self.end, suppress(OSError):
            self.end.settimeout(_PATIENCE)
            while self.end.recv(1):
                pass
        with suppress(ProcessLookupError):
            os.kill(self.process, signal.SIGKILL)  # in case it did not end in time
        os.waitpid(self.process, 0)


def fork_front(
    listening: Listening, config: Config, reread: Callable[[], Config], awaited: Awaited = Awaited.ORDERS
) -> Front:
    """Fork the front process for these sockets. It serves as soon as the crawl of this process is open, or what is
    `awaited` of the workers that share a crawl is there, and ends with this process at the latest. Must be called
    before there is any thread or event loop."""
    ours, theirs = socket.socketpair()
    registrable_domain(HostKey("host.test"))  # loads the public suffix list once for both processes
    sys.stdout.flush()
    sys.stderr.flush()
    crawl = os.getpid()
    number = os.fork()
    if number == 0:
        ours.close()
        _run(listening, theirs, crawl, config, reread, awaited)
    theirs.close()
    return Front(number, ours)


def _run(
    listening: Listening, end: socket.socket, crawl: int, config: Config, reread: Callable[[], Config], awaited: Awaited
) -> NoReturn:
    """Main function of the front process. Leaves with `os._exit`, so that the parent's clean-up does not run twice."""
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)  # handled by the crawl process
    status = 1
    try:
        logging.getLogger("uvicorn").setLevel(logging.CRITICAL)
        gc.freeze()  # objects from before the fork need not be collected
        gc.set_threshold(50_000, 20, 50)
        uvloop.run(_serve(listening, end, crawl, config, reread, awaited))
        status = 0
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(status)


class Doorway:
    """The application of one socket: until it is open, it says that the crawl is being opened."""

    def __init__(self) -> None:
        self.app: App | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self.app is not None:
            await self.app(scope, receive, send)
        else:
            await _answer_before_start(route_path(scope["path"]), send)


async def _answer_before_start(path: str, send: Send) -> None:
    status, content = 503, {"error": "the crawl is being opened", "field": None}
    if path == "/healthz":
        status, content = 200, {"status": "ok"}
    elif path in LIVENESS:
        content = {"status": "not ready"}
    body = json.dumps(content, separators=(",", ":")).encode("ascii")
    fields = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body)), *HEADERS]
    fields += [(b"connection", b"close")] if status == 200 else [(b"retry-after", b"1"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": status, "headers": fields})
    await send({"type": "http.response.body", "body": body})


async def _serve(
    listening: Listening, end: socket.socket, crawl: int, config: Config, reread: Callable[[], Config], awaited: Awaited
) -> None:
    loop = asyncio.get_running_loop()
    end.setblocking(False)
    location = CrawlLocation.of(config)
    clock = SteadyClock()
    shared = store_kind(location.store).is_shared
    source = AllWorkers(location, clock, awaited) if shared else OneProcess(live_status(location), crawl)
    view = LiveView(source, config, clock)

    def reload() -> None:
        with suppress(UsageError):  # the crawl has said so in its log
            view.config = reread()

    loop.add_signal_handler(signal.SIGHUP, reload)
    doors = [Doorway() for _ in listening.opened]
    servers = [Server(server_config(door)) for door in doors]
    serving = [
        loop.create_task(server.serve(sockets=[each])) for server, each in zip(servers, listening.opened, strict=True)
    ]
    ending = loop.create_task(loop.sock_recv(end, 1))  # nothing is ever sent: the crawl ends
    opening = loop.create_task(_until_open(view))
    await asyncio.wait([ending, opening], return_when=asyncio.FIRST_COMPLETED)
    opening.cancel()
    if view.is_open:
        if shared:
            reload()
        dependencies = Dependencies()
        dependencies.crawl = view
        dependencies.queries = queries = ReadQueries(location, lambda: view.config, clock_of(location.directory))
        dependencies.metrics = Metrics(lambda: view.latest, lambda: view.workers)
        dependencies.control = control = Control(location, view, clock, patience=COMMIT_PATIENCE)
        dependencies.stream = stream = EventStream(view)
        _open_doors(doors, make_app(dependencies), config)
        watching = loop.create_task(view.watch(stream.update))
        end.send(READY)
        await asyncio.wait([ending, watching], return_when=asyncio.FIRST_COMPLETED)
        stream.close()
        await _stop(servers, serving)
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
        queries.close()
        control.close()
    else:
        await _stop(servers, serving)
    view.close()


async def _until_open(view: LiveView) -> None:
    while not view.is_open:
        await view.refresh()
        await asyncio.sleep(_OPENING_LOOK)


def _open_doors(doors: list[Doorway], app: App, config: Config) -> None:
    """Let requests in: at the first socket through access control, at the second to metrics only."""
    policy = policy_for(config.service, token_in(CrawlLocation.of(config).directory / TOKEN))
    clock, wrong_tokens = SteadyClock(), limit_wrong_tokens()
    checked: App = app if policy.on_loopback else Login(app, policy, clock, wrong_tokens)
    doors[0].app = AccessControl(checked, policy, clock, wrong_tokens)
    for door in doors[1:]:
        door.app = metrics_only(app, policy, clock)


async def _stop(servers: list[Server], serving: list[asyncio.Task[None]]) -> None:
    for server in servers:
        server.should_exit = True
    await asyncio.gather(*serving)
