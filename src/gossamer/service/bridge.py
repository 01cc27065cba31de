"""The bridge between the front process, which holds the connections, and the crawl process.

`BridgeClient` is an ASGI application in the front process that forwards requests; `BridgeServer` runs them in the crawl
process. A response is sent in one piece when the application has finished; a stream is sent message by message, so that
a slow client slows the application down. If the client disconnects, the call is cancelled. `CrawlBridge` runs on the
event loop of the crawl, sends the front its snapshots and answers its calls.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count
from typing import Final

from gossamer.config.load import Config
from gossamer.config.overrides import Overrides
from gossamer.crawl.engine import Engine
from gossamer.crawl.status import own_use
from gossamer.ipc import Link
from gossamer.ipc import Message as LinkMessage
from gossamer.observe.snapshot import ProcessUse, Snapshot
from gossamer.service.access import App, Message, Policy, Receive, Scope, Send
from gossamer.service.control import Control
from gossamer.service.event_stream import EventStream

LIVE: Final = frozenset({"/events", "/crawl", "/readyz", "/url/limit"})
"""Paths that are answered by the crawl process, not from the database or the last snapshot ..."""
LIVE_BELOW: Final = "/hosts/"
"""... as are all paths below this one."""

_SCOPE_KEYS: Final = ("type", "asgi", "http_version", "method", "scheme", "path", "raw_path", "query_string")
_CONNECTION_KEYS: Final = ("root_path", "headers", "client", "server")


class ApplicationError(Exception):
    """The application raised an exception; carries its text."""


def needs_crawl_process(scope: Scope) -> bool:
    path: str = scope["path"]
    return scope["method"] not in ("GET", "HEAD") or path in LIVE or path.startswith(LIVE_BELOW)


class BridgeClient:
    """Sends calls that concern the running crawl over the link; reads are answered by the `local` application."""

    def __init__(self, local: App, link: Link) -> None:
        self._local = local
        self._link = link
        self._numbers = count()
        self._calls: dict[int, asyncio.Queue[LinkMessage]] = {}

    def on_message(self, what: str, number: int, *rest: object) -> None:
        """A message about a call. Ignored if the call has been cancelled."""
        call = self._calls.get(number)
        if call is not None:
            call.put_nowait((what, *rest))

    def on_disconnect(self) -> None:
        """The crawl process is gone: end all calls."""
        for call in self._calls.values():
            call.put_nowait(("end", [], "the crawl has ended"))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not needs_crawl_process(scope):
            await self._local(scope, receive, send)
            return
        number = next(self._numbers)
        call = self._calls[number] = asyncio.Queue()
        self._link.send("call", number, {key: scope.get(key) for key in (*_SCOPE_KEYS, *_CONNECTION_KEYS)})
        reading: asyncio.Task[None] | None = None
        is_over = False
        try:
            while True:
                match await call.get():
                    case ("receive",):
                        reading = asyncio.create_task(self._read(number, receive))
                    case ("send", messages):
                        await _send_all(send, messages)
                        self._link.send("sent", number)
                    case ("end", messages, failure):
                        is_over = True
                        await _send_all(send, messages)
                        if failure is not None:
                            raise ApplicationError(failure)
                        return
        finally:
            del self._calls[number]
            if not is_over:
                self._link.send("cancel", number)
            if reading is not None:
                reading.cancel()

    async def _read(self, number: int, receive: Receive) -> None:
        try:
            message: Message | Exception = dict(await receive())
        except Exception as error:
            message = error  # raised where the application reads
        self._link.send("received", number, message)


async def _send_all(send: Send, messages: list[Message]) -> None:
    for message in messages:
        await send(message)


class BridgeServer:
    """Runs calls that come over the link. `before_response` is called before the first byte of a response is sent."""

    def __init__(self, app: App, link: Link, before_response: Callable[[], None]) -> None:
        self._app = app
        self._link = link
        self._before_response = before_response
        self._calls: dict[int, asyncio.Task[None]] = {}
        self._reads: dict[int, asyncio.Future[Message]] = {}
        self._sends: dict[int, asyncio.Future[None]] = {}

    def on_message(self, what: str, number: int, *rest: object) -> None:
        match (what, *rest):
            case ("call", dict() as scope):
                call = self._calls[number] = asyncio.create_task(self._answer(number, scope))
                call.add_done_callback(lambda _: self._calls.pop(number))
            case ("received", message) if (read := self._reads.pop(number, None)) is not None and not read.done():
                if isinstance(message, Exception):
                    read.set_exception(message)
                elif isinstance(message, dict):
                    read.set_result(message)
            case ("sent",) if (sent := self._sends.pop(number, None)) is not None and not sent.done():
                sent.set_result(None)
            case ("cancel",) if number in self._calls:
                self._calls[number].cancel()

    def close(self) -> None:
        """Cancel all calls: the front process is gone."""
        for call in self._calls.values():
            call.cancel()

    async def _answer(self, number: int, scope: Scope) -> None:
        link, loop = self._link, asyncio.get_running_loop()
        pieces: list[Message] = []

        async def receive() -> Message:
            if number not in self._reads:  # otherwise an earlier, cancelled read is still pending
                self._reads[number] = loop.create_future()
                link.send("receive", number)
            return await asyncio.shield(self._reads[number])

        async def send(message: Message) -> None:
            if not pieces:
                self._before_response()
            pieces.append(message)
            if message.get("more_body", False):
                sent = self._sends[number] = loop.create_future()
                link.send("send", number, pieces)
                pieces.clear()
                await sent

        failure = None
        try:
            await self._app(scope, receive, send)
        except Exception as error:
            failure = f"{type(error).__name__}: {error}"
        finally:
            self._reads.pop(number, None)
            self._sends.pop(number, None)
        link.send("end", number, pieces, failure)


@dataclass(frozen=True, slots=True)
class LiveCrawl:
    """Read access to the crawl in its own process."""

    control: Control
    stream: EventStream
    engine: Engine

    @property
    def config(self) -> Config:
        return self.control.config

    @property
    def overrides(self) -> Overrides:
        return self.control.overrides

    @property
    def latest(self) -> Snapshot | None:
        return self.stream.latest

    @property
    def stopping(self) -> bool:
        return self.engine.stopping

    @property
    def paused(self) -> bool:
        return self.engine.paused


class CrawlBridge:
    """Sends snapshots of the crawl to the front process and answers its calls, until the front process ends."""

    def __init__(self, app: App, crawl: LiveCrawl, link: Link) -> None:
        self.ready = asyncio.Event()
        self._crawl = crawl
        self._link = link
        self._server = BridgeServer(app, link, self._send_view)
        self._sent: tuple[Snapshot | None, bool, bool, int] | None = None

    async def serve(self, policy: Policy) -> None:
        crawl = self._crawl
        view = CrawlView(crawl.config, crawl.overrides, crawl.latest, crawl.stopping, crawl.paused)
        self._link.send("open", policy, view)
        crawl.stream.on_update = self._on_update
        async for what, *rest in self._link.messages():
            if what == "ready":
                self.ready.set()
            elif what == "used":
                (crawl.stream.front_usage,) = rest
            else:
                self._server.on_message(what, *rest)
        self._server.close()

    def close(self) -> None:
        """Accept no more calls; those in progress are answered within the grace period."""
        self._link.send("close")

    def _on_update(self) -> None:
        if not self._link.is_backed_up:
            self._send_view()

    def _send_view(self) -> None:
        """Send the crawl as of its last commit, so that a client whose change was acknowledged sees it in the front."""
        crawl = self._crawl
        view = crawl.latest, crawl.stopping, crawl.paused, crawl.control.changes
        before, self._sent = self._sent, view
        if before is None or view[0] is not before[0] or view[1:] != before[1:]:
            changed = before is None or view[3] != before[3]
            self._link.send("view", *view[:3], (crawl.config, crawl.overrides) if changed else None)


@dataclass(slots=True)
class CrawlView:
    """The crawl as the front process knows it: the last view it received."""

    config: Config
    overrides: Overrides
    latest: Snapshot | None = None
    stopping: bool = False
    paused: bool = False

    def measure_usage(self) -> ProcessUse:
        """Add the CPU time and memory of this process to the snapshot, and return them."""
        used = own_use()
        self.latest = None if self.latest is None else replace(self.latest, front=used)
        return used
